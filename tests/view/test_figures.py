"""Headline figures of a file: means over all rows, and whether two files have the same examples."""

from pathlib import Path

import pytest

from provegym.rewards import paid
from provegym.rewards.success import rates, verdict_of
from provegym.trace import Rollout, Verdict, write
from provegym.view.figures import show_figures
from provegym.view.library import Library
from provegym.view.report import freeze
from view.samples import client, get, numbers, played, replace, some


def read(path: Path, rollouts: list[Rollout]) -> dict[str, object]:
    """The figures of a file of these rollouts."""
    write(path, rollouts)
    return show_figures(Library([path]).settle().rows(0).columns)


def test_figures_are_means_over_all_rollouts(tmp_path: Path) -> None:
    rollouts = some(10)
    found = read(tmp_path / "ten.jsonl", rollouts)
    assert found["count"] == 10
    assert found["reward"] == pytest.approx(sum(map(paid, rollouts)) / 10)
    assert found["rates"] == pytest.approx(rates([verdict_of(each) for each in rollouts]))


def test_each_part_of_success_is_counted_apart(tmp_path: Path) -> None:
    verdicts = [Verdict(state=True, ended=True), Verdict(answer=True), Verdict(), None]
    rollouts = [replace(played("noop", at), verdict=each) for at, each in enumerate(verdicts)]
    rollouts[3] = replace(rollouts[3], ended="policy_error", reward=None)
    found = read(tmp_path / "four.jsonl", rollouts)
    assert found["rates"] == {"success": 0, "state": 0.25, "answer": 0.25, "ended": 0.25}


def test_files_over_the_same_examples_are_recognised(tmp_path: Path) -> None:
    one = [played("noop", at) for at in range(4)]
    other = [played("oracle", at) for at in (3, 1, 0, 2)]
    hashes = [
        read(tmp_path / f"{name}.jsonl", rollouts)["examples"]
        for name, rollouts in {"a": one, "b": other, "c": other[:3], "d": [*one, one[0]]}.items()
    ]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_a_file_of_examples_has_no_reward(tmp_path: Path) -> None:
    write(tmp_path / "examples.jsonl", [played("noop").example])
    found = show_figures(Library([tmp_path / "examples.jsonl"]).settle().rows(0).columns)
    assert (found["count"], found["reward"]) == (1, None)


def test_a_report_has_the_figures_of_whole_files(tmp_path: Path) -> None:
    write(tmp_path / "ten.jsonl", some(10))
    library = Library([tmp_path]).settle()
    asked = client(library)
    [number] = numbers(asked).values()
    told = get(asked, "figures", source=number)
    assert told["count"] == 10
    assert freeze(library, items=2).figures[number] == told


def test_sources_say_when_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "ten.jsonl"
    write(path, some(2))
    [source] = Library([tmp_path]).settle().describe()
    assert source["modified"] == path.stat().st_mtime
