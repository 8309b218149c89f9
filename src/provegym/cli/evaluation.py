"""The command `eval heldout`: scores of a model on held-out tasks."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from provegym.cli.base import (
    GOES_ON,
    STARTS_AGAIN,
    Json,
    Ray,
    RayCommand,
    check_folder,
    check_model,
    console,
    fail,
    hands,
    load,
    option_groups,
    print_json,
    progress_bar,
    say_next,
    stdout_kept,
    stoppable,
)
from provegym.cli.benchmarks import Out, app
from provegym.cli.endpoints import EndpointLimits
from provegym.cli.plain_words import SUCCESS
from provegym.terminal import say

if TYPE_CHECKING:
    from rich.progress import Progress

    from provegym.evals.heldout import HeldoutFolder
    from provegym.evals.measure import Estimate
    from provegym.players.local import Limits
    from provegym.players.remote import Play
    from provegym.trace import Example, Rollout
    from provegym.workers import Workers

FEW = 8
# Rollouts at a time: on a GPU, and elsewhere.
TOGETHER, FEW_TOGETHER = 256, 16
WEB = ("http://", "https://")
SCRIPT, ENDPOINT, HERE = "a script", "an endpoint", "a model of this machine"
IDLE = {
    SCRIPT: ("adapter", "name", "temperature", "prompt", "completion", "reply", "vllm"),
    ENDPOINT: ("adapter", "prompt", "vllm"),
    HERE: ("name",),
}


@dataclass(frozen=True)
class HeldoutPlayer(EndpointLimits):
    """Options: which model plays the held-out tasks, and its sampling limits."""

    model: Annotated[
        str,
        typer.Option(help="embedded, a folder, a GGUF file, a hub id, a URL, or a script: noop."),
    ]
    adapter: Annotated[
        Path | None, typer.Option(help="A LoRA adapter on top of it: a folder, or `shipped`.")
    ] = None
    name: Annotated[str, typer.Option(help="The model's name at the endpoint; else default.")] = ""
    temperature: Annotated[float, typer.Option(help="0: always the likeliest token.", min=0)] = 0
    prompt: Annotated[
        int | None, typer.Option(help="Most tokens before the first reply; else 2048.", min=1)
    ] = None
    completion: Annotated[
        int | None,
        typer.Option(help="Most tokens after that; else 2048, an endpoint 16384.", min=1),
    ] = None
    reply: Annotated[
        int | None, typer.Option(help="Most tokens of a reply; else 256, an endpoint 2048.", min=1)
    ] = None
    vllm: Annotated[bool, typer.Option("--vllm", help="Sample with vLLM, on a GPU.")] = False

    @property
    def kind(self) -> str:
        """The kind of player: a script, an endpoint, or a model of this machine."""
        from provegym.players.scripted import SCRIPTS

        if self.model in SCRIPTS:
            return SCRIPT
        return ENDPOINT if self.model.startswith(WEB) else HERE

    @property
    def who(self) -> str:
        """The model's name for reports; user and password in a URL are left out."""
        if self.kind != ENDPOINT:
            return self.model
        return f"{self.name or 'default'} at {self.model.rpartition('@')[2]}"

    @property
    def limits(self) -> "Limits":
        """The token limits; larger for an endpoint, whose model may think."""
        from provegym.models.endpoint import EndpointConfig
        from provegym.players.local import Limits
        from provegym.rollout import PAPER_CAPS

        here = self.kind == HERE
        return Limits(
            prompt=self.prompt or 2048,
            completion=self.completion or (2048 if here else PAPER_CAPS.tokens),
            reply=self.reply or (256 if here else EndpointConfig.max_tokens),
        )

    def check(self, samples: int, ray: bool) -> None:
        """Fail if an option has no effect or cannot be satisfied."""
        from provegym.models.local import adapter_folder
        from provegym.players.scripted import SCRIPTS

        if self.kind == HERE:
            check_model(self.model, ("embedded", *SCRIPTS))
        idle = [f"--{name}" for name in IDLE[self.kind] if getattr(self, name)]
        idle += self.given_limits if self.kind != ENDPOINT else []
        if idle:
            fail(f"{self.kind} takes no {', '.join(idle)}: it would have no effect; leave it out")
        if samples > 1 and self.kind == SCRIPT:
            fail(f"{samples} samples of a script are all the same; leave --samples out")
        if samples > 1 and not self.temperature:
            fail(f"{samples} samples at temperature 0 are all the same; say --temperature 1")
        if ray and self.kind == HERE:
            fail("--ray plays scripts and endpoints: serve the model, and give its URL as --model")
        if self.adapter:
            adapter_folder(self.adapter)

    def settings(self) -> dict[str, Any]:
        """The settings that identify a run: a folder with other settings is not continued."""
        from provegym.evals.heldout import marked

        if self.kind == SCRIPT:
            return {"model": self.model}
        limits, told = self.limits, {"model": self.who, "temperature": self.temperature}
        told |= {"completion": limits.completion, "reply": limits.reply}
        if self.kind == ENDPOINT:
            return told
        adapter = marked(str(self.adapter)) if self.adapter else None
        here = {"model": marked(self.model), "adapter": adapter, "vllm": self.vllm}
        return {**told, **here, "prompt": limits.prompt}


@dataclass(frozen=True)
class HeldoutTasks:
    """Options: which tasks are played, and what they show."""

    data: Annotated[
        Path | None, typer.Option(help="A corpus with a split, or a file; else tasks are made now.")
    ] = None
    worlds: Annotated[
        Path | None, typer.Option(help="Also on worlds of this folder that `synth` held out.")
    ] = None
    servers: Annotated[
        str, typer.Option(help="With commas: tasks are made now, on unseen worlds of these.")
    ] = ""
    count: Annotated[int, typer.Option(help="Tasks of each group.", min=1)] = 128
    tools: Annotated[int | None, typer.Option(help="Most tools shown (embedded: 8).", min=1)] = None

    def settings(self) -> dict[str, Any]:
        """What the folder of a run remembers of them; a wrong option fails here."""
        from provegym.evals.heldout import held_out_worlds

        if self.servers and (self.data or self.worlds):
            fail("--servers makes tasks now, on these alone: leave --data and --worlds out")
        if self.worlds and self.data and not self.data.is_dir():
            fail("--data names a file, whose examples are taken as they are: leave --worlds out")
        found: dict[str, Any] = {"count": self.count}
        if self.servers:
            found["servers"] = [load(name).name for name in self.servers.split(",")]
        if self.worlds:  # from now on workers that start find them too
            found["worlds"] = held_out_worlds(self.worlds)
        return found

    def tasks(self) -> "list[Example]":
        """The tasks, read or made now."""
        from provegym.evals.heldout import drawn, tasks

        known = self.settings()
        if self.servers:
            return drawn(tuple(known["servers"]), self.count)
        return tasks(self.data, self.count, tuple(known.get("worlds", ())))


@app.command("heldout", cls=RayCommand)
@option_groups
def evaluate_model(
    *,
    player: HeldoutPlayer,
    given: HeldoutTasks,
    samples: Annotated[int, typer.Option(help="Rollouts of each task.", min=1)] = 1,
    batch: Annotated[
        int | None, typer.Option(help="Rollouts at a time; else 16, on a GPU 256.", min=1)
    ] = None,
    out: Out = None,
    ray: Ray = None,
    as_json: Json = False,
) -> None:
    """Play held-out tasks, and report every score beside that of doing nothing."""
    from provegym.evals.heldout import evaluate
    from provegym.models.optional import NotInstalled
    from provegym.players.remote import greet
    from provegym.train.data import show

    tools = given.tools or (FEW if player.model == "embedded" else None)
    try:
        with stoppable(_how_on(out)), stdout_kept(as_json):
            player.check(samples, ray is not None)
            told = {**player.settings(), **given.settings(), "samples": samples, "tools": tools}
            book = _book(out, told)
            done = len(book.lines) if book else 0
            play = _play(player, batch, done)
    except NotInstalled as problem:
        fail(str(problem))
    kept = book or nullcontext()
    with stoppable(_how_on(out)), stdout_kept(as_json), kept, hands(ray) as workers:
        if not done:
            greet(play, workers)
        examples = _fitting([show(example, tools) for example in given.tasks()], play)
        if book:
            book.keep_worlds(examples)
        with progress_bar() as bar:
            report = evaluate(examples, _shown_by(bar, play, workers, done), samples, book)
    if as_json:
        print_json(report)
    else:
        _print_scores(report)
    if broken := sum(found["broken"] for found in report.values()):
        why = f"{broken} rollouts went wrong and count as nothing; does {player.who} answer?"
        fail(f"{why} With --out, the same command plays them again")
    if out:
        say_next("view", out, as_json=as_json)
    else:  # nothing was kept
        say_next("eval", "heldout", "--model", player.model, "--out", "runs/eval", as_json=as_json)


def _how_on(out: Path | None) -> str:
    """How an evaluation goes on after it was stopped."""
    return GOES_ON if out else f"{STARTS_AGAIN}; with --out FOLDER it would go on"


def _book(out: Path | None, told: dict[str, Any]) -> "HeldoutFolder | None":
    """The folder of the run, if --out is given."""
    from provegym.evals.heldout import HeldoutFolder

    if out is None:
        return None
    check_folder(out)
    return HeldoutFolder(out, told)


def _play(player: HeldoutPlayer, batch: int | None, done: int) -> "Play":
    from provegym.models.endpoint import EndpointConfig
    from provegym.players.remote import Remote
    from provegym.players.scripted import SCRIPTS
    from provegym.rollout import Caps

    if player.kind == HERE:
        return _local(player, batch, done)
    batch = batch or FEW_TOGETHER
    if player.kind == SCRIPT:
        return Remote(player.model, SCRIPTS[player.model], batch)
    name, limits = player.name or "default", player.limits
    config = EndpointConfig(
        player.model, name, player.temperature, max_tokens=limits.reply, **player.reply_limits
    )
    return Remote(player.who, config, batch, caps=Caps(tokens=limits.completion))


def _shown_by(bar: "Progress", play: "Play", workers: "Workers", done: int) -> "Play":
    """Wrap `play` with workers and a progress bar that counts finished rollouts too."""
    from provegym.players.remote import greet, played

    def shown(examples: Sequence["Example"]) -> Iterator["Rollout"]:
        if done and examples:  # a new run has probed the model already
            greet(play, workers)
        task = bar.add_task("rollouts", total=done + len(examples), completed=done)
        for rollout in played(examples, play, workers):
            bar.update(task, advance=1, description=f"rollouts{workers.where}")
            yield rollout

    return shown


def _fitting(examples: "list[Example]", play: "Play") -> "list[Example]":
    """Leave out examples whose prompt is too long for a model of this machine."""
    from provegym.players.local import Local

    if not isinstance(play, Local):
        return examples
    fitting = [example for example in examples if play.takes(example)]
    if long := len(examples) - len(fitting):
        most = play.limits.prompt
        say(f"provegym: {long} prompts of over {most} tokens left out", file=sys.stderr)
    return fitting


def _local(player: HeldoutPlayer, batch: int | None, seed: int) -> "Play":
    """A model of this machine; a resumed run gets another seed, so that samples differ."""
    from provegym.models.codec import Codec
    from provegym.models.local import load, load_tokenizer, narrow
    from provegym.models.optional import need
    from provegym.models.sampler import Sampler
    from provegym.models.slots import Slots, room_for, takes
    from provegym.models.vllm import Vllm
    from provegym.players.local import Local

    model, adapter, limits = player.model, player.adapter, player.limits
    name = f"{model} with {adapter}" if adapter else model
    longest = limits.prompt + limits.completion
    if player.vllm:
        batch = batch or TOGETHER
        codec = Codec(load_tokenizer(model), limits.prompt)
        engine = Vllm(model, longest, player.temperature, seed=seed, together=batch)
        if adapter:
            engine.wear(adapter)
        return Local(name, engine.source, codec, limits, batch)
    torch: Any = need("torch")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    weights, tokenizer = load(model, adapter, device)
    codec = Codec(tokenizer, limits.prompt)
    if takes(weights):
        weights = narrow(weights.merge_and_unload() if adapter else weights)
        if (room := room_for(weights, longest)) >= FEW_TOGETHER:
            batch = batch or TOGETHER
            slots = Slots(
                weights,
                tokenizer,
                player.temperature,
                slots=min(batch, room),
                longest=longest,
                reply=limits.reply,
                seed=seed,
            )
            return Local(name, slots, codec, limits, batch)
    sampler = Sampler(weights, tokenizer, player.temperature, seed)
    return Local(name, sampler.generate, codec, limits, batch or FEW_TOGETHER)


def _print_scores(report: dict[str, Any]) -> None:
    """Print the scores: two groups side by side, further ones below."""
    groups = list(report.items())
    for at in range(0, len(groups), 2):
        _print_groups(dict(groups[at : at + 2]))
    say("Means with 95 % intervals; in parentheses, the number of tasks.")
    say(SUCCESS)
    _print_failures(report)


def _print_groups(report: dict[str, Any]) -> None:
    from provegym.trace import score_label

    table = Table("", box=None)
    for group, found in report.items():
        # An interval is never broken: the table fits into 80 columns.
        table.add_column(f"{group}\n({found['tasks']})", justify="right", no_wrap=True)
        table.add_column("doing\nnothing", justify="right")
    names = dict.fromkeys(name for found in report.values() for name in found["scores"])
    for name in names:
        cells: list[str] = []
        for found in report.values():
            both = found["scores"].get(name)
            cells += [_shown(both["model"]), f"{both['noop'].mean:.3f}"] if both else ["", ""]
        table.add_row(score_label(name), *cells)
    console.print(table)


def _print_failures(report: dict[str, Any]) -> None:
    """Print how many rollouts failed by each cause, per group; nothing if none failed."""
    total = Counter[str]()
    for found in report.values():
        total.update(found["failures"])
    if not total:
        return
    table = Table("why rollouts failed", box=None)
    for group, found in report.items():
        table.add_column(f"{group}\n({found['rollouts']})", justify="right")
    for why, _ in total.most_common():
        table.add_row(why, *(str(found["failures"].get(why, 0)) for found in report.values()))
    say()
    console.print(table)


def _shown(value: "Estimate") -> str:
    return f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"
