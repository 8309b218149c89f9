"""The components of the reward (§3.3): pure functions, each with its weight beside the formula.

To add a component, write a function here; its name is its key in recipes and logs.
"""

from collections.abc import Callable, Sequence
from math import ceil, fsum
from typing import NamedTuple

from provegym.kernel import Change
from provegym.rewards.align import Alignment
from provegym.rewards.outcome import agreement
from provegym.trace import Call, Step

ALPHA = 0.5
BETA = 0.5


class Case(NamedTuple):
    """What a component is computed from: one reference path, the calls and their alignment."""

    steps: Sequence[Step]
    calls: Sequence[Call]
    alignment: Alignment
    beta: float = BETA
    wanted: Sequence[Change] = ()
    outcome: Sequence[Change] = ()
    drift: Sequence[str] = ()


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
def outcome(case: Case) -> float:
    """The Jaccard similarity of the final diffs, times the share of questions answered.

    This component is not in the paper. Its weight is 0 by default.
    """
    answering = [at for at, step in enumerate(case.steps) if step.answers]
    answered = sum(_is_answered(case, at) for at in answering)
    share = answered / len(answering) if answering else 1.0
    return share * agreement(case.wanted, case.outcome, case.drift)


def _is_answered(case: Case, at: int) -> bool:
    call = case.alignment.served[at]
    return call is not None and case.calls[call].checks.ran and case.alignment.shares[at] == 1
