"""Serve the fixture beside a real server, on the HTTP host as it ships; prints its address."""

import warnings

from fixture import fixture_server
from mcp import MCPDeprecationWarning

from provegym import servers
from provegym.hosts.guard import RequestLimits
from provegym.hosts.http import bind, build_app, faces, run
from provegym.hosts.inline import Sessions

AS_SHIPPED = "fixture"
STREAMED = "streamed"


def main() -> None:
    """Listen on a free port of this machine until interrupted."""
    # Older clients are still owed logging and sampling, which the SDK calls deprecated.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    sessions = Sessions([servers.load("banking")])
    shown = faces(sessions) | {AS_SHIPPED: fixture_server(), STREAMED: fixture_server()}
    listener = bind("127.0.0.1:0")
    port = listener.getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)
    run(build_app(sessions, shown, RequestLimits(port=port), streamed=[STREAMED]), listener)


if __name__ == "__main__":
    main()
