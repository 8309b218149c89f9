"""Granite: <|tool_call|>[{"name": …, "arguments": {…}}, …], or Hermes blocks in later models."""

import msgspec

from provegym.models.dialects import hermes
from provegym.trace import Reply, ToolCall

MARK = "<|tool_call|>"


def parse(text: str) -> Reply:
    """Read a reply; everything after the mark is one JSON list of calls."""
    said, mark, listed = text.partition(MARK)
    if not mark:
        return hermes.parse(text)
    listed = listed.strip().removeprefix("<tool_call>").removesuffix("<|end_of_text|>").strip()
    try:
        found = msgspec.json.decode(listed)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return Reply(text=said.strip(), calls=(ToolCall(name="", arguments=listed),))
    items = found if isinstance(found, list) else [found]
    calls = (hermes.from_object(item, msgspec.json.encode(item).decode()) for item in items)
    return Reply(text=said.strip(), calls=tuple(calls))
