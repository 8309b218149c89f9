"""What all public benchmarks share: a run of a benchmark, from its settings to its report."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

import msgspec

from provegym.evals import journal
from provegym.evals.environments import BenchmarkEnv
from provegym.evals.gateway import Answer, Gateway, Load, noop
from provegym.evals.journal import Journal, Means, Result
from provegym.files import locked_file, write_atomically
from provegym.models.endpoint import public
from provegym.trace import Json

Advance = Callable[[str, int, int], None]
ABOUT = "A task counts 0 or 1; the interval is Wilson's, of 95 %."


class Benchmark(Protocol):
    """A public benchmark that runs in a virtual environment of its own."""

    name: str
    groups: tuple[str, ...]

    @property
    def means(self) -> Means:
        """The means over groups that its leaderboard shows."""

    @property
    def environment(self) -> BenchmarkEnv:
        """The virtual environment it runs in."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of its report."""

    def tasks(self) -> dict[str, str]:
        """The group of every task, by task id."""

    def play(self, gateway: Gateway, tasks: Sequence[str], at_once: int) -> Iterator[Json]:
        """Play tasks, and yield one JSON object for every task that ends."""

    def script(self, name: str) -> Answer | None:
        """A script that answers in place of a model: oracle or noop."""


@dataclass(frozen=True)
class BenchmarkRun:
    """The settings of a run: which model, which tasks, and the folder of the results."""

    model: str
    endpoint: str
    out: Path
    subset: tuple[str, ...] = ()
    limit: int | None = None
    at_once: int = 8
    how: Mapping[str, Any] = field(default_factory=dict)

    def settings(self, benchmark: str, parts: Sequence[str]) -> Json:
        """The settings that identify a run: a folder with other settings is not continued."""
        return {
            "benchmark": benchmark,
            "model": self.model,
            "endpoint": self.endpoint,
            "subset": list(self.subset or parts),
            "limit": self.limit,
            **self.how,
        }


def chosen(benchmark: Benchmark, run: BenchmarkRun) -> dict[str, str]:
    """The tasks of a run, with their groups: at most `limit` of each group, always the same ones.

    Groups of equal size get the same sample, because BFCL's kinds are variants of 200 tasks.
    """
    groups = run.subset or benchmark.groups
    by_group: dict[str, list[str]] = {name: [] for name in groups}
    for task, group in benchmark.tasks().items():
        if group in by_group:
            by_group[group].append(task)
    for group, tasks in by_group.items():
        by_group[group] = draw(benchmark.name, tasks, run.limit)
    return {task: group for group, tasks in by_group.items() for task in tasks}


def draw(name: str, tasks: Sequence[str], limit: int | None) -> list[str]:
    """A sample of at most `limit` tasks; the benchmark's name is the seed."""
    if limit is None or limit >= len(tasks):
        return list(tasks)
    return [tasks[at] for at in sorted(Random(name).sample(range(len(tasks)), limit))]


def evaluate(benchmark: Benchmark, run: BenchmarkRun, load: Load, advance: Advance) -> Json:
    """Play the tasks that are not done and report all; the model is loaded only if needed."""
    versions = benchmark.environment.versions()
    settings = run.settings(benchmark.name, benchmark.groups)
    with Journal(run.out, {**settings, "versions": versions}) as book:
        return _evaluate(benchmark, run, load, advance, book)


def _evaluate(
    benchmark: Benchmark, run: BenchmarkRun, load: Load, advance: Advance, book: Journal
) -> Json:
    tasks = chosen(benchmark, run)
    left = book.left(tasks)
    if left:
        with Gateway(load()).open() as gateway:
            gateway.probe()
            advance(run.model, len(tasks) - len(left), len(tasks))
            for told in benchmark.play(gateway, left, run.at_once):
                book.keep(result(told, tasks[told["id"]]))
                advance(run.model, len(tasks) - len(book.left(tasks)), len(tasks))
    done = [book.results[task] for task in tasks]
    if run.endpoint == "noop":
        _keep_floor(benchmark, {each.id: each.score for each in done})
    floors = floor(benchmark, list(tasks), advance)
    found = journal.scores(done, floors, benchmark.groups, benchmark.means)
    return book.report(found, command=command(), notes=[ABOUT, *benchmark.notes])


def result(told: Json, group: str) -> Result:
    """The result of a task, from the JSON that the benchmark's process wrote."""
    return Result(
        id=told["id"],
        group=group,
        score=float(told["valid"]),
        error=told.get("error") or "",
        tokens=told.get("tokens") or 0,
        seconds=told.get("seconds") or 0.0,
        record=told.get("result"),
    )


def floor(benchmark: Benchmark, tasks: Sequence[str], advance: Advance) -> Mapping[str, float]:
    """Baseline: the score of a model that never calls a tool, per task. Kept on disk."""
    known = _known_floor(benchmark)
    left = [task for task in tasks if task not in known]
    if left:
        with Gateway(benchmark.script("noop") or noop).open() as gateway:
            for at, told in enumerate(benchmark.play(gateway, left, 4), 1):
                _keep_floor(benchmark, {told["id"]: float(told["valid"])})
                advance("one that never calls", at, len(left))
    return _known_floor(benchmark)


def _known_floor(benchmark: Benchmark) -> dict[str, float]:
    file = benchmark.environment.folder / "floor.json"
    if not file.exists():
        return {}
    return msgspec.json.decode(file.read_bytes(), type=dict[str, float])


def _keep_floor(benchmark: Benchmark, found: Mapping[str, float]) -> None:
    file = benchmark.environment.folder / "floor.json"
    with locked_file(file, wait=True):  # all runs of a benchmark share it
        write_atomically(file, msgspec.json.encode({**_known_floor(benchmark), **found}))


def command() -> str:
    """The command line of this process; passwords in URLs are left out."""
    return public(shlex.join(["provegym", *sys.argv[1:]]))
