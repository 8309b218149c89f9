"""After a command, one line on stderr names the command to try next; with --json nothing does."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from command import run
from provegym.trace import Example, Rollout, read, write

DATA = Path(__file__).parents[1] / "data" / "banking.jsonl"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of two examples and one of their rollouts, in the present folder."""
    monkeypatch.chdir(tmp_path)
    write(Path("data.jsonl"), list(read(DATA, Example))[:2])
    run("rollout", "--policy", "oracle", "--data", "data.jsonl", "--out", "played.jsonl")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "then"),
    [
        ("servers", "provegym servers banking"),
        ("servers banking", "provegym demo banking"),
        ("demo banking", "provegym synth --servers banking --size 20 --out corpus"),
        ("call banking list_accounts", "provegym demo banking"),
        ("graph banking", "provegym graph banking --why "),
        (
            "graph banking --why pay_payee",
            "provegym synth --servers banking --size 20 --out corpus",
        ),
        ("synth --servers maps --size 2 --workers 1 --out made", "provegym samples made --count 3"),
        ("samples data.jsonl", "provegym verify data.jsonl"),
        (
            "verify data.jsonl",
            "provegym rollout --policy oracle --data data.jsonl --out rollouts.jsonl",
        ),
        (
            "rollout --policy noop --data data.jsonl --out noop.jsonl",
            "provegym score noop.jsonl --explain",
        ),
        ("score played.jsonl", "provegym view played.jsonl"),
        ("compare played.jsonl played.jsonl", "provegym view played.jsonl played.jsonl"),
        ("audit --data data.jsonl", "provegym audit --data data.jsonl --scheme hardened"),
        ("export data.jsonl --format sft --out sft.jsonl", "provegym recipes"),
        ("audit --data data.jsonl --scheme hardened", "provegym recipes reward-hardened"),
        ("recipes", "provegym train tiny --dry-run"),
        ("recipes sft", "provegym train sft --dry-run"),
        ("report played.jsonl", "provegym view played.jsonl"),
        ("new-server kiosk", "provegym --servers-from kiosk demo kiosk"),
        ("eval heldout --model noop --data data.jsonl --count 1 --out run", "provegym view run"),
        (
            "eval heldout --model noop --data data.jsonl --count 1",
            "provegym eval heldout --model noop --out runs/eval",
        ),
        ("worlds draw --count 1 --out worlds", "provegym worlds admit worlds"),
    ],
)
def test_the_next_command_is_named(files: Path, command: str, then: str) -> None:
    done = run(*command.split())
    assert done.returncode == 0
    assert done.stderr.count("next: ") == 1
    assert f"next: {then}" in done.stderr
    assert "next: " not in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        "servers",
        "recipes",
        "graph banking",
        "verify data.jsonl",
        "rollout --policy noop --data data.jsonl --out noop.jsonl",
        "score played.jsonl",
        "compare played.jsonl played.jsonl",
        "audit --data data.jsonl",
    ],
)
def test_nothing_is_added_where_a_machine_reads(files: Path, command: str) -> None:
    done = run(*command.split(), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert isinstance(msgspec.json.decode(done.stdout), dict)


def test_a_refused_call_leads_to_the_tools(files: Path) -> None:
    done = run("call", "banking", "list_acounts")
    assert (done.returncode, done.stderr) == (1, "next: provegym servers banking\n")


def test_the_next_command_finds_the_same_servers(files: Path) -> None:
    """In a process of its own, since it adds a server to those that are known."""
    run("new-server", "kiosk")
    command = [sys.executable, "-m", "provegym", "servers", "kiosk", "--servers-from", "kiosk"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert told == "next: provegym --servers-from kiosk check-server kiosk\n"


def test_a_command_that_failed_names_none(files: Path) -> None:
    rollout = next(read(Path("played.jsonl"), Rollout))
    write(Path("other.jsonl"), [msgspec.structs.replace(rollout, policy="somebody")])
    options = ("--policy", "oracle", "--data", "data.jsonl", "--out", "other.jsonl")
    done = run("rollout", *options)
    assert done.returncode == 2
    assert "next: " not in done.stderr
