"""The folder of a run: resumed to the line, reported, and compared."""

import json
from pathlib import Path

import pytest

from evals.ready import run
from provegym.evals.environments import BenchmarkError
from provegym.evals.journal import Journal, Result, is_report, mean, scores, wilson
from provegym.evals.measure import change

SETTINGS = {"benchmark": "some", "model": "m", "endpoint": "here"}
WHOLE = {"overall": {"a": 1, "b": 1}}


def filled(folder: Path, marks: str) -> Journal:
    """A run of four tasks in two groups: 1 or 0 for each."""
    book = Journal(folder, SETTINGS)
    for at, mark in enumerate(marks):
        error = "" if mark == "1" else "wrong"
        book.keep(Result(id=f"t{at}", group="ab"[at // 2], score=float(mark), error=error))
    return book


def test_a_run_goes_on_from_its_last_whole_line(tmp_path: Path) -> None:
    filled(tmp_path, "10")
    file = tmp_path / "results.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"id":"t2","gro')
    again = Journal(tmp_path, SETTINGS)
    assert again.left(["t0", "t1", "t2", "t3"]) == ["t2", "t3"]
    assert file.read_bytes() == whole
    again.keep(Result(id="t2", group="b", score=1))
    assert [json.loads(line)["id"] for line in file.read_bytes().splitlines()] == ["t0", "t1", "t2"]


def test_a_folder_holds_one_run(tmp_path: Path) -> None:
    filled(tmp_path, "1")
    with pytest.raises(BenchmarkError, match=r"another model \('m', not 'n'\)"):
        Journal(tmp_path, SETTINGS | {"model": "n"})
    # One that never got an answer is no run: another may take its place.
    Journal(tmp_path / "begun", SETTINGS)
    assert Journal(tmp_path / "begun", SETTINGS | {"model": "n"}).results == {}
    (tmp_path / "results.jsonl").write_bytes(b"no json\n")
    with pytest.raises(BenchmarkError, match=r"results\.jsonl"):
        Journal(tmp_path, SETTINGS)


def test_a_report_has_every_group_the_whole_and_the_floors(tmp_path: Path) -> None:
    book = filled(tmp_path, "1011")
    floors = {"t0": 1.0, "t1": 0.0, "t2": 0.0, "t3": 0.0}
    found = scores(book.results.values(), floors, ("a", "b"), WHOLE)
    assert {name: (each.score, each.floor, each.tasks) for name, each in found.items()} == {
        "a": (0.5, 0.5, 2),
        "b": (1.0, 0.0, 2),
        "overall": (0.75, 0.25, 4),
    }
    report = book.report(found, notes=["Be careful."], command="provegym eval some")
    assert report == json.loads((tmp_path / "report.json").read_text())
    assert report["failures"] == {"wrong": 1}
    page = (tmp_path / "report.md").read_text()
    assert "| a | 50.0 | 9.5 to 90.5 | 50.0 | 2 |" in page
    assert "| overall | 75.0 | 36.4 to 95.3 | 25.0 | 4 |" in page
    assert "- command: provegym eval some" in page
    # What was not played has no score, and neither has the whole; an unknown floor is none.
    other = {"overall": {"a": 1, "c": 1}}
    assert scores(book.results.values(), {}, ("a", "c"), other).keys() == {"a", "b"}
    assert scores(book.results.values(), {}, ("a", "b"), WHOLE)["a"].floor is None
    assert mean([found["a"], found["b"]]).score == 0.75


def test_means_have_weights_and_are_made_of_means(tmp_path: Path) -> None:
    book = filled(tmp_path, "1011")
    means = {"by size": {"a": 3, "b": 1}, "overall": {"by size": 1, "b": 1}}
    found = scores(book.results.values(), dict.fromkeys(book.results, 0.5), ("a", "b"), means)
    assert list(found) == ["a", "b", "by size", "overall"]
    assert (found["by size"].score, found["overall"].score) == (0.625, 0.8125)
    assert (found["by size"].floor, found["by size"].tasks) == (0.5, 4)
    # The interval of a part counts by its weight.
    one, two = found["a"], found["b"]
    below = ((3 * (one.score - one.low)) ** 2 + (two.score - two.low) ** 2) ** 0.5 / 4
    assert found["by size"].low == pytest.approx(0.625 - below)


def test_no_interval_is_a_point_while_tasks_are_few() -> None:
    assert wilson([0.0] * 20)[1:] == pytest.approx((0, 0.161, 20), abs=1e-3)
    assert wilson([1.0] * 200)[1:] == pytest.approx((0.981, 1, 200), abs=1e-3)
    assert change([0.0] * 40) == pytest.approx((0, -0.088, 0.088, 40), abs=1e-3)
    assert change([1.0] * 40) == pytest.approx((1, 0.824, 1, 40), abs=1e-3)
    assert change([0.0, 1.0] * 20)[1:3] == pytest.approx((0.35, 0.65), abs=0.03)


def test_two_runs_are_compared_task_by_task(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, marks in ((first, "1000"), (second, "1011")):
        book = filled(folder, marks)
        book.report(scores(book.results.values(), {}, ("a", "b"), WHOLE))
    assert is_report(first)
    assert is_report(first / "report.json")
    assert not is_report(first / "results.jsonl")
    shown = run("compare", first, second / "report.json", "--json")
    assert shown.returncode == 0, shown.stderr
    rows = json.loads(shown.stdout)
    assert {name: row[2][0] for name, row in rows.items()} == {"a": 0, "b": 1, "all tasks": 0.5}
    Journal(tmp_path / "other", SETTINGS | {"benchmark": "another"})
    assert "different benchmarks" in run("compare", first, tmp_path / "other").stderr
