"""Environments: built step by step, gone on with, and missed in one line."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from zipfile import ZipFile

import pytest

from command import run
from provegym.evals import benchmark
from provegym.evals.environments import BFCL, BenchmarkEnv, BenchmarkError, bfcl
from provegym.files import locked_file

THERE = ("--no-index", "--no-deps", "pip")
PACKAGE = {
    "some.py": "",
    "some-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: some\nVersion: 1\n",
    "some-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "some-1.dist-info/RECORD": "",
}


def test_a_step_that_fails_is_one_line_and_the_rest_goes_on_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said: list[str] = []
    wheel = tmp_path / "some-1-py3-none-any.whl"
    some = BenchmarkEnv("some", "some", (THERE, ("--no-index", str(wheel))))
    with pytest.raises(BenchmarkError, match="some could not be set up") as failure:
        some.set_up(said.append)
    assert "\n" not in str(failure.value)
    assert not some.is_ready()
    assert [line.partition(" in ")[0] for line in said[:2]] == [
        "some: a virtual environment",
        "some: step 1 of 2: pip install --no-index --no-deps pip",
    ]
    with ZipFile(wheel, "w") as file:
        for name, text in PACKAGE.items():
            file.writestr(name, text)
    said.clear()
    some.set_up(said.append)
    assert [line[:18] for line in said] == [
        "some: step 2 of 2:",
        "some is ready: " + said[1][15:18],
    ]
    assert some.is_ready()
    assert some.versions()["some"] == "1"
    assert (some.packages / "some.py").exists()
    # Another recipe is another environment, to be built anew in the same place.
    assert not BenchmarkEnv("some", "some", (THERE,)).is_ready()


def test_what_another_process_writes_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    BFCL.folder.mkdir(parents=True)
    built: list[str] = []
    monkeypatch.setattr(BenchmarkEnv, "_build", lambda self, tell: built.append(self.name))
    bench, floor = SimpleNamespace(environment=BFCL), BFCL.folder / "floor.json"
    with ThreadPoolExecutor(2) as threads:
        with locked_file(BFCL.folder), locked_file(floor):
            waiting = threads.submit(BFCL.set_up, built.append)
            adding = threads.submit(benchmark._keep_floor, bench, {"one": 1.0})
            sleep(0.3)
            assert built == []
            floor.write_text('{"two": 0.5}')
        waiting.result(timeout=60)
        adding.result(timeout=60)
    assert built == ["bfcl"]
    assert benchmark._known_floor(bench) == {"one": 1.0, "two": 0.5}


def test_what_is_not_set_up_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(BenchmarkError, match="provegym eval bfcl --setup"):
        BFCL.need()
    with pytest.raises(BenchmarkError, match=r"provegym eval bfcl --setup --version 2025\.7\.17"):
        bfcl("2025.7.17").need()


def test_a_state_that_was_cut_off_is_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    BFCL.python.parent.mkdir(parents=True)
    BFCL.python.touch()
    (BFCL.folder / "provegym.json").write_text('{"recipe": "')
    assert not BFCL.is_ready()


def test_commands_that_cannot_run_say_so_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    out = tmp_path / "out"
    for arguments, line in {
        ("bfcl", "--endpoint", "oracle", "--out", out): "provegym eval bfcl --setup",
        ("bfcl", "--endpoint", "orcle", "--out", out): "did you mean 'oracle'",
        ("bfcl", "--endpoint", "oracle"): "--out FOLDER",
        ("bfcl", "--out", out): "say which model",
        ("bfcl", "--endpoint", "http://127.0.0.1:9/v1", "--out", out): "--model NAME",
        ("bfcl", "--endpoint", "noop", "--subset", "bas", "--out", out): "did you mean 'base'",
        ("bfcl", "--endpoint", "noop", "--subset", "singel", "--out", out): "did you mean 'single'",
        ("bfcl", "--endpoint", "noop", "--subset", "single", "--out", out): "eval bfcl --setup",
        ("bfcl", "--endpoint", "noop", "--subset", "base,live", "--out", out): "in two runs",
        ("bfcl", "--version", "4", "--endpoint", "noop", "--out", out): "no version of bfcl-eval",
        ("bfcl", "--endpoint", "noop", "--adapter", out, "--out", out): "--local MODEL",
        ("bfcl", "--local", "embeded", "--out", out): "no model 'embeded'; did you mean 'embedded'",
        ("bfcl", "--local", "embedded", "--adapter", out, "--out", out): "is no adapter",
        ("tau2", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--out", out): "--user URL",
    }.items():
        done = run("eval", *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert line in done.stderr
