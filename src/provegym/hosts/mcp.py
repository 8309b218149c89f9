"""Servers over the Model Context Protocol: stdio, Streamable HTTP and in memory.

The official SDK's low-level server implements the protocol, in its older and newer versions. It
validates no arguments: the kernel does. The session of a request is always explicit: in its URL, in
its `_meta["provegym/session"]`, or in the `Mcp-Session-Id` header of an older client. None is ever
made because a request names one that is gone.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server as SdkServer
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from provegym import __version__
from provegym.hosts.inline import SHARED, HostError, OpenSession, Sessions
from provegym.kernel import AnyServer, Outcome, Tool
from provegym.kernel.errors import quote, suggest

# Where the endpoint leaves the session of a request: the one in its URL, or an older client's own.
SESSION_IN_SCOPE = "provegym.session"
SESSION_META = "provegym/session"
SENSITIVE_META = "provegym/sensitive"
Context = Any
Resolve = Callable[[Context], OpenSession | None]

NO_SESSION = (
    "this request belongs to no session: open one with POST /sessions and use "
    '/s/<session>{path}, or send its id as _meta["provegym/session"]; '
    "`provegym serve --shared` opens one for all clients"
)
NO_MEMORY = (
    "nothing can be written now: the worlds on this host take all memory it may use;"
    " close sessions, or wait for idle ones to end"
)


@cache
def describe(tool: Tool) -> types.Tool:
    """The MCP description of a tool."""
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.writes,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
        _meta={SENSITIVE_META: sorted(tool.arguments.sensitive)}
        if tool.arguments.sensitive
        else None,
    )


def sdk_server(name: str, servers: Iterable[AnyServer], resolve: Resolve) -> "SdkServer[Any]":
    """An SDK server that lists the tools of some servers and runs calls in the client's session."""
    shown = {server.name: server for server in servers}
    tools = {tool.name: tool for server in shown.values() for tool in server.tools.values()}

    async def list_tools(ctx: Context, _: Any) -> types.ListToolsResult:
        opened = resolve(ctx)
        known = tools if opened is None else opened.session.tools
        listed = [name for name in tools if name in known]
        return types.ListToolsResult(tools=[describe(tools[name]) for name in listed])

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        opened = resolve(ctx)
        if opened is None:
            path = ctx.request.url.path
            raise MCPError(types.INVALID_REQUEST, NO_SESSION.format(path=path))
        known = opened.session.tools
        if params.name not in tools or params.name not in known:
            hint = suggest(params.name, [name for name in tools if name in known])
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {quote(params.name)}; {hint}")
        async with opened.lock:
            outcome = call(opened, tools[params.name], params.arguments or {})
        return types.CallToolResult(
            content=[types.TextContent(text=outcome.text)],
            structured_content=outcome.value if outcome.ok else None,
            is_error=not outcome.ok,
        )

    def input_schema(tool: str) -> Mapping[str, Any] | None:
        return tools[tool].input_schema if tool in tools else None

    about = " ".join(server.about for server in shown.values()) if len(shown) == 1 else None
    server = SdkServer(
        name,
        version=__version__,
        instructions=about,
        get_tool_input_schema=input_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.clear()
    return server


def call(opened: OpenSession, tool: Tool, arguments: dict[str, Any]) -> Outcome:
    """Call a tool; what a write adds to the session is estimated and counted."""
    if not tool.writes:
        return opened.session.call(tool.name, arguments)
    if opened.meter.full:
        raise MCPError(types.INTERNAL_ERROR, NO_MEMORY)
    outcome = opened.session.call(tool.name, arguments)
    if outcome.ok:
        _, server = opened.session.tools[tool.name]
        opened.wrote(server, sum(len(str(value)) for value in arguments.values()))
    return outcome


def own_sessions(servers: Iterable[AnyServer], seed: int, most: int = 10_000) -> Resolve:
    """Sessions for stdio: one for each session name in `_meta`, and one for requests without."""
    sessions = Sessions(servers, most=most, ttl=float("inf"))

    def resolve(ctx: Context) -> OpenSession:
        try:
            return sessions.ensure(str((ctx.meta or {}).get(SESSION_META, "")), seed)
        except HostError as problem:
            raise MCPError(types.INVALID_REQUEST, str(problem)) from None

    return resolve


async def serve_stdio(servers: list[AnyServer], seed: int) -> None:
    """Serve the client that started this process until it disconnects."""
    name = servers[0].name if len(servers) == 1 else "provegym"
    server = sdk_server(name, servers, own_sessions(servers, seed))
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def http_sessions(sessions: Sessions) -> Resolve:
    """Sessions for HTTP: named by URL or `_meta`, else the shared one, or an older client's own."""

    def resolve(ctx: Context) -> OpenSession | None:
        request = ctx.request
        here: OpenSession | None = request.scope.get(SESSION_IN_SCOPE)
        if request.path_params.get("session"):
            return here
        try:
            if key := (ctx.meta or {}).get(SESSION_META):
                return sessions.get(str(key))
            return sessions.find(SHARED) if SHARED in sessions else here
        except HostError as problem:
            raise MCPError(types.INVALID_REQUEST, str(problem)) from None

    return resolve


def http_manager(
    server: "SdkServer[Any]", sessions: Sessions, *, streamed: bool = False
) -> StreamableHTTPSessionManager:
    """The SDK's Streamable HTTP endpoint for a server.

    Our tools send no progress, so a response is one JSON document unless `streamed` is set.
    """
    return StreamableHTTPSessionManager(
        server,
        json_response=not streamed,
        session_idle_timeout=sessions.ttl,
        max_sessions=sessions.most,
    )
