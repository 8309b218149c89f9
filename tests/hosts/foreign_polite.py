"""An MCP server that never says that a call failed: `foreign_polite.py HOW FOLDER`.

It keeps documents in a folder. Its refusals look like results, each tool in its own way.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

HOW, FOLDER = sys.argv[1], Path(sys.argv[2])
READ = types.ToolAnnotations(read_only_hint=True)
COUNT = iter(range(10**9))


def tool(name: str, *arguments: str, reads: bool = True) -> types.Tool:
    """A tool all of whose arguments are texts."""
    parts = {each: {"type": "string"} for each in arguments}
    schema = {"type": "object", "properties": parts, "required": list(arguments)}
    return types.Tool(name=name, input_schema=schema, annotations=READ if reads else None)


TOOLS = [
    tool("list_docs"),
    tool("read_doc", "doc"),
    tool("count_words", "doc"),
    tool("check_doc", "doc"),
    tool("clock"),
    types.Tool(
        name="page",
        input_schema={
            "type": "object",
            "properties": {"page_id": {"type": "integer"}},
            "required": ["page_id"],
        },
        annotations=READ,
    ),
    tool("add_doc", "doc", "text", reads=False),
    tool("pretend", "doc", "text", reads=False),
]
DUMB = [tool("ponder", "thought")]


def run(name: str, given: dict[str, str]) -> Any:
    """What a tool says; nothing is ever marked as an error."""
    doc = given.get("doc", "")
    file = FOLDER / f"{doc}.txt"
    if name == "ponder":
        return f"{given['thought']} is worth a thought."
    if name == "page":
        pages = sorted(each.stem for each in FOLDER.glob("*.txt"))
        number = int(given["page_id"])
        return f"A page about {pages[number]}" if number < len(pages) else "Nothing on this page"
    if name == "list_docs":
        docs = [{"id": each.stem, "size": each.stat().st_size} for each in FOLDER.glob("*.txt")]
        docs.sort(key=lambda each: each["id"])
        return json.dumps({"docs": docs, "asked": next(COUNT), "at": time.time()})
    if name == "clock":
        return json.dumps({"ticks": next(COUNT), "now": time.strftime("%H:%M:%S")})
    if name == "add_doc":
        file.write_text(given["text"])
        return f"Thanks, {doc} is kept."
    if name == "pretend":
        return f"Thanks, {doc} is kept."
    if name == "count_words":
        if not file.exists():
            return json.dumps({"success": False, "message": "better luck next time"})
        return json.dumps({"success": True, "words": len(file.read_text().split())})
    if name == "check_doc":
        return "All is well." if file.exists() else f"Document {doc} does not exist"
    return file.read_text() if file.exists() else f"Hm, {doc} rings no bell with me."


async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
    """All of them."""
    return types.ListToolsResult(tools=DUMB if HOW == "dumb" else TOOLS)


async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Run one."""
    said = run(params.name, params.arguments or {})
    return types.CallToolResult(content=[types.TextContent(text=said)])


async def main() -> None:
    """Serve on stdio."""
    server: Server[Any] = Server(
        "polite", version="1", on_list_tools=list_tools, on_call_tool=call_tool
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
