"""Files that survive a kill, a full disk and another writer."""

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from time import sleep

import msgspec
import pytest

from files_in_trouble import full_disk
from provegym.files import (
    BLOCK,
    CannotWrite,
    FolderInUse,
    appending,
    atomic_folder,
    atomic_path,
    cache_folder,
    cut_torn_line,
    locked,
    locked_file,
    write_atomically,
)

KILLS = 6
SIZE = 300_000
WRITE_FOR_EVER = """
import sys
from itertools import cycle
from pathlib import Path
from provegym.files import write_atomically
for letter in cycle(b"ab"):
    write_atomically(Path(sys.argv[1]), bytes([letter]) * int(sys.argv[2]))
"""
WRITE_OFTEN = """
import sys
from pathlib import Path
from provegym.files import write_atomically
for _ in range(60):
    write_atomically(Path(sys.argv[1]), sys.argv[3] * int(sys.argv[2]))
"""
APPEND_FOR_EVER = """
import json, sys
from itertools import count
from pathlib import Path
from provegym.files import appending
path = Path(sys.argv[1])
with appending(path) as append:
    for number in count(len(path.read_bytes().splitlines())):
        append(json.dumps([number, "x" * int(sys.argv[2])]).encode() + b"\\n")
"""


def start(code: str, *given: object) -> "subprocess.Popen[bytes]":
    """A process of its own that runs some code."""
    return subprocess.Popen([sys.executable, "-c", code, *map(str, given)])


def kill_in_the_middle(process: "subprocess.Popen[bytes]", file: Path, chance: Random) -> None:
    """Kill a process that writes to a file, a little after it has begun to."""
    before = file.stat().st_mtime_ns if file.exists() else 0
    while process.poll() is None and (not file.exists() or file.stat().st_mtime_ns == before):
        sleep(0.005)
    sleep(chance.uniform(0.0, 0.05))
    process.kill()
    assert process.wait() == -9


HOLD = """
import sys
from pathlib import Path
from provegym.files import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_folder_has_one_writer_until_its_process_ends_even_by_a_kill(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "run")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        told = r"another process writes to .*name another --out"
        with pytest.raises(FolderInUse, match=told), locked(tmp_path / "run"):
            pass
        other.kill()
        other.wait()
    with locked(tmp_path / "run"):
        pass
    assert list((tmp_path / "run").iterdir()) == [], "the lock leaves nothing behind"


def test_a_file_has_one_writer_by_whatever_name(tmp_path: Path) -> None:
    file, link = tmp_path / "rollouts.jsonl", tmp_path / "link.jsonl"
    file.touch()
    link.symlink_to(file)
    told = r"another process writes to .*link.jsonl; wait until it ends, or name another file"
    with locked_file(file), pytest.raises(FolderInUse, match=told), locked_file(link):
        pass
    with locked_file(link):
        assert file.read_bytes() == b""


def test_a_file_system_without_locks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with locked(tmp_path / "run"):
        assert (tmp_path / "run").exists()
    assert "cannot be locked on this file system (No locks available)" in capsys.readouterr().err


def test_a_lock_that_was_just_removed_is_taken_anew(tmp_path: Path) -> None:
    holders = [start(TAKE_TURNS, tmp_path / "run", tmp_path / "count") for _ in range(3)]
    assert [holder.wait() for holder in holders] == [0, 0, 0]
    assert (tmp_path / "count").read_text() == "60"


TAKE_TURNS = """
import sys
from pathlib import Path
from time import sleep
from provegym.files import FolderInUse, locked
folder, count = map(Path, sys.argv[1:])
done = 0
while done < 20:
    try:
        with locked(folder):
            held = int(count.read_text()) if count.exists() else 0
            sleep(0.001)
            count.write_text(str(held + 1))
            done += 1
    except FolderInUse:
        sleep(0.001)
"""


def test_a_kill_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    file, chance = tmp_path / "state.json", Random(0)
    for _ in range(KILLS):
        kill_in_the_middle(start(WRITE_FOR_EVER, file, SIZE), file, chance)
        assert file.read_bytes() in (b"a" * SIZE, b"b" * SIZE)


def test_a_kill_tears_at_most_the_last_line(tmp_path: Path) -> None:
    file, chance = tmp_path / "rollouts.jsonl", Random(0)
    for _ in range(KILLS):
        kill_in_the_middle(start(APPEND_FOR_EVER, file, 2 * BLOCK), file, chance)
    cut_torn_line(file)
    numbers = [msgspec.json.decode(line)[0] for line in file.read_bytes().splitlines()]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= KILLS


def test_of_two_writers_the_last_one_wins_with_a_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    writers = [start(WRITE_OFTEN, file, SIZE, letter) for letter in "ab"]
    while any(writer.poll() is None for writer in writers):
        assert not file.exists() or file.read_bytes() in (b"a" * SIZE, b"b" * SIZE)
    assert [writer.wait() for writer in writers] == [0, 0]
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    write_atomically(file, "old")
    with full_disk(1_000), pytest.raises(CannotWrite, match="File too large"):
        write_atomically(file, b"x" * 5_000)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_line_that_a_full_disk_tears_is_gone_at_the_next_opening(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    with full_disk(4_500), pytest.raises(CannotWrite, match="File too large"):
        append_numbers(file, range(9))
    assert file.stat().st_size == 4_500
    append_numbers(file, range(4, 6))
    assert [msgspec.json.decode(line)[0] for line in file.read_bytes().splitlines()] == [*range(6)]


def append_numbers(file: Path, numbers: range) -> None:
    """A line of about a kilobyte for each number."""
    with appending(file) as append:
        for number in numbers:
            append(msgspec.json.encode([number, "x" * 990]) + b"\n")


def test_a_block_that_fails_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        fail_half_way(tmp_path / "rows.jsonl")
    assert list(tmp_path.iterdir()) == []


def fail_half_way(file: Path) -> None:
    """Write some of a file, then fail."""
    with atomic_path(file) as part:
        part.write_text("half of it")
        raise KeyError


def test_a_file_is_as_readable_as_any_other_and_a_link_stays_a_link(tmp_path: Path) -> None:
    plain, link, file = tmp_path / "plain", tmp_path / "link", tmp_path / "folder" / "file"
    plain.touch()
    file.parent.mkdir()
    link.symlink_to(file)
    write_atomically(link, "früh")
    assert link.is_symlink()
    assert file.read_bytes() == "früh".encode()
    assert file.stat().st_mode == plain.stat().st_mode
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    ("held", "whole"),
    [
        (b"", b""),
        (b"torn", b""),
        (b"one\n", b"one\n"),
        (b"one\ntwo\n", b"one\ntwo\n"),
        (b"one\ntorn", b"one\n"),
        (b"one\n" + b"x" * (BLOCK - 1), b"one\n"),
        (b"one\n" + b"x" * BLOCK, b"one\n"),
        (b"one\n" + b"x" * 3 * BLOCK, b"one\n"),
        (b"x" * 3 * BLOCK, b""),
        (b"x" * BLOCK + b"\n" + b"y" * BLOCK + b"\n", b"x" * BLOCK + b"\n" + b"y" * BLOCK + b"\n"),
    ],
)
def test_a_torn_last_line_is_cut_off(tmp_path: Path, held: bytes, whole: bytes) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_bytes(held)
    cut_torn_line(file)
    assert file.read_bytes() == whole
    file.write_bytes(held)
    with appending(file) as append:
        append(b"next\n")
        assert file.read_bytes() == whole + b"next\n", "a line is in the file once it is appended"


def test_a_file_without_a_torn_line_is_only_read(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b"one\n")
    os.utime(file, ns=(1, 1))
    cut_torn_line(file)
    assert file.stat().st_mtime_ns == 1


def test_a_folder_appears_whole_and_its_files_are_replaced_one_by_one(tmp_path: Path) -> None:
    place = tmp_path / "model"
    (tmp_path / "model.part").mkdir()
    (tmp_path / "model.part" / "torn").touch()
    with atomic_folder(place) as part:
        (part / "weights").write_bytes(b"1")
        assert not place.exists()
    assert [path.name for path in place.iterdir()] == ["weights"]
    (place / "notes").write_bytes(b"mine")

    def fail_halfway() -> None:
        with atomic_folder(place) as part:
            (part / "weights").write_bytes(b"2")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_halfway()
    assert (place / "weights").read_bytes() == b"1"
    with atomic_folder(place) as part:
        (part / "weights").write_bytes(b"2")
    assert {path.name: path.read_bytes() for path in place.iterdir()} == {
        "weights": b"2",
        "notes": b"mine",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_writer_that_may_wait_goes_on_when_the_other_ends(tmp_path: Path) -> None:
    file = tmp_path / "shared.json"
    file.write_bytes(b"1")

    def add_one() -> None:
        with locked_file(file, wait=True):
            write_atomically(file, str(int(file.read_bytes()) + 1))

    with ThreadPoolExecutor(4) as threads:
        with locked_file(file):
            waiting = [threads.submit(add_one) for _ in range(4)]
            sleep(0.3)
            assert not any(each.done() for each in waiting)
            file.write_bytes(b"10")
        for each in waiting:
            each.result(timeout=60)
    assert file.read_bytes() == b"14"
    assert [path.name for path in tmp_path.iterdir()] == ["shared.json"]


def test_caches_are_where_a_user_keeps_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/provegym")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_folder() == Path.home() / ".cache" / "provegym"
