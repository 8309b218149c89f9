"""Long commands: Ctrl-C and SIGTERM end them with one line, and progress is told without a bar."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from examples import pay_example
from provegym.cli.base import GOES_ON, STARTS_AGAIN, stoppable
from provegym.cli.progress import LoggedProgress, describe
from provegym.cli.training import _how_on
from provegym.trace import write

SECONDS = 120


def stop(
    number: int, group: bool, begun: Callable[[], bool], folder: Path, *arguments: object
) -> tuple[int, str]:
    """Start a command, send it a signal as soon as it has begun; how it ended and its stderr."""
    command = [sys.executable, "-m", "provegym", *map(str, arguments)]
    with (folder / "stderr").open("w+") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
        )
        end = time.monotonic() + SECONDS
        while not begun():
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        (os.killpg if group else os.kill)(process.pid, number)
        code = process.wait(SECONDS)
        time.sleep(0.3)  # a worker that is left would write its traceback now
        errors.seek(0)
        return code, errors.read()


@pytest.mark.parametrize(
    ("number", "group", "code"),
    [(signal.SIGINT, True, 130), (signal.SIGTERM, True, 143), (signal.SIGTERM, False, 143)],
    ids=["ctrl-c", "timeout", "kill"],
)
def test_a_stopped_synth_says_that_it_goes_on(
    tmp_path: Path, number: int, group: bool, code: int
) -> None:
    out = tmp_path / "corpus"
    options = ("--size", 5_000, "--servers", "maps", "--out", out)
    ended, told = stop(number, group, out.exists, tmp_path, "synth", *options)
    assert ended == code
    assert told.strip() == f"provegym: stopped; {GOES_ON}"


@pytest.mark.parametrize(
    ("number", "group", "code"),
    [(signal.SIGINT, True, 130), (signal.SIGTERM, True, 143), (signal.SIGTERM, False, 143)],
    ids=["ctrl-c", "timeout", "kill"],
)
def test_a_stopped_evaluation_says_that_it_goes_on(
    tmp_path: Path, number: int, group: bool, code: int
) -> None:
    """While its tasks are made, or played."""
    out = tmp_path / "run"
    options = ("--model", "noop", "--servers", "maps", "--count", 2_000, "--out", out)
    ended, told = stop(number, group, out.exists, tmp_path, "eval", "heldout", *options)
    assert ended == code
    assert told.strip() == f"provegym: stopped; {GOES_ON}"


POLICY = """
import asyncio
from pathlib import Path

class Slow:
    async def reply(self, messages, tools):
        Path("begun").touch()
        await asyncio.sleep(60)
"""


def test_a_stopped_rollout_says_that_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("slow.py").write_text(POLICY)
    write(Path("data.jsonl"), [pay_example()])
    options = ("--policy", "slow:Slow", "--data", "data.jsonl", "--out", "out.jsonl")
    begun = Path("begun").exists
    ended, told = stop(signal.SIGTERM, False, begun, tmp_path, "rollout", *options)
    assert ended == 143
    assert told.strip() == f"provegym: stopped; {GOES_ON}"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_on_stdio_ends_at_once_and_silently(number: int) -> None:
    command = [sys.executable, "-m", "provegym", "serve", "banking"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        process.stdout.readline()  # it answers, so it waits for the next line now
        process.send_signal(number)
        assert process.wait(SECONDS) == -number
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_how_a_run_goes_on_depends_on_what_there_is(tmp_path: Path) -> None:
    assert _how_on(tmp_path) == STARTS_AGAIN
    (tmp_path / "metrics.jsonl").touch()
    assert "with --resume goes on from the last checkpoint" in _how_on(tmp_path)


def test_an_interrupt_is_told_and_goes_on_up(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), stoppable("begin again"):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "provegym: stopped; begin again\n"


def test_without_a_terminal_progress_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with LoggedProgress(Console(file=StringIO()), every=0) as bar:
        task = bar.add_task("rollouts", total=3_000)
        bar.update(task, advance=1_200)
        bar.advance(task)
        unknown = bar.add_task("export", total=None)
        bar.update(unknown, completed=7)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("rollouts: 1,200 of 3,000")
    assert lines[1].startswith("rollouts: 1,201 of 3,000")
    assert lines[2] == "export: 7"
    with LoggedProgress(Console(file=StringIO()), every=60) as bar:
        bar.update(bar.add_task("rollouts", total=10), advance=1)
    assert capsys.readouterr().err == ""


def test_in_a_terminal_progress_is_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = StringIO()
    with LoggedProgress(Console(file=screen, force_terminal=True), every=0) as bar:
        task = bar.add_task("rollouts", total=2)
        bar.update(task, advance=1)
        assert describe(bar.tasks[0]).startswith("rollouts: 1 of 2")
    assert "rollouts" in screen.getvalue()
    assert capsys.readouterr().err == ""


STARTS_FORK_SERVER = """
import os, signal
from contextlib import closing
from provegym import workers

signal.signal(signal.SIGINT, lambda *_: None)
signal.signal(signal.SIGTERM, lambda *_: None)
with closing(workers.local(2)) as pool:
    # Python itself needs longer to start than this signal takes.
    os.killpg(0, int(os.environ["NUMBER"]))
    print(list(pool.map(list, [1, 2], 1)))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_fork_server_that_is_just_starting_survives_ctrl_c(number: int) -> None:
    """The parent decides what a signal to its group means, however early it comes."""
    ended = subprocess.run(
        [sys.executable, "-c", STARTS_FORK_SERVER],
        env=os.environ | {"NUMBER": str(int(number))},
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert (ended.stdout, ended.stderr) == ("[1, 2]\n", "")
