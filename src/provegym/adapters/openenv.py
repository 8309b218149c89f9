"""The adapter for OpenEnv 0.10: an MCP environment, its server and its client.

Every session has a world of its own. `list_tools` and `call_tool`, as steps or as MCP requests,
reach the tools that its example shows. A message without calls ends the user's turn. After the last
user turn, it ends the episode.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from provegym.adapters.episode import Episode, SchemeName, check, success
from provegym.aliases.shapes import structured
from provegym.kernel.errors import quote, suggest
from provegym.rewards import PAPER, Scheme
from provegym.trace import BadFile, Example, Json, Reply, ToolCall, read

try:
    import httpx
    import typer
    import uvicorn
    from fastapi import FastAPI
    from fastmcp import FastMCP
    from fastmcp.server.providers import Provider
    from fastmcp.tools import Tool
    from fastmcp.tools.base import ToolResult
    from openenv.core.env_server.http_server import create_fastapi_app
    from openenv.core.env_server.mcp_environment import MCPEnvironment
    from openenv.core.env_server.mcp_types import CallToolObservation, ListToolsObservation
    from openenv.core.env_server.types import Action, Observation, State
    from openenv.core.mcp_client import MCPToolClient
    from pydantic import Field
except ImportError:
    check("openenv", "0.10")
    raise
check("openenv", "0.10")


OVER = '{"error": "over", "message": "the episode is over: reset() opens the next"}'


class AssistantAction(Action):
    """What the assistant does: `message` says all of it; the other two are OpenEnv's own."""

    type: Literal["message", "call_tool", "list_tools"] = "message"
    text: str = ""
    calls: list[dict[str, str]] = Field(
        default=[], description="The calls of the message: name, and arguments as JSON text"
    )
    tool_name: str = ""
    arguments: dict[str, Any] = Field(default={})


class Heard(Observation):
    """What tools and user said since the assistant's last message, as chat messages."""

    messages: list[dict[str, Any]] = Field(default=[])


class ProveGymEnvironment(MCPEnvironment):
    """One session: an example at a time, chosen at reset."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, examples: Mapping[str, Example], scheme: Scheme = PAPER) -> None:
        self.examples = examples
        self.scheme = scheme
        self.name = ""
        self.episode: Episode | None = None
        self.steps = 0
        super().__init__(FastMCP("provegym", providers=[Tools(self)]))

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, example: str = ""
    ) -> Heard:
        """Open an example, by its id or by `seed` as an index, on a fresh world."""
        names = list(self.examples)
        example = example or names[(seed or 0) % len(names)]
        if example not in self.examples:
            hint = suggest(example, names)
            raise ValueError(f"there is no example {quote(example)} here; {hint}")
        self.name, self.steps = episode_id or example, 0
        self.episode = Episode(self.examples[example], self.scheme)
        return Heard(messages=list(self.episode.messages))

    async def reset_async(self, **asked: Any) -> Heard:
        """Open an example. This never blocks."""
        return self.reset(**asked)

    def step(self, action: Any, timeout_s: float | None = None, **_: Any) -> Observation:
        """Take an action. After the end of the episode, return its end again."""
        if action.type == "list_tools":
            return ListToolsObservation(tools=[_listed(each) for each in self.tools()])
        if action.type == "call_tool":
            result = self.call(action.tool_name, action.arguments)
            return CallToolObservation(tool_name=action.tool_name, result=result, **self._end())
        calls = tuple(msgspec.convert(each, ToolCall) for each in action.calls)
        heard = self.say(Reply(text=action.text, calls=calls))
        return Heard(messages=list(heard), **self._end())

    async def step_async(self, action: Any, timeout_s: float | None = None, **_: Any) -> Any:
        """Take an action. This never blocks."""
        return self.step(action)

    def _step_impl(self, action: Any, timeout_s: float | None = None, **_: Any) -> Any:
        return self.step(action)

    @property
    def state(self) -> State:
        """The current episode and its number of steps."""
        return State(episode_id=self.name, step_count=self.steps, **self._end())

    def tools(self) -> list[Json]:
        """The tools shown, in OpenAI's format; none before a reset."""
        return [each["function"] for each in self.episode.tools] if self.episode else []

    def call(self, name: str, arguments: Json) -> str:
        """Send a message with one call; return the text of its result."""
        asked = ToolCall(name=name, arguments=msgspec.json.encode(arguments).decode())
        heard = self.say(Reply(calls=(asked,)))
        return str(heard[0]["content"]) if heard else OVER

    def say(self, reply: Reply) -> Sequence[Json]:
        """Send a reply; return the messages after it. After the end there are none."""
        if self.episode is None:
            raise RuntimeError("no example is open: call reset(example=ID) first")
        if self.episode.rollout is not None:
            return ()
        self.steps += 1
        return self.episode.say(reply)

    def _end(self) -> Json:
        """Whether the episode is over, with its reward and success.

        After a bug of a server there is neither.
        """
        rollout = self.episode.rollout if self.episode else None
        if rollout is None:
            return {"done": False}
        metadata: Json = {"ended": rollout.ended, "reason": rollout.reason}
        if rollout.reward is None:
            return {"done": True, "metadata": metadata}
        metadata |= {"parts": rollout.reward.parts, "verdict": success(rollout)}
        return {"done": True, "reward": rollout.reward.total, "metadata": metadata}


def _listed(function: Json) -> Json:
    return {
        "name": function["name"],
        "description": function["description"],
        "input_schema": function["parameters"],
    }


class Tools(Provider):
    """The tools of the open example, as an MCP server lists and runs them."""

    def __init__(self, world: ProveGymEnvironment) -> None:
        super().__init__()
        self.world = world

    async def _list_tools(self) -> list[Tool]:
        return [WorldTool(world=self.world, **each) for each in self.world.tools()]

    async def _get_tool(self, name: str, version: Any = None) -> Tool:
        # Any name is accepted: a call of an unknown tool is an error of the assistant, and counts.
        return WorldTool(world=self.world, name=name, description="", parameters={})


class WorldTool(Tool):
    """A tool whose arguments the world checks, so that errors reach the assistant as results."""

    world: Any = Field(exclude=True)

    async def run(self, arguments: Json) -> ToolResult:
        """Call the tool. An error is a result as well."""
        text = self.world.call(self.name, arguments)
        return ToolResult(content=text, structured_content=structured(text))


class Client(MCPToolClient):
    """OpenEnv's tool client, extended by messages."""

    async def message(self, text: str = "", calls: Sequence[Mapping[str, str]] = ()) -> Any:
        """Send one message of the assistant: text, calls, or both."""
        return await self.step(AssistantAction(text=text, calls=[dict(each) for each in calls]))

    async def call_tool(self, name: str, /, **arguments: Any) -> Any:
        """Send a message with one call. An argument may be called `name`, too."""
        asked = AssistantAction(type="call_tool", tool_name=name, arguments=arguments)
        return (await self.step(asked)).observation.result

    async def list_tools(self, use_cache: bool = False) -> Any:
        """The tools of the open example. They are not cached, as the next example has others."""
        return await super().list_tools(use_cache=use_cache)

    async def _connect_async(self) -> Any:
        try:
            return await super()._connect_async()
        except (ConnectionError, httpx.TransportError):
            start = "start one with: python -m provegym.adapters.openenv DATA"
            problem = f"no OpenEnv server answers at {self._base_url}; {start}"
            raise ConnectionError(problem) from None


def app(data: Path, sessions: int = 256, scheme: Scheme = PAPER) -> FastAPI:
    """OpenEnv's server for the examples of a file or folder, with at most `sessions` sessions."""
    examples = {example.id: example for example in read(data, Example)}
    if not examples:
        raise BadFile(f"{data} holds no examples; name a JSONL file or a folder of them")
    return create_fastapi_app(
        partial(ProveGymEnvironment, examples, scheme), AssistantAction, Heard, sessions
    )


def serve(
    data: Path,
    port: int = 8000,
    host: str = "127.0.0.1",
    sessions: int = 256,
    scheme: SchemeName = "paper",
) -> None:
    """Serve examples to OpenEnv's clients."""
    try:
        served = app(data, sessions, Scheme(scheme=scheme))
    except BadFile as problem:
        raise SystemExit(str(problem)) from None
    uvicorn.run(served, host=host, port=port, log_level="warning")


if __name__ == "__main__":
    typer.run(serve)
