"""Our worlds in OpenEnv: its server and its clients, with scripts in a model's place."""

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import pytest

from adapters.scripts import DATA, POLICIES, TEN, examples
from provegym.adapters.episode import success
from provegym.rewards import HARDENED
from provegym.rollout import play_script
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, read

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".envs" / "openenv" / "bin" / "python"
PAGE = ROOT / "docs" / "adapters" / "openenv.md"
WAYS = ("message", "step", "mcp")
JOBS = [
    *((each, policy, way) for each in TEN for policy in ("oracle", "noop") for way in WAYS),
    *((each, "spammer", "message") for each in TEN),
    *((TEN[0], policy, "message") for policy in ("clumsy", "stranger", "endless", "greedy")),
    *((TEN[0], policy, way) for policy in ("stranger", "endless") for way in ("step", "mcp")),
]

needs_openenv = pytest.mark.skipif(not PYTHON.exists(), reason="make adapters builds .envs/openenv")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """OpenEnv's server, started as the page says."""
    with serving() as url:
        yield url


@contextmanager
def serving(*options: str) -> Iterator[str]:
    """OpenEnv's server with these options; its address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = [PYTHON, "-m", "provegym.adapters.openenv", DATA, "--port", str(port), *options]
    process = subprocess.Popen(command)
    try:
        until = monotonic() + 60
        while not _listens(port):
            assert process.poll() is None
            assert monotonic() < until
            sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def found(server: str) -> Json:
    """What all the clients saw, each in a session of its own and all at once."""
    return drive(server, JOBS)


def drive(server: str, jobs: list[tuple[str, str, str]]) -> Json:
    """What the clients of these jobs saw."""
    driver = Path(__file__).with_name("drive_openenv.py")
    done = subprocess.run(
        [PYTHON, driver, server],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@needs_openenv
def test_episodes_are_our_rollouts_word_by_word(found: Json) -> None:
    for (each, policy, _), got in zip(JOBS, found["played"], strict=True):
        example = examples()[each]
        own = play_script(example, POLICIES[policy])
        assert own.reward is not None
        heard = [[m["role"], m["content"]] for m in own.messages if m["role"] != "assistant"]
        assert got["told"] == heard
        end = [
            own.reward.total,
            {"ended": own.ended, "reason": "", "parts": own.reward.parts, "verdict": success(own)},
            True,
        ]
        assert got["ends"] == [end, end]
        assert got["shown"] == [[t["name"], t["inputSchema"]] for t in Toolbox.of(example).mcp()]


@needs_openenv
def test_oracle_is_paid_all_and_noop_nothing(found: Json) -> None:
    paid = {
        policy: [
            got["ends"][0][0]
            for job, got in zip(JOBS, found["played"], strict=True)
            if job[1] == policy
        ]
        for policy in ("oracle", "noop")
    }
    assert paid == {"oracle": [1.3] * 30, "noop": [0] * 30}


@needs_openenv
def test_the_hardened_scheme_reads_the_replies_too() -> None:
    jobs = [(TEN[0], policy, "message") for policy in ("oracle", "noop")]
    with serving("--scheme", "hardened") as server:
        played = drive(server, jobs)["played"]
    for (each, policy, _), got in zip(jobs, played, strict=True):
        own = play_script(examples()[each], POLICIES[policy], scheme=HARDENED)
        paid, metadata, _ = got["ends"][0]
        assert own.reward is not None
        assert (paid, metadata["parts"]) == (own.reward.total, own.reward.parts)
        assert metadata["verdict"]["success"] == (policy == "oracle")


@needs_openenv
def test_the_script_that_is_cut_short_ends_as_ours_does(found: Json) -> None:
    ended = {
        job[1]: got["ends"][0][1]["ended"] for job, got in zip(JOBS, found["played"], strict=True)
    }
    assert (ended["endless"], ended["greedy"], ended["clumsy"]) == ("turns", "calls", "done")


@needs_openenv
def test_writes_of_one_session_do_not_show_in_another(found: Json) -> None:
    mine, others = zip(found["apart"]["before"], found["apart"]["after"], strict=True)
    assert mine[0] == others[0] == others[1]
    assert mine[1] != mine[0]


@needs_openenv
def test_what_goes_wrong_is_one_line(found: Json) -> None:
    unopened, unknown, unasked, fourth, empty, unreachable = found["told"]
    assert "no example is open: call reset(example=ID) first" in unopened
    assert (
        "no example 'banking/pay-and-freze' here; did you mean 'banking/pay-and-freeze'?" in unknown
    )
    assert "unexpected keyword argument 'exampel'" in unasked
    assert empty == "/dev/null holds no examples; name a JSONL file or a folder of them"
    assert fourth == list(read(DATA, Example))[3].turns[0].text
    assert unreachable == (
        "no OpenEnv server answers at http://127.0.0.1:1;"
        " start one with: python -m provegym.adapters.openenv DATA"
    )


@needs_openenv
def test_a_file_that_cannot_be_served_is_one_line(tmp_path: Path) -> None:
    command = [PYTHON, "-m", "provegym.adapters.openenv", tmp_path / "no.jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == f"{tmp_path / 'no.jsonl'}: No such file or directory\n"


@needs_openenv
def test_the_example_of_the_page_runs(server: str) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(code.splitlines()) <= 12
    code = code.replace("http://127.0.0.1:8000", server)
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("1.3 {'validity': 1.0, ")


def test_a_missing_package_is_one_line() -> None:
    with pytest.raises(
        ImportError, match=r"^openenv is missing: pip install 'openenv==0\.10\.\*'$"
    ):
        import provegym.adapters.openenv  # noqa: F401


def test_a_wrong_version_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("provegym.adapters.episode.version", lambda _: "0.9.3")
    with pytest.raises(
        ImportError, match=r"^this adapter is for openenv 0\.10, not 0\.9\.3: pip install"
    ):
        import provegym.adapters.openenv  # noqa: F401
