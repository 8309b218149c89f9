"""The commands `eval bfcl`, `tau2`, `teval` and `decontaminate`: public benchmarks."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from provegym.cli.base import (
    Json,
    cell,
    check_folder,
    check_model,
    console,
    fail,
    option_groups,
    print_json,
    progress_bar,
    say_next,
    stdout_kept,
    stoppable,
)
from provegym.cli.base import app as root
from provegym.cli.endpoints import EndpointLimits
from provegym.cli.help import Commands
from provegym.kernel.errors import suggest
from provegym.models.optional import NotInstalled, installed
from provegym.terminal import say

if TYPE_CHECKING:
    from rich.progress import TaskID

    from provegym.evals.benchmark import Benchmark, BenchmarkRun
    from provegym.evals.contamination import OverlapReport
    from provegym.evals.gateway import Answer, Load

app = typer.Typer(cls=Commands, add_completion=False, rich_markup_mode=None, no_args_is_help=True)
root.add_typer(
    app, name="eval", help="Say how good a model is: on our held-out tasks and elsewhere."
)

Setup = Annotated[bool, typer.Option("--setup", help="Build its environment, once.")]
Out = Annotated[
    Path | None, typer.Option(help="The folder of the run; an unfinished one is continued.")
]
Reply = Annotated[int, typer.Option(help="Most tokens of a reply.", min=1)]


@dataclass(frozen=True)
class BenchmarkPlayer(EndpointLimits):
    """Options: which model answers, and how it samples."""

    endpoint: Annotated[
        str, typer.Option(help="An OpenAI-compatible URL, or a script: oracle, noop.")
    ] = ""
    model: Annotated[str, typer.Option(help="The model's name at the endpoint.")] = ""
    local: Annotated[
        str, typer.Option(help="On this machine: embedded, a folder, a GGUF file, a hub id.")
    ] = ""
    adapter: Annotated[
        Path | None, typer.Option(help="A LoRA adapter on top of it: a folder, or `shipped`.")
    ] = None
    temperature: Annotated[float, typer.Option(help="0: always the likeliest token.", min=0)] = 0
    reply: Reply = 2048

    def how(self, user: str = "") -> dict[str, Any]:
        """The settings that affect the score besides the model; none for scripts."""
        if self.endpoint in ("oracle", "noop"):
            return {}
        from provegym.evals.heldout import marked

        told: dict[str, Any] = {"temperature": self.temperature, "reply": self.reply}
        if user:
            told["user"] = marked(user)
        if self.local:
            told["software"] = {name: v for name in SOFTWARE if (v := installed(name))}
        return told

    @property
    def name(self) -> str:
        """The model's name in the report; for a local folder, with a hash of its weights."""
        from provegym.evals.heldout import marked

        if self.local:
            adapter = f" with {marked(str(self.adapter))}" if self.adapter else ""
            return marked(self.local) + adapter
        return self.endpoint if self.endpoint in ("oracle", "noop") else self.model

    @property
    def where(self) -> str:
        """Where the model runs; user and password in a URL are left out."""
        return "this machine" if self.local else self.endpoint.rpartition("@")[2]

    @property
    def is_remote(self) -> bool:
        """Whether the model is behind a URL."""
        return self.endpoint.startswith(("http://", "https://"))

    def check(self) -> None:
        """Fail unless the options name exactly one model."""
        if bool(self.local) == bool(self.endpoint):
            fail("say which model: --endpoint URL --model NAME, or --local MODEL")
        if self.endpoint and not self.is_remote and self.endpoint not in ("oracle", "noop"):
            fail(f"--endpoint {self.endpoint} is no URL; {suggest(self.endpoint, SCRIPTS)}")
        if self.is_remote and not self.model:
            fail("say --model NAME: what the model is called at that endpoint")
        check_model(self.local, ("embedded",))
        if self.adapter and not self.local:
            fail("--adapter goes on a model of this machine: say --local MODEL too")
        there = self.adapter is None or (self.adapter / "adapter_config.json").exists()
        if not there and str(self.adapter) != "shipped":
            fail(f"{self.adapter} is no adapter: it has no adapter_config.json")


@dataclass(frozen=True)
class BriefPlayer(BenchmarkPlayer):
    """The same options with a shorter reply, for T-Eval."""

    reply: Reply = 1024


SCRIPTS = ["oracle", "noop", "http://…"]
SOFTWARE = ("torch", "transformers", "vllm")


@dataclass(frozen=True)
class Choice:
    """Options: which tasks, the folder of the run, and how many tasks at a time."""

    subset: Annotated[str, typer.Option(help="Some of its parts, with commas.")] = ""
    limit: Annotated[int | None, typer.Option(help="Tasks of each part; else all.", min=1)] = None
    out: Out = None
    at_once: Annotated[int, typer.Option(help="Tasks at a time.", min=1)] = 8

    def run(
        self, player: BenchmarkPlayer, parts: tuple[str, ...], user: str = ""
    ) -> "BenchmarkRun":
        """The settings of a run, from these options."""
        from provegym.evals.benchmark import BenchmarkRun

        player.check()
        if player.given_limits and not player.is_remote and not user:
            fail(f"{' and '.join(player.given_limits)}: limits for endpoints; leave them out")
        if self.out is None:
            fail("say --out FOLDER: where the run is kept, and goes on if it is stopped")
        check_folder(self.out)
        subset = tuple(filter(None, self.subset.split(",")))
        for name in subset:
            if name not in parts:
                fail(f"no part {name!r}; {suggest(name, list(parts))}")
        try:
            model, where, how = player.name, player.where, player.how(user)
        except NotInstalled as problem:
            fail(str(problem))
        return BenchmarkRun(model, where, self.out, subset, self.limit, self.at_once, how)


@app.command("bfcl")
@option_groups
def play_bfcl(
    *,
    setup: Setup = False,
    version: Annotated[str, typer.Option(help="Of bfcl-eval; 2025.7.17 is BFCL v3.")] = "",
    player: BenchmarkPlayer,
    choice: Choice,
    as_json: Json = False,
) -> None:
    """Play BFCL's multi-turn tasks, or its single-turn ones: --subset single, live or a kind."""
    from provegym.evals.bfcl_single import PARTS, benchmark, kinds
    from provegym.evals.environments import BFCL_VERSION, bfcl

    version = version or BFCL_VERSION
    with stdout_kept(as_json):
        if setup:
            bfcl(version).set_up(_say)
            _say_set_up("bfcl", as_json)
            return
        run = choice.run(player, PARTS)
        run = replace(run, subset=kinds(run.subset))
        bench = benchmark(run.subset, version)
        script = bench.script(player.endpoint)
        report = _evaluate(bench, run, lambda: script or _answer(player, choice.at_once))
    _report(report, choice.out, as_json)


@app.command("tau2")
@option_groups
def play_tau2(
    *,
    setup: Setup = False,
    player: BenchmarkPlayer,
    user: Annotated[
        str, typer.Option(help="The model that plays the user: a URL, or one on this machine.")
    ] = "",
    user_model: Annotated[str, typer.Option(help="Its name at that URL.")] = "",
    checkout: Annotated[
        Path | None, typer.Option(help="A checkout of tau2-bench: the original instead.")
    ] = None,
    choice: Choice,
    as_json: Json = False,
) -> None:
    """Play τ²-bench's airline, retail and telecom, one trial per task."""
    from provegym.evals.checkout import Original
    from provegym.evals.tau2 import AgentAndUser, Tau2, user_needed

    bench = Original(checkout) if checkout else Tau2()
    if setup and checkout:
        fail("a checkout is set up by its own `uv sync`, not by --setup")

    def load() -> "Answer":
        other = _user(user, user_model, player)
        return AgentAndUser(_answer(player, choice.at_once), _answer(other, choice.at_once))

    with stdout_kept(as_json):
        if setup:
            bench.environment.set_up(_say)
            _say_set_up("tau2", as_json)
            return
        run = choice.run(player, bench.groups, user_model or user)
        script = bench.script(player.endpoint)
        if script is None and not user:
            raise user_needed()
        report = _evaluate(bench, run, lambda: script or load())
    _report(report, choice.out, as_json)


@app.command("teval")
@option_groups
def play_teval(
    *,
    setup: Setup = False,
    data: Annotated[Path | None, typer.Option(help="The folder of T-Eval's files.")] = None,
    player: BriefPlayer,
    embedder: Annotated[
        str,
        typer.Option(
            help="Compares plans and thoughts: minilm, or any sentence-transformers model."
        ),
    ] = "",
    choice: Choice,
    as_json: Json = False,
) -> None:
    """Ask T-Eval's questions, from a folder of its files, and score all six abilities."""
    from provegym.evals.environments import TEVAL
    from provegym.evals.teval import ABILITIES, PARTS, TevalFolder, evaluate, script

    with stdout_kept(as_json):
        if setup:
            TEVAL.set_up(_say)
            return
        if data is None:
            fail("say --data FOLDER: where T-Eval's files are; they are on no registry")
        folder = TevalFolder(data, embedder)
        run = choice.run(player, (*ABILITIES, *PARTS))
        known = script(folder, run, player.endpoint)
        with stoppable(), Bar() as bar:
            report = evaluate(folder, run, lambda: known or _answer(player, choice.at_once), bar)
    _report(report, choice.out, as_json)


def _user(where: str, name: str, agent: BenchmarkPlayer) -> BenchmarkPlayer:
    """The model that plays the user, with the limits of the agent."""
    url = where if where.startswith(("http://", "https://")) else ""
    local = "" if url else where
    player = replace(agent, endpoint=url, model=name, local=local, adapter=None, temperature=0)
    player.check()
    return player


def _answer(player: BenchmarkPlayer, at_once: int) -> "Answer":
    """The function that answers requests: an endpoint, or a model loaded here."""
    from provegym.evals.gateway import Upstream
    from provegym.models.endpoint import EndpointConfig

    if player.endpoint:
        url, name, warmth = player.endpoint, player.model, player.temperature
        given = {"temperature": warmth, "max_tokens": player.reply, **player.reply_limits}
        return Upstream(EndpointConfig(url, name, **given))
    from provegym.models.served import Weights, serve

    warmth, most = player.temperature, player.reply
    try:
        return serve(Weights(player.local, player.adapter, warmth, most, at_once))
    except NotInstalled as problem:
        fail(str(problem))
    except OSError as problem:
        fail(f"no model {player.local}: {str(problem).partition(chr(10))[0]}")


def _evaluate(bench: "Benchmark", run: "BenchmarkRun", load: "Load") -> dict[str, Any]:
    from provegym.evals.benchmark import evaluate

    with stoppable(), Bar() as bar:
        return evaluate(bench, run, load, bar)


class Bar:
    """Progress bars, one per name; the display starts with the first update."""

    def __init__(self) -> None:
        self._bar = progress_bar()
        self._shown: dict[str, TaskID] = {}

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._bar.stop()

    def __call__(self, name: str, done: int, total: int) -> None:
        """Update the bar of a name."""
        if not self._shown:
            self._bar.start()
        if name not in self._shown:
            self._shown[name] = self._bar.add_task(name, total=total)
        self._bar.update(self._shown[name], completed=done, total=total)


def _report(report: dict[str, Any], out: Path | None, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    table = Table("", "%", "95 %", "never calls", "tasks", box=None)
    for name, each in report["scores"].items():
        floor = each.get("floor")
        interval = f"{100 * each['low']:.1f} to {100 * each['high']:.1f}"
        shown = "" if floor is None else f"{100 * floor:.1f}"
        table.add_row(cell(name), f"{100 * each['score']:.1f}", interval, shown, str(each["tasks"]))
    console.print(table)
    for note in report["notes"]:
        console.print(f"\n{note}", markup=False, highlight=False)
    say_next("compare", out, "ANOTHER_RUN")


def _say_set_up(name: str, as_json: bool) -> None:
    """After --setup: a benchmark can be tried without a model."""
    how = ("--endpoint", "noop", "--limit", 2, "--out", f"runs/{name}")
    say_next("eval", name, *how, as_json=as_json)


def _say(line: str) -> None:
    say(line, file=sys.stderr, flush=True)


@root.command("decontaminate")
def decontaminate(
    corpus: Annotated[Path, typer.Argument(help="A corpus: its folder, or a file of examples.")],
    against: Annotated[str, typer.Option(help="Benchmarks, with commas.")] = "bfcl,tau2",
    show: Annotated[int, typer.Option(help="How many overlaps of a sort to show.", min=0)] = 5,
    as_json: Json = False,
) -> None:
    """Show the overlap of a corpus with benchmarks; exit 1 if an example is contaminated."""
    from provegym.evals.contamination import HOW, measure

    reports = measure(corpus, tuple(filter(None, against.split(","))))
    if as_json:
        print_json({"how": HOW, "benchmarks": reports})
    for report in () if as_json else reports:
        _print_overlap(report, show)
    if not as_json:
        console.print(f"\n{HOW}", markup=False, highlight=False)
    if any(report.contaminated for report in reports):
        raise typer.Exit(1)
    say_next("recipes", as_json=as_json)


def _print_overlap(report: "OverlapReport", show: int) -> None:
    sorts = {
        "tool names": (report.names, report.tools[0]),
        "schemas": (report.schemas, report.tools[0]),
        "requests": (report.requests, report.examples),
        "runs of calls": (report.sequences, report.examples),
    }
    told = f"{report.benchmark}: {report.tasks} tasks, {report.tools[1]} tools"
    table = Table(told, "shared", "of ours", box=None)
    for name, (found, count) in sorts.items():
        table.add_row(name, str(len(found)), str(count))
    table.add_row("contaminated examples", str(len(report.contaminated)), str(report.examples))
    console.print(table)
    if report.longest:
        near = report.longest
        line = f"  most words in a row: {near.ours} ~ {near.theirs}: {near.shared}"
        console.print(line, markup=False, highlight=False)
    for name, (found, _) in sorts.items():
        for each in found[:show]:
            line = f"  {name}: {each.ours} ~ {each.theirs}: {each.shared}"
            console.print(line, markup=False, highlight=False)
