"""Held-out tasks on drawn worlds: which worlds, that they are new, and how they are reported."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import run
from provegym import servers
from provegym.corpus.order import Order
from provegym.corpus.split import TRAIN_WORLDS, split_worlds
from provegym.evals.compare import compare
from provegym.evals.heldout import (
    DRAWN,
    SERVERS,
    TRAINING,
    WORLDS,
    drawn,
    group,
    held_out_worlds,
    tasks,
)
from provegym.trace import BadFile, Example, Rollout, read, write
from provegym.verify import verify
from worlds.admitted import write_worlds

NAMES = [f"club_{number:02}" for number in range(12)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of twelve drawn worlds; later tests do not know them."""
    monkeypatch.setattr(servers, "_folders", [])
    write_worlds(tmp_path / "drawn", *NAMES)
    yield tmp_path / "drawn"
    for name in NAMES:
        servers.forget(name)


def test_a_tenth_of_the_worlds_is_held_out_and_one_at_least() -> None:
    assert split_worlds(()) == ((), ())
    assert split_worlds(("a",)) == ((), ("a",))
    assert split_worlds(NAMES) == (tuple(NAMES[:10]), tuple(NAMES[10:]))
    for count in (1, 9, 10, 11, 100, 999, 1_000):
        known, unknown = split_worlds([str(number) for number in range(count)])
        assert len(known) + len(unknown) == count
        assert len(unknown) == (count + 9) // 10


def test_synthesis_and_evaluation_hold_out_the_same_worlds(folder: Path, tmp_path: Path) -> None:
    order = Order(20, 0, tmp_path / "corpus", split="servers", worlds=folder)
    train, heldout = order.parts
    assert heldout.worlds == held_out_worlds(folder) == ("club_10", "club_11")
    assert not {*train.worlds} & {*heldout.worlds}
    # A corpus holds its worlds in a folder of its own.
    write_worlds(tmp_path / "corpus" / "worlds", *NAMES)
    assert held_out_worlds(tmp_path / "corpus") == heldout.worlds


def test_tasks_on_drawn_worlds_are_verified_and_the_same_every_time(folder: Path) -> None:
    unseen = held_out_worlds(folder)
    found = drawn(unseen, 6)
    assert {example.server for example in found} == {*unseen}
    assert {group(example) for example in found} == {DRAWN}
    assert all(example.seed >= TRAIN_WORLDS for example in found)
    assert [verify(example) for example in found] == [[]] * 6
    assert drawn(unseen, 6) == found


def test_a_folder_without_admitted_worlds_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="no admitted world"):
        held_out_worlds(tmp_path)


def test_worlds_replace_those_of_a_corpus(folder: Path, tmp_path: Path) -> None:
    """A corpus with tasks on a drawn world of its own, and worlds of another folder."""
    unseen = held_out_worlds(folder)
    own = drawn(unseen[:1], 2)
    write(tmp_path / "corpus.jsonl", own)
    assert [group(each) for each in tasks(tmp_path / "corpus.jsonl", 5)] == [DRAWN] * 2
    both = tasks(tmp_path / "corpus.jsonl", 5, unseen[1:])
    assert {example.server for example in both} == {unseen[1]}


def test_the_command_reports_a_third_group(folder: Path, tmp_path: Path) -> None:
    """Scores with intervals and the floor; the folder of the run can be read alone."""
    options = ("--worlds", folder, "--count", 2)
    for player in ("noop", "oracle"):
        ran = run("eval", "heldout", "--model", player, *options, "--out", tmp_path / player)
        assert ran.returncode == 0, ran.stderr
    assert "unseen drawn" in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 80
    told = json.loads((tmp_path / "oracle" / "report.json").read_text())
    assert [*told] == [DRAWN, SERVERS, WORLDS]
    success = told[DRAWN]["scores"]["success"]
    assert (success["model"][0], success["noop"][0]) == (1, 0)
    kept = {file.stem for file in (tmp_path / "oracle" / "worlds").iterdir()}
    assert kept <= {"club_10", "club_11"}
    assert kept == {
        each.example.server
        for each in read(tmp_path / "oracle" / "rollouts.jsonl", Rollout)
        if group(each.example) == DRAWN
    }
    found = compare(tmp_path / "noop", tmp_path / "oracle")
    assert found["servers"]["success"]["drawn worlds"].difference.mean == 1
    assert not any(name.startswith("club") for name in found["servers"]["success"])


def test_a_file_of_examples_takes_no_worlds(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "some.jsonl", list[Example]())
    ran = run(
        *("eval", "heldout", "--model", "noop", "--data", tmp_path / "some.jsonl"),
        *("--worlds", folder),
    )
    assert ran.returncode == 2
    assert "leave --worlds out" in ran.stderr


def test_an_example_on_a_training_world_is_one(folder: Path) -> None:
    held_out_worlds(folder)
    (example,) = drawn(("club_00",), 1)
    assert group(example) == DRAWN
    seen = Example(
        **{name: getattr(example, name) for name in example.__struct_fields__} | {"seed": 3}
    )
    assert group(seen) == TRAINING


def test_rollouts_carry_their_worlds_and_are_scored_elsewhere(folder: Path, tmp_path: Path) -> None:
    """Whether a reply asks for the right thing depends on the schema of the world's tools."""
    names = held_out_worlds(folder)
    found = [task for task in drawn(names, 60) if any(turn.asks for turn in task.turns)]
    assert found
    data, out = tmp_path / "data", tmp_path / "elsewhere" / "rollouts.jsonl"
    write_worlds(data / "worlds", *names)
    write(data / "tasks.jsonl", found)
    out.parent.mkdir()
    assert run("rollout", "--policy", "oracle", "--data", data, "--out", out).returncode == 0
    kept = {file.stem for file in (out.parent / "worlds").iterdir()}
    assert kept == {task.server for task in found}
    servers._folders.clear()
    for name in names:
        servers.forget(name)
    scored = run("score", out, "--scheme", "hardened", "--json")
    told = json.loads(scored.stdout)
    assert (told["success"], told["unknown_servers"], scored.stderr) == (1.0, [], "")
    assert told["total"] == pytest.approx(1.3)
    moved = out.rename(tmp_path / "rollouts.jsonl")
    for name in names:
        servers.forget(name)
    servers._folders.clear()
    assert "there is no server 'club_1" in run("score", moved).stderr
