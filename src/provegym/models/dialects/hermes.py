"""Hermes and Qwen: <tool_call>{"name": …, "arguments": {…}}</tool_call>, one block per call."""

import re
from typing import Any

import msgspec

from provegym.trace import Reply, ToolCall

THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
BLOCK = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)


def parse(text: str) -> Reply:
    """Read a reply; a block that is no call is kept as it stands, to be answered as malformed."""
    text = THOUGHT.sub("", text)
    calls = tuple(read_call(block) for block in BLOCK.findall(text))
    return Reply(text=BLOCK.sub("", text).strip(), calls=calls)


def read_call(block: str) -> ToolCall:
    """One call from its JSON."""
    try:
        return from_object(msgspec.json.decode(block.strip()), block)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return ToolCall(name="", arguments=block.strip())


def from_object(value: Any, block: str) -> ToolCall:
    """One call from a decoded object; arguments may be an object or JSON in a string."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return ToolCall(name="", arguments=block.strip())
    arguments = value.get("arguments", value.get("parameters", {}))
    if not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return ToolCall(name=value["name"], arguments=arguments)
