"""Training killed with SIGKILL at random moments, and training on a full disk."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("trl")

from train.small_runs import KINDS, PATIENCE, STEPS, command, kill, lines, outcome, prepare, torn

pytestmark = pytest.mark.long
KILLS = 3
# A checkpoint has files beyond this size, and nothing else of a run has.
SMALL = 24_000


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model, the examples and the recipes."""
    folder = tmp_path_factory.mktemp("given")
    prepare(folder)
    return folder


def start(
    given: Path, name: str, out: Path, before: Callable[[], None] | None = None
) -> "subprocess.Popen[str]":
    """Begin or resume a run in a process group of its own; `before` is called in the process."""
    return subprocess.Popen(
        [sys.executable, "-m", "provegym", *command(given, name, out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=before,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def end(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Wait for a run; its status and what it said on stderr."""
    told = process.communicate(timeout=PATIENCE)[1]
    assert "Traceback" not in told, told
    return process.returncode, told


@pytest.fixture(scope="module", params=KINDS)
def straight(request: pytest.FixtureRequest, given: Path) -> tuple[str, dict[str, bytes]]:
    """The name of a recipe, and what a run of it comes to if nothing disturbs it."""
    out = given / f"straight-{request.param}"
    status, told = end(start(given, request.param, out))
    assert status == 0, told
    assert lines(out) == STEPS
    return request.param, outcome(out)


def test_a_killed_run_comes_to_the_same_weights_rollouts_and_metrics(
    straight: tuple[str, dict[str, bytes]], given: Path, tmp_path: Path
) -> None:
    name, expected = straight
    chance, out = Random(f"{name} killed"), tmp_path / "run"
    for _ in range(KILLS):
        process = start(given, name, out)
        if not kill(process, out, chance):
            end(process)
    status, told = end(start(given, name, out))
    assert status == 0, told
    found = outcome(out)
    assert found.keys() == expected.keys()
    assert [name for name in found if found[name] != expected[name]] == []
    assert torn(out) == []


def test_on_a_full_disk_a_run_ends_in_a_sentence_and_goes_on_later(
    straight: tuple[str, dict[str, bytes]], given: Path, tmp_path: Path
) -> None:
    name, expected = straight
    out = tmp_path / "run"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, SMALL))

    status, told = end(start(given, name, out, limit))
    assert status == 2, told
    assert "could not be written" in told or "File too large" in told
    status, told = end(start(given, name, out))
    assert status == 0, told
    assert outcome(out) == expected
