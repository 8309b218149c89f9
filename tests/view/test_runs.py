"""Training runs: their steps, and one example over several of them."""

from pathlib import Path

import msgspec
import pytest

from provegym.view.library import Library
from provegym.view.runs import list_watched, show_run
from view.samples import add_step, make_run


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
    assert [each["reward"] for each in watched["steps"]] == [0, pytest.approx(1.3)]
