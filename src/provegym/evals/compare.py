"""Paired comparison of two runs over the same tasks, with bootstrap confidence intervals."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from provegym import servers
from provegym.evals.measure import METRICS, Estimate, by_task, estimate
from provegym.trace import BadFile, Example, Rollout, read_some

Key = Callable[[Example], str]
DRAWN = "drawn worlds"
# The metrics that are also compared by kind and by server.
GROUPED = ("success", "state", "answer", "ended", "reward")


class Changed(NamedTuple):
    """A task whose reward differs between the two runs."""

    id: str
    kind: str
    server: str
    first: float
    second: float


class Difference(NamedTuple):
    """The means of a metric in both runs, and the paired difference: second minus first."""

    first: float
    second: float
    difference: Estimate


class PairedRuns:
    """The rollouts of two runs, on the tasks that both have."""

    def __init__(self, first: Iterable[Rollout], second: Iterable[Rollout]) -> None:
        runs = [list(first), list(second)]
        known = [{rollout.example.id for rollout in run} for run in runs]
        self.both = known[0] & known[1]
        self.alone = tuple(len(ids - self.both) for ids in known)
        self.runs = [[each for each in run if each.example.id in self.both] for run in runs]
        self.examples = {each.example.id: each.example for each in self.runs[0]}
        self._values: dict[str, list[dict[str, float]]] = {}

    def rows(self) -> dict[str, Difference]:
        """Every metric over all tasks."""
        found = {name: self._row(name, self.both) for name in METRICS}
        return {name: row for name, row in found.items() if row is not None}

    def by(self, key: Key, metric: str) -> dict[str, Difference]:
        """One metric, for each group of tasks that has the same key."""
        sorts: dict[str, set[str]] = {}
        for example in self.examples.values():
            sorts.setdefault(key(example), set()).add(example.id)
        found = {name: self._row(metric, ids) for name, ids in sorted(sorts.items())}
        return {name: row for name, row in found.items() if row is not None}

    def most_changed(self, count: int) -> list[Changed]:
        """The tasks whose reward differs most, largest difference first."""
        first, second = self._by_task("reward")
        changed = [
            Changed(each.id, each.kind, each.server, first[each.id], second[each.id])
            for each in self.examples.values()
            if first[each.id] != second[each.id]
        ]
        changed.sort(key=lambda each: (-abs(each.second - each.first), each.id))
        return changed[:count]

    def _by_task(self, metric: str) -> list[dict[str, float]]:
        """A metric per task in both runs; computed once, because every group of tasks needs it."""
        if metric not in self._values:
            self._values[metric] = [by_task(run, METRICS[metric]) for run in self.runs]
        return self._values[metric]

    def _row(self, metric: str, ids: set[str]) -> Difference | None:
        first, second = self._by_task(metric)
        chosen = [key for key in first if key in ids and key in second]
        difference = estimate([second[key] - first[key] for key in chosen])
        if difference is None:
            return None
        return Difference(
            _mean([first[k] for k in chosen]), _mean([second[k] for k in chosen]), difference
        )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _server(example: Example) -> str:
    """The server of a task; all drawn worlds, of which there may be hundreds, count as one."""
    return DRAWN if servers.world_file(example.server) else example.server or "none"


def compare(first: Path, second: Path, count: int = 10) -> dict[str, Any]:
    """The paired differences between two files of rollouts, over all tasks and by group."""
    pair = PairedRuns(read_some(first, Rollout), read_some(second, Rollout))
    if not pair.both:
        raise BadFile(f"{first} and {second} have no task in common; play both on the same data")
    return {
        "tasks": len(pair.both),
        "only_first": pair.alone[0],
        "only_second": pair.alone[1],
        "all": pair.rows(),
        "kinds": {m: pair.by(lambda example: example.kind, m) for m in GROUPED},
        "servers": {m: pair.by(_server, m) for m in GROUPED},
        "most_changed": pair.most_changed(count),
    }
