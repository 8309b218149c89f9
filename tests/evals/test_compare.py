"""Two runs side by side."""

from pathlib import Path

import msgspec
import pytest

from examples import pay_example
from provegym.evals.compare import PairedRuns, compare
from provegym.players.scripted import SCRIPTS
from provegym.rollout import play_script
from provegym.trace import BadFile, Example, Rollout, write
from provegym.verify.complete import complete


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    """Four tasks that differ in nothing but their names."""
    example = complete(pay_example())
    return [msgspec.structs.replace(example, id=f"pay-{n}") for n in range(4)]


def played(examples: list[Example], scripts: str) -> list[Rollout]:
    """One rollout per task: o for the oracle's, - for the noop's."""
    names = {"o": "oracle", "-": "noop"}
    pairs = zip(examples, scripts, strict=True)
    return [play_script(example, SCRIPTS[names[mark]]) for example, mark in pairs]


def test_differences_are_taken_task_by_task(examples: list[Example]) -> None:
    # Both succeed on two of four; paired, they differ on two tasks and cancel out.
    pair = PairedRuns(played(examples, "oo--"), played(examples, "o-o-"))
    row = pair.rows()["success"]
    assert (row.first, row.second, row.difference.mean) == (0.5, 0.5, 0.0)
    assert row.difference.low < 0 < row.difference.high
    better = PairedRuns(played(examples, "----"), played(examples, "oooo")).rows()["reward"]
    assert better.difference.low == better.difference.high == pytest.approx(1.3)


def test_the_tasks_that_changed_most_come_first(examples: list[Example]) -> None:
    changed = PairedRuns(played(examples, "o-o-"), played(examples, "oo--")).most_changed(5)
    assert [(each.id, round(each.second - each.first, 3)) for each in changed] == [
        ("pay-1", 1.3),
        ("pay-2", -1.3),
    ]


def test_only_tasks_of_both_count(examples: list[Example], tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    write(first, played(examples[:3], "ooo"))
    write(second, played(examples[1:], "---"))
    found = compare(first, second)
    assert (found["tasks"], found["only_first"], found["only_second"]) == (2, 1, 1)
    assert found["servers"]["success"]["banking"].difference.mean == -1
    assert found["kinds"]["reward"].keys() == {"multi_turn"}
    for groups in (found["all"], found["kinds"], found["servers"]):
        assert {"success", "state", "answer", "ended", "reward"} <= groups.keys()
    assert found["all"]["state"].difference.mean == -1
    assert found["all"]["answer"].difference.mean == found["all"]["ended"].difference.mean == 0
    write(second, played([msgspec.structs.replace(examples[0], id="other")], "o"))
    with pytest.raises(BadFile, match="no task in common"):
        compare(first, second)
