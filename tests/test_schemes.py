"""The experiment of docs/schemes.py: equal tokens, and tables from what runs leave behind."""

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def schemes() -> ModuleType:
    """The script beside the results."""
    spec = importlib.util.spec_from_file_location("schemes", DOCS / "schemes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_of(folder: Path, name: str, rewards: Sequence[float], tokens: int) -> Path:
    """A folder as a run leaves it: a line per step, and a checkpoint every ten."""
    place = folder / name
    for step in range(10, len(rewards) + 1, 10):
        checkpoint = place / "checkpoints" / f"checkpoint-{step}"
        checkpoint.mkdir(parents=True)
        (checkpoint / "trainer_state.json").write_text("{}")
    lines = [
        json.dumps({"reward": paid, "success": paid / 2, "tokens": tokens, "seconds": 4.0})
        for paid in rewards
    ]
    (place / "metrics.jsonl").write_text("\n".join([*lines, "{torn"]))
    return place


def test_runs_are_compared_at_the_tokens_that_all_have_generated(
    schemes: ModuleType, tmp_path: Path
) -> None:
    slow = run_of(tmp_path, "hardened-0", [0.5] * 40, 100)
    quick = run_of(tmp_path, "hardened-per-turn-0", [0.5] * 40, 150)
    most = schemes.budget(tmp_path)
    assert most == 4_000
    assert schemes.compared(slow, most) == 40
    assert schemes.compared(quick, most) == 20  # 3,000 tokens; 4,500 after 30 steps


def test_an_arm_catches_up_where_its_mean_of_ten_steps_reaches_the_others_last(
    schemes: ModuleType, tmp_path: Path
) -> None:
    run_of(tmp_path, "hardened-0", [step / 40 for step in range(40)], 100)
    run_of(tmp_path, "hardened-per-turn-0", [step / 20 for step in range(20)] + [1.0] * 20, 100)
    run_of(tmp_path, "hardened-1", [0.9] * 20, 100)
    run_of(tmp_path, "hardened-per-turn-1", [0.1] * 20, 100)
    # The last ten steps of seed 0 are paid 0.8625; the other arm's mean reaches that after 24.
    told = schemes.catch_up(tmp_path)
    assert told.endswith(": 60%, never")


def test_a_run_that_stopped_early_is_left_out_and_named(
    schemes: ModuleType, tmp_path: Path
) -> None:
    """Another run has kept no checkpoint of so few tokens."""
    done = run_of(tmp_path, "hardened-0", [0.5] * 40, 100)
    run_of(tmp_path, "paper-0", [0.5] * 10, 100)
    assert schemes.compared(done, schemes.budget(tmp_path)) == 10
    assert schemes.left_out(tmp_path) == ""
    for step in (10, 20):
        (done / f"checkpoints/checkpoint-{step}/trainer_state.json").unlink()
    assert schemes.budget(tmp_path) == 4_000
    assert schemes.compared_runs(tmp_path) == [done]
    assert schemes.left_out(tmp_path).endswith("so early: paper-0")
    assert "| paper-0 | 10 |" in schemes.training_table(tmp_path)


def test_a_checkpoint_that_is_not_complete_is_not_used(schemes: ModuleType, tmp_path: Path) -> None:
    place = run_of(tmp_path, "paper-0", [0.5] * 20, 100)
    begun = place / "checkpoints" / "checkpoint-30"
    begun.mkdir()
    (begun / "config.json").write_text("{}")
    assert schemes.saved(place) == [10, 20]


def test_runs_are_paired_by_seed(schemes: ModuleType, tmp_path: Path) -> None:
    for name in ("paper-0", "paper-2", "hardened-2", "hardened-10", "hardened-per-turn-0"):
        run_of(tmp_path, name, [0.5] * 10, 100)
    (pair,) = schemes.pairs(tmp_path, "paper", "hardened")
    assert [each.name for each in pair] == ["paper-2", "hardened-2"]
    assert [len(some) for some in schemes.runs(tmp_path).values()] == [2, 2, 1]


def test_a_run_that_fails_does_not_stop_the_others(
    schemes: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def run(*words: object, until: float | None = None) -> bool:
        started.append(Path(str(words[3])).name)
        return "reward.scheme=paper" not in words

    monkeypatch.setattr(schemes, "run", run)
    monkeypatch.setattr("sys.argv", ["schemes.py", "train", str(tmp_path), "--seeds", "0", "1"])
    with pytest.raises(SystemExit, match="failed, see above: paper-0, paper-1"):
        schemes.main()
    assert len(started) == 6
    monkeypatch.setattr("sys.argv", ["schemes.py", "train", str(tmp_path), "--size=rehearsal"])
    with pytest.raises(SystemExit, match="begun with --size full"):
        schemes.main()


def test_tables_name_each_run_and_leave_out_what_was_not_measured(
    schemes: ModuleType, tmp_path: Path
) -> None:
    run_of(tmp_path, "paper-0", [0.2] * 10 + [0.4] * 10, 1_000_000)
    report = {
        "unseen servers": {
            "scores": {name: {"model": [0.25, 0.2, 0.3]} for name in ("success", "state", "reward")}
        }
    }
    for folder in (tmp_path / "start", tmp_path / "paper-0" / "heldout-20"):
        folder.mkdir()
        (folder / "report.json").write_text(json.dumps(report))
    assert "| paper | 1 | 0.25 | 0.25 | 0.25 |" in schemes.scores_table(tmp_path)
    assert "| paper-0 | 20 | 20.00 | 0.200 | 0.400 |" in schemes.training_table(tmp_path)
    assert schemes.paired(tmp_path, "paper", "hardened").endswith("not measured")


def test_every_setting_of_every_arm_is_one_of_the_recipe(schemes: ModuleType) -> None:
    from provegym.config import load_recipe

    for size in schemes.SIZES.values():
        for changes in schemes.ARMS.values():
            recipe = load_recipe(schemes.RECIPE, (*size.changes, *changes))
            assert recipe.grpo is not None
            assert recipe.grpo.steps % size.every == 0
