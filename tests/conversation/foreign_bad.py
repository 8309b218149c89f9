"""An MCP server with one read that goes wrong in the way its command line says."""

import os
import sys
import time
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

HOW = sys.argv[1]
LOOK = types.Tool(
    name="look",
    input_schema={"type": "object", "properties": {}},
    annotations=types.ToolAnnotations(read_only_hint=True),
)


async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
    """The one tool, if any."""
    return types.ListToolsResult(tools=[] if HOW == "none" else [LOOK])


async def call_tool(_: Any, __: types.CallToolRequestParams) -> types.CallToolResult:
    """What becomes of a call."""
    if HOW == "crashing":
        print("oh dear", file=sys.stderr, flush=True)
        os._exit(3)
    if HOW == "hanging":
        time.sleep(60)
    said = {"failing": "not today", "silent": "{}"}.get(HOW, "all quiet")
    return types.CallToolResult(content=[types.TextContent(text=said)], is_error=HOW == "failing")


async def main() -> None:
    """Serve on stdio."""
    server: Server[Any] = Server(
        "bad", version="1", on_list_tools=list_tools, on_call_tool=call_tool
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
