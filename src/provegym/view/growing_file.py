"""Follows a file that is still being written, line by line (as `tail -f` does).

A line is given once its end is there, with its offset, so that it can be read again later. Files
are never memory-mapped: reading a mapped file that somebody truncates kills the process (SIGBUS).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

CHUNK = 1 << 20
LONGEST = 64 << 20
MARK = 64


class FileLine(NamedTuple):
    """A line without its newline, the offset of its first byte, and its number, counted from 1."""

    start: int
    number: int
    text: bytes


class Unreadable(Exception):
    """A file that cannot be read; the message says why."""


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path, links followed, lies in a folder or is that file itself."""
    return path.resolve().is_relative_to(root)


class GrowingFile:
    """Reads a file on from where the last read stopped; from the start if it was rewritten."""

    def __init__(self, path: Path, root: Path) -> None:
        """`root` is the resolved folder that the file must not leave, or the file itself."""
        self.path, self.root = path, root
        self.size, self.modified = 0, 0.0
        self._begin(-1)

    def _begin(self, inode: int) -> None:
        self.inode, self.position, self.number = inode, 0, 0
        self.mark = self.rest = b""
        self.is_open_ended = False

    @property
    def is_at_end(self) -> bool:
        """Whether everything that was there at the last look has been read."""
        return self.position + len(self.rest) >= self.size

    def is_rewritten(self) -> bool:
        """Look at the file again: does it hold other lines than those that were read?"""
        with self._opened() as (file, status):
            file.seek(self.position - len(self.mark))
            back = file.read(len(self.mark))
        self.size, self.modified = status.st_size, status.st_mtime
        changed = status.st_ino != self.inode or self.size < self.position or back != self.mark
        fresh = self.inode == -1
        if changed:
            self._begin(status.st_ino)
        return changed and not fresh

    def lines(self) -> list[FileLine]:
        """The next whole lines, about a megabyte; text after the last newline is kept in `rest`.

        A line longer than LONGEST is given cut, so that decoding it fails.
        """
        wanted = CHUNK
        data = self.read(self.position, wanted)
        while b"\n" not in data and wanted <= len(data) < LONGEST:
            wanted *= 4
            data = self.read(self.position, wanted)
        end = data.rfind(b"\n") + 1
        if not end:
            if len(data) >= LONGEST:
                return self._skip(data)
            self.rest = data
            return []
        return self._take(data[:end])

    def _take(self, data: bytes) -> list[FileLine]:
        found, start = [], self.position
        self.number -= self.is_open_ended
        for text in data.split(b"\n")[:-1]:
            self.number += 1
            found.append(FileLine(start, self.number, text))
            start += len(text) + 1
        self.position, self.mark, self.rest = start, data[-MARK:], b""
        self.is_open_ended = False
        return found

    def _skip(self, data: bytes) -> list[FileLine]:
        """Skip a line that is too long, up to its newline or the end of the file."""
        self.number += 1
        cut = FileLine(self.position, self.number, data[:MARK])
        at = self.position + len(data)
        while data and b"\n" not in data:
            data = self.read(at, CHUNK)
            at += len(data)
        self.position = at - len(data) + data.find(b"\n") + 1 if data else at
        self.mark, self.rest = b"", b""
        return [cut]

    def take_rest(self) -> FileLine:
        """Take the text after the last newline as a line: the caller found it complete."""
        self.number += 1
        line = FileLine(self.position, self.number, self.rest)
        self.position += len(self.rest)
        self.mark, self.rest, self.is_open_ended = self.rest[-MARK:], b"", True
        return line

    def read(self, start: int, count: int) -> bytes:
        """Some bytes of the file, from an offset."""
        with self._opened() as (file, _):
            file.seek(start)
            return file.read(count)

    @contextmanager
    def _opened(self) -> Iterator[tuple[FileIO, os.stat_result]]:
        """Opens the file; Unreadable says why it cannot be opened."""
        try:
            if not is_inside(self.path, self.root):
                raise Unreadable("is a link that leads out of the folder, and is not followed")
            if not S_ISREG(self.path.stat().st_mode):
                raise Unreadable("is no file that could be read")
            with self.path.open("rb", buffering=0) as file:
                yield file, os.fstat(file.fileno())
        except FileNotFoundError:
            raise Unreadable("is gone: it was moved or deleted") from None
        except OSError as problem:
            raise Unreadable(f"cannot be read: {problem.strerror}") from None
