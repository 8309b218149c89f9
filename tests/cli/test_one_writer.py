"""Two processes never write to one folder or file: the second is refused in a sentence."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from command import run
from examples import pay_example
from provegym.files import locked, locked_file
from provegym.trace import write

NEEDS_TRL = pytest.mark.skipif(find_spec("trl") is None, reason="trl is not installed")
FOLDERS = (
    ("synth", "--size", 2, "--servers", "maps", "--workers", 1, "--out"),
    ("eval", "heldout", "--model", "oracle", "--count", 1, "--out"),
    ("quickstart", "--out"),
    ("worlds", "draw", "--count", 1, "--out"),
    ("worlds", "admit"),
    ("new-server", "kiosk", "--out"),
    pytest.param(("train", "tiny", "--out"), marks=NEEDS_TRL),
)


@pytest.mark.parametrize("command", FOLDERS, ids=lambda command: " ".join(map(str, command[:2])))
def test_a_folder_in_use_is_refused(command: tuple[object, ...], tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with locked(folder):
        done = run(*command, folder)
        assert [path.name for path in folder.iterdir()] == [".lock"], "nothing is written"
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"provegym: another process writes to {folder}; wait until it ends, or name another --out"
    )


def test_a_file_in_use_is_refused(tmp_path: Path) -> None:
    data, out = tmp_path / "examples.jsonl", tmp_path / "rollouts.jsonl"
    write(data, [pay_example()])
    command = ("rollout", "--policy", "noop", "--data", data, "--out", out)
    with locked_file(out):
        done = run(*command)
    assert done.returncode == 2
    assert "another process writes to" in done.stderr
    assert not out.exists()
    assert run(*command).returncode == 0
    assert run("score", out).returncode == 0
