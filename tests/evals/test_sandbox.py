"""A benchmark's process that dies or hangs costs the task it was at, and no other."""

import os
import sys
from pathlib import Path

import pytest

from provegym.evals import sandbox as confined
from provegym.evals.environments import BenchmarkEnv, BenchmarkError
from provegym.evals.gateway import Gateway, noop
from provegym.evals.sandbox import Sandbox

# It plays tasks in order: one kills it, one hangs it, one tells what it can see.
RUNNER = """
import json, os, sys, time
job = json.loads(sys.stdin.readline())
def tell(**told):
    print(json.dumps(told), flush=True)
if job["tasks"][0] == "never":
    sys.exit("ModuleNotFoundError: no benchmark")
for name in job["tasks"]:
    tell(begin=name)
    if name == "kills":
        os.kill(os.getpid(), 9)
    if name == "hangs":
        time.sleep(60)
    tell(id=name, valid=True, result=[sorted(os.environ), os.getcwd()])
tell(end=True)
"""


class Here(BenchmarkEnv):
    """An environment that is this one."""

    @property
    def python(self) -> Path:
        """This interpreter."""
        return Path(sys.executable)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """A bench whose process runs the text above."""
    (tmp_path / "main.py").write_text(RUNNER)
    monkeypatch.setattr(confined, "RUNNERS", tmp_path)
    monkeypatch.setenv("PROVEGYM_API_KEY", "a secret")
    return Sandbox(Here("here", "pip", ()), Gateway(noop), {}, patience=1.0)


def test_the_process_sees_nothing_of_ours(bench: Sandbox) -> None:
    (told,) = bench.play(["looks"])
    seen, folder = told["result"]
    ours = {*confined.LITTLE, "HOME", "TMPDIR"}
    assert "PROVEGYM_API_KEY" not in ours
    assert set(seen) <= {*ours, "LC_CTYPE", "__CF_USER_TEXT_ENCODING"}
    assert folder != os.getcwd()
    assert not Path(folder).exists()


def test_a_task_that_kills_it_fails_alone(bench: Sandbox) -> None:
    told = {each["id"]: each["valid"] for each in bench.play(["a", "kills", "b", "c"])}
    assert told == {"a": True, "kills": False, "b": True, "c": True}


def test_a_task_that_hangs_it_fails_alone(bench: Sandbox) -> None:
    told = {each["id"]: each.get("error") for each in bench.play(["a", "hangs", "b"])}
    assert told == {"a": None, "hangs": "nothing happened for 1 s", "b": None}


def test_a_process_that_never_begins_is_one_line(bench: Sandbox) -> None:
    with pytest.raises(BenchmarkError, match="here ended early: ModuleNotFoundError"):
        list(bench.play(["never", "b"]))


def test_what_failed_because_nobody_answers_is_not_done(bench: Sandbox) -> None:
    bench.gateway.dead = "nobody answers"
    with pytest.raises(BenchmarkError, match="nobody answers"):
        list(bench.play(["a", "b"]))
