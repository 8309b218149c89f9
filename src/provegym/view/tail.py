"""Whole lines of a file that may still be growing, each with the place where it stands.

Files are read by offset and never mapped: a mapped file that somebody truncates ends the process,
and its pages would count as ours.
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


class Line(NamedTuple):
    """A line, without its end, and where it stands: byte and number, from 0 and from 1."""

    start: int
    number: int
    text: bytes


class Gone(Exception):
    """A file that cannot be read; the message says why."""


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path, links followed, stays in a folder, or is the file that was named."""
    return path.resolve().is_relative_to(root)


class Tail:
    """Reads a file on from where it stopped; one that was rewritten starts again."""

    def __init__(self, path: Path, root: Path) -> None:
        """`root` is the resolved folder that the file must not leave, or the file itself."""
        self.path, self.root = path, root
        self.size = 0
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
        """Look at the file again; whether it holds other lines than those that were read."""
        with self._opened() as (file, status):
            file.seek(self.position - len(self.mark))
            back = file.read(len(self.mark))
        self.size = status.st_size
        changed = status.st_ino != self.inode or self.size < self.position or back != self.mark
        fresh = self.inode == -1
        if changed:
            self._begin(status.st_ino)
        return changed and not fresh

    def lines(self) -> list[Line]:
        """The next whole lines, about a megabyte of them; what is left over at the end is `rest`.

        A line longer than the bound is given cut, so that it is seen to be no good.
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

    def _take(self, data: bytes) -> list[Line]:
        found, start = [], self.position
        self.number -= self.is_open_ended
        for text in data.split(b"\n")[:-1]:
            self.number += 1
            found.append(Line(start, self.number, text))
            start += len(text) + 1
        self.position, self.mark, self.rest = start, data[-MARK:], b""
        self.is_open_ended = False
        return found

    def _skip(self, data: bytes) -> list[Line]:
        """Pass over what is too long to be a line of ours, up to its end or the file's."""
        self.number += 1
        cut = Line(self.position, self.number, data[:MARK])
        at = self.position + len(data)
        while data and b"\n" not in data:
            data = self.read(at, CHUNK)
            at += len(data)
        self.position = at - len(data) + data.find(b"\n") + 1 if data else at
        self.mark, self.rest = b"", b""
        return [cut]

    def take_rest(self) -> Line:
        """Count what stands after the last line end as a line: it turned out to be whole."""
        self.number += 1
        line = Line(self.position, self.number, self.rest)
        self.position += len(self.rest)
        self.mark, self.rest, self.is_open_ended = self.rest[-MARK:], b"", True
        return line

    def read(self, start: int, count: int) -> bytes:
        """So many bytes of the file from there."""
        with self._opened() as (file, _):
            file.seek(start)
            return file.read(count)

    @contextmanager
    def _opened(self) -> Iterator[tuple[FileIO, os.stat_result]]:
        """The file while it is read; Gone says why it cannot be."""
        try:
            if not is_inside(self.path, self.root):
                raise Gone("is a link that leads out of the folder, and is not followed")
            if not S_ISREG(self.path.stat().st_mode):
                raise Gone("is no file that could be read")
            with self.path.open("rb", buffering=0) as file:
                yield file, os.fstat(file.fileno())
        except FileNotFoundError:
            raise Gone("is gone: it was moved or deleted") from None
        except OSError as problem:
            raise Gone(f"cannot be read: {problem.strerror}") from None
