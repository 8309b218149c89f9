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
        (checkpoint / "config.json").write_text("{}")
    lines = [
        json.dumps({"reward": paid, "success": paid / 2, "tokens": tokens, "seconds": 4.0})
        for paid in rewards
    ]
    (place / "metrics.jsonl").write_text("\n".join(lines))
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
