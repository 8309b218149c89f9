"""Metrics of rollouts, and bootstrap confidence intervals of their means over tasks."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from provegym.rewards import COMPONENTS, WEIGHTS, paid
from provegym.rewards.success import verdict_of
from provegym.trace import Example, Rollout

DRAWS = 2_000
TAIL = 0.025
PARTS = tuple(part for part in COMPONENTS if WEIGHTS[part])

Metric = Callable[[Rollout], float | None]


class Estimate(NamedTuple):
    """A mean over tasks with its 95 % confidence interval."""

    mean: float
    low: float
    high: float
    tasks: int


def estimate(values: Sequence[float]) -> Estimate | None:
    """The mean with a percentile bootstrap interval over tasks; the seed is fixed."""
    if not values:
        return None
    chance, count = Random("bootstrap"), len(values)
    means = sorted(sum(chance.choices(values, k=count)) / count for _ in range(DRAWS))
    cut = round(TAIL * DRAWS)
    return Estimate(sum(values) / count, means[cut], means[-1 - cut], count)


def change(differences: Sequence[float]) -> Estimate:
    """The mean of differences between -1 and 1, with a 95 % interval.

    If all differences are equal, a bootstrap interval has no width. Then the interval is the exact
    binomial one: the largest share of other tasks that a sample of this size could have missed.
    """
    drawn, value, count = estimate(differences), differences[0], len(differences)
    if drawn and len(set(differences)) > 1:
        return drawn
    missed = 1 - TAIL ** (1 / count)
    return Estimate(value, value - missed * (1 + value), value + missed * (1 - value), count)


def has_gold(example: Example) -> bool:
    """Whether any call is right for the example."""
    return any(path.steps for path in example.paths)


def success(rollout: Rollout) -> float:
    """1 if the state, the replies and the end of a rollout are right."""
    return float(verdict_of(rollout).success)


def state(rollout: Rollout) -> float:
    """1 if the final world is right, and the evidence for each answer was seen."""
    return float(verdict_of(rollout).state)


def answer(rollout: Rollout) -> float:
    """1 if the replies say what was asked, ask for what is missing, and claim nothing false."""
    return float(verdict_of(rollout).answer)


def ended(rollout: Rollout) -> float:
    """1 if the conversation came to its end."""
    return float(verdict_of(rollout).ended)


def calls(rollout: Rollout) -> float:
    """The number of calls that were made."""
    return float(len(rollout.calls))


def abstention(rollout: Rollout) -> float | None:
    """1 if no call was made, on tasks with nothing to call; None on other tasks."""
    return None if has_gold(rollout.example) else float(not rollout.calls)


def clarification(rollout: Rollout) -> float | None:
    """1 if the request whose tools are hidden was answered without a call; else 0 or None."""
    example = rollout.example
    if example.kind != "clarification":
        return None
    busy = {step.turn for path in example.paths for step in path.steps}
    idle = set(range(len(example.turns))) - busy
    answered = _answered(rollout)
    return float(idle <= answered and not any(call.turn in idle for call in rollout.calls))


def _answered(rollout: Rollout) -> set[int]:
    """The user turns that ended with a message without a call."""
    turn, found = -1, set()
    for message in rollout.messages:
        if message["role"] == "user":
            turn += 1
        elif message["role"] == "assistant" and not message.get("tool_calls"):
            found.add(turn)
    return found


def _part(name: str) -> Metric:
    """A component of the paper's reward; None if the rollout was scored by another scheme."""

    def part(rollout: Rollout) -> float | None:
        if not has_gold(rollout.example):
            return None
        return rollout.reward.parts.get(name) if rollout.reward else 0.0

    return part


METRICS: dict[str, Metric] = {
    "success": success,
    "state": state,
    "answer": answer,
    "ended": ended,
    "reward": paid,
    **{part: _part(part) for part in PARTS},
    "calls": calls,
    "abstention": abstention,
    "clarification": clarification,
}


def by_task(rollouts: Iterable[Rollout], metric: Metric) -> dict[str, float]:
    """A metric per task: the mean over its rollouts, so that every task counts once."""
    found: dict[str, list[float]] = defaultdict(list)
    for rollout in rollouts:
        if (value := metric(rollout)) is not None:
            found[rollout.example.id].append(value)
    return {key: sum(values) / len(values) for key, values in found.items()}


def measure(rollouts: Sequence[Rollout]) -> Mapping[str, Estimate]:
    """The estimate of every metric that applies to at least one rollout."""
    found = {name: estimate(list(by_task(rollouts, m).values())) for name, m in METRICS.items()}
    return {name: value for name, value in found.items() if value is not None}
