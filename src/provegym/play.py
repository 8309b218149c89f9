"""Batch jobs over JSONL files: play examples, score rollouts, verify examples; can be resumed."""

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from rich.progress import Progress

from provegym.config import BadRecipe, check_weights
from provegym.files import appending, cut_torn_line
from provegym.players.remote import Remote, greet, played
from provegym.rewards import Scheme, rescore
from provegym.rewards.explain import explain, summary
from provegym.trace import BadFile, Example, Rollout, line, read, read_some, write
from provegym.verify import verify
from provegym.workers import HERE, Workers


@dataclass(frozen=True)
class PlayJob:
    """The examples to play, the player, and the file for the rollouts."""

    data: Path
    out: Path
    player: Remote


def play_file(job: PlayJob, bar: Progress, workers: Workers = HERE) -> tuple[int, float, list[str]]:
    """Play the examples that are not in the output yet; returns count, mean reward and failures."""
    examples = list(read_some(job.data, Example))
    done = _recover(job)
    failed: list[str] = []
    todo = [example for example in examples if example.id not in done]
    if todo:
        greet(job.player, workers)
    task = bar.add_task("rollouts", total=len(examples), completed=len(examples) - len(todo))
    try:
        with appending(job.out) as append:
            for rollout in played(todo, job.player, workers):
                append(line(rollout))
                if rollout.reward is None:
                    failed.append(f"{rollout.example.id}: {rollout.ended}: {rollout.reason}")
                else:
                    done[rollout.example.id] = rollout.reward.total
                bar.update(task, advance=1, description=f"rollouts{workers.where}")
    except OSError as problem:
        raise BadFile(f"{job.out}: {problem.strerror}") from None
    return len(done), sum(done.values()) / len(done) if done else 0.0, failed


def _recover(job: PlayJob) -> dict[str, float]:
    """Rewards of the rollouts in the file; removes an incomplete last line and failed rollouts."""
    if not job.out.exists():
        return {}
    cut_torn_line(job.out)
    held = list(read(job.out, Rollout))
    for rollout in held:
        if rollout.policy != job.player.name:
            raise BadFile(f"{job.out} holds rollouts of {rollout.policy}; choose another file")
    good = [rollout for rollout in held if rollout.reward is not None]
    if len(good) < len(held):
        write(job.out, good)
    return {r.example.id: r.reward.total for r in good if r.reward is not None}


def score_file(path: Path, scheme: Scheme, *, explained: bool = False) -> dict[str, Any]:
    """Score recorded rollouts again: mean total and components, and lines about each rollout."""
    check_weights(scheme.weights)
    lines: list[str] = []
    sums: dict[str, float] = defaultdict(float)
    count = scored = 0
    total = 0.0
    for rollout in read_some(path, Rollout):
        if rollout.reward is None:
            lines.append(f"{rollout.example.id}: {rollout.ended}: {rollout.reason}")
            continue
        rollout = rescore(rollout, scheme)
        assert rollout.reward is not None
        count += 1
        total += rollout.reward.total
        scored += bool(rollout.reward.parts)
        for part, value in rollout.reward.parts.items():
            sums[part] += value
        lines.append(f"{rollout.example.id}: {summary(rollout.reward)}")
        if explained:
            lines += [f"  {told}" for told in explain(rollout)]
    means = {part: value / scored for part, value in sums.items()}
    return {
        "rollouts": count,
        "total": total / count if count else 0.0,
        "parts": means,
        "lines": lines,
    }


def parse_weights(text: str) -> dict[str, float]:
    """Parse the weights of a command line: "name=0,argument=0.3"."""
    weights: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, mark, value = part.partition("=")
        try:
            weights[name.strip()] = float(value)
        except ValueError:
            raise BadRecipe(f"{part!r} is no weight; write e.g. name=0.2") from None
        if not mark:
            raise BadRecipe(f"{part!r} is no weight; write e.g. name=0.2")
    check_weights(weights)
    return weights


def verify_file(
    path: Path, bar: Progress, workers: Workers = HERE
) -> tuple[dict[str, list[str]], int]:
    """The problems of each example that has some, and the number of examples."""
    examples = list(read_some(path, Example))
    failed: dict[str, list[str]] = {}
    task = bar.add_task("verify", total=len(examples))
    found = workers.map(partial(map, verify), examples)
    for example, problems in zip(examples, found, strict=True):
        if problems:
            failed[example.id] = problems
        bar.update(task, advance=1, description=f"verify{workers.where}")
    return failed, len(examples)


def complete_weights(scheme: Scheme, weights: dict[str, float], *, strict: bool) -> Scheme:
    """A scheme with some weights changed."""
    merged = {**scheme.weights, **weights}
    return msgspec.structs.replace(scheme, weights=merged, strict=strict or scheme.strict)
