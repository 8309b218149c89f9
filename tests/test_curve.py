"""The experiment of docs/curve.py: folders of one size, runs that are half done, torn lines."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch")

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def curve() -> ModuleType:
    """The script beside the results."""
    spec = importlib.util.spec_from_file_location("curve", DOCS / "curve.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(curve: ModuleType, patch: pytest.MonkeyPatch, *words: object) -> None:
    """Run the program with these arguments."""
    patch.setattr("sys.argv", ["curve.py", *map(str, words)])
    curve.main()


def test_a_folder_is_of_one_size(
    curve: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curve, "make_corpora", lambda *_: None)
    call(curve, monkeypatch, "corpora", tmp_path / "new", "--size", "rehearsal")
    with pytest.raises(SystemExit, match="begun with --size rehearsal"):
        call(curve, monkeypatch, "corpora", tmp_path / "new")
    with pytest.raises(SystemExit, match="run the step corpora first"):
        call(curve, monkeypatch, "train", tmp_path / "none")
    with pytest.raises(SystemExit, match="no arm world-30; there are servers, aliases, worlds-30"):
        call(curve, monkeypatch, "train", tmp_path / "none", "--arms", "world-30")


def test_runs_without_a_model_are_left_out_and_finished_ones_kept(
    curve: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "corpora").mkdir()
    (tmp_path / "tasks.jsonl").touch()
    for name in ("servers-0", "aliases-0"):
        model = tmp_path / "runs" / name / "model"
        model.mkdir(parents=True)
        (model / "config.json").write_text("{}")
    scores = {name: {"model": [0.25, 0.2, 0.3, 9], "noop": [0.1]} for name in curve.SHOWN}
    report = json.dumps({"unseen servers": {"scores": scores}})
    held = tmp_path / "runs" / "servers-0" / "heldout"
    held.mkdir()
    (held / "report.json").write_text(report)
    played: list[Any] = []
    monkeypatch.setattr(curve, "run", lambda *words: played.append(words[3].parent.name))
    call(curve, monkeypatch, "evaluate", tmp_path)
    told = capsys.readouterr().out
    assert played == ["aliases-0"]
    assert told.count("has no model yet") == 3
    assert "| servers | 1 | 0.25 | 0.25 | 0.25 |" in told
    # A curve of one arm, whose tasks are of one group.
    curve.draw(curve.read_scores(tmp_path, curve.FULL), tmp_path / "curve")
    assert (tmp_path / "curve.svg").exists()


def test_a_torn_line_is_no_line(curve: ModuleType, tmp_path: Path) -> None:
    line = {"model": "start", "task": "a", "group": "unseen servers", "replies": 2, "right": 1}
    whole = json.dumps({**line, "loss": 1.0, "tokens": 4})
    (tmp_path / "forced.jsonl").write_text(f"{whole}\n{whole[:20]}")
    assert "| 1 unseen servers | start | 0.250 |" in curve.forced_table(tmp_path, "start")
    assert curve.forced_table(tmp_path, "servers-0").endswith("which was not measured")
