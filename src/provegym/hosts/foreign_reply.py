"""Converts a foreign server's MCP reply to a result or an error, as JSON text of bounded size."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import mcp_types as types
import msgspec
from mcp import MCPError

from provegym.hosts.foreign_refusal import says_it_failed
from provegym.kernel import BadArguments, Denied, Kind, NotFound, Rejected, ToolError
from provegym.kernel.session import MAX_RESULT_BYTES

MOST_MESSAGE = 600
SHORTEST = 40
ERRORS: tuple[tuple[type[ToolError], str], ...] = (
    (BadArguments, r"validation error|invalid (?:arguments|params|input)|-32602|required property"),
    (NotFound, r"not found|no such|does(?: not|n't) exist|unknown|ENOENT|could not find"),
    (Denied, r"denied|not allowed|forbidden|unauthori[sz]ed|permission|EACCES"),
)
KINDS: dict[Kind, type[ToolError]] = {
    kind.kind: kind for kind in (BadArguments, NotFound, Denied, Rejected)
}


class Answer(NamedTuple):
    """The outcome of a foreign call: the JSON text of its result, or an error and its kind."""

    text: str
    error: Kind | None = None

    def give(self) -> str:
        """Return the result, or raise the error."""
        if self.error:
            raise KINDS[self.error](self.text)
        return self.text


def read_result(result: types.CallToolResult, arguments: Mapping[str, Any]) -> Answer:
    """Read the structured content, or else the text blocks, parsed if they are JSON.

    A result that says that the call failed is an error, whatever `isError` says.
    """
    blocks = [_block(block) for block in result.content]
    texts = [block for block in blocks if isinstance(block, str)]
    told = (texts[0] if len(texts) == 1 else None, result.structured_content)
    if result.is_error or any(says_it_failed(each, arguments) for each in told):
        whole = "\n".join(str(block) for block in blocks)
        return _error(whole or _told(result.structured_content) or "the tool says no more")
    value = result.structured_content
    if value is None:
        parts = [_parsed(block) if isinstance(block, str) else block for block in blocks]
        value = parts[0] if len(parts) == 1 else parts
    if isinstance(value, str):
        value = {"text": value}
    elif not isinstance(value, dict):
        value = {"items": value} if isinstance(value, list) else {"value": value}
    return Answer(shorten(value))


def read_error(problem: MCPError) -> Answer:
    """Read an error of the protocol, such as invalid arguments."""
    if problem.code == types.INVALID_PARAMS:
        return Answer(_cut(problem.message, MOST_MESSAGE), BadArguments.kind)
    return _error(problem.message)


def _told(value: Any) -> str:
    return msgspec.json.encode(value).decode() if value else ""


def _error(message: str) -> Answer:
    """Choose the kind of an error by words in its message; the default is `rejected`."""
    for kind, words in ERRORS:
        if re.search(words, message, re.IGNORECASE):
            return Answer(_cut(message, MOST_MESSAGE), kind.kind)
    return Answer(_cut(message, MOST_MESSAGE), Rejected.kind)


def _block(block: Any) -> Any:
    """A content block as plain data: text itself, but only the type of images and audio."""
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.EmbeddedResource):
        resource = block.resource
        if isinstance(resource, types.TextResourceContents):
            return resource.text
        return {"type": "resource", "uri": str(resource.uri)}
    if isinstance(block, types.ResourceLink):
        return {"type": "resource", "uri": str(block.uri), "name": block.name}
    return {"type": block.type, "mime_type": block.mime_type}


def _parsed(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def shorten(value: dict[str, Any]) -> str:
    """JSON of a result; if it is too long, its longest lists and texts are cut, with a note."""
    text = msgspec.json.encode(value)
    length = len(text)
    while len(text) > MAX_RESULT_BYTES:
        halved = _halve(value, len(text))
        if halved == value:
            value = {"text": _cut(text.decode(errors="ignore"), MAX_RESULT_BYTES // 2)}
        else:
            value = {**halved, "note": f"cut: the whole result has {length} bytes"}
        text = msgspec.json.encode(value)
    return text.decode()


def _halve(value: Any, length: int) -> Any:
    """The value with its largest list or text cut in half."""
    if isinstance(value, str):
        return _cut(value, len(value) // 2) if len(value) > SHORTEST else value
    if isinstance(value, list):
        sizes = [len(msgspec.json.encode(part)) for part in value]
        if value and max(sizes) > length // 2:
            at = sizes.index(max(sizes))
            return [*value[:at], _halve(value[at], sizes[at]), *value[at + 1 :]]
        return value[: len(value) // 2]
    if isinstance(value, dict) and value:
        sizes = [len(msgspec.json.encode(part)) for part in value.values()]
        name = list(value)[sizes.index(max(sizes))]
        return {**value, name: _halve(value[name], max(sizes))}
    return value


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
