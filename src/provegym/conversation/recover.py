"""Error recovery (§3.2): corrected arguments, another tool, or giving up.

A failed call is part of the teacher's transcript and not of the reference calls. Where the
assistant must give up, the reference call is a read that shows why the goal cannot be reached.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from provegym.conversation.plan import TRIES, Goal, Planner
from provegym.kernel import Session, Tool
from provegym.language.things import noun_of
from provegym.language.values import is_said, leaves, normal
from provegym.search import Read, Road
from provegym.toolbox import Toolbox
from provegym.trace import Attempt, Json

MOST_NEARBY = 12
SOUGHT = 3
SLIPS = 20


def attempts(
    planner: Planner, session: Session, goal: Goal, first: int, at: int
) -> Iterator[Attempt]:
    """Plausible failing calls before a goal: words in the place of a value, or another tool.

    A name in the place of an id is tried before the turn's lookups (its step `first`). Any other
    attempt is made right before the goal (step `at`).
    """
    tool = planner.server.tools[goal.tool]
    for arguments, early in _misreadings(planner, tool, goal):
        if error := session.fork().call(goal.tool, arguments).error:
            before = first if early else at
            yield Attempt(before=before, tool=goal.tool, arguments=arguments, error=error)
    if tool.writes:  # nobody tries a write to answer a question
        for name, arguments in _nearby(planner, session, goal):
            yield Attempt(before=at, tool=name, arguments=arguments, error="rejected")


def _misreadings(planner: Planner, tool: Tool, goal: Goal) -> Iterator[tuple[Json, bool]]:
    """The goal's arguments with words in the place of a value, and whether they are a name."""
    for name, value in goal.arguments.items():
        if name in goal.said.derived:
            yield {**goal.arguments, name: goal.said.derived[name]}, False
        elif "enum" in tool.input_schema["properties"][name] and "_" in str(value):
            yield {**goal.arguments, name: str(value).replace("_", " ")}, False
        elif noun_of(planner.server, value) and value in planner.voice.things:
            named = [n for n in planner.voice.things[str(value)].names if n in goal.said.text]
            if named:
                yield {**goal.arguments, name: named[0]}, True


def _nearby(planner: Planner, session: Session, goal: Goal) -> Iterator[tuple[str, Json]]:
    """Other writes with the same arguments that a rule refuses."""
    tried = 0
    for other in planner.server.tools.values():
        required = other.input_schema["required"]
        if other.name == goal.tool or not other.writes or not required:
            continue
        if set(required) <= goal.arguments.keys() and tried < MOST_NEARBY:
            tried += 1
            arguments = {name: goal.arguments[name] for name in required}
            if session.fork().call(other.name, arguments).error == "rejected":
                yield other.name, arguments


Suits = Callable[[Session, Json], bool]


def slip(
    planner: Planner, session: Session, goal: Goal, at: int, suits: Suits
) -> Iterator[Attempt]:
    """The goal with one wrong value, such as another record's id, that a rule refuses; at most one.

    `suits` must be true of its arguments.
    """
    for arguments in _slips(planner, goal):
        error = session.fork().call(goal.tool, arguments).error
        if error in ("rejected", "denied") and suits(session, arguments):
            yield Attempt(before=at, tool=goal.tool, arguments=arguments, error=error)
            return


def _slips(planner: Planner, goal: Goal) -> Iterator[Json]:
    """The goal's arguments with one other value.

    It is a thing or a text that a result has shown, or any number or choice.
    """
    tool = planner.server.tools[goal.tool]
    shown = {leaf for _, result in planner.results for leaf in leaves(result)}
    kinds = {name: noun_of(planner.server, value) for name, value in goal.arguments.items()}
    for name, kind in kinds.items():
        if kind is not None:
            things = [*goal.arguments.values(), *planner.voice.survey.named.get(kind, ())]
            same = [each for each in things if noun_of(planner.server, each) == kind]
            for value in dict.fromkeys(each for each in same if each in shown):
                yield {**goal.arguments, name: value}
    for _ in range(SLIPS):
        drawn = planner.fuzzer.arguments(tool)
        for name in (name for name, kind in kinds.items() if kind is None):
            value = drawn.get(name)
            is_choice = "enum" in tool.input_schema["properties"][name]
            if value in shown or is_choice or isinstance(value, int | float):
                yield {**goal.arguments, name: value}


class GiveUp(NamedTuple):
    """A goal that a rule of the world refuses, and the reads that show why."""

    goal: Goal
    road: Road
    shows: int
    answers: tuple[str, ...]


def draw_refused(
    planner: Planner, session: Session, tool: Tool, toolbox: Toolbox, suits: Suits | None = None
) -> GiveUp | None:
    """A request that a rule refuses for a reason that a lookup shows.

    With `suits`, the arguments must be such that this is true of them.
    """
    sought = 0
    for _ in range(TRIES if suits is None else 3 * TRIES):
        arguments = planner.arguments(tool, {}, spare=False)
        outcome = session.fork().call(tool.name, arguments)
        planner.fuzzer.learn(tool, arguments, outcome)
        if suits is None:
            if outcome.error != "rejected":
                continue
        elif outcome.error not in ("rejected", "denied") or not suits(session, arguments):
            continue
        said = planner.voice.ask(tool, arguments)
        if said is None:
            continue
        unknown = planner.unknown(arguments)
        if not unknown or sought == SOUGHT:
            continue
        sought += 1
        goal = Goal(tool.name, arguments, said, unknown)
        message = outcome.value["message"]
        # One of several things that the user names may explain the refusal alone.
        for keys in (unknown,) if suits is None else ((key,) for key in unknown):
            road = planner.lookups(session, [goal._replace(unknown=keys)], toolbox, ())
            shown = _reason(session, goal, road, message) if road else None
            if road and len(road) == 1 and shown:
                return GiveUp(goal, road, *shown)
    return None


def _reason(
    session: Session, goal: Goal, road: tuple[Read, ...], message: str
) -> tuple[int, tuple[str, ...]] | None:
    """The first read whose result shows a value of the error message, in the goal's record."""
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
    """Whether a field can explain a refusal. Names and ids cannot."""
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
