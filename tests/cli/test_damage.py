"""One bad byte in a file: every command that reads it names the file and the line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from command import Done, run
from examples import pay_example
from provegym.trace import write
from provegym.verify.complete import complete

MAPS = ("synth", "--servers", "maps", "--workers", 1, "--seed", 3, "--size", 12, "--out")
Damage = Callable[[bytes], bytes]


def second_line(change: Damage) -> Damage:
    """The same damage, in the second line of a file."""

    def damage(content: bytes) -> bytes:
        first, newline, rest = content.partition(b"\n")
        return first + newline + change(rest)

    return damage


# What damages a line of JSON: it is no UTF-8, no JSON, another value, or another type.
DAMAGES: dict[str, Damage] = {
    "no UTF-8": second_line(lambda text: text.replace(b"You act", b"You \xe1ct", 1)),
    "a zero byte": second_line(lambda text: text.replace(b'"turns"', b'"tur\x00s"', 1)),
    "no JSON": second_line(lambda text: text.replace(b'":', b'"z', 1)),
    "another word": second_line(lambda text: text.replace(b"You act", b"You ach", 1)),
    "another number": second_line(lambda text: text.replace(b'"minutes":5', b'"minutes":7', 1)),
    "a blank more": second_line(lambda text: b" " + text),
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two examples."""
    path = tmp_path / "examples.jsonl"
    good = complete(pay_example())
    write(path, [good, complete(pay_example(id="pay-2"))])
    return path


@pytest.fixture
def played(data: Path, tmp_path: Path) -> Path:
    """A rollout of each."""
    path = tmp_path / "rollouts.jsonl"
    assert run("rollout", "--policy", "oracle", "--data", data, "--out", path).returncode == 0
    return path


def names_line(done: Done, file: Path, number: int = 2) -> bool:
    """Whether a command was refused with a sentence that names a line of a file."""
    told = done.stderr.splitlines()[-1]
    return done.returncode == 2 and told.startswith(f"provegym: {file}:{number} ")


def spoil(file: Path, damage: Damage) -> bytes:
    """Damage a file; returns its new content."""
    good = file.read_bytes()
    bad = damage(good)
    assert bad != good
    file.write_bytes(bad)
    return bad


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_example_is_named_by_every_command(name: str, data: Path, tmp_path: Path) -> None:
    spoil(data, DAMAGES[name])
    out = tmp_path / "out"
    commands = (
        ("verify", data),
        ("export", data, "--format", "sft", "--out", out),
        ("export", data, "--format", "trl", "--out", out),
        ("samples", data),
        ("audit", "--data", data),
        ("rollout", "--policy", "noop", "--data", data, "--out", out),
        ("eval", "heldout", "--model", "noop", "--data", data, "--out", tmp_path / "eval"),
    )
    for command in commands:
        assert names_line(run(*command), data), command
    assert not out.exists(), "nothing is made of a damaged file"


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_rollout_is_named_by_every_command(name: str, played: Path, data: Path) -> None:
    other = played.with_name("other.jsonl")
    other.write_bytes(played.read_bytes())
    bad = spoil(played, DAMAGES[name])
    commands = (
        ("score", played),
        ("compare", played, other),
        ("compare", other, played),
        ("rollout", "--policy", "oracle", "--data", data, "--out", played),
    )
    for command in commands:
        assert names_line(run(*command), played), command
    assert played.read_bytes() == bad, "it is left as it is, for who wants to mend it"


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_evaluation_is_not_gone_on_with(name: str, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "eval"
    command = ("eval", "heldout", "--model", "oracle", "--data", data, "--out", out)
    assert run(*command).returncode == 0
    spoil(out / "rollouts.jsonl", DAMAGES[name])
    assert names_line(run(*command), out / "rollouts.jsonl")


@pytest.mark.parametrize("mark", [b"\xff", b"\x00", b"#"])
def test_a_corpus_that_was_damaged_is_not_gone_on_with(mark: bytes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(*MAPS, out).returncode == 0
    shard = out / "train-00000.jsonl"
    bad = spoil(shard, second_line(lambda text: text.replace(b"a", mark, 1)))
    assert names_line(run(*MAPS, out), shard)
    assert shard.read_bytes() == bad


def test_verify_says_whether_there_was_something_to_compare_with(data: Path) -> None:
    assert "every line agrees with its checksum" in run("verify", data).stdout
    bare = data.with_name("bare.jsonl")
    bare.write_bytes(data.read_bytes())
    assert f"no checksums: {bare} has none beside it" in run("verify", bare).stdout
