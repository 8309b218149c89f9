"""A corpus: the same bytes for the same seed, whatever the workers and however often killed."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from provegym.synth.corpus import Keeper, Order
from provegym.synth.kinds import KINDS, SHARES, candidate
from provegym.trace import Example, read
from provegym.verify import verify

SIZE = 24
SERVERS = "banking,email,maps,filesystem"


def command(out: Path, workers: int = 1, seed: int = 3, size: int = SIZE) -> list[str]:
    """The command that makes a small corpus."""
    options = {"size": size, "out": out, "seed": seed, "servers": SERVERS, "workers": workers}
    flags = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return [sys.executable, "-m", "provegym", "synth", *flags]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end."""
    return subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus made by one worker."""
    out = tmp_path_factory.mktemp("corpus") / "one"
    done = run(*command(out))
    assert done.returncode == 0, done.stderr
    return out


def test_every_example_is_verified(corpus: Path) -> None:
    examples = list(read(corpus, Example))
    assert len(examples) == SIZE
    assert {example.server for example in examples} == set(SERVERS.split(","))
    for example in examples:
        assert verify(example) == []


def test_workers_do_not_change_a_byte(corpus: Path, tmp_path: Path) -> None:
    assert run(*command(tmp_path / "two", workers=2)).returncode == 0
    one, two = (folder / "examples.jsonl" for folder in (corpus, tmp_path / "two"))
    assert one.read_bytes() == two.read_bytes()


def test_a_killed_run_goes_on_to_the_same_bytes(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    for _ in range(3):
        process = subprocess.Popen(command(out), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        time.sleep(1.5)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert run(*command(out)).returncode == 0
    assert (out / "examples.jsonl").read_bytes() == (corpus / "examples.jsonl").read_bytes()


def test_another_seed_gives_another_corpus() -> None:
    names = tuple(SERVERS.split(","))
    assert candidate(1, 5, names) != candidate(2, 5, names)


def test_every_kind_is_made_and_keeps_the_contract() -> None:
    from provegym.servers import load

    assert set(KINDS) == set(SHARES)
    for kind, make in KINDS.items():
        made = [e for n in range(8) if (e := make(load("banking"), n, f"{kind}-{n}"))]
        assert made
        assert {example.kind for example in made} == {kind}
        assert any(verify(example) == [] for example in made)


def test_near_copies_are_not_kept(corpus: Path) -> None:
    keeper = Keeper(Order(SIZE, 0, corpus, tuple(SERVERS.split(","))))
    example = next(e for e in read(corpus, Example) if e.paths[0].steps)
    assert keeper.objection(example) == ""
    keeper.keep(example)
    assert keeper.objection(example) == "a near copy"


@pytest.mark.parametrize(
    ("change", "says"),
    [({"seed": 4}, "was asked for differently"), ({"out": Path("/proc/nowhere")}, "/proc/nowhere")],
)
def test_a_mistake_is_one_line(corpus: Path, change: dict[str, object], says: str) -> None:
    done = run(*command(**{"out": corpus, **change}))  # type: ignore[arg-type]
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
