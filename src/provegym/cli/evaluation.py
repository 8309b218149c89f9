"""Commands that say how good a model is, and what changed from one to another."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import Progress
from rich.table import Table

from provegym.cli.base import Json, Ray, RayCommand, console, fail, hands, print_json, progress_bar
from provegym.cli.base import app as root
from provegym.cli.benchmarks import Out, app

if TYPE_CHECKING:
    from provegym.evals.compare import Row
    from provegym.evals.heldout import Book, Play
    from provegym.evals.measure import Estimate
    from provegym.trace import Example, Rollout
    from provegym.train.engine import Limits
    from provegym.workers import Workers

FEW, REPLY = 8, 256

Model = Annotated[
    str, typer.Option(help="embedded, a folder, a hub id, an endpoint's URL, or a script: noop.")
]
Adapter = Annotated[Path | None, typer.Option(help="A LoRA adapter on top of it.")]
Name = Annotated[str, typer.Option(help="The model's name at the endpoint.")]
Tasks = Annotated[
    Path | None, typer.Option(help="A split corpus or a file of examples; else made now.")
]
Samples = Annotated[int, typer.Option(help="Rollouts of each task.", min=1)]
Temperature = Annotated[float, typer.Option(help="0: always the likeliest.", min=0)]
Tools = Annotated[int | None, typer.Option(help="Most tools shown; 8 to embedded.", min=1)]
Batch = Annotated[int, typer.Option(help="Rollouts at a time.", min=1)]
Fast = Annotated[bool, typer.Option("--vllm", help="Sample with vLLM, on a GPU.")]


@dataclass(frozen=True)
class Player:
    """Which model plays, and how."""

    model: str
    adapter: Path | None
    name: str
    temperature: float
    batch: int
    vllm: bool
    ray: bool

    @property
    def who(self) -> str:
        """The model, without a name and a password in its URL."""
        if not self.model.startswith(("http://", "https://")):
            return self.model
        return f"{self.name} at {self.model.rpartition('@')[2]}"

    def book(self, out: Path | None, **told: int | None) -> "Book | None":
        """The folder of its run, if there is to be one, told what is played."""
        from provegym.evals.heldout import Book, marked

        if out is None:
            return None
        if out.exists() and not out.is_dir():
            fail(f"{out} is a file; name a folder")
        adapter = marked(str(self.adapter)) if self.adapter else None
        how = {"adapter": adapter, "temperature": self.temperature, "vllm": self.vllm}
        return Book(out, {"model": marked(self.who), **how, **told})


@app.command("heldout", cls=RayCommand)
def evaluate_model(
    model: Model,
    adapter: Adapter = None,
    name: Name = "default",
    data: Tasks = None,
    count: Annotated[int, typer.Option(help="Tasks of each group.", min=1)] = 128,
    samples: Samples = 1,
    temperature: Temperature = 0,
    tools: Tools = None,
    prompt: Annotated[int, typer.Option(help="Most tokens before the first reply.")] = 2048,
    completion: Annotated[int, typer.Option(help="Most tokens after that.")] = 2048,
    batch: Batch = 16,
    vllm: Fast = False,
    out: Out = None,
    ray: Ray = None,
    as_json: Json = False,
) -> None:
    """Play tasks that no training saw, and report every score with the noop's beside it."""
    from provegym.evals.heldout import evaluate, tasks
    from provegym.train.data import show
    from provegym.train.engine import Limits

    if samples > 1 and not temperature:
        fail(f"{samples} samples at temperature 0 are all the same; say --temperature 1")
    tools = tools or (FEW if model == "embedded" else None)
    limits = Limits(prompt=prompt, completion=completion, reply=min(completion, REPLY))
    player = Player(model, adapter, name, temperature, batch, vllm, ray is not None)
    told = {"count": count, "samples": samples, "tools": tools}
    book = player.book(out, **told, prompt=prompt, completion=completion)
    done = len(book.lines) if book else 0
    play = _play(player, limits, done)
    examples = [show(example, tools) for example in tasks(data, count)]
    examples = _fitting(examples, play, prompt)
    with hands(ray) as workers, progress_bar() as bar:
        report = evaluate(examples, _shown_by(bar, play, workers, done), samples, book)
    if as_json:
        print_json(report)
    else:
        _print_scores(report)


def _play(player: Player, limits: "Limits", done: int) -> "Play":
    from provegym.evals.heldout import Remote
    from provegym.policies.endpoint import EndpointConfig
    from provegym.policies.local import NotInstalled
    from provegym.policies.scripted import SCRIPTS

    model = player.model
    if model in SCRIPTS:
        return Remote(model, SCRIPTS[model], player.batch)
    if model.startswith(("http://", "https://")):
        config = EndpointConfig(url=model, model=player.name, temperature=player.temperature)
        return Remote(player.who, config, player.batch)
    if player.ray:
        fail("--ray plays scripts and endpoints: serve the model, and give its URL as --model")
    try:
        return _local(player, limits, done)
    except NotInstalled as problem:
        fail(str(problem))


def _shown_by(bar: Progress, play: "Play", workers: "Workers", done: int) -> "Play":
    """The same play by whoever does the work, with its progress after what is done already."""
    from provegym.evals.heldout import played

    def shown(examples: Sequence["Example"]) -> Iterator["Rollout"]:
        task = bar.add_task("rollouts", total=done + len(examples), completed=done)
        for rollout in played(examples, play, workers):
            bar.update(task, advance=1, description=f"rollouts{workers.where}")
            yield rollout

    return shown


def _fitting(examples: "list[Example]", play: "Play", prompt: int) -> "list[Example]":
    """The examples whose prompt a model on this machine takes; an endpoint takes all."""
    from provegym.evals.heldout import Local

    if not isinstance(play, Local):
        return examples
    fitting = [example for example in examples if play.takes(example)]
    if long := len(examples) - len(fitting):
        print(f"provegym: {long} prompts of over {prompt} tokens left out", file=sys.stderr)
    return fitting


def _local(player: Player, limits: "Limits", seed: int) -> "Play":
    """A model of this machine; a run that goes on needs another seed, or it would draw the same."""
    from provegym.evals.heldout import Local
    from provegym.evals.vllm import Vllm
    from provegym.policies.local import Sampler, load, need
    from provegym.train.codec import Codec

    model, adapter = player.model, player.adapter
    name = f"{model} with {adapter}" if adapter else model
    torch: Any = need("torch")
    device = "cuda" if torch.cuda.is_available() and not player.vllm else "cpu"
    weights, tokenizer = load(model, adapter, device)
    codec = Codec(tokenizer, limits.prompt)
    if player.vllm:
        longest = limits.prompt + limits.completion + limits.reply
        engine = Vllm(model, longest, player.temperature, seed)
        if adapter:
            engine.wear(adapter)
        return Local(name, engine.source, codec, limits, player.batch)
    sampler = Sampler(weights, tokenizer, player.temperature, seed)
    return Local(name, sampler.generate, codec, limits, player.batch)


def _print_scores(report: dict[str, Any]) -> None:
    table = Table("", box=None)
    for group, found in report.items():
        table.add_column(f"{group} ({found['tasks']})", justify="right")
        table.add_column("noop", justify="right")
    names = dict.fromkeys(name for found in report.values() for name in found["scores"])
    for name in names:
        cells: list[str] = []
        for found in report.values():
            both = found["scores"].get(name)
            cells += [_shown(both["model"]), f"{both['noop'].mean:.3f}"] if both else ["", ""]
        table.add_row(name, *cells)
    console.print(table)
    if broken := sum(found["broken"] for found in report.values()):
        console.print(f"\n{broken} rollouts went wrong and count as nothing")


def _shown(value: "Estimate") -> str:
    return f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"


@root.command("compare")
def compare_runs(
    first: Annotated[Path, typer.Argument(help="Rollouts of one model, or a benchmark's folder.")],
    second: Annotated[Path, typer.Argument(help="Those of another, on the same tasks.")],
    most: Annotated[int, typer.Option(help="How many changed tasks to name.", min=0)] = 10,
    as_json: Json = False,
) -> None:
    """Show what changed from one file of rollouts to another, task by task."""
    from provegym.evals import journal
    from provegym.evals.compare import compare

    if journal.is_report(first) and journal.is_report(second):
        rows = journal.compare(first, second)
        print_json(rows) if as_json else _print_rows("share of tasks", rows)
        return
    found = compare(first, second, most)
    if as_json:
        print_json(found)
        return
    _print_rows(f"all ({found['tasks']} tasks)", found["all"])
    for sort in ("kinds", "servers"):
        for metric, rows in found[sort].items():
            _print_rows(f"{metric} by {sort[:-1]}", rows)
    if found["most_changed"]:
        table = Table("most changed", "kind", "first", "second", box=None)
        for each in found["most_changed"]:
            table.add_row(each.id, each.kind, f"{each.first:.3f}", f"{each.second:.3f}")
        console.print(table)
    if found["only_first"] or found["only_second"]:
        console.print(
            f"\nleft out: {found['only_first']} tasks of the first file alone,"
            f" {found['only_second']} of the second"
        )


def _print_rows(title: str, rows: "dict[str, Row]") -> None:
    table = Table(title, "tasks", "first", "second", "difference [95 %]", box=None)
    for name, row in rows.items():
        change = row.difference
        told = f"{change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}]"
        cells = (str(change.tasks), f"{row.first:.3f}", f"{row.second:.3f}", told)
        table.add_row(name, *cells)
    console.print(table)
    console.print()
