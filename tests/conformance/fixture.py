"""An MCP server with everything the conformance suite asks for, on our own host's code."""

from collections.abc import Mapping
from typing import Any

import mcp_types as types
from content import PROMPTS, RESOURCES, TEMPLATE, prompt, read, text
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import ListenHandler
from rounds import CONTEXT, ROUNDS, answered, question
from tools import CHANGES, TOOLS, Context, ToolFailure, described


async def list_tools(_: Context, __: Any) -> types.ListToolsResult:
    """Every tool."""
    return types.ListToolsResult(tools=described())


async def call_tool(
    ctx: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    """Run a tool; its failure is an answer too."""
    if params.name in ROUNDS:
        return ROUNDS[params.name](params, ctx.session.client_capabilities)
    if params.name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name!r}")
    try:
        content = await TOOLS[params.name].run(ctx, params.arguments or {})
    except ToolFailure as failure:
        return types.CallToolResult(content=[text(str(failure))], is_error=True)
    return types.CallToolResult(content=content)


def input_schema(name: str) -> Mapping[str, Any] | None:
    """What a tool takes, as our own servers say it to the host."""
    return TOOLS[name].schema if name in TOOLS else None


async def list_resources(_: Context, __: Any) -> types.ListResourcesResult:
    """Every resource that has a fixed address."""
    return types.ListResourcesResult(resources=list(RESOURCES.values()))


async def list_templates(_: Context, __: Any) -> types.ListResourceTemplatesResult:
    """The one resource template."""
    template = types.ResourceTemplate(uri_template=TEMPLATE, name="template")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(
    _: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    """A resource's content."""
    held = read(params.uri)
    if held is None:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": params.uri})
    return types.ReadResourceResult(contents=[held])


async def list_prompts(_: Context, __: Any) -> types.ListPromptsResult:
    """Every prompt."""
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description=f"The prompt {name}.",
                arguments=[types.PromptArgument(name=each, required=True) for each in wanted],
            )
            for name, wanted in PROMPTS.items()
        ]
    )


async def get_prompt(
    _: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    """A prompt's messages, or the question that comes before them."""
    if params.name not in PROMPTS:
        raise MCPError(types.INVALID_PARAMS, f"unknown prompt {params.name!r}")
    asked: types.InputRequests = {"user_context": CONTEXT}
    if params.name == "test_input_required_result_prompt" and not answered(params, asked):
        return question(asked)
    given = params.arguments or {}
    if missing := [name for name in PROMPTS[params.name] if name not in given]:
        raise MCPError(types.INVALID_PARAMS, f"the prompt needs {', '.join(missing)}")
    return types.GetPromptResult(messages=prompt(params.name, given))


async def complete(_: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    """A completion for whatever is typed."""
    values = [f"{params.argument.value}{ending}" for ending in ("", "ing")]
    return types.CompleteResult(completion=types.Completion(values=values, total=2))


async def accept(_: Context, __: Any) -> types.EmptyResult:
    """Take note of a subscription or a log level."""
    return types.EmptyResult()


def fixture_server() -> "Server[Any]":
    """The server; state that travels through the client is sealed by the SDK."""
    server: Server[Any] = Server(
        "conformance",
        version="1",
        get_tool_input_schema=input_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=accept,
        on_unsubscribe_resource=accept,
        on_subscriptions_listen=ListenHandler(CHANGES),
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, accept)
    sealed = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="conformance")
    server.middleware = [sealed]
    return server
