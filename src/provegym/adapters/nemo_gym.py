"""The adapter for NeMo Gym 0.4: a resources server. Each dataset row holds its example.

For `gymnasium_agent` the server is an environment: the agent sends each message of the model and
receives the messages of tools and user. `simple_agent` has no user after the prompt, so it can play
examples with one user turn only: it calls each tool by its route, and the replies are scored at the
end.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from provegym.adapters.episode import Episode, SchemeName, check, success
from provegym.aliases.shapes import structured
from provegym.rewards import Scheme
from provegym.rollout import Player, play_replies
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, Reply, Reward, Rollout, ToolCall

try:
    from fastapi import FastAPI, HTTPException, Request, Response
    from nemo_gym.base_resources_server import (
        BaseResourcesServerConfig,
        BaseSeedSessionRequest,
        BaseSeedSessionResponse,
        BaseVerifyRequest,
        BaseVerifyResponse,
    )
    from nemo_gym.server_utils import SESSION_ID_KEY
    from pydantic import ConfigDict
    from resources_servers.gymnasium import GymnasiumServer
except ImportError:
    check("nemo-gym", "0.4")
    raise
check("nemo-gym", "0.4")

SESSIONS = 10_000


class GymServerConfig(BaseResourcesServerConfig):
    """The settings of the server in NeMo Gym's YAML."""

    scheme: SchemeName = "paper"


class SeedRequest(BaseSeedSessionRequest):
    """The request with which `simple_agent` begins: a row."""

    example: dict[str, Any]


class VerifyRequest(BaseVerifyRequest):
    """The request with which `simple_agent` ends: a row and all messages."""

    example: dict[str, Any]


class Paid(BaseVerifyResponse):
    """The reward, its parts, and success with its parts.

    Parts and success are top-level fields, because NeMo Gym averages these.
    """

    model_config = ConfigDict(extra="allow")
    reward_components: dict[str, float]


class GymServer(GymnasiumServer):
    """A server with many sessions in one process, each with a world of its own."""

    config: GymServerConfig

    @property
    def scheme(self) -> Scheme:
        """The reward scheme that the YAML names."""
        return Scheme(scheme=self.config.scheme)

    def setup_webserver(self) -> FastAPI:
        """The routes of both agents. Each tool is a route for `simple_agent`."""
        app = super().setup_webserver()
        app.post("/seed_session")(self.seed_session)
        app.post("/verify")(self.verify)
        app.post("/{tool}")(self.call)
        return app

    async def reset(self, metadata: Json, session_id: str | None = None) -> tuple[None, Json]:
        """Open the example of a row. The prompt already holds its first user turn."""
        self._keep(session_id, Episode(_example(metadata), self.scheme))
        return None, {}

    async def step(
        self, action: Any, metadata: Json, session_id: str | None = None
    ) -> tuple[str | None, float, bool, bool, Json]:
        """Take a message of the model."""
        episode = self._session(session_id, Episode)
        tokens = action.usage.output_tokens if action.usage else 0
        heard = episode.say(_reply(action.output, tokens))
        if episode.rollout is not None:
            reward, done = _reward(episode.rollout), episode.rollout.ended == "done"
            told = {
                "reward_components": reward.parts,
                "verdict": success(episode.rollout),
                "ended": episode.rollout.ended,
            }
            return None, reward.total, done, not done, told
        if heard[-1]["role"] == "user":
            return heard[-1]["content"], 0.0, False, False, {}
        outputs = [
            {"call_id": call.call_id, "output": said["content"]}
            for call, said in zip(_calls(action.output), heard, strict=True)
        ]
        return None, 0.0, False, False, {"tool_outputs": outputs}

    async def seed_session(self, request: Request, body: SeedRequest) -> BaseSeedSessionResponse:
        """Open an example for `simple_agent`."""
        example = _example({"example": body.example})
        if len(example.turns) > 1:
            turns = f"{example.id} has {len(example.turns)} user turns"
            raise HTTPException(400, f"{turns}, and simple_agent plays one: use gymnasium_agent")
        player = Player(example)
        player.open()
        player.hear(0)
        self._keep(request.session[SESSION_ID_KEY], player)
        return BaseSeedSessionResponse()

    async def call(self, tool: str, request: Request) -> Response:
        """Run a tool in the session's world. Errors are results for the model."""
        player = self._session(request.session[SESSION_ID_KEY], Player)
        asked = ToolCall(name=tool, arguments=(await request.body()).decode())
        told = player.shown(asked, player.run(asked, 0))
        kind = "text/plain" if structured(told) is None else "application/json"
        return Response(told, media_type=kind)

    async def verify(self, request: Request, body: VerifyRequest) -> Paid:
        """Replay the model's messages in our own loop, and return the reward."""
        await self.close_session(request.session[SESSION_ID_KEY])
        replies = [_reply(items, 0) for items in _messages(body.response.output)]
        example = _example({"example": body.example})
        played = play_replies(example, replies, name="agent", scheme=self.scheme)
        reward = _reward(played)
        figures = {**reward.parts, **success(played)}
        paid = {"reward": reward.total, "reward_components": reward.parts}
        return Paid(**body.model_dump(), **paid, **figures)

    def _keep(self, key: str | None, session: Episode | Player) -> None:
        """Store a session; if there are too many, drop the oldest."""
        while len(self.session_state) >= SESSIONS:
            del self.session_state[next(iter(self.session_state))]
        self.session_state[key] = session

    def _session(self, key: str | None, kind: type[Any]) -> Any:
        held = self.session_state.get(key)
        if not isinstance(held, kind):
            raise HTTPException(409, "this session has no example: begin with a row of rows()")
        return held


def rows(examples: Iterable[Example], agent: str = "provegym_agent") -> Iterator[Json]:
    """The rows of NeMo Gym's dataset: the prompt, the tools shown, the example, the agent."""
    for example in examples:
        tools = [
            {"type": "function", "strict": False, **tool["function"]}
            for tool in Toolbox.of(example).openai()
        ]
        said = [
            {"role": "system", "content": example.system},
            {"role": "user", "content": example.turns[0].text},
        ]
        yield {
            "responses_create_params": {"input": said, "tools": tools},
            "example": msgspec.to_builtins(example),
            "agent_ref": {"type": "responses_api_agents", "name": agent},
        }


def _example(row: Json) -> Example:
    try:
        return msgspec.convert(row.get("example"), Example)
    except msgspec.ValidationError as problem:
        raise HTTPException(422, f"the row's example cannot be read: {problem}") from None


def _reward(rollout: Rollout) -> Reward:
    if rollout.reward is None:
        raise HTTPException(500, f"{rollout.ended}: {rollout.reason}")
    return rollout.reward


def _calls(items: Sequence[Any]) -> list[Any]:
    return [item for item in items if item.type == "function_call"]


def _reply(items: Sequence[Any], tokens: int) -> Reply:
    """A message of the model: its text and its calls."""
    calls = (ToolCall(name=each.name, arguments=each.arguments) for each in _calls(items))
    return Reply(text=_text(items), calls=tuple(calls), tokens=tokens)


def _text(items: Sequence[Any]) -> str:
    """The text of a message of the model, without its reasoning."""
    said = [part for item in items if item.type == "message" for part in item.content]
    return "".join(part.text for part in said if part.type == "output_text")


def _messages(items: Iterable[Any]) -> Iterator[list[Any]]:
    """The model's messages in a response, which are separated by the results of calls."""
    said: list[Any] = []
    for item in items:
        if item.type != "function_call_output":
            said.append(item)
        elif said:
            yield said
            said = []
    if said:
        yield said


if __name__ == "__main__":
    GymServer.run_webserver()
