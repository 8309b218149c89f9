"""Held-out tasks: which they are, that they are new, and how they are played."""

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from examples import pay_example
from provegym.evals.heldout import (
    SERVERS,
    TRAINING,
    WORLDS,
    Local,
    Remote,
    drawn,
    evaluate,
    group,
    played,
    report,
    tasks,
)
from provegym.policies.local import Sampled
from provegym.policies.scripted import SCRIPTS
from provegym.rollout import play_script
from provegym.synth.corpus import TRAIN_WORLDS
from provegym.synth.perturb import HELD_OUT
from provegym.trace import BadFile, Example, Json, Reply, Rollout, ToolCall, line, read, write
from provegym.trace import Path as Road
from provegym.train.codec import TooLong
from provegym.train.engine import Limits
from provegym.verify import verify
from provegym.verify.complete import complete
from provegym.workers import Processes


@pytest.fixture(scope="module")
def example() -> Example:
    """A payment on a world of training."""
    return complete(pay_example())


def test_what_is_new_about_a_task(example: Example) -> None:
    assert group(example) == TRAINING
    assert group(msgspec.structs.replace(example, seed=TRAIN_WORLDS)) == WORLDS
    assert group(msgspec.structs.replace(example, server=HELD_OUT[0])) == SERVERS


def test_drawn_tasks_are_verified_and_on_worlds_that_training_never_uses() -> None:
    found = drawn(("budget", "banking"), 6)
    assert len(found) == 6
    assert {example.server for example in found} == {"budget", "banking"}
    assert all(group(example) == WORLDS for example in found)
    assert [verify(example) for example in found] == [[]] * 6
    assert drawn(("budget", "banking"), 6) == found


def test_a_file_gives_so_many_of_each_group(example: Example, tmp_path: Path) -> None:
    seen = [msgspec.structs.replace(example, id=f"seen-{n}") for n in range(5)]
    new = [msgspec.structs.replace(e, id=f"new-{n}", seed=900) for n, e in enumerate(seen)]
    write(tmp_path / "some.jsonl", [*seen, *new])
    found = tasks(tmp_path / "some.jsonl", 3)
    assert sorted(group(each) for each in found) == [TRAINING] * 3 + [WORLDS] * 3
    assert tasks(tmp_path / "some.jsonl", 3) == found
    with pytest.raises(BadFile, match="heldout"):
        tasks(tmp_path, 3)


def test_the_noop_stands_beside_every_score(example: Example) -> None:
    empty = msgspec.structs.replace(example, id="empty", kind="abstention", paths=(Road(),))
    rollouts = [play_script(each, SCRIPTS["oracle"]) for each in (example, empty)]
    found = report(rollouts)[TRAINING]
    assert (found["tasks"], found["rollouts"], found["broken"]) == (2, 2, 0)
    assert found["scores"]["success"]["model"].mean == 1
    assert found["scores"]["success"]["noop"].mean == 0.5
    assert all(both.keys() == {"model", "noop"} for both in found["scores"].values())


def test_a_remote_policy_is_asked_and_its_rollouts_are_kept(
    example: Example, tmp_path: Path
) -> None:
    examples = [msgspec.structs.replace(example, id=f"pay-{n}") for n in range(3)]
    out = tmp_path / "rollouts.jsonl"
    found = evaluate(examples, Remote("oracle", SCRIPTS["oracle"], 2), 2, out)
    assert found[TRAINING]["scores"]["reward"]["model"].mean == pytest.approx(1.3)
    kept = [(each.example.id, each.policy) for each in read(out, Rollout)]
    assert kept == [(f"pay-{n // 2}", "oracle") for n in range(6)]


def test_other_processes_play_to_the_same_bytes() -> None:
    """What equals a default is left out of a line, and pickling would make it another object."""
    data = Path(__file__).parents[1] / "data" / "banking.jsonl"
    examples = [each for each in read(data, Example) for _ in range(12)]
    player = Remote("guesser", SCRIPTS["guesser"])
    with closing(Processes(2)) as workers:
        there = [line(rollout) for rollout in played(examples, player, workers)]
    assert there == [line(rollout) for rollout in player(examples)]


class Words:
    """A codec without a tokenizer: a reply is the number of a line in a script."""

    name, end = "words", 0
    lines: tuple[Reply, ...] = (
        Reply(text="Done."),
        Reply(calls=(ToolCall(name="list_accounts", arguments='{"name": "Freelance"}'),)),
    )

    def open(self, system: str, user: str, tools: list[Json]) -> list[int]:
        """The shorter the better."""
        if not tools:
            raise TooLong("no room")
        return [9]

    def reply(self, ids: Sequence[int]) -> Reply:
        """The line a number stands for."""
        return self.lines[ids[0]]

    def after(self, messages: Sequence[Json], ended: bool = True) -> list[int]:
        """One token, whatever is said."""
        return [8]


def test_a_model_here_plays_in_batches(example: Example) -> None:
    sizes: list[int] = []

    def generate(contexts: list[list[int]], most: int) -> list[Sampled]:
        sizes.append(len(contexts))
        # Look something up first, then say so; in the next turn say so at once.
        return [Sampled([1 if len(each) == 1 else 0, 0], [0.0, 0.0]) for each in contexts]

    codec: Any = Words()
    model = Local("mine", generate, codec, Limits(), batch=2)
    rollouts = list(model([example] * 3))
    assert sizes == [2, 2, 2, 1, 1, 1]
    assert [rollout.policy for rollout in rollouts] == ["mine"] * 3
    assert [[call.tool for call in each.calls] for each in rollouts] == [["list_accounts"]] * 3
    assert model.takes(example)
    toolless = msgspec.structs.replace(example, server="")
    assert not model.takes(toolless)


def run(*arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run the command line."""
    command = [sys.executable, "-m", "provegym", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_commands_report_and_compare(example: Example, tmp_path: Path) -> None:
    data, noop, oracle = (tmp_path / f"{name}.jsonl" for name in ("data", "noop", "oracle"))
    write(data, [msgspec.structs.replace(example, id=f"pay-{n}") for n in range(3)])
    done = run("eval", "heldout", "--model", "noop", "--data", data, "--out", noop, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[TRAINING]["scores"]["success"]["model"][0] == 0
    write(oracle, [play_script(each, SCRIPTS["oracle"]) for each in read(data, Example)])
    shown = run("compare", noop, oracle)
    assert shown.returncode == 0, shown.stderr
    assert "+1.300 [+1.300, +1.300]" in shown.stdout
    assert "exists" in run("eval", "heldout", "--model", "noop", "--out", noop).stderr
    assert "heldout" in run("eval", "heldot", "--model", "noop").stderr
