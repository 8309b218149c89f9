"""What is counted in a rollout, and how sure a mean over many tasks is."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from provegym.rewards import COMPONENTS, WEIGHTS, paid
from provegym.rewards.success import succeeded
from provegym.trace import Example, Rollout

DRAWS = 2_000
TAIL = 0.025
PARTS = tuple(part for part in COMPONENTS if WEIGHTS[part])

Metric = Callable[[Rollout], float | None]


class Estimate(NamedTuple):
    """A mean over tasks and the interval that holds it in 95 of 100 cases."""

    mean: float
    low: float
    high: float
    tasks: int


def estimate(values: Sequence[float]) -> Estimate | None:
    """The mean with a bootstrap interval: tasks are drawn anew, the same way every time."""
    if not values:
        return None
    chance, count = Random("bootstrap"), len(values)
    means = sorted(sum(chance.choices(values, k=count)) / count for _ in range(DRAWS))
    cut = round(TAIL * DRAWS)
    return Estimate(sum(values) / count, means[cut], means[-1 - cut], count)


def change(differences: Sequence[float]) -> Estimate:
    """The mean of differences between -1 and 1.

    Where all are alike, drawing anew shows no doubt; a share of the tasks may differ all the same,
    as large as so many could have missed.
    """
    drawn, value, count = estimate(differences), differences[0], len(differences)
    if drawn and len(set(differences)) > 1:
        return drawn
    missed = 1 - TAIL ** (1 / count)
    return Estimate(value, value - missed * (1 + value), value + missed * (1 - value), count)


def has_gold(example: Example) -> bool:
    """Whether there is anything to call."""
    return any(path.steps for path in example.paths)


def success(rollout: Rollout) -> float:
    """Whether the task was done."""
    return float(succeeded(rollout))


def calls(rollout: Rollout) -> float:
    """How many calls were made."""
    return float(len(rollout.calls))


def abstention(rollout: Rollout) -> float | None:
    """Where there is nothing to call: whether nothing was called."""
    return None if has_gold(rollout.example) else success(rollout)


def clarification(rollout: Rollout) -> float | None:
    """Where the tools for a request are hidden: whether it was answered without a call."""
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
    def part(rollout: Rollout) -> float | None:
        if not has_gold(rollout.example):
            return None
        return rollout.reward.parts.get(name, 0.0) if rollout.reward else 0.0

    return part


METRICS: dict[str, Metric] = {
    "success": success,
    "reward": paid,
    **{part: _part(part) for part in PARTS},
    "calls": calls,
    "abstention": abstention,
    "clarification": clarification,
}


def by_task(rollouts: Iterable[Rollout], metric: Metric) -> dict[str, float]:
    """A metric per example: the mean over its rollouts, so that a task counts once."""
    found: dict[str, list[float]] = defaultdict(list)
    for rollout in rollouts:
        if (value := metric(rollout)) is not None:
            found[rollout.example.id].append(value)
    return {key: sum(values) / len(values) for key, values in found.items()}


def measure(rollouts: Sequence[Rollout]) -> Mapping[str, Estimate]:
    """Every metric that applies to some of the rollouts."""
    found = {name: estimate(list(by_task(rollouts, m).values())) for name, m in METRICS.items()}
    return {name: value for name, value in found.items() if value is not None}
