"""Scripted policies that know an example's reference calls: an oracle, and deliberate mistakes.

The oracle must earn the maximum reward, and the no-op the minimum. The others test the reward with
typical mistakes: extra calls, wrong order, wrong values, guessing instead of asking.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from provegym.aliases import View
from provegym.players.gold import Gold
from provegym.players.plan import Plan, by_turn, in_turn, tool_call
from provegym.rewards.align import resolve
from provegym.rollout import Policy
from provegym.toolbox import Toolbox, example_view
from provegym.trace import RAN, Call, Example, Json, Reply, Step, ToolCall, literals

NOTHING = "I have not found out more."


class Script:
    """Plays a plan: a list of messages for each user turn, each of step numbers or fixed calls.

    `words` ends every turn, if given; otherwise a question where one is due.
    """

    def __init__(self, example: Example, plan: Plan, path: int = 0, words: str = "") -> None:
        self.example = example
        self.ending = words
        self.steps = example.paths[path].steps
        self.plan = [list(turn) for turn in plan]
        self.sent: list[int | None] = []

    @cached_property
    def view(self) -> View:
        """The view of the example. The plan has plain names, and is played in those of the view."""
        return example_view(self.example)

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        """The next message of the plan, or a text once the turn's calls are made."""
        turn = sum(message["role"] == "user" for message in messages) - 1
        if turn >= len(self.plan) or not self.plan[turn]:
            return Reply(text=self._words(turn))
        calls = self._done(messages)
        served = [self.sent.index(at) if at in self.sent else None for at in range(len(self.steps))]
        wanted = self.plan[turn].pop(0)
        self.sent += [item if isinstance(item, int) else None for item in wanted]
        plain = Reply(calls=tuple(self._call(item, calls, served) for item in wanted))
        return self.view.show_reply(plain)

    def _words(self, turn: int) -> str:
        asks = self.example.turns[turn].asks
        if self.ending:
            return self.ending
        return f"Which {asks.replace('_', ' ')} do you have in mind?" if asks else NOTHING

    def _done(self, messages: Sequence[Json]) -> list[Call]:
        """Earlier calls with their results, from which references are resolved."""
        called = {
            call["id"]: self.view.read_tool(call["function"]["name"])
            for message in messages
            for call in message.get("tool_calls") or ()
        }
        return [
            Call(turn=0, message=0, tool="", arguments={}, checks=RAN, result=text)
            for message in messages
            if message["role"] == "tool"
            for text in [self.view.read_result(called[message["tool_call_id"]], message["content"])]
        ]

    def _call(self, item: int | ToolCall, calls: list[Call], served: list[int | None]) -> ToolCall:
        if isinstance(item, ToolCall):
            return item
        step = self.steps[item]
        arguments = {
            name: resolve(value, calls, served)[1] for name, value in step.arguments.items()
        }
        return tool_call(step.tool, arguments)


def oracle(example: Example) -> Gold:
    """Makes the reference calls in order, one per message, and says what a good assistant says."""
    return Gold(example, by_turn(example))


def noop(example: Example) -> Script:
    """Never calls anything."""
    return Script(example, [])


def shuffler(example: Example) -> Script:
    """Makes the reference calls of each turn in reverse order."""
    return Script(example, by_turn(example, lambda steps: steps[::-1]))


def spammer(example: Example) -> Script:
    """Adds two valid but needless reads to each reference call."""
    tools = Toolbox.of(example).tools
    reads = [n for n, t in tools.items() if not t.writes and not t.input_schema.get("required")]
    junk = [tool_call(name, {}) for name in reads[:2]]
    return Script(example, [[[*m, *junk] for m in turn] for turn in by_turn(example)])


def guesser(example: Example) -> Script:
    """Calls the reference tools with other valid values."""
    toolbox = Toolbox.of(example)
    plan: Plan = []
    for turn in by_turn(example):
        plan.append([])
        for message in turn:
            steps = [example.paths[0].steps[at] for at in message if isinstance(at, int)]
            plan[-1].append([tool_call(step.tool, guess(step, toolbox)) for step in steps])
    return Script(example, plan)


def eager(example: Example) -> Script:
    """Guesses a value where it should ask, then makes the right call once the user has answered."""
    toolbox = Toolbox.of(example)
    plan = by_turn(example)
    for number, turn in enumerate(example.turns[:-1]):
        if turn.asks is None:
            continue
        writes = [example.paths[0].steps[at] for at in in_turn(example, number + 1)]
        for step in writes:
            if step.writes:
                plan[number].append([tool_call(step.tool, guess(step, toolbox))])
    return Script(example, plan)


def guess(step: Step, toolbox: Toolbox) -> Json:
    """A step's arguments with every value replaced by another one of its kind."""
    properties = toolbox.schemas.get(step.tool, {}).get("properties", {})
    told = literals(step.arguments)
    return {name: other_value(value, properties.get(name, {})) for name, value in told.items()}


def other_value(value: Any, schema: Json) -> Any:
    """A different value that fits the same schema, if there is one."""
    if "enum" in schema:
        return next((v for v in schema["enum"] if v not in (value, None)), value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        step = 1 if value + 1 <= schema.get("maximum", value + 1) else -1
        return value + step
    if isinstance(value, list):
        return [other_value(part, schema.get("items", {})) for part in value]
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        return {name: other_value(part, parts.get(name, {})) for name, part in value.items()}
    return _other_text(value, schema) if isinstance(value, str) else value


def _other_text(text: str, schema: Json) -> str:
    if schema.get("format") == "date":
        return f"{int(text[:4]) + 1}{text[4:]}" if not text.endswith("02-29") else text[:-1] + "8"
    if schema.get("format") == "date-time":
        return (
            f"{int(text[:4]) + 1}{text[4:]}"
            if "02-29" not in text
            else text.replace("02-29", "02-28")
        )
    return f"{text} 2"[: schema.get("maxLength", 200)]


SCRIPTS: dict[str, Callable[[Example], Policy]] = {
    script.__name__: script for script in (oracle, noop, spammer, shuffler, guesser, eager)
}
