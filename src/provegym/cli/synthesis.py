"""The command that makes corpora."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from provegym.cli.base import app, fail, load, progress_bar
from provegym.kernel.errors import suggest

if TYPE_CHECKING:
    from provegym.synth.lessons import Lessons


@app.command("synth")
def synthesise(
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
) -> None:
    """Make verified examples from live worlds, offline: the same seed gives the same bytes."""
    from provegym.synth.card import card
    from provegym.synth.corpus import MIXES, Corpus, Order
    from provegym.synth.lessons import PLANS, Lessons

    if mix not in MIXES:
        fail(f"no mix {mix!r}; {suggest(mix, list(MIXES))}")
    if split not in ("", "servers"):
        fail(f"no split {split!r}; leave it out, or say --split servers")
    chosen = tuple(load(name).name for name in names.split(",")) if names else ()
    if rephrase and not teacher:
        fail("--rephrase needs a --teacher")
    order = Order(size, seed, out / PLANS if teacher else out, chosen, workers, mix, split)
    corpus = Corpus(order)
    with progress_bar() as bar:
        funnel = corpus.make(bar)
    if teacher:
        _teach(Lessons(out, teacher, model, rephrase))
    for part, counts in funnel.items():
        print(f"{part}: " + ", ".join(f"{count} {what}" for what, count in counts.most_common()))
    total = sum(funnel.values(), Counter[str]())
    (out / "README.md").write_text(card(out, total, corpus.order), "utf-8")
    if missing := corpus.missing():
        fail(missing)


def _teach(lessons: "Lessons") -> None:
    import asyncio

    from provegym.synth.lessons import Classroom

    with progress_bar() as bar:
        counts = asyncio.run(Classroom(lessons, bar).hold())
    print("lessons: " + ", ".join(f"{count} {what}" for what, count in counts.most_common()))
