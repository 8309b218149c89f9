"""The scaling curve: does training on more kinds of worlds help on servers that were never seen?

Five corpora of equal size in tokens: the sixteen training servers alone, with aliases, and with
aliases and 30, 300 or 1,000 drawn worlds. The recipe `embedded-full-sft` trains on each, and every
model plays the same held-out tasks.

`python docs/curve.py corpora FOLDER` makes worlds, corpora and tasks: an hour on two cores.
`python docs/curve.py train FOLDER --seeds 0 1 2` trains: a GPU, as for the next step.
`python docs/curve.py evaluate FOLDER --seeds 0 1 2` plays the held-out tasks, prints the table.
`python docs/curve.py draw FOLDER` prints the table and draws docs/curve.svg.

Every step resumes after a kill. A folder is of one size. `--size long` is not a curve but one
model, which reads nearly three times as much, and nothing twice, about 1,000 drawn worlds and the
sixteen servers. `--size laptop` is a small curve for a CPU: the embedded model with the shipped
adapter learns further, in all weights, from 0.26 million tokens of three corpora. There, `forced`
is a cheaper measure than rollouts: the model reads the reference transcripts of the held-out tasks,
and its likeliest tokens are compared with each reply that has calls. `--size rehearsal` runs in
minutes, with a few examples and updates, to find mistakes before a GPU is paid for; its figures
mean nothing.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

from provegym import servers
from provegym.config import load_recipe
from provegym.corpus.exports import shards
from provegym.corpus.split import split_worlds
from provegym.evals import heldout
from provegym.evals.measure import change
from provegym.files import appending, write_atomically
from provegym.models.codec import Codec
from provegym.models.local import load, load_tokenizer
from provegym.models.optional import need
from provegym.trace import Example, read, write
from provegym.train.data import show
from provegym.train.plots import save_figure
from provegym.train.sft import IGNORED, SftRow, rows
from provegym.worlds.files import admitted

GROUPS = ("unseen servers", "unseen worlds", "unseen drawn worlds")
SHOWN = ("state", "success", "reward")
TOOL_CALL = "<tool_call>"
RECIPE = "embedded-full-sft"


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
    start: str = ""  # the adapter that training starts from, merged into the embedded model
    changes: tuple[str, ...] = ()
    tools: int = 8
    evaluation: tuple[str, ...] = ()


def arms(*counts: int) -> tuple[Arm, ...]:
    """The points of the curve: no drawn worlds without and with aliases, then these counts."""
    drawn = (Arm(f"worlds-{count}", 0.3, count) for count in counts)
    return Arm("servers", 0.0, 0), Arm("aliases", 0.3, 0), *drawn


FULL = Size(
    drawn=1_400,
    examples=12_000,
    tokens=16_000_000,
    tasks=200,
    arms=arms(30, 300, 1_000),
    changes=("sft.epochs=2",),
)
LONG = Size(
    drawn=1_400,
    examples=40_000,
    tokens=90_000_000,
    tasks=200,
    arms=(Arm("worlds-1000", 0.3, 1_000),),
    changes=("sft.epochs=1",),
)
REHEARSAL = Size(
    drawn=16,
    examples=48,
    tokens=4_000,
    tasks=2,
    arms=arms(2, 4, 8),
    changes=(
        *("data.limit=4", "limits.prompt=1024", "sft.max_tokens=1024", "sft.save_every=1"),
        *("sft.epochs=1", "sft.batch=2", "sft.together=2", "sft.compiled=false"),
    ),
    tools=4,
    evaluation=("--prompt", "1024", "--completion", "200", "--reply", "48"),
)
LAPTOP = Size(
    drawn=330,
    examples=2_000,
    tokens=260_000,
    tasks=150,
    arms=arms(240),
    start="shipped",
    changes=(
        *("model.cpu_dtype=bfloat16", "data.limit=4", "limits.prompt=1024"),
        *("sft.max_tokens=1536", "sft.epochs=1", "sft.lr=2e-4", "sft.warmup=5"),
        *("sft.together=8", "sft.batch=1", "sft.packed=false", "sft.compiled=false"),
        "sft.save_every=10",
    ),
    tools=4,
    evaluation=("--prompt", "1024", "--completion", "1024", "--reply", "160", "--batch", "32"),
)
SIZES = {"full": FULL, "long": LONG, "laptop": LAPTOP, "rehearsal": REHEARSAL}


def run(*words: object) -> None:
    """Run a command of provegym; stop if it fails."""
    command = [sys.executable, "-m", "provegym", *map(str, words)]
    if subprocess.run(command, check=False).returncode:
        sys.exit(f"provegym {' '.join(map(str, words[:4]))} ... failed, see above")


def make_corpora(folder: Path, size: Size) -> None:
    """Draw and admit worlds, then make a corpus for each arm and cut it to equal tokens."""
    worlds = folder / "worlds"
    if len(list(worlds.glob("*.json"))) < size.drawn:
        run("worlds", "draw", "--count", size.drawn, "--seed", 20, "--out", worlds)
    run("worlds", "admit", worlds)
    known = split_worlds([world.spec.name for world in admitted(worlds)])[0]
    # Nested subsets: the 300 worlds contain the 30.
    shuffled = Random("curve").sample(known, len(known))
    for arm in size.arms:
        corpus = folder / "corpora" / arm.name
        if (corpus / "equal.json").exists():
            continue
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
    make_tasks(folder, size)


def make_tasks(folder: Path, size: Size) -> Path:
    """The file of the held-out tasks, made once: a GPU does not wait for it at every model."""
    file = folder / "tasks.jsonl"
    if not file.exists():
        names = heldout.held_out_worlds(folder / "worlds")
        write(file, heldout.tasks(None, size.tasks, names))
    return file


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
    recipe = load_recipe(RECIPE, size.changes)
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
    """Train the model of each arm and seed."""
    start = [f"model.name={_start(folder, size)}"] if size.start else []
    for arm, seed, place in _places(folder, size, seeds, names):
        if (place / "model" / "config.json").exists():
            continue
        data = folder / "corpora" / arm.name / "equal.jsonl"
        changes = [f"data.corpus={data}", f"sft.seed={seed}", *start, *size.changes]
        sets = [word for change in changes for word in ("--set", change)]
        resume = ["--resume"] if (place / "recipe.toml").exists() else []
        run("train", RECIPE, "--out", place, *sets, *resume)


def _start(folder: Path, size: Size) -> str:
    """The model that training starts from."""
    if not size.start:
        return "embedded"
    place = folder / "start"
    if not (place / "tokenizer_config.json").exists():
        model, tokenizer = load("embedded", Path(size.start), "cpu")
        model.merge_and_unload().save_pretrained(place)
        tokenizer.save_pretrained(place)
    return str(place.resolve())


def _places(
    folder: Path, size: Size, seeds: Iterable[int], names: Iterable[str]
) -> Iterator[tuple[Arm, int, Path]]:
    """The arms, seeds and folders of the runs; all arms if none is named."""
    wanted = set(names) or {arm.name for arm in size.arms}
    for seed in seeds:
        for arm in (arm for arm in size.arms if arm.name in wanted):
            yield arm, seed, folder / "runs" / f"{arm.name}-{seed}"


def evaluate(folder: Path, size: Size, places: Iterable[Path]) -> None:
    """Play the held-out tasks with the model of each run."""
    tasks = make_tasks(folder, size)
    for place in places:
        if not (place / "model" / "config.json").exists():
            print(f"left out: {place} has no model yet, the step train makes it", flush=True)
        elif not (place / "heldout" / "report.json").exists():
            run(
                *("eval", "heldout", "--model", place / "model", "--data", tasks),
                *("--count", size.tasks, "--tools", size.tools, "--out", place / "heldout"),
                *size.evaluation,
            )


def force(folder: Path, size: Size) -> None:
    """Teacher forcing: of the reference replies with calls, how many would each model write?

    One line for each model and task goes to forced.jsonl: how many of its replies with calls are
    the likeliest tokens all along, and the mean loss of a token in them.
    """
    recipe = load_recipe(RECIPE, size.changes)
    codec = Codec(load_tokenizer(recipe.model.name), recipe.limits.prompt)
    file = folder / "forced.jsonl"
    known = {(each["model"], each["task"]) for each in _lines(file)}
    found = [show(task, size.tools) for task in read(make_tasks(folder, size), Example)]
    models = {"start": _start(folder, size)}
    for place in sorted(folder.glob("runs/*/model")):
        models[place.parent.name] = str(place)
    for name, source in models.items():
        model = load(source, None, "cpu", "bfloat16")[0].eval()
        for task in found:
            if (name, task.id) in known:
                continue
            told = {"model": name, "group": heldout.group(task), "task": task.id}
            for row in rows([task], codec, 2 * size.tokens):
                with appending(file) as append:
                    append(json.dumps({**told, **_forced(model, row, codec)}).encode() + b"\n")


def _forced(model: Any, row: SftRow, codec: Codec) -> dict[str, float]:
    torch = need("torch")
    replies = [span for span in _replies(row) if TOOL_CALL in codec.tokenizer.decode(span.ids)]
    places = [at - 1 for span in replies for at in range(span.start, span.start + len(span.ids))]
    if not places:
        return {"replies": 0, "right": 0, "loss": 0.0, "tokens": 0}
    with torch.inference_mode():
        seen = model(input_ids=torch.tensor([row.input_ids]), logits_to_keep=torch.tensor(places))
    logits = seen.logits[0].float()
    wanted = torch.tensor([token for span in replies for token in span.ids])
    loss = torch.nn.functional.cross_entropy(logits, wanted, reduction="sum").item()
    likeliest, at, right = logits.argmax(-1).tolist(), 0, 0
    for span in replies:
        right += likeliest[at : at + len(span.ids)] == span.ids
        at += len(span.ids)
    return {"replies": len(replies), "right": right, "loss": loss, "tokens": len(places)}


class _Reply(NamedTuple):
    start: int
    ids: list[int]


def _replies(row: SftRow) -> list[_Reply]:
    """The replies of a transcript that are learnt: runs of labels."""
    found: list[_Reply] = []
    for is_own, run_ in groupby(enumerate(row.labels), key=lambda each: each[1] != IGNORED):
        part = list(run_)
        if is_own:
            found.append(_Reply(part[0][0], [label for _, label in part]))
    return found


def _lines(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    # What a killed process left of a last line is no line.
    return [json.loads(line) for line in file.read_bytes().split(b"\n")[:-1]]


def forced_table(folder: Path, against: str) -> str:
    """By model and group: loss, right replies, and how both differ from another model's, paired."""
    by_model: dict[str, dict[str, dict[str, Any]]] = {}
    for each in _lines(folder / "forced.jsonl"):
        if each["replies"]:
            by_model.setdefault(each["model"], {})[each["task"]] = each
    if against not in by_model:
        return f"no comparison with {against}, which was not measured"
    lines = [
        f"| tasks | model | loss of a token | more than {against} | right replies"
        f" | more than {against} |",
        "|---|---|---|---|---|---|",
    ]
    for group_name in GROUPS:
        for model, found in by_model.items():
            chosen = [each for each in found.values() if each["group"] == group_name]
            if not chosen:
                continue
            cells = []
            for measure in (_loss, _share):
                values = [measure(each) for each in chosen]
                before = [measure(by_model[against][each["task"]]) for each in chosen]
                gain = change([now - was for now, was in zip(values, before, strict=True)])
                cells.append(f"{sum(values) / len(values):.3f}")
                told = f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
                cells.append("" if model == against else told)
            lines.append(f"| {len(chosen)} {group_name} | {model} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _loss(each: dict[str, Any]) -> float:
    return float(each["loss"] / each["tokens"])


def _share(each: dict[str, Any]) -> float:
    return float(each["right"] / each["replies"])


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
    """State success by the number of drawn worlds, logarithmic.

    A dot for each seed; with one seed, its 95 % interval over tasks. Dashed: doing nothing.
    """
    figure = need("matplotlib.figure").Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    known = [arm for arm, some in scores.items() if some]
    places = [max(arm.worlds, 5 if arm.aliases else 2) for arm in known]
    reports = [each for arm in known for each in scores[arm]]
    played = [group for group in GROUPS if all(group in each for each in reports)]
    for number, group in enumerate(played):
        color = f"C{number}"
        means = [fmean(values(scores[arm], group, "state")) for arm in known]
        axes.plot(places, means, "o-", color=color, label=group)
        for place, arm in zip(places, known, strict=True):
            found = values(scores[arm], group, "state")
            axes.plot([place] * len(found), found, ".", color=color, alpha=0.5)
            if len(found) == 1:
                _, low, high, _ = scores[arm][0][group]["scores"]["state"]["model"]
                axes.plot([place, place], [low, high], color=color, alpha=0.5)
    floors = [scores[known[0]][0][group]["scores"]["state"]["noop"][0] for group in played]
    axes.axhline(fmean(floors), color="gray", linestyle="--", linewidth=1, label="doing nothing")
    axes.set_xscale("log")
    axes.set_xticks(places, [str(arm.worlds) if arm.worlds else arm.name for arm in known])
    axes.minorticks_off()
    axes.set_xlabel("drawn worlds in training, beside sixteen servers, at equal tokens")
    axes.set_title("state success on held-out tasks", loc="left")
    axes.set_ylim(0, 1)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=2, loc="upper left")
    save_figure(figure, path)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("step", choices=("corpora", "train", "evaluate", "forced", "draw"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--arms", nargs="+", default=[], help="only these points of the curve")
    parser.add_argument("--size", choices=SIZES, default="full")
    given = parser.parse_args()
    size = SIZES[given.size]
    if odd := set(given.arms) - {arm.name for arm in size.arms}:
        sys.exit(f"no arm {min(odd)}; there are {', '.join(arm.name for arm in size.arms)}")
    keep_size(given.folder, given.size, given.step == "corpora")
    if given.step == "corpora":
        make_corpora(given.folder, size)
    elif given.step == "train":
        train(given.folder, size, given.seeds, given.arms)
    elif given.step == "evaluate":
        places = [place for _, _, place in _places(given.folder, size, given.seeds, given.arms)]
        evaluate(given.folder, size, places)
        print(table(read_scores(given.folder, size)))
    elif given.step == "forced":
        force(given.folder, size)
        for against in ("start", f"{size.arms[0].name}-{given.seeds[0]}"):
            print(forced_table(given.folder, against))
    else:
        scores = read_scores(given.folder, size)
        if not any(scores.values()):
            sys.exit(f"{given.folder} has no finished run; run the steps train and evaluate first")
        print(table(scores))
        path = given.folder if given.size == "rehearsal" else Path(__file__).parent
        draw(scores, path / ("curve" if given.size == "full" else f"curve-{given.size}"))


def keep_size(folder: Path, name: str, begins: bool) -> None:
    """Refuse a folder of another size, or without the corpora that a step needs."""
    file = folder / "size.txt"
    held = file.read_text("utf-8").strip() if file.exists() else ""
    if held and held != name:
        sys.exit(f"{folder} was begun with --size {held}; give that, or another folder")
    if not begins and not (folder / "corpora").is_dir():
        sys.exit(f"{folder} has no corpora; run the step corpora first")
    if not held:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(file, name)


if __name__ == "__main__":
    main()
