"""The folder of an evaluation run: settings, an append-only JSONL file of results, a report.

A run that was killed resumes after the last complete line. The report is computed from the lines.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import msgspec

from provegym import __version__
from provegym.evals.compare import Difference
from provegym.evals.environments import BenchmarkError
from provegym.evals.measure import Estimate, change, estimate
from provegym.files import locked, write_atomically
from provegym.lines import mend, read_lines, recording, write_lines
from provegym.templates import fill
from provegym.trace import Json, Rollout, Stored
from provegym.trace.bounds import wrong_with
from provegym.trace.files import UNREADABLE

RESULTS, ROLLOUTS, SETTINGS = "results.jsonl", "rollouts.jsonl", "settings.json"
INSTEAD = "name another --out, or delete the folder"
T = TypeVar("T", bound=Stored)
# Means over groups, by name: the weight of each group, or of a mean before it.
Means = Mapping[str, Mapping[str, float]]


class Result(Stored, frozen=True):
    """The result of a task: a score from 0 to 1, the error, and what the model said."""

    id: str
    group: str
    score: float = 0.0
    error: str = ""
    tokens: int = 0
    seconds: float = 0.0
    record: Any = None


class Score(Stored, frozen=True):
    """A mean score with its 95 % interval; `floor` is the score of never calling a tool."""

    score: float
    low: float
    high: float
    tasks: int
    floor: float | None


class ResultsFolder(Generic[T]):
    """A folder with the settings that identify a run, and a JSONL line per finished item.

    No other process can write to it until it is closed.
    """

    def __init__(self, folder: Path, settings: Json, file: str, kind: type[T]) -> None:
        self.folder, self.settings, self.file = folder, settings, folder / file
        with ExitStack() as lock:
            lock.enter_context(locked(folder))
            if any(folder.glob("*.jsonl")):
                self._agree()
            else:  # there are no results yet, so any settings will do
                _write(folder / SETTINGS, settings)
            mend(self.file)
            self.lines = read_results(self.file, kind)
            self._lock = lock.pop_all()

    def close(self) -> None:
        """Let other processes write to the folder."""
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _agree(self) -> None:
        before = read_settings(self.folder)
        changed = [name for name in self.settings if before.get(name) != self.settings[name]]
        if changed:
            name = changed[0]
            raise BenchmarkError(
                f"{self.folder} holds a run with another {name} ({before.get(name)!r}, not"
                f" {self.settings[name]!r}); {INSTEAD}"
            )

    def add(self, item: T) -> None:
        """Append a line for a finished item."""
        with recording(self.file) as append:
            append(msgspec.json.encode(item) + b"\n")
        self.lines.append(item)

    def take_back(self, wrong: Callable[[T], bool]) -> None:
        """Remove the lines that are to be done again."""
        good = [item for item in self.lines if not wrong(item)]
        if len(good) < len(self.lines):
            write_lines(self.file, (msgspec.json.encode(item) + b"\n" for item in good))
            self.lines = good

    def tell(self, report: Json) -> None:
        """Write the report as JSON."""
        _write(self.folder / "report.json", report)


def read_settings(folder: Path) -> Json:
    """The settings of the run in a folder."""
    try:
        return msgspec.json.decode((folder / SETTINGS).read_bytes(), type=Json)
    except (OSError, *UNREADABLE):
        raise BenchmarkError(f"{folder} holds no run; name another --out") from None


def read_results(file: Path, kind: type[T]) -> list[T]:
    """The finished items of a run; none if the file does not exist."""
    found: list[T] = []
    for number, line in read_lines(file) if file.exists() else ():
        try:
            item = msgspec.json.decode(line, type=kind)
        except UNREADABLE as problem:
            raise BenchmarkError(f"{file}:{number}: {problem}; take this line out") from None
        if isinstance(item, Rollout) and (wrong := wrong_with(item)):
            raise BenchmarkError(f"{file}:{number}: {wrong}; take this line out")
        found.append(item)
    return found


class Journal(ResultsFolder[Result]):
    """The folder of a run of a public benchmark."""

    def __init__(self, folder: Path, settings: Json, file: str = RESULTS) -> None:
        super().__init__(folder, settings, file, Result)
        self.results = {result.id: result for result in self.lines}

    def left(self, tasks: Iterable[str]) -> list[str]:
        """The tasks that are not done."""
        return [task for task in tasks if task not in self.results]

    def keep(self, result: Result) -> None:
        """Record the result of a task."""
        self.results[result.id] = result
        self.add(result)

    def report(self, scores: Mapping[str, Score], **told: Any) -> Json:
        """Write the report as JSON and as Markdown."""
        report = {
            **self.settings,
            "provegym": __version__,
            "done": len(self.results),
            "scores": {name: msgspec.to_builtins(score) for name, score in scores.items()},
            "failures": failures(self.results.values()),
            **told,
        }
        self.tell(report)
        page = fill("evals/report.md.jinja", report=report)
        write_atomically(self.folder / "report.md", page)
        return report


def failures(results: Iterable[Result]) -> dict[str, int]:
    """How often each error occurred, most frequent first; errors by their first line."""
    errors = (result.error.partition("\n")[0][:80] for result in results if result.error)
    return dict(Counter(errors).most_common(20))


def scores(
    results: Iterable[Result], floors: Mapping[str, float], groups: Sequence[str], means: Means
) -> dict[str, Score]:
    """The score of every group, and every mean whose groups were all played."""
    found: dict[str, Score] = {}
    by_group: dict[str, list[Result]] = {name: [] for name in groups}
    for result in results:
        by_group.setdefault(result.group, []).append(result)
    for name, some in by_group.items():
        if some:
            found[name] = score(some, floors)
    for name, weights in means.items():
        if all(part in found for part in weights):
            found[name] = mean([found[part] for part in weights], list(weights.values()))
    return found


def score(results: Sequence[Result], floors: Mapping[str, float]) -> Score:
    """The mean over tasks: Wilson's interval for 0 and 1, else a bootstrap interval."""
    known = [floors[result.id] for result in results if result.id in floors]
    floor = sum(known) / len(known) if len(known) == len(results) else None
    paid = [result.score for result in results]
    binary = set(paid) <= {0.0, 1.0}
    value = wilson(paid) if binary else estimate(paid) or Estimate(0, 0, 0, 0)
    return Score(score=value.mean, low=value.low, high=value.high, tasks=value.tasks, floor=floor)


def wilson(paid: Sequence[float]) -> Estimate:
    """The mean of ones and zeros with the Wilson score interval, which never has width 0."""
    count, share, z = len(paid), sum(paid) / len(paid), 1.96
    scale = 1 + z * z / count
    middle = (share + z * z / (2 * count)) / scale
    half = z * (share * (1 - share) / count + z * z / (4 * count * count)) ** 0.5 / scale
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half), count)


def mean(some: Sequence[Score], weights: Sequence[float] = ()) -> Score:
    """The weighted mean of scores; the interval assumes that their errors are independent."""
    weights = weights or [1] * len(some)
    whole, parts = sum(weights), list(zip(weights, some, strict=True))
    value = sum(weight * each.score for weight, each in parts) / whole
    below = sum((weight * (each.score - each.low)) ** 2 for weight, each in parts) ** 0.5 / whole
    above = sum((weight * (each.high - each.score)) ** 2 for weight, each in parts) ** 0.5 / whole
    floors = [weight * each.floor for weight, each in parts if each.floor is not None]
    floor = sum(floors) / whole if len(floors) == len(some) else None
    tasks = sum(each.tasks for each in some)
    return Score(score=value, low=value - below, high=value + above, tasks=tasks, floor=floor)


def _write(file: Path, value: Any) -> None:
    write_atomically(file, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def is_report(path: Path) -> bool:
    """Whether a path is the folder or the report of a benchmark run, not a held-out run."""
    folder = path if path.is_dir() else path.parent
    if not (folder / SETTINGS).exists() or (folder / ROLLOUTS).exists():
        return False
    return path.is_dir() or path.name == "report.json"


def compare(first: Path, second: Path) -> dict[str, Difference]:
    """Paired differences of two benchmark runs, by group, on the tasks that both have."""
    folders = [path if path.is_dir() else path.parent for path in (first, second)]
    kinds = [read_settings(folder).get("benchmark") for folder in folders]
    if kinds[0] != kinds[1]:
        raise BenchmarkError(
            f"{first} and {second} are runs of different benchmarks; give two of the same"
        )
    one, two = (_load(folder) for folder in folders)
    rows: dict[str, Difference] = {}
    shared = [name for name in one if name in two]
    if not shared:
        raise BenchmarkError(f"{first} and {second} have no task in common; play the same tasks")
    groups = dict.fromkeys(one[name].group for name in shared)
    for group in [*groups, "all tasks"]:
        names = [n for n in shared if group == "all tasks" or one[n].group == group]
        pairs = [(one[name].score, two[name].score) for name in names]
        firsts, seconds = zip(*pairs, strict=True)
        moved = change([after - before for before, after in pairs])
        rows[group] = Difference(sum(firsts) / len(pairs), sum(seconds) / len(pairs), moved)
    return rows


def _load(folder: Path) -> dict[str, Result]:
    """The results of a run by task; a task that occurs twice is an error."""
    found: dict[str, Result] = {}
    for result in read_results(folder / RESULTS, Result):
        if found.setdefault(result.id, result) is not result:
            raise BenchmarkError(
                f"{folder / RESULTS} has the task {result.id} twice: two processes wrote it, or a"
                " file was copied; take one of them out"
            )
    return found
