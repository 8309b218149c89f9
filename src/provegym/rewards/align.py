"""Aligns calls with reference steps: the best one-to-one assignment, found by branch and bound.

A call may serve a step if it names the step's tool and has all its argument keys. A read may also
serve it by its result: it shows the facts that the step is needed for. A write serves only a step
of its own turn; a read may also serve a step of a later turn. Alignments are compared by, in this
order: the number of steps served after everything they need, the number of steps served, equal
arguments, calls that ran, and how early the calls are.
"""

from collections.abc import Sequence
from math import fsum
from typing import Any, NamedTuple

import msgspec

from provegym.rewards.equality import equal
from provegym.rewards.evidence import bare, shows
from provegym.trace import Call, Ref, Step, point

MOST_CANDIDATES = 12
MOST_NODES = 20_000
NOWHERE = 1_000_000
DIGITS = 9
# The types of values that are a reference or may contain one.
RESOLVED = (dict, list, Ref)


class Alignment(NamedTuple):
    """For each step: the call that serves it, whether in order, the share of equal arguments."""

    served: tuple[int | None, ...]
    in_order: tuple[bool, ...]
    shares: tuple[float, ...]
    greedy: bool = False


Key = tuple[int, int, float, int, tuple[int, ...]]
Gains = tuple[int, int, float, int]


def align(steps: Sequence[Step], calls: Sequence[Call]) -> Alignment:
    """The best alignment; if there are too many to try, a greedy one with `greedy` set."""
    candidates = [_candidates(step, calls) for step in steps]
    chosen = _without_choice(candidates)
    greedy = False
    if chosen is None:
        search = _Search(steps, calls, candidates)
        chosen = search.best() if max(map(len, candidates)) <= MOST_CANDIDATES else None
        if chosen is None:
            chosen, greedy = search.greedy(), True
    return describe(steps, calls, chosen)._replace(greedy=greedy)


def describe(steps: Sequence[Step], calls: Sequence[Call], served: list[int | None]) -> Alignment:
    """Evaluate an assignment of calls to steps, step by step."""
    in_order = tuple(in_place(at, steps, calls, served) for at in range(len(steps)))
    shares = tuple(share(at, steps, calls, served) for at in range(len(steps)))
    return Alignment(tuple(served), in_order, shares)


def rank(alignment: Alignment, calls: Sequence[Call]) -> Key:
    """The sort key that compares alignments; larger is better."""
    used = [call for call in alignment.served if call is not None]
    return (
        sum(alignment.in_order),
        len(used),
        round(fsum(alignment.shares), DIGITS),
        sum(calls[call].checks.ran for call in used),
        tuple(-NOWHERE if call is None else -call for call in alignment.served),
    )


def in_place(
    at: int, steps: Sequence[Step], calls: Sequence[Call], served: Sequence[int | None]
) -> bool:
    """Whether a step is served after every step it needs.

    A step that needs a value must come in a later message than the call that returns the value.
    A step that only needs a changed state may come later in the same message.
    """
    mine = served[at]
    if mine is None:
        return False
    for edge in steps[at].needs:
        other = served[edge.step]
        if other is None or other >= mine:
            return False
        if edge.kind == "explicit" and calls[other].message >= calls[mine].message:
            return False
    return True


def share(
    at: int, steps: Sequence[Step], calls: Sequence[Call], served: Sequence[int | None]
) -> float:
    """The share of a step's arguments that have equal values in the call that serves it."""
    mine = served[at]
    if mine is None:
        return 0.0
    step, given = steps[at], calls[mine].arguments
    if given is None or not step.arguments:
        return 1.0
    same = 0
    for name, value in step.arguments.items():
        known, gold = (
            resolve(value, calls, served) if isinstance(value, RESOLVED) else (True, value)
        )
        same += known and name in given and equal(gold, given[name])
    if same < len(step.arguments) and does_as_well(calls[mine], step):
        return 1.0
    return same / len(step.arguments)


def is_same_call(
    call: Call, step: Step, calls: Sequence[Call], served: Sequence[int | None]
) -> bool:
    """Whether a call has the tool of a step and equal arguments.

    Arguments that change nothing are ignored.
    """
    if call.tool != step.tool or call.arguments is None:
        return False
    defaults = step.evidence.defaults if step.evidence else {}
    given = bare(call.arguments, step.arguments, defaults)
    if given.keys() != step.arguments.keys():
        return False
    gold = [resolve(value, calls, served) for value in step.arguments.values()]
    return all(
        known and equal(value, given[name])
        for name, (known, value) in zip(step.arguments, gold, strict=True)
    )


def resolve(value: Any, calls: Sequence[Call], served: Sequence[int | None]) -> tuple[bool, Any]:
    """A gold value whose references are replaced by ids from the results of the model's calls.

    If no call serves the step that creates the record, the literal of the reference is used.
    The first item of the result is False if a reference cannot be resolved.
    """
    if isinstance(value, list):
        parts = [resolve(part, calls, served) for part in value]
        return all(known for known, _ in parts), [part for _, part in parts]
    if isinstance(value, dict):
        fields = {name: resolve(part, calls, served) for name, part in value.items()}
        return all(k for k, _ in fields.values()), {
            name: part for name, (_, part) in fields.items()
        }
    if not isinstance(value, Ref):
        return True, value
    step, pointer = value.source
    call = served[step]
    if call is None:
        return True, value.literal
    return _point(calls[call], pointer)


def _point(call: Call, pointer: str) -> tuple[bool, Any]:
    if not call.checks.ran:
        return False, None
    try:
        found: Any = msgspec.json.decode(call.result)
    except msgspec.DecodeError:
        return False, None
    return point(found, pointer)


def _candidates(step: Step, calls: Sequence[Call]) -> list[int]:
    return [at for at, call in enumerate(calls) if can_serve(call, step)]


def can_serve(call: Call, step: Step) -> bool:
    """Whether a call may serve a step: it fits the turn, and the step's keys or its evidence."""
    given = call.arguments
    if given is None or call.turn > step.turn or (call.writes and call.turn < step.turn):
        return False
    if call.tool == step.tool and given.keys() >= step.arguments.keys():
        return True
    return does_as_well(call, step)


def does_as_well(call: Call, step: Step) -> bool:
    """Whether another call is as good as a step's own: by its result, or as an alternative."""
    if not step.writes and not call.writes and shows(call, step.evidence):
        return True
    others = [other for other in step.alternatives if other.tool == call.tool]
    given = call.arguments or {}
    return any(equal(other.arguments, bare(given, other.arguments, {})) for other in others)


def _without_choice(candidates: list[list[int]]) -> list[int | None] | None:
    """The only alignment, or None if a step has two candidates or a call fits two steps."""
    chosen: list[int | None] = []
    for options in candidates:
        if len(options) > 1 or (options and options[0] in chosen):
            return None
        chosen.append(options[0] if options else None)
    return chosen


class _Search:
    """Branch and bound over the steps in order; every step comes after the steps it needs."""

    def __init__(
        self, steps: Sequence[Step], calls: Sequence[Call], candidates: list[list[int]]
    ) -> None:
        self.steps, self.calls, self.candidates = steps, calls, candidates
        self.served: list[int | None] = [None] * len(steps)
        self.nodes = 0
        self.top: tuple[Key, list[int | None]] | None = None
        self.ahead: list[Gains] = [(0, 0, 0.0, 0)]
        for at in reversed(range(len(steps))):
            self.ahead.insert(0, _add(self.ahead[0], self._most(at)))

    def best(self) -> list[int | None] | None:
        """The best alignment, or None after more than MOST_NODES nodes."""
        self._branch(0, (0, 0, 0.0, 0))
        return None if self.nodes > MOST_NODES or self.top is None else self.top[1]

    def _branch(self, at: int, so_far: Gains) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES or not self._promising(at, so_far):
            return
        if at == len(self.steps):
            chosen = list(self.served)
            key = rank(describe(self.steps, self.calls, chosen), self.calls)
            if self.top is None or key > self.top[0]:
                self.top = (key, chosen)
            return
        for call in self.candidates[at]:
            if call not in self.served[:at]:
                self.served[at] = call
                self._branch(at + 1, _add(so_far, self._gain(at, call)))
        self.served[at] = None
        self._branch(at + 1, so_far)

    def _gain(self, at: int, call: int) -> Gains:
        placed = in_place(at, self.steps, self.calls, self.served)
        equal_share = share(at, self.steps, self.calls, self.served)
        return int(placed), 1, equal_share, int(self.calls[call].checks.ran)

    def _most(self, at: int) -> Gains:
        """An upper bound of what a step can add, whichever call serves it."""
        if not self.candidates[at]:
            return 0, 0, 0.0, 0
        most = 1.0
        if not any(isinstance(value, RESOLVED) for value in self.steps[at].arguments.values()):
            most = max(self._alone(at, call) for call in self.candidates[at])
        return 1, 1, most, int(any(self.calls[call].checks.ran for call in self.candidates[at]))

    def _alone(self, at: int, call: int) -> float:
        self.served[at] = call
        found = share(at, self.steps, self.calls, self.served)
        self.served[at] = None
        return found

    def _promising(self, at: int, so_far: Gains) -> bool:
        """Whether the upper bound of this branch reaches the best alignment found so far."""
        if self.top is None:
            return True
        placed, served, shares, ran = _add(so_far, self.ahead[at])
        places = tuple(-NOWHERE if call is None else -call for call in self.served[:at])
        best = self.top[0]
        bound = (placed, served, round(shares, DIGITS), ran, places)
        return bound >= (*best[:4], best[4][:at])

    def greedy(self) -> list[int | None]:
        """Greedy alignment: each step in turn takes the best free call."""
        self.served = [None] * len(self.steps)
        for at, options in enumerate(self.candidates):
            free = [call for call in options if call not in self.served[:at]]
            self.served[at] = max(free, key=lambda call: self._value(at, call), default=None)
        return list(self.served)

    def _value(self, at: int, call: int) -> tuple[float, ...]:
        self.served[at] = call
        placed, _, equal_share, ran = self._gain(at, call)
        self.served[at] = None
        return placed, equal_share, ran, -call


def _add(one: Gains, two: Gains) -> Gains:
    return one[0] + two[0], one[1] + two[1], one[2] + two[2], one[3] + two[3]
