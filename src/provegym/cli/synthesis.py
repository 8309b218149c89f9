"""The command that makes corpora."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from provegym.cli.base import Seed, app, fail, load, progress_bar
from provegym.kernel.errors import suggest


@app.command("synth")
def synthesise(
    size: Annotated[int, typer.Option(help="How many examples.", min=1)],
    out: Annotated[Path, typer.Option(help="The corpus's folder; an unfinished one goes on.")],
    seed: Seed = 0,
    names: Annotated[str, typer.Option("--servers", help="Comma-separated; all if left out.")] = "",
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 2,
    mix: Annotated[str, typer.Option(help="paper: all its kinds; or multi_turn.")] = "paper",
    split: Annotated[str, typer.Option(help="servers: hold four of them out.")] = "",
) -> None:
    """Make verified examples from live worlds, offline: the same seed gives the same bytes."""
    from provegym.synth.card import card
    from provegym.synth.corpus import MIXES, Corpus, Order

    if mix not in MIXES:
        fail(f"no mix {mix!r}; {suggest(mix, list(MIXES))}")
    if split not in ("", "servers"):
        fail(f"no split {split!r}; leave it out, or say --split servers")
    chosen = tuple(load(name).name for name in names.split(",")) if names else ()
    corpus = Corpus(Order(size, seed, out, chosen, workers, mix, split))
    with progress_bar() as bar:
        funnel = corpus.make(bar)
    for part, counts in funnel.items():
        print(f"{part}: " + ", ".join(f"{count} {what}" for what, count in counts.most_common()))
    total = sum(funnel.values(), Counter[str]())
    (out / "README.md").write_text(card(out, total, corpus.order), "utf-8")
    if missing := corpus.missing():
        fail(missing)
