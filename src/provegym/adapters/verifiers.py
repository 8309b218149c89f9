"""The adapter for verifiers 0.4: a taskset, a toolset, and an environment with a scripted user.

The package's name is the taskset's id: `vf-eval provegym --env.taskset.data examples.jsonl`. Every
rollout has a world of its own in one tool server, which shows the tools of its example. For the
reward, the replies are replayed in our own loop; that rollout is recorded with the trace.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from provegym.adapters.episode import SchemeName, check, success
from provegym.rewards import Scheme, paid
from provegym.rollout import PAPER_CAPS, Player, play_replies
from provegym.trace import Example, Json, Reply, Rollout, ToolCall, read

check("verifiers", "0.4")

import verifiers.v1 as vf  # noqa: E402
from mcp.types import CallToolResult, TextContent, Tool  # noqa: E402

SESSIONS = 10_000


class GymTaskConfig(vf.TaskConfig):
    """The scheme of the reward."""

    scheme: SchemeName = "paper"


class GymConfig(vf.TasksetConfig):
    """The source of the examples: a JSONL file, or a folder of them."""

    # The command line of verifiers needs a default for every field.
    data: Path = Path("examples.jsonl")
    task: GymTaskConfig = GymTaskConfig()
    tools: vf.SharedToolsetConfig = vf.SharedToolsetConfig()


class GymData(vf.TaskData):
    """An example as JSON, beside the fields that verifiers reads."""

    example: Json


class GymState(vf.State):
    """The state of a rollout for the tool server: its id, its user turn and its example."""

    rollout: str = ""
    turn: int = 0
    example: Json | None = None


class GymTask(vf.Task[GymData, GymState, GymTaskConfig]):
    """One example."""

    @property
    def example(self) -> Example:
        """The example itself."""
        return msgspec.convert(self.data.example, Example)

    async def setup(self, trace: vf.Trace) -> None:
        """Tell the tool server which world this rollout is played in."""
        trace.state = GymState(rollout=trace.id, example=self.data.example)

    @vf.intercept
    async def use_our_words(self, request: vf.Request) -> vf.Request | None:
        """Answer a malformed call, or a call of a tool that is not shown, as our own loop does."""
        answer = request.messages[-1]
        # With an empty answer, verifiers asks whether this call may run.
        if not isinstance(answer, vf.ToolMessage) or not answer.content:
            return None
        calls = [call for said in request.messages[:-1] for call in _calls(said)]
        asked = next(call for call in reversed(calls) if call.id == answer.tool_call_id)
        player = Player(self.example)
        player.open()
        made = player.run(asked, 0)
        if made.checks.shown:
            return None
        answer.content = player.shown(asked, made)
        return request

    @vf.stop
    async def calls_spent(self, trace: vf.Trace) -> bool:
        """Whether a rollout has made more calls than allowed."""
        return sum(len(_calls(said)) for said in trace.messages) > PAPER_CAPS.calls

    async def finalize(self, trace: vf.Trace) -> None:
        """Record the rollout as our own loop plays it."""
        calls = trace.branches[-1].calls if trace.branches else ()
        replies = [_reply(trace.nodes[call.node].message, call.usage) for call in calls]
        scheme = Scheme(scheme=self.config.scheme)
        model = trace.agent.config.model
        played = play_replies(self.example, replies, name=model, scheme=scheme)
        if played.reward is None:
            raise RuntimeError(f"{played.ended}: {played.reason}")
        trace.info["rollout"] = msgspec.to_builtins(played)

    @vf.reward
    async def total(self, trace: vf.Trace) -> float:
        """The reward of the rollout."""
        return paid(_rollout(trace))

    @vf.metric
    async def figures(self, trace: vf.Trace) -> Mapping[str, float]:
        """The components of the reward, and success with its three parts.

        Where the right behaviour is to make no call, the reward has no components.
        """
        rollout = _rollout(trace)
        parts = rollout.reward.parts if rollout.reward else {}
        return {**parts, **success(rollout)}


class GymToolset(vf.Toolset[vf.SharedToolsetConfig, GymState]):
    """The tools of each rollout's example, in the rollout's own world."""

    TOOL_PREFIX = None

    def __init__(self, config: vf.SharedToolsetConfig) -> None:
        super().__init__(config)
        self._players: OrderedDict[str, Player] = OrderedDict()

    def register(self, mcp: Any) -> None:
        """Replace the fixed list of tools by one per rollout."""
        mcp.list_tools = self._with_state(self.list_tools)
        mcp.call_tool = self._with_state(self.call_tool)

    async def list_tools(self) -> list[Tool]:
        """The tools that this rollout's example shows."""
        return [Tool.model_validate(tool) for tool in self._player().toolbox.mcp()]

    async def call_tool(self, name: str, arguments: Json, context: Any = None) -> CallToolResult:
        """Run a call in this rollout's world."""
        asked = ToolCall(name=name, arguments=msgspec.json.encode(arguments).decode())
        player = self._player()
        made = player.run(asked, self.state.turn)
        told = TextContent(type="text", text=player.shown(asked, made))
        return CallToolResult(content=[told], is_error=made.error is not None)

    def _player(self) -> Player:
        state = self.state
        if state.rollout not in self._players:
            while len(self._players) >= SESSIONS:
                self._players.popitem(last=False)
            player = self._players[state.rollout] = Player(msgspec.convert(state.example, Example))
            player.open()
        player = self._players[state.rollout]
        self._players.move_to_end(state.rollout)
        # This player only runs calls. Its messages are the system text and the user turns.
        while len(player.messages) <= state.turn + 1:
            player.hear(len(player.messages) - 1)
        return player


class GymTaskset(vf.Taskset[GymTask, GymConfig]):
    """Examples from a file."""

    @classmethod
    def toolsets(cls, config: GymConfig) -> list[vf.Toolset]:
        """One tool server for all rollouts of a worker."""
        return [GymToolset(config.tools)]

    def load(self) -> Iterator[GymTask]:
        """A task for each example."""
        for example in read(self.config.data, Example):
            data = GymData(
                id=example.id,
                name=example.id,
                prompt=example.turns[0].text,
                system_prompt=example.system,
                example=msgspec.to_builtins(example),
            )
            yield GymTask(data, self.config.task)


class GymEnvConfig(vf.EnvConfig):
    """The agent: a chat loop on this machine, with the paper's limits."""

    agent: vf.AgentConfig = vf.AgentConfig(
        harness={"id": "null"},
        runtime=vf.SubprocessConfig(),
        max_turns=PAPER_CAPS.assistant_turns,
        max_output_tokens=PAPER_CAPS.tokens + 1,
    )


class GymEnv(vf.Env[GymEnvConfig]):
    """The agent and a scripted user, who says the turns of the example."""

    async def run(self, task: GymTask, agents: vf.Agents) -> None:
        """Play every user turn until the agent answers without a call."""
        async with agents.agent.interaction(task) as talk:
            segment = await talk.turn()
            turns = task.example.turns[: PAPER_CAPS.user_turns]
            for number, turn in enumerate(turns[1:], 1):
                if segment.terminated:
                    break
                talk.trace.state.turn = number
                segment = await talk.turn(turn.text)


def _calls(message: vf.Message) -> tuple[ToolCall, ...]:
    """The calls of a message."""
    if not isinstance(message, vf.AssistantMessage):
        return ()
    return tuple(
        ToolCall(name=call.name, arguments=call.arguments, id=call.id)
        for call in message.tool_calls or ()
    )


def _reply(message: vf.AssistantMessage, usage: vf.Usage | None) -> Reply:
    tokens = usage.completion_tokens if usage else 0
    return Reply(text=message.content or "", calls=_calls(message), tokens=tokens)


def _rollout(trace: vf.Trace) -> Rollout:
    return msgspec.convert(trace.info["rollout"], Rollout)


if __name__ == "__main__":
    GymToolset.run()
