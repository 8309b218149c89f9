"""The tools the conformance suite calls by name, one short function each."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
from content import embedded, picture, sound, text
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, PromptsListChanged, ToolsListChanged
from rounds import ROUNDS

Context = ServerRequestContext[Any, Any]
Arguments = dict[str, Any]
Content = list[types.ContentBlock]
Run = Callable[[Context, Arguments], Awaitable[Content]]

NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
CHANGES = InMemorySubscriptionBus()
PAUSE = 0.05


class ToolFailure(Exception):
    """A tool that did not do what it was asked."""


@dataclass(frozen=True)
class Fixture:
    """A tool: what it does and what it takes."""

    run: Run
    schema: dict[str, Any]


TOOLS: dict[str, Fixture] = {}


def tool(schema: dict[str, Any] = NO_ARGUMENTS) -> Callable[[Run], Run]:
    """Publish a function under the name the suite knows it by."""

    def publish(run: Run) -> Run:
        TOOLS[f"test_{run.__name__}"] = Fixture(run, schema)
        return run

    return publish


def takes(**fields: dict[str, Any]) -> dict[str, Any]:
    """A schema in which every field is required."""
    return {"type": "object", "properties": fields, "required": list(fields)}


@tool()
async def simple_text(_: Context, __: Arguments) -> Content:
    """Return a text."""
    return [text("This is a simple text response for testing.")]


@tool()
async def image_content(_: Context, __: Arguments) -> Content:
    """Return a picture."""
    return [picture()]


@tool()
async def audio_content(_: Context, __: Arguments) -> Content:
    """Return a sound."""
    return [sound()]


@tool()
async def embedded_resource(_: Context, __: Arguments) -> Content:
    """Return a resource."""
    return [embedded("test://embedded-resource", "This is an embedded resource content.")]


@tool()
async def multiple_content_types(_: Context, __: Arguments) -> Content:
    """Return a text, a picture and a resource."""
    body = '{"test":"data","value":123}'
    resource = embedded("test://mixed-content-resource", body, "application/json")
    return [text("Multiple content types test:"), picture(), resource]


@tool()
async def error_handling(_: Context, __: Arguments) -> Content:
    """Fail."""
    raise ToolFailure("This tool intentionally returns an error for testing")


@tool()
async def tool_with_logging(ctx: Context, _: Arguments) -> Content:
    """Log three times while running."""
    for step in ("started", "processing data", "completed"):
        await ctx.session.send_log_message("info", f"Tool {step}", None, ctx.request_id)
        await anyio.sleep(PAUSE)
    return [text("Tool with logging executed successfully")]


@tool()
async def logging_tool(ctx: Context, _: Arguments) -> Content:
    """Log once, which only a client that asked for a level may hear."""
    await ctx.session.send_log_message("info", "logged", None, ctx.request_id)
    return [text("logged")]


@tool()
async def tool_with_progress(ctx: Context, _: Arguments) -> Content:
    """Report progress three times."""
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await anyio.sleep(PAUSE)
    return [text("Tool with progress executed successfully")]


@tool(takes(prompt={"type": "string"}))
async def sampling(ctx: Context, arguments: Arguments) -> Content:
    """Ask the client's model."""
    asked = types.SamplingMessage(role="user", content=text(arguments["prompt"]))
    reply = await ctx.session.create_message(
        [asked], max_tokens=100, related_request_id=ctx.request_id
    )
    said = reply.content
    return [text(f"LLM response: {said.text if said.type == 'text' else said.type}")]


async def elicit(ctx: Context, message: str, schema: dict[str, Any]) -> Content:
    """Ask the user and say what came back."""
    reply = await ctx.session.elicit_form(message, schema, ctx.request_id)
    return [text(f"Elicitation completed: action={reply.action}, content={reply.content}")]


@tool(takes(message={"type": "string"}))
async def elicitation(ctx: Context, arguments: Arguments) -> Content:
    """Ask the user for a name and an address."""
    wanted = takes(username={"type": "string"}, email={"type": "string"})
    return await elicit(ctx, arguments["message"], wanted)


@tool()
async def elicitation_sep1034_defaults(ctx: Context, _: Arguments) -> Content:
    """Ask the user with a default for every primitive type."""
    wanted = takes(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive"], "default": "active"},
        verified={"type": "boolean", "default": True},
    )
    return await elicit(ctx, "Please check these values", wanted)


@tool()
async def elicitation_sep1330_enums(ctx: Context, _: Arguments) -> Content:
    """Ask the user to choose, in the five ways a choice can be written."""
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
    legacy = {"enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]}
    wanted = takes(
        untitledSingle={"type": "string", "enum": options},
        titledSingle={"type": "string", "oneOf": titled},
        legacyEnum={"type": "string", **legacy},
        untitledMulti={"type": "array", "items": {"type": "string", "enum": options}},
        titledMulti={"type": "array", "items": {"anyOf": titled}},
    )
    return await elicit(ctx, "Please choose", wanted)


@tool()
async def missing_capability(ctx: Context, _: Arguments) -> Content:
    """Refuse a client whose model cannot be asked."""
    declared = ctx.session.client_capabilities
    if declared is None or declared.sampling is None:
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "this tool asks the client's model",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return [text("the client can be asked")]


@tool()
async def trigger_tool_change(_: Context, __: Arguments) -> Content:
    """Tell listeners that the tools changed."""
    await CHANGES.publish(ToolsListChanged())
    return [text("announced")]


@tool()
async def trigger_prompt_change(_: Context, __: Arguments) -> Content:
    """Tell listeners that the prompts changed."""
    await CHANGES.publish(PromptsListChanged())
    return [text("announced")]


@tool(takes(region={"type": "string", "x-mcp-header": "Region"}))
async def header_argument(_: Context, arguments: Arguments) -> Content:
    """Take an argument that also travels as a header."""
    return [text(arguments["region"])]


SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


async def name_arguments(_: Context, arguments: Arguments) -> Content:
    """Take arguments described with the wider JSON Schema vocabulary."""
    return [text(", ".join(arguments))]


TOOLS["json_schema_2020_12_tool"] = Fixture(name_arguments, SCHEMA_2020_12)


def described() -> list[types.Tool]:
    """Every tool as MCP publishes it."""
    plain = [
        types.Tool(name=name, description=fixture.run.__doc__, input_schema=fixture.schema)
        for name, fixture in TOOLS.items()
    ]
    asking = [
        types.Tool(name=name, description="Ask the client first.", input_schema=NO_ARGUMENTS)
        for name in ROUNDS
    ]
    return plain + asking
