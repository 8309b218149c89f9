"""The commands `train`, `recipes` and `compress`: SFT or GRPO by a recipe, with TRL or verl."""

import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.markup import escape
from rich.table import Table

from provegym import recipes
from provegym.cli.base import (
    STARTS_AGAIN,
    Json,
    app,
    console,
    fail,
    print_json,
    progress_bar,
    say_next,
    stdout_kept,
    stoppable,
    tell,
)
from provegym.kernel.errors import suggest
from provegym.terminal import say

if TYPE_CHECKING:
    from provegym.train.forecast import Forecast
    from provegym.train.recipe import Recipe
    from provegym.train.verl.overrides import RunFiles

BACKENDS = ["trl", "verl"]
UNSET = "not set"
SAMPLE = 120
RecipeArgument = Annotated[
    str,
    typer.Argument(
        help="One of `provegym recipes`, such as tiny, or a file.", autocompletion=recipes.names
    ),
]


@app.command("train")
def train_model(
    recipe: RecipeArgument,
    out: Annotated[Path | None, typer.Option(help="The run's folder; else runs/RECIPE.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was stopped.")
    ] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a setting of the recipe, e.g. grpo.steps=20."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what the run would do and need; nothing is trained."),
    ] = False,
    card: Annotated[
        int | None, typer.Option(help="--dry-run: GB of GPU memory; else this GPU's, or 80.", min=1)
    ] = None,
    backend: Annotated[str, typer.Option(help="Who trains: trl, or verl for GRPO.")] = "trl",
    show: Annotated[bool, typer.Option("--print", help="verl: print the command only.")] = False,
    gpus: Annotated[int | None, typer.Option(help="verl: GPUs of a node; else 8.", min=1)] = None,
    nodes: Annotated[int | None, typer.Option(help="verl: nodes; else 1.", min=1)] = None,
    as_json: Json = False,
) -> None:
    """Train a model by a recipe: a warm-up on transcripts, or GRPO against live worlds."""
    from provegym.config import load_recipe

    settings = load_recipe(recipe, changes or ())
    folder = out or Path("runs") / recipes.find(recipe).stem
    if backend not in BACKENDS:
        fail(f"no backend {backend!r}; {suggest(backend, BACKENDS)}")
    if dry_run and backend == "verl":
        fail("--dry-run is TRL's; --backend verl has --print")
    if show and backend == "trl":
        fail("--print is for --backend verl; TRL has --dry-run")
    if (gpus or nodes) and backend == "trl":
        fail("--gpus and --nodes are for --backend verl; start TRL by accelerate launch")
    if resume and dry_run:
        fail("--dry-run looks at no run; leave --resume out")
    if card and not dry_run:
        fail("--card is for --dry-run; a run takes the GPU of this machine")
    if backend == "verl":
        from provegym.train.verl.overrides import RunFiles

        place = RunFiles(folder.resolve(), gpus or 8, nodes or 1, resume)
        _train_with_verl(settings, place, show, as_json)
    elif dry_run:
        _dry_run(settings, card, as_json)
    else:
        with stoppable(partial(_how_on, folder)):
            _train_with_trl(settings, folder, resume, as_json)


def _how_on(folder: Path) -> str:
    """How a run goes on after it was stopped: steps are recorded, or there are none yet."""
    if not (folder / "metrics.jsonl").exists():
        return STARTS_AGAIN
    return "the same command with --resume goes on from the last checkpoint"


@app.command("recipes")
def show_recipes(
    name: Annotated[
        str | None, typer.Argument(help="Print this one.", autocompletion=recipes.names)
    ] = None,
    as_json: Json = False,
) -> None:
    """List the recipes for `train`, or print one; a file of your own can extend it by its name."""
    if name:
        try:
            say(recipes.find(name).read_text("utf-8"), end="")
        except UnicodeDecodeError as problem:
            fail(f"{name} is no recipe: {problem}")
        say_next("train", name, "--dry-run")
        return
    told = {each: recipes.about(each) for each in recipes.names()}
    if as_json:
        print_json({"recipes": told})
        return
    table = Table("recipe", "what it trains", box=None)
    for each, about in told.items():
        table.add_row(each, escape(about))
    console.print(table)
    say_next("train", "tiny", "--dry-run")


@app.command("compress")
def compress_model(
    model: Annotated[
        Path, typer.Argument(help="The folder of a model whose weights were all trained.")
    ],
    out: Annotated[Path, typer.Option(help="The folder of the compressed model, a new one.")],
    base: Annotated[str, typer.Option(help="What it was trained from.")] = "embedded",
    as_json: Json = False,
) -> None:
    """Compress a fine-tuned model to what training changed, an eighth of its size."""
    from provegym.models.compress import compress

    with stdout_kept(as_json):
        found = compress(model, base, out)
    if as_json:
        print_json({"folder": str(out), **msgspec.structs.asdict(found)})
        return
    say(
        f"{out}: {found.bytes / 1e6:.1f} MB for {found.weights:,} weights; {found.lost:.1%} of the"
        " squared change was lost"
    )
    say_next("eval", "heldout", "--model", out)


def _train_with_trl(recipe: "Recipe", folder: Path, resume: bool, as_json: bool) -> None:
    from provegym.config import write_recipe
    from provegym.train.start import check, start

    with stdout_kept(as_json):
        check(recipe)
        if resume:
            check_same(recipe, folder)
        run = start(recipe, folder, write_recipe(recipe), resume, progress_bar())
    count = len(run.history)
    if not as_json:
        steps = f"{count} step{'s' * (count != 1)}"
        say(f"{steps} in {folder}; its metrics, rollouts and plots are there")
        _say_next(recipe, folder)
    elif run.first:
        last = run.history[-1] if run.history else None
        print_json({"folder": str(folder), "steps": count, "last_step": last})


def _say_next(recipe: "Recipe", folder: Path) -> None:
    """What to do with a trained model: measure it, if it is an adapter."""
    if (folder / "adapter").exists():
        adapter = ("--adapter", folder / "adapter")
        say_next("eval", "heldout", "--model", recipe.model.name, *adapter)
    else:
        say_next("view", folder)


def _train_with_verl(recipe: "Recipe", place: "RunFiles", show: bool, as_json: bool) -> None:
    """Start verl, or print the command that would."""
    from provegym.config import write_recipe
    from provegym.train.verl.launch import command, start

    if show:
        line = ["python", *command(recipe, place)]
        print_json({"command": line}) if as_json else say(shlex.join(line))
        return
    with stdout_kept(as_json):
        if place.resume:
            check_same(recipe, place.folder)
        start(recipe, place, write_recipe(recipe), progress_bar())
    made = place.folder / "checkpoints"
    if as_json:
        print_json({"checkpoints": str(made)})
        return
    say(f"done; checkpoints are in {made}")
    say_next("view", place.folder)


def _dry_run(recipe: "Recipe", card: int | None, as_json: bool) -> None:
    """Print the forecast of a dry run."""
    from provegym.train.start import check

    with stdout_kept(as_json):
        check(recipe)
        found = _forecast(recipe, card)
    if as_json:
        print_json(found)
        return
    table = Table("what", "value", box=None, show_header=False)
    for what, value in found.table.items():
        table.add_row(what, escape(value))
    console.print(table)
    for note in found.notes:
        console.print(f"- {note}", markup=False, highlight=False)
    tell("this was a dry run; without --dry-run the same command trains")


def _forecast(recipe: "Recipe", card: int | None) -> "Forecast":
    """The forecast of a recipe; without a corpus, a small one is made for it."""
    from provegym.train.cost import find_card
    from provegym.train.data import load
    from provegym.train.forecast import forecast
    from provegym.train.run import Run

    data = recipe.data
    if not data.corpus and data.size > SAMPLE:
        console.print(f"a sample of {SAMPLE} examples stands for the {data.size:,} of the run")
        data = msgspec.structs.replace(data, size=SAMPLE)
    with TemporaryDirectory() as scratch, progress_bar() as bar:
        run = Run(Path(scratch) / "run", recipe)
        examples = load(data, Path(scratch) / "corpus", bar)
        return forecast(recipe, run, examples, find_card(card))


def check_same(recipe: "Recipe", folder: Path) -> None:
    """Fail if --resume got another recipe; settings that do not affect learning may differ."""
    from provegym.config import load_recipe
    from provegym.train.run import free

    if not (folder / "recipe.toml").exists():
        fail(f"{folder} holds no run to go on with; leave --resume out")
    begun = load_recipe(folder / "recipe.toml")
    for name in ("sft", "grpo"):
        old, new = getattr(begun, name), getattr(recipe, name)
        if old and new:
            taken = {each: getattr(new, each) for each in free(old)}
            begun = msgspec.structs.replace(begun, **{name: msgspec.structs.replace(old, **taken)})
    if begun != recipe:
        before, now = (dict(_settings(msgspec.to_builtins(each))) for each in (begun, recipe))
        other = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
        told = [f"{key} was {before.get(key, UNSET)}, is {now.get(key, UNSET)}" for key in other]
        fail(
            f"{folder} was begun by another recipe ({'; '.join(told[:3])}); give the same one, or"
            " name another --out"
        )


def _settings(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The settings of a recipe by dotted name; those without a value are left out."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _settings(value, f"{prefix}{key}.")
        elif value is not None:
            yield prefix + key, msgspec.json.encode(value).decode()
