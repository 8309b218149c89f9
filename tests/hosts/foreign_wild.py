"""A wild MCP server, written without any SDK so that it can lie: `foreign_wild.py HOW FOLDER`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HOW, FOLDER = sys.argv[1], Path(sys.argv[2])
TEXT = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


def tool(name: str, schema: Any = TEXT, *, reads: bool = True) -> dict[str, Any]:
    """A tool as it is listed."""
    return {"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": reads}}


def listed(cursor: str | None) -> dict[str, Any]:
    """What tools/list returns; ValueError if it refuses."""
    if HOW == "refuses":
        raise ValueError("no tools today")
    if HOW == "dies at list":
        print("I cannot list", file=sys.stderr, flush=True)
        os._exit(4)
    if HOW == "lists nonsense":
        return {"tools": "none of your business"}
    if HOW == "lists without end":
        return {"tools": [tool("look")], "nextCursor": f"{cursor or ''}x"}
    if HOW == "lists in a circle":
        return {"tools": [tool("look")], "nextCursor": "x"}
    if HOW == "lists many":
        return {"tools": [tool(f"look_{n}") for n in range(100_000)]}
    if HOW == "lists twice":
        other = {"type": "object", "properties": {"other": {"type": "number"}}}
        return {"tools": [tool("look"), tool("look", other), tool("bad\x1bname"), tool("")]}
    if HOW == "bad schemas":
        parts = [{"type": "strnig", "enum": 4}, {"$ref": "#/nowhere"}, {"pattern": "("}]
        bad = [{"type": "object", "properties": {"a": part}} for part in parts]
        return {"tools": [tool("look"), *(tool(f"bad_{n}", s) for n, s in enumerate(bad))]}
    if HOW == "no schema":
        return {"tools": [tool("look"), tool("bad", {"type": "object", "properties": 7})]}
    return {"tools": [tool("look"), tool("write", reads=False)]}


def once() -> bool:
    """Whether this is the first call in this folder."""
    mark = FOLDER / "called"
    first = not mark.exists()
    mark.touch()
    return first


def called(name: str, given: dict[str, Any]) -> Any:
    """What a call returns."""
    if HOW == "huge":
        return "x" * 100_000_000
    if HOW == "crashes once" and once():
        os._exit(5)
    if HOW == "hangs once" and once():
        time.sleep(600)
    if HOW == "always hangs":
        time.sleep(600)
    if HOW == "new names" and name == "write":
        made = os.urandom(4).hex()
        (FOLDER / made).touch()
        return f"made {made}"
    if HOW == "new names" and not (FOLDER / given["word"]).exists():
        raise ValueError(f"{given['word']} not found")
    return f"you said {given.get('word')}"


def prepare() -> None:
    """What is done before the first message."""
    if HOW == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        own = [subprocess.Popen(["sleep", "600"], start_new_session=new) for new in (True, False)]
        # The first child of this one ends, and leaves a grandchild in a session of its own.
        orphan = subprocess.run(
            ["setsid", "sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"],
            capture_output=True,
            text=True,
            check=True,
        )
        family = [os.getpid(), *(each.pid for each in own), int(orphan.stdout)]
        (FOLDER / f"family-{os.getpid()}").write_text(json.dumps(family))
    if HOW == "floods" and os.fork() == 0:
        line = b"all work and no play makes a dull server\n" * 20_000
        while os.getppid() != 1:
            os.write(2, line)


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    method, params = message["method"], message.get("params") or {}
    try:
        if method == "initialize":
            result: Any = {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "wild", "version": "1"},
            }
        elif method == "tools/list":
            result = listed(params.get("cursor"))
        elif method == "tools/call":
            said = called(params["name"], params.get("arguments") or {})
            result = {"content": [{"type": "text", "text": said}]}
        else:
            return {"error": {"code": -32601, "message": f"no {method} here"}}
    except ValueError as problem:
        return {"error": {"code": -32000, "message": str(problem)}}
    return {"result": result}


def main() -> None:
    """Serve on stdio, and stay when stdin ends if that is what HOW says."""
    prepare()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            print(
                json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer(message)}), flush=True
            )
    while HOW == "stubborn":
        time.sleep(1)


if __name__ == "__main__":
    main()
