"""Crash-safe files: atomic writes, append-only JSONL and locks; also the user's cache folder."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from provegym.errors import UserError

if sys.platform != "win32":
    import fcntl

BLOCK = 1 << 16
LOCK = ".lock"

Append = Callable[[bytes], None]


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path to write to; it replaces the file when the block ends without an error.

    Readers see the old file or the new one, never a part of it. The new file is synced to disk
    first, so this also holds after a power failure. If the block raises, the temporary file is
    removed.
    """
    target = path.resolve()  # replace the target of a symbolic link, not the link
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
    """Open a file of lines, such as JSONL; yields a function that appends a line.

    An incomplete last line is removed first. Each line is flushed when it is appended, so a killed
    process leaves at most one incomplete line. All lines are synced to disk when the block ends.
    """
    if path.exists():
        cut_torn_line(path)
    with path.open("ab") as file:

        def append(line: bytes) -> None:
            file.write(line)
            file.flush()

        yield append
        os.fsync(file.fileno())


class FolderInUse(UserError):
    """Another process writes to a folder; the message says so."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from writing to a folder; refused if one does already.

    The operating system releases the lock when its process ends, also when it is killed. The file
    stays. There is no lock on Windows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("ab") as file:
        if sys.platform != "win32":
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise FolderInUse(
                    f"another process writes to {folder}; wait until it ends, or name another --out"
                ) from None
        yield


def cut_torn_line(path: Path) -> None:
    """Remove an incomplete last line, which a killed process has left."""
    whole = _size_of_lines(path)
    if whole < path.stat().st_size:
        os.truncate(path, whole)


def _size_of_lines(path: Path) -> int:
    """The number of bytes up to the last line end; the file is read backwards in blocks."""
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
    """The user's cache folder, for graphs, models and environments."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "provegym"
