"""The command `synth`: makes a corpus of verified examples."""

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from provegym.cli.base import (
    Ray,
    RayCommand,
    app,
    check_folder,
    fail,
    hands,
    load,
    option_groups,
    progress_bar,
    say_next,
    stoppable,
    tell,
)
from provegym.cli.graphs import Theirs
from provegym.cli.own import contract
from provegym.kernel.errors import suggest

if TYPE_CHECKING:
    from provegym.corpus.corpus import Corpus
    from provegym.teacher.lessons import Lessons

# Too few examples came from them: so many servers are checked for what they lack.
MOST_CHECKED = 3


@dataclass(frozen=True)
class Variety:
    """Options: more than the twenty servers as they are."""

    aliases: Annotated[
        float, typer.Option(help="The share of examples under other names.", min=0, max=1)
    ] = 0.0
    worlds: Annotated[
        Path | None, typer.Option(help="Also on the admitted worlds of this folder.")
    ] = None
    worlds_share: Annotated[
        float, typer.Option(help="The share of examples on --worlds.", min=0, max=1)
    ] = 0.5


@app.command("synth", cls=RayCommand)
@option_groups
def synthesise(
    *,
    size: Annotated[int, typer.Option(help="How many examples.", min=1)],
    out: Annotated[Path, typer.Option(help="The corpus's folder; an unfinished one goes on.")],
    seed: Annotated[int, typer.Option(help="Which corpus.", min=0)] = 0,
    names: Annotated[str, typer.Option("--servers", help="Comma-separated; all if left out.")] = "",
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 2,
    mix: Annotated[str, typer.Option(help="paper: all its kinds; or multi_turn.")] = "paper",
    split: Annotated[str, typer.Option(help="servers: hold four of them out.")] = "",
    teacher: Annotated[str, typer.Option(help="An endpoint's URL: a model says it anew.")] = "",
    model: Annotated[str, typer.Option(help="The model's name at the endpoint.")] = "default",
    rephrase: Annotated[bool, typer.Option(help="The model only rephrases.")] = False,
    ray: Ray = None,
    variety: Variety,
    theirs: Theirs,
) -> None:
    """Make verified examples from live worlds, offline; the same seed, the same bytes."""
    from provegym.corpus.corpus import MIXES, Corpus, Order
    from provegym.teacher.lessons import PLANS, Lessons

    check_folder(out)
    if mix not in MIXES:
        fail(f"no mix {mix!r}; {suggest(mix, list(MIXES))}")
    if split not in ("", "servers"):
        fail(f"no split {split!r}; leave it out, or say --split servers")
    if rephrase and not teacher:
        fail("--rephrase needs a --teacher")
    if variety.aliases and (teacher or theirs.mcp):
        fail("--aliases is for offline examples of our servers: leave --teacher and --mcp out")
    if theirs.mcp and (names or split or variety.worlds):
        fail("somebody's server makes a corpus of its own: leave --servers, --split, --worlds out")
    if theirs.mcp and ray is not None:
        fail("somebody's server is connected to this machine alone: leave --ray out")
    lessons = Lessons(out, teacher, model, rephrase) if teacher else None
    folder = out / PLANS if teacher else out
    if not theirs.mcp:
        chosen = tuple(load(name).name for name in names.split(",")) if names else ()
        order = Order(size, seed, folder, chosen, workers, mix, split, **vars(variety))
        _make(Corpus(order), out, lessons, ray)
        return
    from provegym.corpus.foreign import ForeignCorpus, ForeignOrder, expected

    begun = monotonic()
    with theirs.connected() as server:
        tell(expected(server, size, monotonic() - begun))
        whose = {**asdict(theirs), "reads": theirs.reading}
        order = ForeignOrder(size, seed, folder, (server.name,), mix=mix, **whose)
        _make(ForeignCorpus(order, server), out, lessons)


def _make(corpus: "Corpus", out: Path, lessons: "Lessons | None", ray: str | None = None) -> None:
    """Make a corpus, let the teacher reword it if there is one, and write its card."""
    from provegym.corpus.card import card
    from provegym.corpus.corpus import PRELOAD

    with stoppable():
        with hands(ray, corpus.order.workers, PRELOAD) as workers, progress_bar() as bar:
            funnel = corpus.make(bar, workers)
        if lessons:
            _teach(lessons)
    for part, counts in funnel.items():
        print(f"{part}: {_summary(counts)}")
    total = sum(funnel.values(), Counter[str]())
    (out / "README.md").write_text(card(out, total, corpus.order), "utf-8")
    if missing := corpus.missing():
        _say_lacks(corpus.short())
        fail(missing)
    say_next("samples", out, "--count", 3)


def _say_lacks(names: list[str]) -> None:
    """Say which rules of the contract the first servers break from which too few examples came."""
    for name in names[:MOST_CHECKED]:
        server = load(name)
        broken = [] if server.foreign else [each for each in contract(server) if not each.holds]
        for rule in broken:
            tell(f"{name} lacks something: {rule}")
        if broken:
            tell(f"`provegym check-server {name}` checks it again")


def _summary(counts: Counter[str]) -> str:
    """How many examples were written, and why the other candidates were dropped."""
    from provegym.corpus.card import KEPT

    dropped = [f"{count} ({why})" for why, count in counts.most_common() if why != KEPT]
    why = f" Dropped: {', '.join(dropped)}." if dropped else ""
    return f"{counts[KEPT]} examples written, of {counts.total()} candidates.{why}"


def _teach(lessons: "Lessons") -> None:
    import asyncio

    from provegym.teacher.lessons import Classroom

    with progress_bar() as bar:
        classroom = Classroom(lessons, bar)
        counts = asyncio.run(classroom.hold())
    print("lessons: " + ", ".join(f"{count} {what}" for what, count in counts.most_common()))
    for why, count in classroom.teacher.refused.most_common():
        print(f"refused {count} times: {why}")
