"""Contamination check: the n-gram overlap of a training corpus with a benchmark's tasks.

It compares tool names, schemas, words of requests and sequences of calls. Equal tool names alone
do not count as contamination, because names such as `get_user` are common. A shared request counts,
and so does a shared sequence of calls with half of the argument values.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from provegym.evals.bfcl import Bfcl, call
from provegym.evals.bfcl_single import BfclSingle
from provegym.evals.environments import BenchmarkError
from provegym.evals.tau2 import DOMAINS, Tau2
from provegym.kernel.errors import suggest
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, Stored, read

WORDS, FEWEST, SEQUENCE, SHARE = 8, 4, 3, 0.5
# Stop words of grammar and courtesy: an n-gram of only these is no overlap
# ("I would appreciate it if you could"). The last seven are the ends of contractions ("I'd").
COMMON = (
    "a an the i me my you your we our it its this that these those there is are was were be been am"
    " do does did have has had can could will would shall should may might must to of in on at by"
    " for from with and or but if so as not please kindly thanks thank appreciate grateful glad"
    " like want need know let just also now then d ll m re s t ve"
)
HOW = (
    "Words are lower case, without punctuation. A request overlaps where a run of"
    f" {WORDS} words of it, or all of a shorter one of {FEWEST} or more, is in a benchmark's"
    " request, and two of the words are more than grammar and courtesy."
    " A schema overlaps where the names of two or more arguments are the same, and no other is"
    f" there, or where the descriptions are equal. A run of calls overlaps where {SEQUENCE} calls"
    " in a row have the same tool names. Tool names are compared as they are."
    f" An example is contaminated by its request, or by a run of calls together with"
    f" {SHARE:.0%} or more of its arguments' values."
)


class Task(Stored, frozen=True):
    """A task of a benchmark: its requests and its right calls."""

    id: str
    requests: tuple[str, ...] = ()
    calls: tuple[tuple[str, Json], ...] = ()


class ToolText(Stored, frozen=True):
    """A tool's name, description and schema, as a model sees them."""

    name: str
    description: str
    parameters: Json = msgspec.field(default_factory=dict)

    @property
    def arguments(self) -> frozenset[str]:
        """The names of its arguments; types are written in too many ways to compare."""
        return frozenset(self.parameters.get("properties") or ())


class Overlap(Stored, frozen=True):
    """One overlap: our example or tool, their task or tool, and what both share."""

    ours: str
    theirs: str
    shared: str


@dataclass
class OverlapReport:
    """All overlaps of a corpus with one benchmark, with the totals they are out of."""

    benchmark: str
    examples: int = 0
    tasks: int = 0
    tools: tuple[int, int] = (0, 0)
    names: list[Overlap] = field(default_factory=list)
    schemas: list[Overlap] = field(default_factory=list)
    requests: list[Overlap] = field(default_factory=list)
    sequences: list[Overlap] = field(default_factory=list)
    contaminated: list[str] = field(default_factory=list)
    longest: Overlap | None = None


def words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return re.findall(r"[a-z0-9]+", text.lower())


def runs(items: Sequence[Any], length: int) -> Iterator[tuple[Any, ...]]:
    """All n-grams: every run of `length` items in a row."""
    for at in range(len(items) - length + 1):
        yield tuple(items[at : at + length])


def bfcl_tasks() -> tuple[list[Task], list[ToolText]]:
    """BFCL's multi-turn and single-turn tasks and tools."""
    multi, single = Bfcl(), BfclSingle()
    functions = multi.functions()
    shown = {function["name"]: function for function in functions}
    tasks = []
    for kind in multi.groups:
        truths = multi.truths(kind)
        for entry in multi.entries(kind):
            right = [call(source, shown) for turn in truths[entry["id"]] for source in turn]
            calls = [(each.name, msgspec.json.decode(each.arguments)) for each in right]
            tasks.append(_bfcl_task(entry, calls))
    for kind in single.groups:
        right_calls = single.right_calls(kind)
        tasks += [_bfcl_task(entry, right_calls[entry["id"]]) for entry in single.entries(kind)]
    told = [
        ToolText(name=f["name"], description=_own(f), parameters=f["parameters"])
        for f in functions + single.functions()
    ]
    return tasks, told


def _bfcl_task(entry: Json, calls: Sequence[tuple[str, Json]]) -> Task:
    """A task from its entry and its right calls."""
    said = [m["content"] for turn in entry["question"] for m in turn if m["role"] == "user"]
    return Task(id=entry["id"], requests=tuple(said), calls=tuple(calls))


def _own(function: Json) -> str:
    """A tool's own description, without the part about its class."""
    return str(function["description"]).rpartition("Tool description: ")[2]


def tau2_tasks() -> tuple[list[Task], list[ToolText]]:
    """τ²'s tasks and tools."""
    bench, tasks = Tau2(), []
    for domain in DOMAINS:
        for task in bench.entries(domain):
            told = task["user_scenario"]["instructions"]
            said = told.values() if isinstance(told, dict) else [told]
            right = (task.get("evaluation_criteria") or {}).get("actions") or ()
            calls = tuple((action["name"], action["arguments"]) for action in right)
            requests = tuple(str(text) for text in said if text)
            tasks.append(Task(id=f"{domain}/{task['id']}", requests=requests, calls=calls))
    return tasks, [msgspec.convert(function, ToolText) for function in bench.functions()]


BENCHMARKS = {"bfcl": bfcl_tasks, "tau2": tau2_tasks}


def measure(folder: Path, against: Sequence[str]) -> list[OverlapReport]:
    """The overlap of a corpus with each benchmark."""
    for name in against:
        if name not in BENCHMARKS:
            raise BenchmarkError(f"no benchmark {name!r}; {suggest(name, list(BENCHMARKS))}")
    examples = list(corpus(folder))
    return [overlap(name, examples, *BENCHMARKS[name]()) for name in against]


def corpus(path: Path) -> Iterator[Example]:
    """The examples of a folder or a file."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise BenchmarkError(f"{path} has no *.jsonl; make a corpus with `provegym synth`")
    for file in files:
        yield from read(file, Example)


def overlap(
    name: str, examples: Sequence[Example], tasks: Sequence[Task], theirs: Sequence[ToolText]
) -> OverlapReport:
    """The overlaps of a corpus with one benchmark."""
    ours = tools(examples)
    report = OverlapReport(name, len(examples), len(tasks), (len(ours), len(theirs)))
    known = {each.name for each in theirs}
    report.names = [
        Overlap(ours=t.name, theirs=t.name, shared=t.name) for t in ours if t.name in known
    ]
    report.schemas = list(_schemas(ours, theirs))
    asked, called = _asked(tasks), _called(tasks)
    for example in examples:
        found = _first(_requests(example, asked))
        if found:
            report.requests.append(found)
        same = _first(_sequences(example, called))
        if same:
            report.sequences.append(same)
        if found or (same and _values(example, same.theirs, tasks) >= SHARE):
            report.contaminated.append(example.id)
    report.longest = report.requests[0] if report.requests else longest(examples, tasks)
    return report


def _first(found: Iterator[Overlap]) -> Overlap | None:
    return next(found, None)


def longest(examples: Sequence[Example], tasks: Sequence[Task]) -> Overlap | None:
    """The longest n-gram of a request that both share, of at most WORDS words."""
    for length in range(WORDS, FEWEST - 1, -1):
        said = ((task.id, request) for task in tasks for request in task.requests)
        asked = {run: name for name, request in said for run in runs(words(request), length)}
        for example in examples:
            for turn in example.turns:
                for run in runs(words(turn.text), length):
                    if run in asked:
                        return Overlap(ours=example.id, theirs=asked[run], shared=" ".join(run))
    return None


def tools(examples: Iterable[Example]) -> list[ToolText]:
    """The tools a corpus shows."""
    found: dict[str, ToolText] = {}
    for example in examples:
        for shown in Toolbox.of(example).openai():
            name = shown["function"]["name"]
            if name not in found:
                found[name] = msgspec.convert(shown["function"], ToolText)
    return list(found.values())


def _schemas(ours: Sequence[ToolText], theirs: Sequence[ToolText]) -> Iterator[Overlap]:
    others = [(other, other.arguments, words(other.description)) for other in theirs]
    for mine in ours:
        names, told = mine.arguments, words(mine.description)
        for other, arguments, said in others:
            if names == arguments and len(names) > 1:
                shared = ", ".join(sorted(names))
                yield Overlap(ours=mine.name, theirs=other.name, shared=f"arguments: {shared}")
            elif told and told == said:
                yield Overlap(ours=mine.name, theirs=other.name, shared=mine.description[:120])


def _asked(tasks: Sequence[Task]) -> dict[tuple[str, ...], str]:
    """All n-grams of requests with two words or more beyond stop words, and their tasks."""
    found: dict[tuple[str, ...], str] = {}
    common = set(words(COMMON))
    for task in tasks:
        for request in task.requests:
            said = words(request)
            for length in range(FEWEST, WORDS + 1):
                for run in runs(said, length):
                    if sum(word not in common for word in run) > 1:
                        found.setdefault(run, task.id)
    return found


def _requests(example: Example, asked: dict[tuple[str, ...], str]) -> Iterator[Overlap]:
    for turn in example.turns:
        said = words(turn.text)
        for run in runs(said, min(WORDS, max(len(said), FEWEST))):
            if run in asked:
                yield Overlap(ours=example.id, theirs=asked[run], shared=" ".join(run))


def _called(tasks: Sequence[Task]) -> dict[tuple[str, ...], str]:
    found: dict[tuple[str, ...], str] = {}
    for task in tasks:
        for run in runs([name for name, _ in task.calls], SEQUENCE):
            found.setdefault(run, task.id)
    return found


def _sequences(example: Example, called: dict[tuple[str, ...], str]) -> Iterator[Overlap]:
    for path in example.paths:
        for run in runs([step.tool for step in path.steps], SEQUENCE):
            if run in called:
                yield Overlap(ours=example.id, theirs=called[run], shared=" → ".join(run))


def _values(example: Example, name: str, tasks: Sequence[Task]) -> float:
    """The share of an example's argument values that a task's right calls also have."""
    task = next(task for task in tasks if task.id == name)
    theirs = {str(value).lower() for _, given in task.calls for value in given.values()}
    steps = [step for path in example.paths[:1] for step in path.steps]
    ours = [str(value).lower() for step in steps for value in step.arguments.values()]
    return sum(value in theirs for value in ours) / len(ours) if ours else 0.0
