"""Foreign servers that crash, hang, flood, lie and do not want to end."""

import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import run
from provegym import servers
from provegym.hosts import supervise
from provegym.hosts.foreign import ForeignServer, HostError, NoStart, Options, connect
from provegym.kernel import Lost, Session
from provegym.players.scripted import SCRIPTS
from provegym.rollout import play_script
from provegym.trace import Example, Step, Turn, write
from provegym.trace import Path as Gold

WILD = f"{sys.executable} {Path(__file__).parent / 'foreign_wild.py'}"
PATIENCE = 60
# A program that connects the server of its command line, says so, and waits.
HOLD = """
import sys, time
from provegym.hosts.foreign import Options, connect
from provegym.kernel import Session
with connect(sys.argv[1], Options(start_seconds=300)) as server:
    print("up", flush=True)
    time.sleep(600)
"""


def wild(how: str, folder: Path, **options: Any) -> ForeignServer:
    """The wild server, with patience for its start."""
    return connect(f"{WILD} '{how}' {folder}", Options(start_seconds=300, **options))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary folders that no other test uses."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def until(is_so: Callable[[], bool]) -> bool:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if is_so():
            return True
        time.sleep(0.05)
    return is_so()


def is_running(process: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def family(folder: Path) -> list[int]:
    """The processes of all stubborn servers."""
    return [each for file in folder.glob("family-*") for each in json.loads(file.read_text())]


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("refuses", "refused tools/list: no tools today"),
        ("dies at list", "ended while it ran tools/list; it last said: I cannot list"),
        ("lists nonsense", "gave no proper answer to tools/list"),
        ("no schema", "gave no proper answer to tools/list: .*properties"),
        ("lists without end", "lists its tools without end"),
        ("lists in a circle", "lists its tools without end"),
        ("lists many", "lists more than 1,000 tools"),
    ],
)
def test_a_list_that_fails_or_lies_is_a_sentence(how: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(NoStart, match=says) as problem:
        wild(how, tmp_path)
    assert "\n" not in str(problem.value)


def test_the_command_line_says_so_too(tmp_path: Path) -> None:
    done = run("graph", "--mcp", f"{WILD} refuses {tmp_path}")
    assert done.returncode == 2
    assert "refused tools/list: no tools today" in done.stderr
    assert "Traceback" not in done.stderr


def test_names_that_are_listed_twice_or_cannot_be_shown(tmp_path: Path) -> None:
    with wild("lists twice", tmp_path) as server:
        assert list(server.tools) == ["look"]
        assert list(server.tools["look"].input_schema["properties"]) == ["word"]
        notes = list(server.notes())
    assert "listed twice, only the first is used: look" in notes
    assert any("no model can be shown such a name: 'bad\\x1bname', ''" in note for note in notes)


def test_schemas_that_are_none(tmp_path: Path) -> None:
    with wild("bad schemas", tmp_path) as server:
        session = Session([server])
        assert session.call("look", {"word": "hi"}).ok
        bad = [name for name in server.tools if name != "look"]
        assert list(server.invalid_schemas) == bad
        assert all(session.call(name, {"a": "x"}).ok for name in bad)


@pytest.mark.parametrize("how", ["crashes once", "hangs once"])
def test_a_call_that_was_lost_is_made_again_on_a_new_process(how: str, tmp_path: Path) -> None:
    with wild(how, tmp_path, call_seconds=5) as server:
        assert Session([server]).call("look", {"word": "hi"}).value == {"text": "you said hi"}
        assert server.pool.lost == {}
        said = "look: the server crashed or hung, and answered a second time"
        assert said in list(server.notes())


def example_on(server: ForeignServer) -> Example:
    """One question to the wild server."""
    servers.add(server)
    return Example(
        id="wild",
        kind="multi_turn",
        server=server.name,
        server_version=server.version,
        seed=0,
        digest="",
        system="You look.",
        turns=(Turn(text='Look "hi" up.'),),
        paths=(Gold(steps=(Step(turn=0, tool="look", arguments={"word": "hi"}),)),),
    )


def test_a_server_that_hangs_voids_the_rollout_and_blames_no_policy(tmp_path: Path) -> None:
    with wild("always hangs", tmp_path, call_seconds=2) as server:
        played = play_script(example_on(server), SCRIPTS["oracle"])
    assert played.ended == "server_bug"
    assert played.reward is None
    assert "did not answer look within 2 s" in played.reason
    assert not any(call.error for call in played.calls)


def test_a_name_that_changes_when_replayed_blames_no_policy(tmp_path: Path) -> None:
    options = Options(True, start_seconds=300, processes=1)
    with connect(f"{WILD} 'new names' {{fresh}}", options) as server:
        session = Session([server])
        made = session.call("write", {"word": "x"}).value["text"].split()[1]
        assert session.call("look", {"word": made}).ok
        Session([server]).call("write", {"word": "y"})
        with pytest.raises(Lost, match="look cannot be repeated: write gave something else"):
            session.call("look", {"word": "nothing"})


def test_a_result_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = pytest.raises(Lost, match="a message had more than 16 MB")
    with wild("huge", tmp_path, call_seconds=300) as server, told:
        Session([server]).call("look", {"word": "hi"})
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000


def test_stderr_is_kept_to_its_end_alone(temporary: Path, tmp_path: Path) -> None:
    sizes: list[int] = []
    with wild("floods", tmp_path) as server:
        for _ in range(20):
            assert Session([server]).call("look", {"word": "hi"}).ok
            sizes += [file.stat().st_size for file in temporary.rglob("stderr")]
            time.sleep(0.1)
    assert 0 < max(sizes) <= 2 * supervise.STDERR_KEPT + supervise.CHUNK


def test_closing_ends_children_and_grandchildren(temporary: Path, tmp_path: Path) -> None:
    with wild("stubborn", tmp_path):
        alive = family(tmp_path)
        assert len(alive) == 4
        assert all(map(is_running, alive))
    assert until(lambda: not any(map(is_running, alive)))
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_everything_is_gone_after_a_signal(how: int, temporary: Path, tmp_path: Path) -> None:
    target = f"{WILD} stubborn {tmp_path}"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, target], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"up\n"
    alive = family(tmp_path)
    assert len(alive) == 4
    assert all(map(is_running, alive))
    holder.send_signal(how)
    holder.wait(PATIENCE)
    holder.stdout.close()
    assert until(lambda: not any(map(is_running, alive)))
    assert until(lambda: list(temporary.iterdir()) == [])


def test_closing_while_a_spare_starts_is_quiet(temporary: Path, tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\n[ -e {tmp_path}/second ] && sleep 600\nexec {WILD} calm $1\n")
    slow.chmod(0o755)
    begun = time.monotonic()
    with connect(f"{slow} {{fresh}}", Options(True, start_seconds=300)) as server:
        session = Session([server])
        session.call("write", {"word": "x"})
        (tmp_path / "second").touch()
        server.pool._spare.append(server.pool._begin())
    assert time.monotonic() - begun < 200
    assert list(temporary.iterdir()) == []


def test_a_spare_that_fails_is_replaced(tmp_path: Path) -> None:
    flaky = tmp_path / "flaky"
    flaky.write_text(f"#!/bin/sh\n[ -e {tmp_path}/broken ] && exit 1\nexec {WILD} calm $1\n")
    flaky.chmod(0o755)
    with connect(f"{flaky} {{fresh}}", Options(True, start_seconds=300)) as server:
        (tmp_path / "broken").touch()
        spare = server.pool._begin()
        assert isinstance(spare.up.exception(), NoStart)
        server.pool._spare.append(spare)
        (tmp_path / "broken").unlink()
        session = Session([server])
        session.call("write", {"word": "x"})
        assert Session([server]).call("look", {"word": "hi"}).ok


def test_a_reset_command_that_does_not_end_is_a_sentence(tmp_path: Path) -> None:
    options = Options(True, reset="sleep 600", start_seconds=1)
    with pytest.raises(HostError, match="reset command failed: it took more than 1 s"):
        connect(f"{WILD} calm {tmp_path}", options)


def rolled(how: str, folder: Path, example: Example, *options: str) -> Any:
    """Play an example on a wild server with the command line."""
    write(folder / "examples.jsonl", [example])
    given = ("--data", folder / "examples.jsonl", "--out", folder / f"{how}.jsonl")
    target = ("--mcp", f"{WILD} '{how}' {folder}", *options)
    return run("rollout", *given, "--policy", "oracle", *target)


def test_a_void_rollout_is_counted_and_named_and_others_are_played(tmp_path: Path) -> None:
    with wild("calm", tmp_path) as server:
        example = example_on(server)
    done = rolled("calm", tmp_path, example)
    assert done.returncode == 0, done.stderr
    assert "1 rollouts in" in done.stdout
    void = rolled("always hangs", tmp_path, example, "--call-timeout", "2")
    assert void.returncode == 2
    assert "0 rollouts in" in void.stdout
    assert "1 rollouts went wrong and are played again next time; wild: server_bug" in void.stderr
    assert "did not answer look within 2 s" in void.stderr
