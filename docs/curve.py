"""The scaling curve: does training on more kinds of worlds help on servers that were never seen?

Five corpora of equal size in tokens: the sixteen training servers alone, with aliases, and with
aliases and 30, 300 or 1,000 drawn worlds. The recipe `embedded-full-sft` trains on each, and every
model plays the same held-out tasks.

`python docs/curve.py corpora FOLDER` makes worlds and corpora: an hour on two cores.
`python docs/curve.py train FOLDER --seeds 0 1 2` trains and evaluates: a GPU with vLLM.
`python docs/curve.py draw FOLDER` prints the table and draws docs/curve.svg.

Every step resumes after a kill. With `--rehearse` all three run in minutes on a CPU, with a few
examples and updates, to find mistakes before a GPU is paid for; such figures mean nothing.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

from provegym import servers
from provegym.config import load_recipe
from provegym.corpus.exports import shards
from provegym.corpus.split import split_worlds
from provegym.files import write_atomically
from provegym.models.codec import Codec
from provegym.models.local import load_tokenizer
from provegym.models.optional import need
from provegym.trace import Example, read, write
from provegym.train.data import show
from provegym.train.plots import save_figure
from provegym.train.sft import rows
from provegym.worlds.files import admitted

GROUPS = ("unseen servers", "unseen worlds", "unseen drawn worlds")
SHOWN = ("state", "success", "reward")


@dataclass(frozen=True)
class Arm:
    """One point of the curve: aliases or not, and how many drawn worlds training sees."""

    name: str
    aliases: float
    worlds: int


@dataclass(frozen=True)
class Size:
    """How large everything is."""

    drawn: int
    examples: int
    tokens: int
    tasks: int
    arms: tuple[Arm, ...]
    recipe: tuple[str, ...] = ()
    evaluation: tuple[str, ...] = ("--vllm",)


def arms(few: int, some: int, many: int) -> tuple[Arm, ...]:
    """The five points of the curve."""
    drawn = (Arm(f"worlds-{count}", 0.3, count) for count in (few, some, many))
    return Arm("servers", 0.0, 0), Arm("aliases", 0.3, 0), *drawn


FULL = Size(drawn=1_320, examples=12_000, tokens=16_000_000, tasks=200, arms=arms(30, 300, 1_000))
REHEARSAL = Size(
    drawn=16,
    examples=48,
    tokens=30_000,
    tasks=2,
    arms=arms(2, 4, 8),
    recipe=("sft.epochs=1", "sft.batch=2", "sft.together=4", "sft.compiled=false"),
    evaluation=("--completion", "200", "--reply", "48"),
)


def run(*words: object) -> None:
    """Run a command of provegym; stop if it fails."""
    subprocess.run([sys.executable, "-m", "provegym", *map(str, words)], check=True)


def make_corpora(folder: Path, size: Size) -> None:
    """Draw and admit worlds, then make a corpus for each arm and cut it to equal tokens."""
    worlds = folder / "worlds"
    if not worlds.is_dir():
        run("worlds", "draw", "--count", size.drawn, "--seed", 20, "--out", worlds)
    run("worlds", "admit", worlds)
    known = split_worlds([world.spec.name for world in admitted(worlds)])[0]
    # Nested subsets: the 300 worlds contain the 30.
    shuffled = Random("curve").sample(known, len(known))
    for arm in size.arms:
        corpus = folder / "corpora" / arm.name
        further: list[object] = ["--aliases", arm.aliases]
        if arm.worlds:
            chosen = folder / "chosen" / arm.name
            _choose(worlds, chosen, shuffled[: _with_held_out(arm.worlds)])
            further += ["--worlds", chosen]
        run(
            *("synth", "--size", size.examples, "--split", "servers", "--seed", 0),
            *("--out", corpus, *further),
        )
        _cut(corpus, size)


def _with_held_out(count: int) -> int:
    """How many worlds a folder needs so that `count` are left after a tenth is held out."""
    return next(all_ for all_ in range(count, 2 * count + 2) if all_ - ceil(all_ / 10) == count)


def _choose(worlds: Path, chosen: Path, names: Sequence[str]) -> None:
    chosen.mkdir(parents=True, exist_ok=True)
    for file in worlds.iterdir():
        if file.name.split(".")[0] in names:
            write_atomically(chosen / file.name, file.read_bytes())


def _cut(corpus: Path, size: Size) -> None:
    """Write some transcripts of a corpus, in random order, with `size.tokens` tokens together.

    A corpus is ordered: examples on drawn worlds come last.
    """
    servers.look_beside(corpus)
    recipe = load_recipe("embedded-full-sft")
    assert recipe.sft is not None
    codec = Codec(load_tokenizer(recipe.model.name), recipe.limits.prompt)
    kept: list[Example] = []
    tokens = 0
    examples = [example for file in shards(corpus, "train") for example in read(file, Example)]
    for example in Random("curve").sample(examples, len(examples)):
        if tokens >= size.tokens:
            break
        shown = show(example, recipe.data.limit)
        for row in rows([shown], codec, recipe.sft.max_tokens):
            kept.append(shown)
            tokens += len(row.input_ids)
    if tokens < size.tokens:
        sys.exit(f"{corpus} has {tokens:,} tokens, not {size.tokens:,}: make it larger")
    write(corpus / "equal.jsonl", kept)
    told = {"transcripts": len(kept), "tokens": tokens}
    write_atomically(corpus / "equal.json", json.dumps(told))


def train(folder: Path, size: Size, seeds: Iterable[int], names: Iterable[str]) -> None:
    """Train a model on each corpus, and play the held-out tasks with it."""
    wanted = list(names)
    for seed in seeds:
        for arm in size.arms:
            if wanted and arm.name not in wanted:
                continue
            place = folder / "runs" / f"{arm.name}-{seed}"
            data = folder / "corpora" / arm.name / "equal.jsonl"
            changes = [f"data.corpus={data}", f"sft.seed={seed}", *size.recipe]
            sets = [word for change in changes for word in ("--set", change)]
            resume = ["--resume"] if (place / "recipe.toml").exists() else []
            if not (place / "model" / "config.json").exists():
                run("train", "embedded-full-sft", "--out", place, *sets, *resume)
            run(
                *("eval", "heldout", "--model", place / "model", "--count", size.tasks),
                *("--worlds", folder / "worlds", "--tools", 8, "--out", place / "heldout"),
                *size.evaluation,
            )


def read_scores(folder: Path, size: Size) -> dict[Arm, list[dict[str, Any]]]:
    """The reports of all runs that have one, by arm."""
    return {
        arm: [
            json.loads(file.read_text("utf-8"))
            for file in sorted(folder.glob(f"runs/{arm.name}-*/heldout/report.json"))
        ]
        for arm in size.arms
    }


def table(scores: dict[Arm, list[dict[str, Any]]]) -> str:
    """Means over seeds, and the lowest and highest seed where there are several."""
    heads = [f"{group}: {name}" for group in GROUPS for name in SHOWN]
    lines = ["| trained on | seeds | " + " | ".join(heads) + " |", "|---" * (len(heads) + 2) + "|"]
    for arm, reports in scores.items():
        if reports:
            cells = [_cell(values(reports, group, name)) for group in GROUPS for name in SHOWN]
            lines.append(f"| {arm.name} | {len(reports)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def values(reports: Sequence[dict[str, Any]], group: str, name: str) -> list[float]:
    """A score of each seed."""
    return [report[group]["scores"][name]["model"][0] for report in reports if group in report]


def _cell(found: Sequence[float]) -> str:
    if not found:
        return ""
    mean = f"{sum(found) / len(found):.2f}"
    return mean if len(found) == 1 else f"{mean} ({min(found):.2f} to {max(found):.2f})"


def draw(scores: dict[Arm, list[dict[str, Any]]], path: Path) -> None:
    """State success by the number of drawn worlds, logarithmic; a dot for each seed."""
    figure = need("matplotlib.figure").Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    places = {arm: max(arm.worlds, 5 if arm.aliases else 2) for arm in scores}
    for number, group in enumerate(GROUPS):
        known = [(arm, values(reports, group, "state")) for arm, reports in scores.items()]
        known = [(arm, found) for arm, found in known if found]
        for arm, found in known:
            axes.plot([places[arm]] * len(found), found, ".", color=f"C{number}", alpha=0.5)
        means = [sum(found) / len(found) for _, found in known]
        axes.plot([places[arm] for arm, _ in known], means, color=f"C{number}", label=group)
    axes.set_xscale("log")
    labels = [str(arm.worlds) if arm.worlds else arm.name for arm in scores]
    axes.set_xticks(list(places.values()), labels)
    axes.minorticks_off()
    axes.set_xlabel("drawn worlds in training, beside sixteen servers")
    axes.set_title("state success on held-out tasks", loc="left")
    axes.set_ylim(0, 1)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    save_figure(figure, path)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("step", choices=("corpora", "train", "draw"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--arms", nargs="+", default=[], help="only these points of the curve")
    parser.add_argument("--rehearse", action="store_true")
    given = parser.parse_args()
    size = REHEARSAL if given.rehearse else FULL
    if given.step == "corpora":
        make_corpora(given.folder, size)
    elif given.step == "train":
        train(given.folder, size, given.seeds, given.arms)
    else:
        scores = read_scores(given.folder, size)
        if not any(scores.values()):
            sys.exit(f"{given.folder} has no finished run; run the step `train` first")
        print(table(scores))
        path = given.folder if given.rehearse else Path(__file__).parent
        draw(scores, path / "curve")


if __name__ == "__main__":
    main()
