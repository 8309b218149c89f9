"""Three ways to pay a policy, compared at equal tokens: which one learns most from GRPO?

From one warm-up, the recipe `embedded-full` trains with the paper's reward, with the hardened one,
and with the hardened one and credit per turn, each with several seeds. Every model plays the same
held-out tasks from its last checkpoint at which no run had generated more tokens than any other.

`python docs/schemes.py train FOLDER --start MODEL --corpus CORPUS --seeds 0 1 2` needs a GPU.
`python docs/schemes.py evaluate FOLDER --start MODEL` plays held-out tasks with the warm-up and
with each run, and prints the tables; it needs one, too.
`python docs/schemes.py tables FOLDER` prints tables for docs/results.md.

Every step resumes after a kill. `--minutes` ends the step `train` in time: a run that is stopped
goes on when the step is started again. A run that has generated too little to be compared with the
others is left out and named. `--size rehearsal` runs two steps on a CPU.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import Any

from provegym import servers
from provegym.evals import heldout
from provegym.evals.measure import change
from provegym.files import write_atomically
from provegym.rewards.success import verdict_of
from provegym.trace import Rollout, read, write
from provegym.worlds.files import copy_worlds

RECIPE = "embedded-full"
ARMS = {
    "paper": ("reward.scheme=paper",),
    "hardened": (),
    "hardened, per turn": ("grpo.credit=turn",),
}
GROUPS = ("unseen servers", "unseen worlds", "unseen drawn worlds")
SHOWN = ("success", "state", "reward")
# Steps over which a reward is averaged: a single step has other examples than the next.
WINDOW = 10
Json = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """How large everything is."""

    every: int
    tasks: int
    changes: tuple[str, ...]
    evaluation: tuple[str, ...] = ("--tools", "8")


# A checkpoint has 1.6 GB.
FULL = Size(every=25, tasks=200, changes=("grpo.steps=150", "grpo.keep=3"))
REHEARSAL = Size(
    every=1,
    tasks=2,
    changes=(
        *("grpo.steps=2", "grpo.prompts_per_step=2", "grpo.rollouts=2", "grpo.batch=2"),
        *("grpo.compiled=false", "limits.prompt=1024", "limits.completion=256"),
        *("limits.reply=32", "data.limit=4", "grpo.keep=5"),
    ),
    evaluation=("--tools", "4", "--prompt", "1024", "--completion", "128", "--reply", "32"),
)
SIZES = {"full": FULL, "rehearsal": REHEARSAL}


def run(*words: object, until: float | None = None) -> bool | None:
    """Run a command of provegym: whether it succeeds, or None if the time is too short for it."""
    left = None if until is None else until - monotonic()
    if left is not None and left <= 0:
        return None
    with subprocess.Popen([sys.executable, "-m", "provegym", *map(str, words)]) as process:
        try:
            return process.wait(left) == 0
        except subprocess.TimeoutExpired:
            process.terminate()
            return None


def places(folder: Path, seeds: Iterable[int], names: Iterable[str]) -> Iterator[tuple[str, Path]]:
    """The arms and folders of the runs; all seeds of one round before the next seed."""
    for seed in seeds:
        for arm in names:
            yield arm, folder / f"{_slug(arm)}-{seed}"


def _slug(arm: str) -> str:
    return arm.replace(", ", "-").replace(" ", "-")


def _arm(place: Path) -> str:
    return place.name.rpartition("-")[0]


def _seed(place: Path) -> str:
    return place.name.rpartition("-")[2]


def train(folder: Path, size: Size, given: argparse.Namespace) -> list[str]:
    """Train each arm with each seed, as far as the minutes reach; the names of what failed."""
    until = monotonic() + 60 * given.minutes if given.minutes else None
    start = [f"model.name={given.start}", f"data.corpus={given.corpus}"]
    failed = []
    for arm, place in places(folder, given.seeds, given.arms):
        if (place / "model" / "config.json").exists():
            continue
        seed = f"grpo.seed={_seed(place)}"
        changes = (*start, *size.changes, *ARMS[arm], seed, *given.set)
        sets = [
            word for each in (*changes, f"grpo.save_every={size.every}") for word in ("--set", each)
        ]
        resume = ["--resume"] if (place / "recipe.toml").exists() else []
        ended = run("train", RECIPE, "--out", place, *sets, *resume, until=until)
        if ended is None:
            print(f"no time left; the same command goes on with {place.name}")
            break
        failed += [] if ended else [place.name]
    return failed


def metrics(place: Path) -> list[Json]:
    """The steps of a run."""
    file = place / "metrics.jsonl"
    # What a killed process left of a last line is no line.
    lines = file.read_bytes().split(b"\n")[:-1] if file.exists() else []
    return [json.loads(line) for line in lines]


def spent(place: Path) -> list[int]:
    """The tokens that a run had generated after each step."""
    return list(accumulate(step["tokens"] for step in metrics(place)))


def saved(place: Path) -> list[int]:
    """The steps of which a run has the weights. The file that is looked for is written last."""
    found = place.glob("checkpoints/checkpoint-*/trainer_state.json")
    return sorted(int(file.parent.name.rpartition("-")[2]) for file in found)


def compared(place: Path, budget: int) -> int:
    """The last saved step at which a run had generated no more tokens than the budget, else 0."""
    tokens = spent(place)
    return max((step for step in saved(place) if tokens[step - 1] <= budget), default=0)


def begun(folder: Path) -> list[Path]:
    """The folders of the runs that have checkpoints, by arm and seed."""
    slugs = [_slug(arm) for arm in ARMS]
    found = [place for place in sorted(folder.glob("*-*")) if _arm(place) in slugs and saved(place)]
    return sorted(found, key=lambda place: slugs.index(_arm(place)))


def compared_runs(folder: Path) -> list[Path]:
    """The runs that can be compared, by arm and seed.

    Runs keep their last checkpoints alone. One that stopped so early that another has nothing
    left from so few tokens is left out.
    """
    found = begun(folder)
    while not all(compared(place, _most(found)) for place in found):
        found.remove(min(found, key=_last))
    return found


def runs(folder: Path) -> dict[str, list[Path]]:
    """The runs that can be compared, by arm."""
    found = compared_runs(folder)
    by_arm = {arm: [place for place in found if _arm(place) == _slug(arm)] for arm in ARMS}
    return {arm: some for arm, some in by_arm.items() if some}


def left_out(folder: Path) -> str:
    """The runs that cannot be compared, in a line; empty if there are none."""
    names = [place.name for place in begun(folder) if place not in compared_runs(folder)]
    return f"left out, as the others have no checkpoint so early: {', '.join(names)}" * bool(names)


def _last(place: Path) -> int:
    """The tokens that a run had generated at its last checkpoint."""
    return spent(place)[saved(place)[-1] - 1]


def _most(found: Iterable[Path]) -> int:
    """The tokens that every run has generated at its last checkpoint."""
    return min(map(_last, found))


def budget(folder: Path) -> int:
    """The tokens at which runs are compared."""
    return _most(compared_runs(folder))


def pairs(folder: Path, one: str, two: str) -> list[tuple[Path, Path]]:
    """The runs of two arms, by seed."""
    found = runs(folder)
    others = {_seed(place): place for place in found.get(two, [])}
    return [(each, others[_seed(each)]) for each in found.get(one, []) if _seed(each) in others]


def make_tasks(folder: Path, size: Size, worlds: str) -> Path:
    """The file of the held-out tasks, made once: a GPU does not wait for it at every model."""
    file = folder / "tasks.jsonl"
    if not file.exists():
        names = heldout.held_out_worlds(Path(worlds)) if worlds else ()
        found = heldout.tasks(None, size.tasks, names)
        # A file of tasks is read with the worlds beside it.
        copy_worlds({each.server for each in found}, folder / servers.BESIDE)
        write(file, found)
    return file


def evaluate(folder: Path, size: Size, given: argparse.Namespace) -> list[str]:
    """Play the held-out tasks with the warm-up, and with each run at equal tokens."""
    most, tasks = budget(folder), make_tasks(folder, size, given.worlds)
    models = {folder / "start": given.start}
    for place in compared_runs(folder):
        step = compared(place, most)
        models[place / f"heldout-{step}"] = place / f"checkpoints/checkpoint-{step}"
    failed = []
    for out, model in models.items():
        words = ("eval", "heldout", "--model", model, "--data", tasks, "--count", size.tasks)
        if out.name != "start" and report(out):
            continue
        if not run(*words, "--out", out, *size.evaluation):
            failed.append(str(out))
    return failed


def report(folder: Path) -> Json:
    """The scores of a held-out run; empty if it was not finished."""
    file = folder / "report.json"
    return json.loads(file.read_text("utf-8")) if file.exists() else {}


def scores_table(folder: Path) -> str:
    """Means over seeds with the lowest and highest seed, by arm and group."""
    most = budget(folder)
    found = {"warm-up": [report(folder / "start")]}
    for arm, some in runs(folder).items():
        found[arm] = [report(place / f"heldout-{compared(place, most)}") for place in some]
    groups = [group for group in GROUPS if any(group in r for rs in found.values() for r in rs)]
    heads = [f"{group}: {name}" for group in groups for name in SHOWN]
    lines = ["| | seeds | " + " | ".join(heads) + " |", "|---" * (len(heads) + 2) + "|"]
    for arm, reports in found.items():
        full = [each for each in reports if each]
        cells = [
            spread([each[group]["scores"][name]["model"][0] for each in full if group in each])
            for group in groups
            for name in SHOWN
        ]
        lines.append(f"| {arm} | {len(full)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def spread(values: Sequence[float]) -> str:
    """A mean, and the lowest and highest value if there are several."""
    if not values:
        return ""
    mean = f"{fmean(values):.2f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.2f} to {max(values):.2f})"


def paired(folder: Path, one: str, two: str) -> str:
    """How the second arm differs from the first in success, paired by task and seed."""
    most, differences = budget(folder), []
    for before, after in pairs(folder, one, two):
        told = [_successes(place / f"heldout-{compared(place, most)}") for place in (before, after)]
        differences += [told[1][task] - told[0][task] for task in told[0] if task in told[1]]
    if not differences:
        return f"{two} minus {one}: not measured"
    gain = change(differences)
    return f"{two} minus {one}: success {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"


def _successes(folder: Path) -> dict[str, float]:
    """Whether each task of a held-out run was a success."""
    file = folder / "rollouts.jsonl"
    rollouts = read(file, Rollout) if file.exists() else ()
    return {each.example.id: float(verdict_of(each).success) for each in rollouts}


def training_table(folder: Path) -> str:
    """What each run was paid at first and at last, and what its tokens and steps cost."""
    lines = [
        "| | steps | million tokens | reward, first | last | success, first | last"
        " | seconds a step | variance of advantages | without Φ |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for place in begun(folder):
        steps = metrics(place)
        first, last = steps[:WINDOW], steps[-WINDOW:]
        cells = [
            f"{len(steps)}",
            f"{spent(place)[-1] / 1e6:.2f}",
            *(
                f"{fmean(step[name] for step in part):.3f}"
                for name in ("reward", "success")
                for part in (first, last)
            ),
            f"{fmean(step['seconds'] for step in last):.1f}",
            *(
                f"{fmean(step[name] for step in steps):.3f}" if name in steps[0] else ""
                for name in ("advantage_variance", "plain_advantage_variance")
            ),
        ]
        lines.append(f"| {place.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def catch_up(folder: Path, one: str = "hardened", two: str = "hardened, per turn") -> str:
    """The share of tokens after which the second arm is paid what the first is paid at its end."""
    shares = []
    for before, after in pairs(folder, one, two):
        goal = fmean(step["reward"] for step in metrics(before)[-WINDOW:])
        rewards, tokens = [step["reward"] for step in metrics(after)], spent(after)
        reached = (
            at for at in range(WINDOW, len(rewards) + 1) if fmean(rewards[at - WINDOW : at]) >= goal
        )
        at = next(reached, None)
        shares.append(None if at is None else tokens[at - 1] / spent(before)[-1])
    told = ["never" if share is None else f"{share:.0%}" for share in shares]
    return f"{two} reaches the last reward of {one} after this share of its tokens: " + (
        ", ".join(told) or "not measured"
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("step", choices=("train", "evaluate", "tables"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--start", default="runs/embedded-full-sft/model", help="the warm-up")
    parser.add_argument("--corpus", default="corpus", help="the examples of GRPO")
    parser.add_argument("--worlds", default="", help="admitted worlds, for tasks on drawn worlds")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--minutes", type=float, default=0.0, help="end the training after these")
    parser.add_argument("--set", action="append", default=[], help="a setting of all runs")
    parser.add_argument("--size", choices=SIZES, default="full")
    given = parser.parse_args()
    size = SIZES[given.size]
    keep_size(given.folder, given.size, given.step == "train")
    failed: list[str] = []
    if given.step == "train":
        failed = train(given.folder, size, given)
        print(training_table(given.folder))
    elif not begun(given.folder):
        sys.exit(f"{given.folder} has no run with a checkpoint; run the step train first")
    else:
        if given.step == "evaluate":
            failed = evaluate(given.folder, size, given)
        print_tables(given.folder)
    if failed:
        sys.exit(f"failed, see above: {', '.join(failed)}")


def print_tables(folder: Path) -> None:
    """Print what the runs measured."""
    if told := left_out(folder):
        print(told, end="\n\n")
    print(scores_table(folder), training_table(folder), sep="\n\n")
    print("", paired(folder, "paper", "hardened"), sep="\n")
    print(paired(folder, "hardened", "hardened, per turn"))
    print(catch_up(folder))


def keep_size(folder: Path, name: str, begins: bool) -> None:
    """Refuse a folder of another size, or none where a step needs runs."""
    file = folder / "size.txt"
    held = file.read_text("utf-8").strip() if file.exists() else ""
    if held and held != name:
        sys.exit(f"{folder} was begun with --size {held}; give that, or another folder")
    if not begins and not folder.is_dir():
        sys.exit(f"there is no {folder}; run the step train first")
    if not held:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(file, name)


if __name__ == "__main__":
    main()
