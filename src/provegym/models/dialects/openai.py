"""OpenAI's native form: a message with `tool_calls`, and the way back."""

from collections.abc import Mapping
from typing import Any

import msgspec

from provegym.models.dialects import hermes
from provegym.trace import Json, Reply, ToolCall


def parse(message: Mapping[str, Any]) -> Reply:
    """Read a chat message; text that still holds Hermes blocks is read as such."""
    text = message.get("content") or ""
    native = message.get("tool_calls") or ()
    if not native:
        return hermes.parse(text)
    return Reply(text=text, calls=tuple(map(_call, native)))


def _call(item: Any) -> ToolCall:
    function = item.get("function") if isinstance(item, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return ToolCall(name="", arguments=str(item))
    arguments = function.get("arguments") or "{}"
    if not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return ToolCall(name=function["name"], arguments=arguments, id=str(item.get("id") or ""))


def message(reply: Reply) -> Json:
    """A reply as a chat message."""
    spoken: Json = {"role": "assistant", "content": reply.text}
    if reply.calls:
        spoken["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in reply.calls
        ]
    return spoken
