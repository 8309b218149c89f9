"""Batch jobs over JSONL files: play examples, score rollouts, verify examples; can be resumed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec
from rich.progress import Progress

from provegym import servers
from provegym.config import BadRecipe, check_weights
from provegym.files import locked_file
from provegym.lines import has_sums, mend, recording
from provegym.players.remote import Remote, greet, played
from provegym.players.scripted import noop
from provegym.rewards import Scheme, paid, rescore
from provegym.rewards.explain import explain
from provegym.rewards.success import PARTS, is_answer_due, rates, verdict_of
from provegym.trace import (
    BadFile,
    Example,
    Json,
    Rollout,
    Verdict,
    line,
    numbered,
    read,
    read_some,
    write,
)
from provegym.verify import verify
from provegym.workers import HERE, Workers
from provegym.worlds.files import copy_worlds


@dataclass(frozen=True)
class PlayJob:
    """The examples to play, the player, and the file for the rollouts."""

    data: Path
    out: Path
    player: Remote
    samples: int = 1


@dataclass(frozen=True)
class PlayedFile:
    """What a file of rollouts holds: means, those of doing nothing, tokens, and what went wrong.

    `prompt_tokens` were read by the model, `tokens` were written.
    """

    count: int
    reward: float
    rates: Mapping[str, float]
    floor: Mapping[str, float]
    prompt_tokens: int
    tokens: int
    failed: Sequence[str]


def play_file(job: PlayJob, bar: Progress, workers: Workers = HERE) -> PlayedFile:
    """Play the samples that are not in the output yet, and summarise the whole file."""
    with locked_file(job.out):
        return _play_file(job, bar, workers)


def _play_file(job: PlayJob, bar: Progress, workers: Workers) -> PlayedFile:
    examples = list(read_some(job.data, Example))
    held, sums = _recover(job), _Sums()
    for rollout in held:
        sums.add(rollout)
    lacking = [(example, job.samples - sums.held[example.id]) for example in examples]
    todo = [example for example, count in lacking for _ in range(count)]
    if todo:
        greet(job.player, workers)
    total = job.samples * len(examples)
    task = bar.add_task("rollouts", total=total, completed=total - len(todo))
    with recording(job.out) as append:
        if job.out.is_file():  # with their worlds beside them, rollouts can be read anywhere
            copy_worlds({each.server for each in examples}, job.out.parent / servers.BESIDE)
        for rollout in numbered(played(todo, job.player, workers), held):
            append(line(rollout))
            sums.add(rollout)
            bar.update(task, advance=1, description=f"rollouts{workers.where}")
    floor = _floor(examples, job.player, bar, workers)
    return PlayedFile(
        count=len(sums.rewards),
        reward=_mean(sums.rewards),
        rates=rates(sums.verdicts),
        floor=floor,
        prompt_tokens=sums.prompt_tokens,
        tokens=sums.tokens,
        failed=sums.failed,
    )


@dataclass
class _Sums:
    """The figures of the rollouts so far."""

    held: Counter[str] = field(default_factory=Counter)
    rewards: list[float] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    prompt_tokens: int = 0
    tokens: int = 0

    def add(self, rollout: Rollout) -> None:
        self.tokens += rollout.tokens
        self.prompt_tokens += rollout.prompt_tokens
        if rollout.reward is None:
            self.failed.append(f"{rollout.example.id}: {rollout.ended}: {rollout.reason}")
            return
        self.held[rollout.example.id] += 1
        self.rewards.append(paid(rollout))
        self.verdicts.append(verdict_of(rollout))


def _floor(
    examples: Sequence[Example], player: Remote, bar: Progress, workers: Workers
) -> Mapping[str, float]:
    """The mean reward and the success rate of a policy that never calls anything."""
    task = bar.add_task("noop, to compare", total=len(examples))
    sums = _Sums()
    for rollout in played(examples, replace(player, name="noop", policy=noop), workers):
        sums.add(rollout)
        bar.update(task, advance=1)
    return {"reward": _mean(sums.rewards), "success": rates(sums.verdicts)["success"]}


def _recover(job: PlayJob) -> list[Rollout]:
    """The rollouts in the file; removes an incomplete last line and failed rollouts."""
    if not job.out.exists():
        return []
    mend(job.out)
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
    each, unknown = [], set()
    for rollout in read_some(path, Rollout):
        each.append(_score(rollout, scheme, explained))
        name = rollout.example.server
        if name and not servers.is_known(name):
            unknown.add(name)
    scored = [one for one in each if "total" in one]
    parts = [one["parts"] for one in scored if one["parts"]]
    names = parts[0] if parts else ()
    return {
        "rollouts": len(scored),
        "total": _mean([one["total"] for one in scored]),
        "parts": {name: _mean([one[name] for one in parts]) for name in names},
        **{name: _mean([one[name] for one in scored]) for name in ("success", *PARTS)},
        "unknown_servers": sorted(unknown),
        "each": each,
    }


def _score(rollout: Rollout, scheme: Scheme, explained: bool) -> Json:
    """The figures of a rollout, or what went wrong in it."""
    if rollout.reward is None:
        return {"id": rollout.example.id, "problem": f"{rollout.ended}: {rollout.reason}"}
    try:
        rollout = rescore(rollout, scheme)
    except RecursionError:
        raise BadFile(
            f"{rollout.example.id}: a result is nested too deeply; take this rollout out"
        ) from None
    reward, verdict = rollout.reward, verdict_of(rollout)
    assert reward is not None
    found: Json = {"id": rollout.example.id, "total": reward.total, "parts": reward.parts}
    found |= {"success": verdict.success, **msgspec.structs.asdict(verdict)}
    found["answer_due"] = is_answer_due(rollout.example)
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


def unchecked(path: Path) -> list[Path]:
    """The files of examples that have no checksums beside them."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    return [file for file in files if not has_sums(file)]


def complete_weights(scheme: Scheme, weights: dict[str, float], *, strict: bool) -> Scheme:
    """A scheme with some weights changed."""
    merged = {**scheme.weights, **weights}
    return msgspec.structs.replace(scheme, weights=merged, strict=strict or scheme.strict)
