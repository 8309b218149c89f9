"""The commands `export`, `import` and `samples`: convert corpora, and print examples as chats."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from provegym.cli.base import app, fail, option_groups, progress_bar, say_next
from provegym.cli.graphs import Theirs
from provegym.cli.rollouts import connected
from provegym.kernel.errors import suggest
from provegym.terminal import say


@app.command("export")
@option_groups
def export_corpus(
    *,
    data: Annotated[Path, typer.Argument(help="A corpus's folder, or a JSONL file of examples.")],
    out: Annotated[Path, typer.Option(help="The file to write: .jsonl, or .parquet.")],
    form: Annotated[str, typer.Option("--format", help="trl, verl, sft or openai.")],
    split: Annotated[str, typer.Option(help="Which part of a folder: train or heldout.")] = "train",
    theirs: Theirs,
) -> None:
    """Write examples in a trainer's format; transcripts are played on the live worlds."""
    from provegym.corpus.exports import FORMS, SPLITS, export

    if form not in FORMS:
        fail(f"no format {form!r}; {suggest(form, list(FORMS))}")
    if split not in SPLITS:
        fail(f"no split {split!r}; {suggest(split, list(SPLITS))}")
    count = 0
    with connected(theirs, data), progress_bar() as bar:
        task = bar.add_task("export", total=None)
        left_out: list[str] = []
        for count in export(data, out, form, split, left_out):
            bar.update(task, completed=count)
    for problem in left_out:
        say(f"left out: {problem}", file=sys.stderr)
    say(f"{count} examples in {out}" + (f", {len(left_out)} left out" if left_out else ""))
    say_next("recipes")


@app.command("import")
def import_corpus(
    source: Annotated[str, typer.Argument(help="when2call or xlam-irrelevance.")],
    file: Annotated[Path, typer.Argument(help="The original file: JSON lines, or a JSON list.")],
    out: Annotated[Path, typer.Option(help="Where the examples go, as JSON lines.")],
) -> None:
    """Convert a public abstention dataset: examples in which no call is right."""
    from provegym.corpus.imports import SOURCES, write_examples
    from provegym.files import check_free

    if source not in SOURCES:
        fail(f"no source {source!r}; {suggest(source, list(SOURCES))}")
    check_free(out)
    kept, left = write_examples(source, file, out)
    say(f"{kept} examples in {out}; {left} rows call a tool and were left out")
    say_next("rollout", "--policy", "oracle", "--data", out, "--out", "rollouts.jsonl")


@app.command("samples")
@option_groups
def show_samples(
    *,
    data: Annotated[Path, typer.Argument(help="A corpus's folder, or a JSONL file of examples.")],
    count: Annotated[int, typer.Option(help="How many examples.", min=1)] = 50,
    seed: Annotated[int, typer.Option(help="Which ones.", min=0)] = 0,
    theirs: Theirs,
) -> None:
    """Print examples drawn at random as Markdown, played on their worlds, for people to read."""
    from provegym.corpus.samples import sample, tell
    from provegym.trace import Example, read

    drawn = sample(read(data, Example), count, seed)
    if not drawn.examples:
        fail(f"{data} holds no examples")
    with connected(theirs, data):
        say("# Samples\n")
        say(f"{len(drawn.examples)} of {drawn.total:,} examples, drawn at random and played on")
        say(f"their worlds by `provegym samples FOLDER --count {count} --seed {seed}`.")
        for example in drawn.examples:
            say()
            say("\n".join(tell(example)).rstrip())
    say_next("verify", data, *theirs.again)
