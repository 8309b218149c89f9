"""Writes golden.json: the digests of a few seeded worlds per server and version.

A world that changes without its server's version being raised breaks every example made on it.
Run `python tests/servers/golden.py` after raising the version.
"""

import json
from pathlib import Path

from provegym.kernel import AnyServer, Session
from provegym.servers import load_all

FILE = Path(__file__).with_name("golden.json")
SEEDS = (0, 7, 450, 999)


def digests(server: AnyServer) -> dict[str, object]:
    """What is recorded of a server."""
    worlds = {str(seed): Session([server], seed).digest() for seed in SEEDS}
    return {"version": server.version, "worlds": worlds}


if __name__ == "__main__":
    recorded = {server.name: digests(server) for server in load_all()}
    FILE.write_text(json.dumps(recorded, indent=1) + "\n")
    print(f"wrote {FILE}")
