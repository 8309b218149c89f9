"""Plans for scripted policies: for each user turn, the messages with their calls."""

from collections import defaultdict
from collections.abc import Callable, Sequence

import msgspec

from provegym.trace import Example, Json, Step, ToolCall

# By user turn and message: the numbers of steps, or fixed calls.
Plan = list[list[list[int | ToolCall]]]
TOGETHER = 5


def tool_call(name: str, arguments: Json) -> ToolCall:
    """A call as a model would write it."""
    return ToolCall(name=name, arguments=msgspec.json.encode(arguments).decode())


def in_turn(example: Example, turn: int, path: int = 0) -> list[int]:
    """The numbers of the steps of one user turn."""
    return [at for at, step in enumerate(example.paths[path].steps) if step.turn == turn]


def by_turn(example: Example, order: Callable[[list[int]], Sequence[int]] = list) -> Plan:
    """A plan of one call per message, each turn's steps in a given order."""
    turns = range(len(example.turns))
    return [[[at] for at in order(in_turn(example, turn))] for turn in turns]


def with_attempts(example: Example) -> Plan:
    """The messages of the first path per user turn. A failed attempt stands before its step.

    A request that a rule refuses is tried after its lookups, so that the reply may tell the reason.
    """
    attempts: dict[int, list[ToolCall]] = defaultdict(list)
    for attempt in example.provenance.attempts:
        attempts[attempt.before].append(tool_call(attempt.tool, attempt.arguments))
    planned: Plan = []
    for turn in range(len(example.turns)):
        planned.append([])
        for group in together(example.paths[0].steps, turn):
            planned[-1] += [[call] for at in group for call in attempts[at]]
            planned[-1].append([*group])
        refused = example.provenance.infeasible
        if refused is not None and refused.turn == turn:
            planned[-1].append([tool_call(refused.tool, refused.arguments)])
    return planned


def together(steps: Sequence[Step], turn: int) -> list[list[int]]:
    """The steps of a turn, in their order, in as few messages as their edges allow.

    A step comes in a later message than the steps that it needs. A read that answers the user comes
    in a later message than the writes before it.
    """
    messages: list[list[int]] = []
    for at, step in enumerate(steps):
        if step.turn != turn:
            continue
        last = messages[-1] if messages else []
        needs = {edge.step for edge in step.needs}
        waits = step.answers and any(steps[other].writes for other in last)
        if not last or len(last) == TOGETHER or waits or needs & set(last):
            messages.append([])
        messages[-1].append(at)
    return messages
