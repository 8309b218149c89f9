"""Two files of rollouts side by side, and one example over the steps of a run."""

from pathlib import Path

import msgspec
import pytest

from provegym.hosts.inline import HostError
from provegym.trace import write
from provegym.view.compare import Comparer, show_pair
from provegym.view.library import Library
from provegym.view.runs import list_watched, show_run
from provegym.view.sources import Rows
from view.samples import add_step, folder, make_run, played, replace

ALL = slice(0, 100)
compare = Comparer().compare


def library_of(tmp_path: Path, left: list[str], right: list[str]) -> Library:
    """Two files, each of one rollout per example by the scripts named."""
    write(tmp_path / "left.jsonl", [played(name, at) for at, name in enumerate(left)])
    write(tmp_path / "right.jsonl", [played(name, at) for at, name in enumerate(right)])
    return Library([tmp_path]).settle()


def test_who_won_where(tmp_path: Path) -> None:
    library = library_of(
        tmp_path, ["oracle", "noop", "oracle", "noop"], ["oracle", "oracle", "noop"]
    )
    told = compare(library.rows(0), library.rows(1), "", ALL)
    assert (told["pairs"], told["only_left"], told["only_right"]) == (3, 1, 0)
    assert (told["wins_left"], told["wins_right"], told["ties"]) == (1, 1, 1)
    assert told["mean_left"] == pytest.approx(told["mean_right"]) == pytest.approx(2.6 / 3)
    sizes = [abs(row["difference"]) for row in told["rows"]]
    assert sizes == sorted(sizes, reverse=True)
    row = next(row for row in told["rows"] if row["id"] == "pay-1")
    assert (row["left"], row["right"], row["difference"]) == (1, 1, pytest.approx(1.3))
    assert (row["left_success"], row["right_success"]) == (False, True)
    assert row["changed"] == ["tools called", "errors", "outcome"]


@pytest.mark.parametrize("sort", ["difference", "-difference"])
def test_pairs_can_be_sorted_either_way(tmp_path: Path, sort: str) -> None:
    library = library_of(tmp_path, ["oracle", "noop", "guesser"], ["noop", "oracle", "guesser"])
    rows = compare(library.rows(0), library.rows(1), sort, ALL)["rows"]
    told = [row["difference"] for row in rows]
    assert told == sorted(told, reverse=sort.startswith("-"))


def test_an_example_played_twice_is_paired_in_order(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [played("oracle"), played("noop")])
    write(tmp_path / "b.jsonl", [played("noop"), played("noop"), played("noop")])
    library = Library([tmp_path]).settle()
    told = compare(library.rows(0), library.rows(1), "difference", ALL)
    assert (told["pairs"], told["only_left"], told["only_right"]) == (2, 0, 1)
    assert [(row["left"], row["right"]) for row in told["rows"]] == [(0, 0), (1, 1)]


def test_a_comparison_is_made_anew_when_a_file_grows(tmp_path: Path) -> None:
    library = library_of(tmp_path, ["oracle"], ["noop", "oracle"])
    comparer = Comparer()
    first = comparer.compare(library.rows(0), library.rows(1), "", ALL)
    assert comparer.compare(library.rows(0), library.rows(1), "", ALL) == first
    write(tmp_path / "left.jsonl", [played("oracle"), played("oracle", 1)])
    library.settle()
    told = comparer.compare(library.rows(0), library.rows(1), "", ALL)
    assert (first["pairs"], told["pairs"]) == (1, 2)


def test_a_rollout_without_pay_counts_as_nothing(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [replace(played("oracle"), reward=None, ended="policy_error")])
    write(tmp_path / "b.jsonl", [played("oracle")])
    library = Library([tmp_path]).settle()
    [row] = compare(library.rows(0), library.rows(1), "", ALL)["rows"]
    assert (row["left_reward"], row["difference"]) == (None, pytest.approx(1.3))
    assert row["changed"] == ["ending"]


def test_the_same_twice_has_no_difference(tmp_path: Path) -> None:
    library = library_of(tmp_path, ["oracle"], ["oracle"])
    assert compare(library.rows(0), library.rows(1), "", ALL)["rows"][0]["changed"] == []
    pair = show_pair((library.rows(0), 0), (library.rows(1), 0))
    assert pair["first_difference"] is None


def test_the_first_difference_is_a_message(tmp_path: Path) -> None:
    library = library_of(tmp_path, ["oracle"], ["noop"])
    pair = show_pair((library.rows(0), 0), (library.rows(1), 0))
    assert pair["first_difference"] == 2
    assert pair["left"]["total"] > pair["right"]["total"]


def test_only_rollouts_can_be_compared(tmp_path: Path) -> None:
    rows = {each.name: each for each in Library([folder(tmp_path / "all")]).settle().sources}
    examples, rollouts = rows["all/corpus/train"], rows["all/left.jsonl"]
    assert isinstance(examples, Rows)
    assert isinstance(rollouts, Rows)
    with pytest.raises(HostError, match="holds no rollouts"):
        compare(examples, rollouts, "", ALL)
    with pytest.raises(HostError, match="only rollouts"):
        show_pair((rollouts, 0), (examples, 0))
    with pytest.raises(HostError, match="sorted by"):
        compare(rollouts, rollouts, "reward", ALL)


def test_a_run_tells_its_steps_after_so_many(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run")
    library = Library([path]).settle()
    told = show_run(library.run(0), 2)
    assert (told["total"], told["planned"], len(told["steps"])) == (3, 5, 1)
    assert told["versions"] == {"python": "3.11"}
    assert told["recipe"].startswith("[grpo]")
    assert [(each["step"], each["file_source"], each["count"]) for each in told["samples"]] == [
        (1, 1, 2),
        (3, 2, 2),
    ]
    assert told["running"]
    add_step(path, 4)
    library.settle()
    [added] = show_run(library.run(0), 3)["steps"]
    assert msgspec.json.decode(added) == {"step": 4, "reward": 0.4, "seconds": 2.0}


def test_a_run_without_its_other_files_is_a_run(tmp_path: Path) -> None:
    add_step(tmp_path, 1)
    (tmp_path / "recipe.toml").write_text("not toml [", "utf-8")
    (tmp_path / "versions.json").write_text("[1", "utf-8")
    told = show_run(Library([tmp_path]).settle().run(0), 0)
    assert (told["versions"], told["planned"], told["total"]) == ({}, None, 1)


def test_an_example_is_watched_over_the_steps(tmp_path: Path) -> None:
    library = Library([make_run(tmp_path / "run")]).settle()
    [watched] = list_watched(library.run(0))
    assert watched["id"] == "pay-0"
    assert [(each["step"], each["source"], each["at"]) for each in watched["steps"]] == [
        (1, 1, 0),
        (3, 2, 0),
    ]
    assert [each["success"] for each in watched["steps"]] == [False, True]
