"""The bench: every figure is there, and those that no clock decides are right."""

import json
import subprocess
import sys

import pytest

from provegym.bench import pipeline, specs, worlds
from provegym.toolbox import all_tools


def test_figures_that_no_clock_decides_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "SESSIONS", 200)
    figures = worlds.measure_sessions() | pipeline.measure_reward(seconds=0.01)
    assert figures["session_bytes"] <= 20_000
    assert figures["sessions_isolated"] == figures["sessions_live"] == 200
    assert figures["oracle_reward"] == 1.3


def test_a_spec_is_not_much_slower_than_a_server_by_hand() -> None:
    """Bounds with air: a quiet machine measures 1.5 for calls, and 1.1 for forks and resets."""
    figures = specs.measure_specs()
    assert figures["spec_over_hand_call"] < 4
    assert figures["spec_over_hand_fork"] < 3
    assert figures["spec_over_hand_reset"] < 3


@pytest.mark.long
def test_the_bench_prints_every_figure_as_one_document() -> None:
    command = [sys.executable, "-m", "provegym", "bench", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
    figures = json.loads(done.stdout)
    assert figures.keys() >= {
        "call_us_p50",
        "fork_us_p50",
        "reset_us_p50",
        "deepcopy_over_fork",
        "spec_over_hand_call",
        "spec_over_hand_call_most",
        "spec_over_hand_fork",
        "spec_over_hand_reset",
        "spec_over_hand_advance",
        "fork_write_10k_us",
        "http_over_mcpserver",
        "stdio_over_inline",
        "sdk_memory_over_inline",
        "score_rollouts_per_s",
        "inline_rollouts_per_s",
        "examples_per_s",
    }
    assert figures["tools_measured"] == len(all_tools())
    assert figures["session_bytes"] <= 20_000
    assert figures["sessions_isolated"] == figures["sessions_live"] == 10_000
    assert figures["oracle_reward"] == 1.3
    assert figures["candidates_verified"] > 0.6
    assert done.stderr == ""
