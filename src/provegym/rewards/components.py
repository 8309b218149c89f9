"""The components of the reward (§3.3): pure functions, each with its weight beside the formula.

To add a component, write a function here; its name is its key in recipes and logs.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import ceil, fsum
from typing import NamedTuple

from provegym.rewards.align import Alignment
from provegym.rewards.outcome import agreement, fingerprints
from provegym.rewards.success import (
    Judged,
    has_asked,
    has_succeeded,
    is_stated,
    must_decline,
    seen_in,
)
from provegym.trace import Call, Step

ALPHA = 0.5
BETA = 0.5
LOOKUPS = 0.2


class Case(NamedTuple):
    """What a component is computed from: one reference path, the calls and their alignment.

    `judged` holds the rest of the rollout: its final diff, its replies and its end.
    """

    steps: Sequence[Step]
    calls: Sequence[Call]
    alignment: Alignment
    judged: Judged
    beta: float = BETA


Component = Callable[[Case], float]
COMPONENTS: dict[str, Component] = {}
WEIGHTS: dict[str, float] = {}
MOST: dict[str, float] = {}


def component(weight: float, most: float = 1.0) -> Callable[[Component], Component]:
    """Decorator: registers a component of the reward; `most` is its largest possible value."""

    def register(function: Component) -> Component:
        COMPONENTS[function.__name__] = function
        WEIGHTS[function.__name__] = weight
        MOST[function.__name__] = most
        return function

    return register


@component(weight=0.5)
def validity(case: Case) -> float:
    """The mean over the calls of three equal checks: tool shown, arguments fit the schema, ran."""
    if not case.calls:
        return 0.0
    busy = {step.turn for step in case.steps}
    return fsum(map(call_validity, case.calls, [busy] * len(case.calls))) / len(case.calls)


def call_validity(call: Call, busy: set[int]) -> float:
    """The share of checks one call passes; 0 for a write in a turn that has no steps."""
    if call.writes and call.turn not in busy:
        return 0.0
    checks = call.checks
    return (checks.shown + checks.fits + checks.ran) / 3


@component(weight=0.5)
def coverage(case: Case) -> float:
    """The share of steps that are served after every step they need."""
    return sum(case.alignment.in_order) / len(case.steps)


@component(weight=0.15, most=0.0)
def efficiency(case: Case) -> float:
    """A penalty for calls beyond a budget that grows with the number of steps."""
    budget = len(case.steps) + ceil(case.beta * len(case.steps))
    return 0.0 - ALPHA * max(0, len(case.calls) - budget) / budget


@component(weight=0.2)
def name(case: Case) -> float:
    """The share of calls whose tool occurs in the reference steps, or serves one as well."""
    if not case.calls:
        return 0.0
    busy = {step.turn for step in case.steps}
    gold = {step.tool for step in case.steps}
    gold.update(case.calls[call].tool for call in case.alignment.served if call is not None)
    gold.update(other.tool for step in case.steps for other in step.alternatives)
    named = [c for c in case.calls if c.tool in gold and c.arguments is not None]
    right = [c for c in named if not (c.writes and c.turn not in busy)]
    return len(right) / len(case.calls)


@component(weight=0.1)
def argument(case: Case) -> float:
    """The mean, over the served steps, of the share of arguments with equal values."""
    pairs = zip(case.alignment.served, case.alignment.shares, strict=True)
    shares = [share for call, share in pairs if call is not None]
    return fsum(shares) / len(shares) if shares else 0.0


@component(weight=0)
def success(case: Case) -> float:
    """1 if the state, the replies and the end of the conversation are right, else 0.

    This component and the next two are not in the paper. The hardened scheme pays by them.
    """
    return float(has_succeeded(case.judged))


@component(weight=0)
def progress(case: Case) -> float:
    """How much of the task is done: changes of the world, answers, questions, and lookups."""
    judged, example = case.judged, case.judged.example
    done = [float(has_asked(judged, at)) for at, turn in enumerate(example.turns) if turn.asks]
    done += [_answered(judged, step) for step in case.steps if step.answers]
    changes = fingerprints(example.outcome) - Counter(example.drift)
    if changes or any(call.writes for call in case.calls):
        given = fingerprints(judged.outcome) - Counter(example.drift)
        done.append(agreement(changes, given))
    reached = fsum(done) / len(done) if done else 0.0
    lookups = [at for at, step in enumerate(case.steps) if not (step.writes or step.answers)]
    if not lookups:
        return reached
    shares = zip(case.alignment.in_order, case.alignment.shares, strict=True)
    found = [in_order and share == 1 for in_order, share in shares]
    return (1 - LOOKUPS) * reached + LOOKUPS * sum(found[at] for at in lookups) / len(lookups)


def _answered(judged: Judged, step: Step) -> float:
    """Half for the evidence, half for stating the answer that it shows.

    Where the reply has to decline, the evidence is all: the read only shows why.
    """
    seen = seen_in(judged, step) is not None
    is_told = must_decline(judged.example, step.turn) or is_stated(judged, step)
    return (seen + (seen and is_told)) / 2


@component(weight=0, most=0.0)
def waste(case: Case) -> float:
    """A penalty: the share of calls that fail a check, or write what no step asks for.

    Success looks at the final state, so a write that is undone again is seen only here.
    """
    wasted = sum(
        not (call.checks.shown and call.checks.fits and call.checks.ran)
        or (call.writes and at not in case.alignment.served)
        for at, call in enumerate(case.calls)
    )
    return 0.0 - wasted / len(case.calls) if case.calls else 0.0
