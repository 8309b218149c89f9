"""Batch jobs over JSONL files: play examples, score rollouts, verify examples; can be resumed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
from rich.progress import Progress

from provegym.config import BadRecipe, check_weights
from provegym.files import appending, cut_torn_line
from provegym.players.remote import Remote, greet, played
from provegym.rewards import Scheme, paid, rescore
from provegym.rewards.explain import explain
from provegym.rewards.success import PARTS, rates, verdict_of
from provegym.trace import BadFile, Example, Json, Rollout, line, read, read_some, write
from provegym.verify import verify
from provegym.workers import HERE, Workers


@dataclass(frozen=True)
class PlayJob:
    """The examples to play, the player, and the file for the rollouts."""

    data: Path
    out: Path
    player: Remote


@dataclass(frozen=True)
class PlayedFile:
    """What a file of rollouts holds: count, mean reward, success rates, and what went wrong."""

    count: int
    reward: float
    rates: Mapping[str, float]
    failed: Sequence[str]


def play_file(job: PlayJob, bar: Progress, workers: Workers = HERE) -> PlayedFile:
    """Play the examples that are not in the output yet, and summarise the whole file."""
    examples = list(read_some(job.data, Example))
    done = {rollout.example.id: (paid(rollout), verdict_of(rollout)) for rollout in _recover(job)}
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
                    done[rollout.example.id] = (paid(rollout), verdict_of(rollout))
                bar.update(task, advance=1, description=f"rollouts{workers.where}")
    except OSError as problem:
        raise BadFile(f"{job.out}: {problem.strerror}") from None
    reward = _mean([total for total, _ in done.values()])
    return PlayedFile(len(done), reward, rates([verdict for _, verdict in done.values()]), failed)


def _recover(job: PlayJob) -> list[Rollout]:
    """The rollouts in the file; removes an incomplete last line and failed rollouts."""
    if not job.out.exists():
        return []
    cut_torn_line(job.out)
    held = list(read(job.out, Rollout))
    for rollout in held:
        if rollout.policy != job.player.name:
            raise BadFile(f"{job.out} holds rollouts of {rollout.policy}; choose another file")
    good = [rollout for rollout in held if rollout.reward is not None]
    if len(good) < len(held):
        write(job.out, good)
    return good


def score_file(path: Path, scheme: Scheme, *, explained: bool = False) -> Json:
    """Score recorded rollouts again: means over all of them, and the figures of each."""
    check_weights(scheme.weights)
    each = [_score(rollout, scheme, explained) for rollout in read_some(path, Rollout)]
    scored = [one for one in each if "total" in one]
    parts = [one["parts"] for one in scored if one["parts"]]
    names = parts[0] if parts else ()
    return {
        "rollouts": len(scored),
        "total": _mean([one["total"] for one in scored]),
        "parts": {name: _mean([one[name] for one in parts]) for name in names},
        **{name: _mean([one[name] for one in scored]) for name in ("success", *PARTS)},
        "each": each,
    }


def _score(rollout: Rollout, scheme: Scheme, explained: bool) -> Json:
    """The figures of a rollout, or what went wrong in it."""
    if rollout.reward is None:
        return {"id": rollout.example.id, "problem": f"{rollout.ended}: {rollout.reason}"}
    rollout = rescore(rollout, scheme)
    reward, verdict = rollout.reward, verdict_of(rollout)
    assert reward is not None
    found: Json = {"id": rollout.example.id, "total": reward.total, "parts": reward.parts}
    found |= {"success": verdict.success, **msgspec.structs.asdict(verdict)}
    return {**found, "explain": list(explain(rollout))} if explained else found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


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
