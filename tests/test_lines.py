"""Checksums beside JSONL files: damage is seen, a kill is survived, and there is a way out."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from examples import pay_example
from files_in_trouble import full_disk
from provegym.errors import BadFile
from provegym.files import CannotWrite
from provegym.lines import (
    WIDTH,
    cut_to,
    has_sums,
    mend,
    read_lines,
    recording,
    sums_file,
    write_lines,
)
from provegym.players.scripted import SCRIPTS
from provegym.rollout import play_script
from provegym.trace import Example, Rollout, line, numbered, read, write

LINES = [b'{"a": 1}\n', b'{"a": 2}\n', b'{"a": 3}\n']


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Three lines with checksums."""
    path = tmp_path / "rows.jsonl"
    with recording(path) as append:
        for each in LINES:
            append(each)
    return path


def lines(path: Path) -> list[bytes]:
    return [each for _, each in read_lines(path)]


def test_the_file_is_plain_and_its_checksums_are_beside_it(file: Path) -> None:
    assert file.read_bytes() == b"".join(LINES)
    assert lines(file) == LINES
    assert len(sums_file(file).read_bytes()) == WIDTH * len(LINES)
    written = file.with_name("other.jsonl")
    assert write_lines(written, LINES) == 3
    assert sums_file(written).read_bytes() == sums_file(file).read_bytes()


def test_every_flipped_bit_is_seen_and_the_sentence_has_a_way_out(file: Path) -> None:
    content = file.read_bytes()
    for at in range(len(content)):
        for bit in range(8):
            file.write_bytes(content[:at] + bytes([content[at] ^ (1 << bit)]) + content[at + 1 :])
            with pytest.raises(BadFile, match=r"rows\.jsonl:[123] differs from its checksum.*sums"):
                lines(file)
    sums_file(file).unlink()
    assert len(lines(file)) >= 2


def test_lost_lines_are_seen(file: Path) -> None:
    file.write_bytes(b"".join(LINES[:2]))
    with pytest.raises(BadFile, match="has 2 lines, but 3 checksums"):
        lines(file)


@pytest.mark.parametrize(
    "kill",
    [
        lambda file, sums: file.write_bytes(file.read_bytes()[:-3]),
        lambda file, sums: sums.write_bytes(sums.read_bytes()[:-WIDTH]),
        lambda file, sums: sums.write_bytes(sums.read_bytes()[:-5]),
        lambda file, sums: sums.unlink(),
        lambda file, sums: file.write_bytes(file.read_bytes() + b'{"a": 4'),
    ],
)
def test_a_kill_at_any_moment_is_mended(file: Path, kill: Callable[[Path, Path], None]) -> None:
    kill(file, sums_file(file))
    mend(file)
    held = lines(file)
    assert held == LINES[: len(held)]
    with recording(file) as append:
        append(b'{"a": 9}\n')
    assert lines(file) == [*held, b'{"a": 9}\n']
    assert len(sums_file(file).read_bytes()) == WIDTH * (len(held) + 1)


def test_a_file_that_is_cut_back_keeps_fitting_checksums(file: Path) -> None:
    cut_to(file, len(LINES[0]))
    assert lines(file) == LINES[:1]
    cut_to(file.with_name("new.jsonl"), 0)
    assert lines(file.with_name("new.jsonl")) == []


def test_mending_does_not_bless_a_damaged_line(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content.replace(b"2", b"7"))
    mend(file)
    with pytest.raises(BadFile, match=r"rows\.jsonl:2 differs"):
        lines(file)
    sums_file(file).write_bytes(b"garbage, garbage,..\n" * 3)
    with pytest.raises(BadFile, match="is damaged; delete it"):
        mend(file)


def test_a_file_without_checksums_is_read(tmp_path: Path) -> None:
    bare = tmp_path / "old.jsonl"
    bare.write_bytes(line(pay_example()))
    assert not has_sums(bare)
    assert list(read(bare, Example)) == [pay_example()]


def test_a_line_that_is_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("provegym.lines.LONGEST", 1_000)
    long = tmp_path / "long.jsonl"
    long.write_bytes(b"{}\n" + b" " * 2_000)
    with pytest.raises(BadFile, match=r"long\.jsonl:2 is longer than"):
        lines(long)


def test_a_full_disk_is_told_in_a_sentence_and_can_be_gone_on_from(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    long = [json.dumps([number, "x" * 990]).encode() + b"\n" for number in range(9)]
    with full_disk(4_500), pytest.raises(CannotWrite, match=r"rows\.jsonl: File too large; "):
        append_all(path, long)
    mend(path)
    held = lines(path)
    assert held == long[:4]
    append_all(path, long[4:])
    assert lines(path) == long


def append_all(path: Path, some: list[bytes]) -> None:
    with recording(path) as append:
        for each in some:
            append(each)


def test_ids_that_occur_twice_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "train-00000.jsonl", [pay_example()])
    write(tmp_path / "train-00001.jsonl", [pay_example()])
    with pytest.raises(BadFile, match=r"00001\.jsonl:1 has the id pay-1 again that .*00000"):
        list(read(tmp_path, Example))


def test_samples_are_told_apart_from_copies(tmp_path: Path) -> None:
    played = play_script(pay_example(), SCRIPTS["noop"])
    file = tmp_path / "rollouts.jsonl"
    write(file, [played, played])
    with pytest.raises(BadFile, match=r"rollouts\.jsonl:2 is the same rollout again"):
        list(read(file, Rollout))
    write(tmp_path / "step-1.jsonl", [played])
    write(tmp_path / "step-2.jsonl", [played])
    file.unlink()
    assert len(list(read(tmp_path, Rollout))) == 2
    write(file, numbered([played, played]))
    assert [rollout.sample for rollout in read(file, Rollout)] == [0, 1]
    more = numbered([played, played], [next(numbered([played]))])
    assert [rollout.sample for rollout in more] == [1, 2]


def test_the_checksums_survive_many_small_runs(tmp_path: Path) -> None:
    path, chance = tmp_path / "rows.jsonl", Random(0)
    for number in range(60):
        with recording(path) as append:
            append(b"%d\n" % number)
        if chance.random() < 0.4:  # as a kill leaves it
            sums = sums_file(path)
            sums.write_bytes(sums.read_bytes()[: -chance.randrange(1, WIDTH + 1)])
    mend(path)
    assert [int(each) for each in lines(path)] == list(range(60))
