"""The folder of a quickstart: what is done is kept, what is begun goes on, what is stale goes."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from provegym.quickstart import folder
from provegym.quickstart.folder import STATE, QuickstartFolder, digest
from provegym.quickstart.plan import LAPTOP
from provegym.trace import BadFile


def desk(folder: Path) -> QuickstartFolder:
    """A desk as a new process finds it."""
    made = QuickstartFolder(folder, LAPTOP, Console(file=io.StringIO()))
    made.open()
    return made


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    first = desk(tmp_path)
    assert first.begin("corpus", "key", ("corpus",))
    first.finish("corpus", 1.5, "so many", {"count": 3})
    second = desk(tmp_path)
    assert not second.begin("corpus", "key", ("corpus",))
    assert second.entries["corpus"].told == "so many"
    assert second.figures("corpus") == {"count": 3}
    assert second.figures("grpo") == {}


def test_what_was_begun_goes_on_with_what_is_there(tmp_path: Path) -> None:
    assert desk(tmp_path).begin("corpus", "key", ("corpus",))
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "half.jsonl").touch()
    assert desk(tmp_path).begin("corpus", "key", ("corpus",))
    assert (tmp_path / "corpus" / "half.jsonl").exists()
    assert desk(tmp_path).figures("corpus") == {}


def test_what_was_made_for_something_else_goes_first(tmp_path: Path) -> None:
    first = desk(tmp_path)
    first.begin("base", "old", ("base.jsonl",))
    (tmp_path / "base.jsonl").write_text("old")
    first.finish("base", 1.0, "", {"reward": 1})
    assert desk(tmp_path).begin("base", "new", ("base.jsonl",))
    assert not (tmp_path / "base.jsonl").exists()


def test_what_nobody_began_here_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    with pytest.raises(BadFile, match="is no quickstart's"):
        desk(tmp_path).begin("corpus", "key", ("corpus",))
    desk(tmp_path).clear(("corpus",))
    assert (tmp_path / "corpus").exists()
    (tmp_path / STATE).write_text("nonsense")
    with pytest.raises(BadFile, match="is no quickstart's"):
        desk(tmp_path)


def test_starting_anew_removes_what_was_made(tmp_path: Path) -> None:
    made = desk(tmp_path)
    made.begin("corpus", "key", ("corpus",))
    (tmp_path / "corpus").mkdir()
    (tmp_path / "mine.txt").touch()
    made.clear(("corpus",))
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_digest_tells_plans_apart() -> None:
    assert digest(LAPTOP) == digest(LAPTOP)
    assert digest(LAPTOP) != digest(LAPTOP, "an adapter")


def test_one_that_is_killed_while_it_starts_anew_keeps_no_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = desk(tmp_path)
    first.begin("base", "key", ("base.jsonl",))
    (tmp_path / "base.jsonl").write_text("old")
    first.finish("base", 1.0, "", {})

    def killed(_: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(folder, "_remove", killed)
        with pytest.raises(KeyboardInterrupt):
            first.clear(("base.jsonl",))
    assert desk(tmp_path).begin("base", "key", ("base.jsonl",))
    assert not (tmp_path / "base.jsonl").exists()
