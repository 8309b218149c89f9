"""Runs the quickstart: each step prints what it measured, and a report collects it."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from provegym.evals.measure import Estimate
from provegym.files import locked
from provegym.models.local import shipped, weights
from provegym.models.optional import NotInstalled, check
from provegym.quickstart import lesson, models, side_by_side, steps, tour
from provegym.quickstart.folder import QuickstartFolder, Work, digest
from provegym.quickstart.plan import GPU, LAPTOP, cores, device
from provegym.quickstart.report import METRICS, PLAYERS, Report, make_report, make_short_report
from provegym.trace import BadFile, label

EXTRA = ("torch", "transformers", "trl", "peft", "datasets", "gguf")
MADE = ("plots", "report.html", "log.txt")
PARTS = (
    "success is state, answer and ended together. The answer is right, too, where nothing had to be"
    " said and nothing false was claimed"
)


class Stage(NamedTuple):
    """A step: its function, the files it writes, a check of what it needs, and what it does."""

    name: str
    work: Work
    files: tuple[str, ...] = ()
    needs: Callable[[], str] = str
    about: str = ""


class Job(NamedTuple):
    """A quickstart: its steps, how its report is made, and what it takes on two cores."""

    stages: Sequence[Stage]
    report: Callable[[QuickstartFolder], Report]
    takes: str


def extra() -> str:
    """Raise NotInstalled if a package that models need is missing."""
    for module in EXTRA:
        check(module)
    weights()
    return ""


def adapter() -> str:
    """The SHA-256 of the shipped adapter; raises NotInstalled if a package is missing."""
    extra()
    return sha256((shipped() / "adapter_model.safetensors").read_bytes()).hexdigest()


def drawn() -> str:
    """As `adapter`; the full job's GRPO run also draws its curves with matplotlib."""
    found = adapter()
    check("matplotlib")
    return found


STEPS = (
    Stage("worlds", steps.worlds),
    Stage("corpus", steps.corpus, ("corpus",)),
    Stage("verify", steps.contract),
    Stage("tasks", steps.choose, ("tasks.jsonl",)),
    Stage("base", models.base, ("base.jsonl",), extra),
    Stage("trained", models.trained, ("trained.jsonl",), adapter),
    Stage("grpo", models.grpo, ("grpo",), drawn),
)
SHORT_STEPS = (
    Stage("story", tour.story, about="a task on a live world, call by call"),
    Stage(
        "examples",
        tour.examples,
        ("corpus",),
        about="verified examples from live worlds, and one of them as a chat",
    ),
    Stage(
        "tasks",
        tour.choose,
        ("tasks.jsonl", "lessons.jsonl"),
        about="what the models will play, and what GRPO will learn from",
    ),
    Stage(
        "models",
        side_by_side.play,
        ("base.jsonl", "trained.jsonl"),
        adapter,
        "a small model, before and after training, side by side",
    ),
    Stage("grpo", lesson.learn, ("grpo", "start"), adapter, "reinforcement learning, step by step"),
)
FULL = Job(STEPS, make_report, "7 to 12 minutes on two cores, and 8.4 GB of memory")
SHORT = Job(
    SHORT_STEPS, make_short_report, "about 2 minutes on two free cores, and 4.5 GB of memory"
)


def run(folder: Path, console: Console, fresh: bool = False, job: Job = SHORT) -> None:
    """Run the steps that are not done yet, and write the report."""
    try:
        extra()
        plan, where = (GPU, "a GPU") if device() == "cuda" else (LAPTOP, f"{cores()} CPU cores")
    except NotInstalled:
        plan, where = LAPTOP, f"{cores()} CPU cores"
    with locked(folder):
        _run(QuickstartFolder(folder, plan, console), where, fresh, job)


def _run(desk: QuickstartFolder, where: str, fresh: bool, job: Job) -> None:
    console, folder = desk.console, desk.folder
    desk.open()
    if fresh:
        every = (*STEPS, *SHORT_STEPS)
        desk.clear((*MADE, *(file for step in every for file in step.files)))
    if set(desk.entries) - {step.name for step in job.stages}:
        other = "full" if job is SHORT else "short"
        raise BadFile(f"{folder} holds a {other} quickstart; name another --out, or say --fresh")
    console.print(f"[bold]ProveGym quickstart[/bold] on {where}, in {escape(str(folder))}")
    console.print(f"[dim]{job.takes}; after a stop, the same command goes on[/dim]\n")
    began = perf_counter()
    try:
        missing = _work(desk, job.stages)
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on from here")
        raise
    report = job.report(desk)
    _show(desk, report)
    for problem, names in missing.items():
        told = f"left out {', '.join(names)}: {problem}"
        # The commands in it are never wrapped, so that they can be copied.
        console.print(f"\n[yellow]{escape(told)}[/yellow]", highlight=False, soft_wrap=True)
    _show_next(desk, report, perf_counter() - began)


def _work(desk: QuickstartFolder, stages: Sequence[Stage]) -> dict[str, list[str]]:
    """Run the steps that can run; return the others, by what is missing."""
    missing: dict[str, list[str]] = {}
    for step in stages:
        try:
            key = digest(desk.plan, step.needs())
        except NotInstalled as problem:
            missing.setdefault(str(problem), []).append(step.name)
            continue
        _do(desk, step, key)
    return missing


def _do(desk: QuickstartFolder, step: Stage, key: str) -> None:
    """Run a step, unless it is done, and print its result."""
    kept = not desk.begin(step.name, key, step.files)
    if not kept:
        began = perf_counter()
        if step.about:
            desk.console.print(f"\n[bold]{step.name}[/bold]: {step.about}", highlight=False)
        with desk.bar() as bar:
            told, figures = step.work(desk, bar)
        desk.finish(step.name, perf_counter() - began, told, figures)
    entry = desk.entries[step.name]
    line = Table.grid(padding=(0, 1), expand=True)
    line.add_column(width=9, no_wrap=True)
    line.add_column(ratio=1)
    line.add_column(width=10, justify="right", no_wrap=True)
    took = "kept" if kept else _span(entry.seconds)
    line.add_row(f"[bold]{step.name}[/bold]", escape(entry.told), f"[dim]{took}[/dim]")
    desk.console.print(line, highlight=False)


def _show_next(desk: QuickstartFolder, report: Report, seconds: float) -> None:
    console, page = desk.console, desk.folder / "report.html"
    console.print(f"\n[bold]{escape(str(page))}[/bold] has it all; it took {_span(seconds)}")
    # Commands are never wrapped, so that they can be copied.
    for command, what in report.next:
        told = f"  [dim]# {escape(what)}[/dim]\n  {escape(command)}"
        console.print(told, highlight=False, soft_wrap=True)


def _show(desk: QuickstartFolder, report: Report) -> None:
    """The scores as a table, group by group."""
    for name, players in report.scores.items():
        title = f"{name}, {report.tasks(name, 'reward')} tasks"
        table = Table("", box=None, title=title, title_justify="left")
        table.add_column("n", justify="right")
        for player in players:
            table.add_column(PLAYERS[player], justify="right")
        for metric in METRICS:
            if count := report.tasks(name, metric):
                cells = [found.get(metric) for found in players.values()]
                table.add_row(label(metric), str(count), *(_mean(cell) for cell in cells))
        desk.console.print()
        desk.console.print(table, highlight=False)
    desk.console.print(f"\n[dim]{PARTS}[/dim]", highlight=False)
    if report.lesson:
        desk.console.print(f"\n{report.lesson}", highlight=False)


def _mean(value: Estimate | None) -> str:
    return f"{value.mean:.2f}" if value else ""


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
