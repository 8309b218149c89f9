"""A tiny MCP server that is not ours: boxes in a folder, and tools that misbehave on demand.

It annotates only its reads, publishes no output schema, and answers in text.
"""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

FOLDER = Path(sys.argv[1])
SHELF = FOLDER / "boxes.json"
READ = types.ToolAnnotations(read_only_hint=True)


def boxes() -> dict[str, str]:
    """What stands on the shelf, by id."""
    return json.loads(SHELF.read_text()) if SHELF.exists() else {}


def tool(name: str, annotations: types.ToolAnnotations | None, **arguments: Any) -> types.Tool:
    """A tool all of whose arguments are required."""
    schema = {"type": "object", "properties": arguments, "required": list(arguments)}
    return types.Tool(
        name=name, description=f"{name} it", input_schema=schema, annotations=annotations
    )


TEXT = {"type": "string"}
TOOLS = [
    tool("list_boxes", READ),
    tool("open_box", READ, boxId={"$ref": "#/$defs/id"}),
    tool("add_box", None, label=TEXT),
    tool("break_box", None, boxId=TEXT),
    tool("stamp", None),
    tool("tell", READ, what={"enum": ["environment", "long", "picture", "wrong"]}),
    tool("crash", READ),
    tool("hang", READ),
]
TOOLS[1].input_schema["$defs"] = {"id": {"type": "string", "pattern": "^(box_\\p{N}+"}}


def tell(what: str) -> Any:
    """Answers of every sort."""
    if what == "environment":
        kept = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
        return json.dumps(kept)
    if what == "long":
        return json.dumps([{"label": "x" * 40, "number": n} for n in range(400)])
    return {"picture": types.ImageContent(data="", mime_type="image/png"), "wrong": "Error: no"}[
        what
    ]


def run(name: str, given: dict[str, Any]) -> Any:
    """What a tool says; a ValueError is marked as an error."""
    shelf = boxes()
    if name == "list_boxes":
        return json.dumps([{"id": key, "label": label} for key, label in shelf.items()])
    if name == "tell":
        return tell(given["what"])
    if name == "stamp":
        return str(random.random())
    if name == "crash":
        print("about to \x1b[31mfall over", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "hang":
        child = subprocess.Popen(["sleep", "60"])
        print(f"child {child.pid}", file=sys.stderr, flush=True)
        time.sleep(60)
    if name == "add_box":
        key = f"box_{40 + len(shelf)}"
        SHELF.write_text(json.dumps({**shelf, key: given["label"]}))
        return f"made {key}"
    if given["boxId"] not in shelf:
        raise ValueError(f"There is no box {given['boxId']}: not found")
    if name == "break_box":
        SHELF.write_text(json.dumps({}))
        raise ValueError("the box broke, and took all others with it")
    return shelf[given["boxId"]]


async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
    """All of them."""
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Run one."""
    try:
        said = run(params.name, params.arguments or {})
    except ValueError as problem:
        block = types.TextContent(text=str(problem))
        return types.CallToolResult(content=[block], is_error=True)
    block = types.TextContent(text=said) if isinstance(said, str) else said
    return types.CallToolResult(content=[block])


async def main() -> None:
    """Serve on stdio."""
    server: Server[Any] = Server(
        "box-shelf", version="1", on_list_tools=list_tools, on_call_tool=call_tool
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
