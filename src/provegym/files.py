"""Files that survive a kill: atomic writes, append-only JSONL, and the user's cache folder."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

BLOCK = 1 << 16

Append = Callable[[bytes], None]


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path to write to; when the block ends well, it replaces the file.

    Readers see the old file or the new one, never a part of it. The new one is synced to disk
    first, so that this holds after a power cut as well. When the block fails, the temporary file
    is removed.
    """
    target = path.resolve()  # a symbolic link stays one
    part = target.with_name(f"{target.name}.{token_hex(4)}.part")
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write all of a file or nothing; text is written as UTF-8."""
    with atomic_path(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def appending(path: Path) -> Iterator[Append]:
    """Open a file of lines, such as JSONL, and give a function that appends a line to it.

    A torn last line is cut off first. Each line is in the file once it is appended, so a kill
    tears at most the last one; all are synced to disk at the end of the block.
    """
    if path.exists():
        cut_torn_line(path)
    with path.open("ab") as file:

        def append(line: bytes) -> None:
            file.write(line)
            file.flush()

        yield append
        os.fsync(file.fileno())


def cut_torn_line(path: Path) -> None:
    """Cut off what follows the last line end of a file: a line that a kill has torn."""
    whole = _size_of_lines(path)
    if whole < path.stat().st_size:
        os.truncate(path, whole)


def _size_of_lines(path: Path) -> int:
    """How many bytes the whole lines of a file have; it is read backwards, block by block."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - BLOCK)
            file.seek(start)
            last = file.read(end - start).rfind(b"\n")
            if last >= 0:
                return start + last + 1
            end = start
    return 0


def cache_folder() -> Path:
    """Where this user's graphs, models and environments are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "provegym"
