"""JSONL files of examples and rollouts, with a checksum (CRC-32) per line in a file beside them.

The checksums of `rollouts.jsonl` are in `.rollouts.jsonl.sums`: per line, the offset of its end and
its CRC-32, both in hexadecimal. The file itself stays plain JSONL. A file without checksums is read
unchecked. A line is written before its checksum, so after a kill only the last lines have none.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from zlib import crc32

from provegym.errors import BadFile
from provegym.files import (
    Append,
    atomic_path,
    close,
    cut_torn_line,
    describe,
    sentence,
    write_atomically,
)

# A line of JSON takes up to twenty times its size in memory; the longest of ours has 200 kB.
LONGEST = 16 << 20
# Checksums of ten million lines.
MOST_SUMS = 200_000_000
# Ten digits for the offset, a space, eight for the checksum, and a newline.
WIDTH = 20


def sums_file(path: Path) -> Path:
    """Where the checksums of a file are: beside it, or beside what a link leads to."""
    target = path.resolve()
    return target.with_name(f".{target.name}.sums")


def has_sums(path: Path) -> bool:
    """Whether a file has checksums."""
    return sums_file(path).is_file()


def entry(end: int, line: bytes) -> bytes:
    """The checksum of a line that ends at this offset, as it is written."""
    return b"%010x %08x\n" % (end, crc32(line))


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers, from 1 on; each is compared with its checksum.

    Raises BadFile where one differs, where one is missing at the end, and where one is too long.
    """
    sums = read_sums(path)  # first: a line is there before its checksum
    number = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(partial(file.readline, LONGEST + 1), b""), 1):
                if len(line) > LONGEST:
                    raise BadFile(f"{path}:{number} is longer than {LONGEST >> 20} MB; take it out")
                check_line(sums, path, number, line)
                yield number, line
    except OSError as problem:
        raise BadFile(describe(problem, path)) from None
    if len(sums) >= (number + 1) * WIDTH:
        raise BadFile(
            f"{path} has {number} lines, but {len(sums) // WIDTH} checksums: its last lines are"
            f" lost. {_way_out(path)}"
        )


def read_sums(path: Path) -> bytes:
    """The checksums of a file; empty if it has none."""
    sums = sums_file(path)
    try:
        if not sums.is_file():
            return b""
        if sums.stat().st_size > MOST_SUMS:
            raise BadFile(f"{sums} is damaged; delete it, and it is made again")
        return sums.read_bytes()
    except OSError as problem:
        raise BadFile(describe(problem, sums)) from None


def check_line(sums: bytes, path: Path, number: int, line: bytes) -> None:
    """Raise BadFile if a line, with its newline, differs from its checksum."""
    if problem := difference(sums, number, line):
        raise BadFile(f"{path}:{number} {problem}. {_way_out(path)}")


def difference(sums: bytes, number: int, line: bytes) -> str:
    """What is wrong with a line, with its newline, by its checksum; empty if nothing is."""
    expected = sums[(number - 1) * WIDTH : number * WIDTH]
    if len(expected) < WIDTH or expected[11:] == b"%08x\n" % crc32(line):
        return ""
    return "differs from its checksum, so it was damaged or changed"


def _way_out(path: Path) -> str:
    return (
        f"Make the file again, or take a good copy; if you changed it yourself, delete"
        f" {sums_file(path)}"
    )


@contextmanager
def recording(path: Path) -> Iterator[Append]:
    """Like `appending`, and with checksums: yields a function that appends a line."""
    with sentence(path):
        begun = end = mend(path)
        file, sums = path.open("ab"), sums_file(path).open("ab")

    def append(line: bytes) -> None:
        nonlocal end
        with sentence(path):
            file.write(line)
            file.flush()
            end += len(line)
            sums.write(entry(end, line))
            sums.flush()

    try:
        yield append
        if end > begun:
            with sentence(path):
                os.fsync(file.fileno())
                os.fsync(sums.fileno())
    finally:
        close(file)
        close(sums)


def mend(path: Path) -> int:
    """Cut off an incomplete last line and make the checksums fit; return the size of the file.

    Lines without a checksum get one: a killed process leaves such lines at the end, and an older
    version had no checksums. Checksums of lines that are not there any more are removed.
    """
    held, sums = read_sums(path), sums_file(path)
    if not path.exists():
        sums.unlink(missing_ok=True)
        return 0
    cut_torn_line(path)
    size = path.stat().st_size
    kept = held[: len(held) // WIDTH * WIDTH]
    try:
        while _end(kept) > size:
            kept = kept[:-WIDTH]
        if _end(kept) < size:
            kept += b"".join(_entries(path, _end(kept)))
    except ValueError:
        raise BadFile(f"{sums} is damaged; delete it, and it is made again") from None
    if kept != held:
        write_atomically(sums, kept)
    return size


def _end(sums: bytes) -> int:
    """The offset at which the last line with a checksum ends."""
    return int(sums[-WIDTH:][:10], 16) if sums else 0


def _entries(path: Path, start: int) -> Iterator[bytes]:
    """The checksums of the lines from an offset on."""
    with path.open("rb") as file:
        end = file.seek(start)
        for line in file:
            end += len(line)
            yield entry(end, line)


def cut_to(path: Path, size: int) -> None:
    """Make a file of lines as long as this, with its checksums; it may not exist yet."""
    with sentence(path):
        path.touch()
        os.truncate(path, size)
        mend(path)


def cut_all_to(folder: Path, name: str, size: int) -> None:
    """Truncate the shards of a part to `size` bytes in all, with their checksums."""
    for shard in sorted(folder.glob(f"{name}-*.jsonl")):
        kept = min(size, shard.stat().st_size)
        cut_to(shard, kept)
        size -= kept
    if size:
        raise BadFile(f"{folder}: {size} bytes of {name} are gone; remove the folder to start anew")


def write_lines(path: Path, lines: Iterable[bytes]) -> int:
    """Write a file of lines atomically, with checksums; returns the number of lines.

    The old checksums are removed before the file is replaced: a kill in between leaves a file
    without checksums, never one with wrong ones.
    """
    sums: list[bytes] = []
    with atomic_path(path) as part:
        end = 0
        with part.open("wb") as out:
            for line in lines:
                end += out.write(line)
                sums.append(entry(end, line))
        sums_file(path).unlink(missing_ok=True)
    write_atomically(sums_file(path), b"".join(sums))
    return len(sums)
