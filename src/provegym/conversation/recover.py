"""Failures and what becomes of them (§3.2): corrected arguments, another tool, or giving up.

The failed call is a teacher's: it stays in the transcript and out of the gold. Giving up has a read
for its gold, one that shows why the goal cannot be reached.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from provegym.conversation.plan import TRIES, Goal, Planner
from provegym.kernel import Kind, Session, Tool
from provegym.language.things import noun_of
from provegym.language.values import is_said, leaves, normal
from provegym.search import Read, Road
from provegym.toolbox import Toolbox
from provegym.trace import Json

MOST_NEARBY = 12
SOUGHT = 3


class Attempt(NamedTuple):
    """A call that fails before the right one: at the start of a turn, or right before its goal."""

    tool: str
    arguments: Json
    error: Kind
    early: bool


def attempts(planner: Planner, session: Session, goal: Goal) -> Iterator[Attempt]:
    """What somebody might try first and be refused: words for a value, or a tool nearby."""
    tool = planner.server.tools[goal.tool]
    for arguments, early in _misreadings(planner, tool, goal):
        if error := session.fork().call(goal.tool, arguments).error:
            yield Attempt(goal.tool, arguments, error, early)
    if tool.writes:  # a question is no reason to change anything
        yield from _nearby(planner, session, goal)


def _misreadings(planner: Planner, tool: Tool, goal: Goal) -> Iterator[tuple[Json, bool]]:
    for name, value in goal.arguments.items():
        if name in goal.said.derived:
            yield {**goal.arguments, name: goal.said.derived[name]}, False
        elif "enum" in tool.input_schema["properties"][name] and "_" in str(value):
            yield {**goal.arguments, name: str(value).replace("_", " ")}, False
        elif noun_of(planner.server, value) and value in planner.voice.things:
            named = [n for n in planner.voice.things[str(value)].names if n in goal.said.text]
            if named:
                yield {**goal.arguments, name: named[0]}, True


def _nearby(planner: Planner, session: Session, goal: Goal) -> Iterator[Attempt]:
    """Another write that takes the same things and is refused by a rule."""
    tried = 0
    for other in planner.server.tools.values():
        required = other.input_schema["required"]
        if other.name == goal.tool or not other.writes or not required:
            continue
        if set(required) <= goal.arguments.keys() and tried < MOST_NEARBY:
            tried += 1
            arguments = {name: goal.arguments[name] for name in required}
            if session.fork().call(other.name, arguments).error == "rejected":
                yield Attempt(other.name, arguments, "rejected", early=False)


class GiveUp(NamedTuple):
    """A goal that a rule of the world refuses, and the reads that show why."""

    goal: Goal
    road: Road
    shows: int
    answers: tuple[str, ...]


def draw_refused(planner: Planner, session: Session, tool: Tool, toolbox: Toolbox) -> GiveUp | None:
    """A request that is refused for a reason which a lookup shows."""
    sought = 0
    for _ in range(TRIES):
        arguments = planner.arguments(tool, {}, spare=False)
        outcome = session.fork().call(tool.name, arguments)
        planner.fuzzer.learn(tool, arguments, outcome)
        if outcome.error != "rejected":
            continue
        said = planner.voice.ask(tool, arguments)
        if said is None:
            continue
        unknown = planner.unknown(arguments)
        if not unknown or sought == SOUGHT:
            continue
        sought += 1
        goal = Goal(tool.name, arguments, said, unknown)
        road = planner.lookups(session, [goal], toolbox, ())
        shown = _reason(session, goal, road, outcome.value["message"]) if road else None
        if road and len(road) == 1 and shown:
            return GiveUp(goal, road, *shown)
    return None


def _reason(
    session: Session, goal: Goal, road: tuple[Read, ...], message: str
) -> tuple[int, tuple[str, ...]] | None:
    """Which read of a road shows a value that the refusal speaks of, beside the thing itself."""
    keys = {normal(leaf) for leaf in leaves(goal.arguments)}
    for number, read in enumerate(road):
        result = session.fork().call(read.tool, read.arguments).value
        for place, record in _records(result, ""):
            if not keys & {normal(v) for v in record.values() if isinstance(v, str)}:
                continue
            told = [
                f"{place}/{name}"
                for name, value in record.items()
                if _tells(name, value)
                and normal(value) not in keys
                and is_said(value, message)
                and not is_said(value, goal.said.text)
            ]
            if told:
                return number, tuple(told[:1])
    return None


def _tells(name: str, value: Any) -> bool:
    """Whether a field may tell why: what a thing is called does not."""
    if name in ("name", "title") or name.endswith(("_name", "_id")):
        return False
    return isinstance(value, int | float | str) and not isinstance(value, bool) and value != ""


def _records(value: Any, place: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, list):
        for at, part in enumerate(value):
            yield from _records(part, f"{place}/{at}")
    elif isinstance(value, dict):
        yield place, value
        for name, part in value.items():
            yield from _records(part, f"{place}/{name}")
