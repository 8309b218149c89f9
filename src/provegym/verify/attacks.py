"""Known ways to fail a task that a reward might pay for: wrong values, no question, empty answers.

Each attack is a plan of calls, and words for the replies. The audit plays it on the live world.
"""

from collections.abc import Callable
from typing import Any

from provegym import servers
from provegym.fuzz.pool import state_rows
from provegym.language.things import noun_of
from provegym.players.plan import in_turn, tool_call
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, Step, ToolCall, literals
from provegym.verify.replay import replay

GARBAGE = "zzz"
FAR = 999_983
TOLD = "I did that. Anything else?"

# By user turn: the calls, one per message.
Calls = list[list[ToolCall]]
Attack = Callable[[Example], Calls | None]
ATTACKS: dict[str, Attack] = {}


def attack(make: Attack) -> Attack:
    """Register an attack; its name is the function's, with blanks."""
    ATTACKS[make.__name__.replace("_", " ")] = make
    return make


def edited(example: Example, change: Callable[[Step], Json | None]) -> Calls:
    """The reference calls with other arguments; a step is left out where there are none."""
    steps = example.paths[0].steps
    planned: Calls = []
    for turn in range(len(example.turns)):
        planned.append([])
        for at in in_turn(example, turn):
            arguments = change(steps[at])
            if arguments is not None:
                planned[-1].append(tool_call(steps[at].tool, arguments))
    return planned


def right(step: Step) -> Json:
    """The reference arguments of a step."""
    return literals(step.arguments)


@attack
def garbage_values(example: Example) -> Calls:
    """The right tools, with garbage of the right type in every argument."""
    return edited(example, lambda step: {n: _garbage(v) for n, v in right(step).items()})


def _garbage(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return FAR
    if isinstance(value, list):
        return [_garbage(part) for part in value]
    if isinstance(value, dict):
        return {name: _garbage(part) for name, part in value.items()}
    return GARBAGE


@attack
def wrong_existing_ids(example: Example) -> Calls:
    """The right calls, with the id of another thing of the same kind wherever a write takes one."""
    server = servers.load(example.server)
    keys: dict[str, list[str]] = {}
    for row, _ in state_rows(server.world(example.seed)):
        keys.setdefault(row.noun, []).append(row.key)

    def other(value: Any) -> Any:
        noun = noun_of(server, value)
        near = [key for key in keys.get(noun or "", ()) if key != value]
        return near[0] if near else value

    def change(step: Step) -> Json:
        given = right(step)
        return {n: other(v) for n, v in given.items()} if step.writes or step.answers else given

    return edited(example, change)


@attack
def lookups_only(example: Example) -> Calls:
    """The reads of the reference path that answer nothing."""
    return edited(example, lambda s: None if s.writes or s.answers else right(s))


@attack
def double_write(example: Example) -> Calls | None:
    """All reference calls, and the last write once more."""
    calls = edited(example, right)
    writes = [step for step in example.paths[0].steps if step.writes]
    if not writes:
        return None
    calls[writes[-1].turn].append(tool_call(writes[-1].tool, right(writes[-1])))
    return calls


@attack
def never_asking(example: Example) -> Calls | None:
    """All reference calls, and no question where one is due."""
    return edited(example, right) if any(turn.asks for turn in example.turns) else None


@attack
def empty_answers(example: Example) -> Calls | None:
    """All reference calls, with a filter added to each answering read so that it finds nothing."""
    gold = replay(example, example.paths[0])
    schemas = Toolbox.of(example).schemas
    found = False

    def change(step: Step) -> Json:
        nonlocal found
        given = right(step)
        if not step.answers:
            return given
        before = next(each.before for each in gold.played if each.step is step)
        for name, part in schemas[step.tool]["properties"].items():
            if name in given or "string" not in (part.get("type"), *(part.get("type") or ())):
                continue
            outcome = before.fork().call(step.tool, {**given, name: GARBAGE})
            if outcome.ok and outcome.value.get("items") == []:
                found = True
                return {**given, name: GARBAGE}
        return given

    calls = edited(example, change)
    return calls if found else None


@attack
def empty_words(example: Example) -> Calls | None:
    """All reference calls, and replies that tell nothing of what was asked."""
    asked = any(step.answers for step in example.paths[0].steps)
    return edited(example, right) if asked else None
