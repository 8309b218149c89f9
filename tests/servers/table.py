"""Writes docs/servers.md: every server, its tools, and how the fuzzer fared with each.

Run it with `python tests/servers/table.py`; it takes a minute or two for all servers.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from provegym.kernel import AnyServer, Session
from provegym.servers import load_all
from servers.runs import campaign_of

DOCS = Path(__file__).parents[2] / "docs" / "servers.md"
HEAD = """# The servers

{servers} servers, {tools} tools. Written by `python tests/servers/table.py`.

The last four columns are what fuzzed calls came to: *ok*, refused by a *rule* of the domain
(`rejected` or `denied`), *not found*, and *bad* arguments. Every tool succeeds, and every write is
refused by some rule; both are tests.
"""


def section(server: AnyServer) -> str:
    """One server: what it is, how large its worlds are, and its tools."""
    records = Session([server], 7).state(server).size()
    tallies = campaign_of(server.name).tallies
    lines = [
        f"\n## {server.name}\n",
        f"*{server.category}.* {server.about} World 7 has {records} records.\n",
        "| tool | | ok | rule | not found | bad |",
        "|---|---|---|---|---|---|",
    ]
    for tool in server.tools.values():
        tally = tallies[tool.name]
        counts = (tally[kind] for kind in ("ok", "refused", "not_found", "invalid_argument"))
        mark = "write" if tool.writes else "read"
        lines.append(f"| `{tool.name}` | {mark} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    servers = sorted(load_all(), key=lambda server: (server.category, server.name))
    tools = sum(len(server.tools) for server in servers)
    head = HEAD.format(servers=len(servers), tools=tools)
    DOCS.write_text(head + "".join(map(section, servers)), "utf-8")
    print(f"wrote {DOCS}")


if __name__ == "__main__":
    main()
