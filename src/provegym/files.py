"""Crash-safe files: atomic writes, append-only files of lines and locks; also the user's cache."""

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter
from pathlib import Path
from secrets import token_hex

from provegym.errors import BadFile, UserError
from provegym.terminal import say

if sys.platform != "win32":
    import fcntl

BLOCK = 1 << 16
LOCK = ".lock"
# What to do about an error of the file system.
ADVICE = {
    errno.ENOSPC: "free some space, then run the same command again",
    errno.EDQUOT: "free some space, then run the same command again",
    errno.EFBIG: "files may not be that large here: raise the limit, or choose another place",
    errno.EROFS: "choose a place that can be written to",
    errno.EACCES: "choose a place that you may read and write",
    errno.EPERM: "choose a place that you may read and write",
    errno.ENOENT: "check the name, and that its folder exists",
    errno.ENOTDIR: "a part of the name is a file; choose another place",
    errno.EISDIR: "name a file, not a folder",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "its links lead in a circle; choose another place",
    errno.EIO: "the disk fails; choose another one",
}
# What file systems say that have no locks: some kinds of NFS, Lustre and FUSE.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)

Append = Callable[[bytes], None]


class CannotWrite(BadFile):
    """The file system refuses; the message names the file and says what to do."""


def describe(problem: OSError, path: Path | None = None) -> str:
    """An error of the file system in a sentence: the file, what is wrong, what to do."""
    place = problem.filename if path is None else path
    told = problem.strerror or str(problem)
    named = f"{place}: {told}" if place else told
    advice = ADVICE.get(problem.errno or 0)
    return f"{named}; {advice}" if advice else named


@contextmanager
def sentence(path: Path) -> Iterator[None]:
    """Turn an error of the file system into `CannotWrite`, whose message names this path."""
    try:
        yield
    except OSError as problem:
        raise CannotWrite(describe(problem, path)) from None


def make_folder(folder: Path) -> None:
    """Make a folder if it does not exist, with the folders that it is in."""
    with sentence(folder):
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A temporary path to write to; it replaces the file when the block ends without an error.

    Readers see the old file or the new one, never a part of it. The new file is synced to disk
    first, so this also holds after a power failure. If the block raises, the temporary file is
    removed. An error of the file system is raised as `CannotWrite`.
    """
    with sentence(path):
        target = path.resolve()  # replace the target of a symbolic link, not the link
        check_plain(target)
        part = target.with_name(f"{target.name}.{token_hex(4)}.part")
        try:
            yield part
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def check_plain(path: Path) -> None:
    """Raise CannotWrite for a device, pipe or socket: a new file would take its place."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise CannotWrite(f"{path} is a device or a pipe; name a file")


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write all of a file or nothing; text is written as UTF-8."""
    with atomic_path(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder to write files to; they get to their place when the block ends.

    A new folder appears with all its files. In a folder that is there already, each file is
    replaced by a whole one. What a killed process has left of the temporary folder is removed, so
    the caller must hold a lock.
    """
    with sentence(folder):
        target = folder.resolve()
        part = target.with_name(f"{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        try:
            yield part
            for path in part.iterdir():
                with path.open("rb+") as file:
                    os.fsync(file.fileno())
            if target.is_dir():
                for path in part.iterdir():
                    path.replace(target / path.name)
            else:
                part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)


@contextmanager
def appending(path: Path) -> Iterator[Append]:
    """Open a file of lines, such as JSONL; yields a function that appends a line.

    An incomplete last line is removed first. Each line is flushed when it is appended, so a killed
    process leaves at most one incomplete line. All lines are synced to disk when the block ends.
    Examples and rollouts have checksums as well: `provegym.lines.recording` writes them.
    """
    with sentence(path):
        if path.exists():
            cut_torn_line(path)
        file = path.open("ab")

    def append(line: bytes) -> None:
        with sentence(path):
            file.write(line)
            file.flush()

    try:
        yield append
        with sentence(path):
            os.fsync(file.fileno())
    finally:
        close(file)


def close(file: BufferedWriter) -> None:
    """Close a file; what could not be written before is given up, as `append` has said."""
    with suppress(OSError):
        file.close()


class FolderInUse(UserError):
    """Another process writes to a folder or a file; the message says so."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from writing to a folder; refused if one does already.

    The folder is made if it does not exist.
    """
    make_folder(folder)
    with _lock(folder.resolve() / LOCK, folder, "name another --out"):
        yield


@contextmanager
def locked_file(path: Path, wait: bool = False) -> Iterator[None]:
    """Keep other processes from writing to a file; refused if one does already, or it waits.

    The lock is a hidden file beside it, because the file itself may be replaced by a new one.
    """
    target = path.resolve()
    check_plain(target)
    with _lock(target.with_name(f".{target.name}{LOCK}"), path, "name another file", wait):
        yield


def check_free(path: Path) -> None:
    """Raise FolderInUse if another process writes to a file or to the folder that it is in.

    For commands that replace a file at once and hold no lock.
    """
    target = path.resolve()
    for lock in (target.with_name(LOCK), target.with_name(f".{target.name}{LOCK}")):
        if lock.exists():
            with _lock(lock, path, "name another file"):
                pass


@contextmanager
def _lock(lock: Path, what: Path, instead: str, wait: bool = False) -> Iterator[None]:
    """Hold a lock of the operating system, which ends with its process, also if it is killed.

    The lock's file is removed at the end. NFS has such locks between machines. On a file system
    without locks a warning is printed. There is no lock on Windows.
    """
    with sentence(what):
        file = _hold(lock, what, instead, wait)
    try:
        yield
    finally:
        if sys.platform != "win32":  # which cannot remove an open file
            lock.unlink(missing_ok=True)
        file.close()


def _hold(lock: Path, what: Path, instead: str, wait: bool) -> BufferedWriter:
    """The open and locked file; opened again if its last holder has removed it meanwhile."""
    while True:
        file = lock.open("ab")
        try:
            take_lock(file, wait)
        except BlockingIOError:
            file.close()
            raise FolderInUse(
                f"another process writes to {what}; wait until it ends, or {instead}"
            ) from None
        except OSError as problem:
            if problem.errno not in NO_LOCKS:
                raise
            _warn(what, problem)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), lock.stat()):
                return file
        file.close()


def take_lock(file: BufferedWriter, wait: bool = False) -> None:
    """Lock an open file until it is closed, or raise BlockingIOError; Windows locks nothing."""
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _warn(what: Path, problem: OSError) -> None:
    say(
        f"provegym: {what} cannot be locked on this file system ({problem.strerror}): start no"
        " second command that writes to it",
        file=sys.stderr,
    )


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
