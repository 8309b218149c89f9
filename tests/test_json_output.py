"""With --json, stdout holds one JSON document, whatever a library writes there."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command import Done, run
from examples import pay_example
from provegym.trace import write

FOLDER = Path(__file__).parent
LOUD = """
import ctypes, os, subprocess, sys
from provegym.cli import main
from provegym import play

quiet = play.play_file
def loud(*given):
    print("printed")
    os.write(1, b"written\\n")
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    ctypes.CDLL(None).puts(b"from C")
    sys.__stdout__.write("to the first stdout\\n")
    if "FAIL" in os.environ:
        raise play.BadFile("it went wrong")
    return quiet(*given)
play.play_file = loud
main()
"""
WORDS = ("printed", "written", "from a child", "from C", "to the first stdout")


def make_noise() -> None:
    """Write to stdout in the ways that libraries do."""
    print("printed")
    os.write(1, b"written\n")
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)


def shout(patch: pytest.MonkeyPatch, module: Any, name: str) -> None:
    """Make a function write to stdout first."""
    quiet = getattr(module, name)

    def loud(*given: Any, **more: Any) -> Any:
        make_noise()
        return quiet(*given, **more)

    patch.setattr(module, name, loud)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file with one example."""
    path = tmp_path / "data.jsonl"
    write(path, [pay_example()])
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="puts is called in the C library of Unix")
@pytest.mark.parametrize("fails", [False, True])
def test_a_process_prints_json_alone(fails: bool, data: Path, tmp_path: Path) -> None:
    options = ["--data", str(data), "--out", str(tmp_path / "out.jsonl"), "--policy", "oracle"]
    done = subprocess.run(
        [sys.executable, "-c", LOUD, "rollout", *options, "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **({"FAIL": "1"} if fails else {})},
    )
    assert all(word in done.stderr for word in WORDS), done.stderr
    if fails:
        assert (done.returncode, done.stdout) == (2, "")
        assert "provegym: it went wrong" in done.stderr
    else:
        assert done.returncode == 0
        assert json.loads(done.stdout)["rollouts"] == 1


def said(capfd: pytest.CaptureFixture[str], *arguments: object) -> Done:
    """Run a command; what it wrote to the file descriptors counts as its output as well."""
    capfd.readouterr()
    done = run(*arguments)
    seen = capfd.readouterr()
    return Done(done.returncode, seen.out + done.stdout, seen.err + done.stderr)


def test_the_held_out_scores_are_json_alone(
    data: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from provegym.cli import evaluation
    from provegym.evals import heldout

    shout(monkeypatch, evaluation, "_play")
    shout(monkeypatch, heldout, "evaluate")
    done = said(capfd, "eval", "heldout", "--model", "noop", "--data", data, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert done.stderr.count("from a child") == 2
    shown = said(capfd, "eval", "heldout", "--model", "noop", "--data", data)
    assert "written" in shown.stdout


@pytest.mark.parametrize("name", ["bfcl", "tau2", "teval"])
def test_benchmarks_are_json_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from provegym.evals import benchmark, teval
    from provegym.evals.tau2 import Tau2

    def evaluate(*_: Any) -> Any:
        make_noise()
        return {"scores": {}, "notes": []}

    monkeypatch.setattr(benchmark, "evaluate", evaluate)
    monkeypatch.setattr(teval, "evaluate", evaluate)
    monkeypatch.setattr(teval, "script", lambda *_: None)
    monkeypatch.setattr(Tau2, "script", lambda *_: object())  # it is not set up everywhere
    options = ["--data", tmp_path] if name == "teval" else []
    done = said(
        capfd, "eval", name, *options, "--endpoint", "noop", "--out", tmp_path / "out", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"scores": {}, "notes": []}
    assert all(word in done.stderr for word in WORDS[:3])


@pytest.mark.parametrize("fails", [False, True])
def test_training_is_json_alone(
    fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from provegym.train import start
    from provegym.train.run import Run, TrainError

    def train(recipe: Any, folder: Path, *_: Any) -> Run:
        make_noise()
        if fails:
            raise TrainError("out of memory")
        run = Run(folder, recipe)
        run.history = [{"step": 1, "reward": 0.5}, {"step": 2, "reward": 0.75}]
        return run

    monkeypatch.setattr(start, "check", lambda _: None)
    monkeypatch.setattr(start, "start", train)
    recipe, out = "tiny", tmp_path / "run"
    done = said(capfd, "train", recipe, "--out", out, "--json")
    assert all(word in done.stderr for word in WORDS[:3])
    if fails:
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.endswith("provegym: out of memory\n")
    else:
        last = {"step": 2, "reward": 0.75}
        assert json.loads(done.stdout) == {"folder": str(out), "steps": 2, "last_step": last}
