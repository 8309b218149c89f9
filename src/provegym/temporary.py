"""Temporary folders; those of a process that was killed are swept later.

A folder has a lock file that its process holds (flock) and that tells its id. The kernel releases
the lock when the process ends, however it ends.
"""

import os
import shutil
import sys
from io import BufferedWriter
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from weakref import finalize

from provegym.files import take_lock

NEW = "provegym-new-"
LOCK = "lock"


class SweptFolder:
    """A temporary folder for one kind of work, such as "foreign"; old ones are swept first.

    It is in `place`, or else where temporary folders are.
    """

    def __init__(self, kind: str, place: Path | None = None) -> None:
        prefix = f"provegym-{kind}-"
        sweep(prefix, place)
        # Another sweep must not find it before it is locked.
        new = Path(mkdtemp(prefix=NEW, dir=place))
        lock = _locked(new / LOCK)
        lock.write(str(os.getpid()).encode())
        lock.flush()
        self.path = new.rename(new.with_name(prefix + new.name.removeprefix(NEW)))
        self._end = finalize(self, _remove, self.path, lock)

    def add(self) -> Path:
        """A new folder in it."""
        return Path(mkdtemp(dir=self.path)).resolve()

    def close(self) -> None:
        """Remove it with all that is in it; closing twice is fine."""
        self._end()


def _remove(folder: Path, lock: BufferedWriter) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    lock.close()


def sweep(prefix: str, place: Path | None = None) -> None:
    """Remove the folders whose process is gone."""
    if sys.platform == "win32":
        return
    for folder in (place or Path(gettempdir())).glob(f"{prefix}*"):
        try:
            if folder.lstat().st_uid != os.getuid():
                continue
            lock = _locked(folder / LOCK)
        except OSError:  # in use, or another user's, or swept by somebody else
            continue
        _remove(folder, lock)


def _locked(file: Path) -> BufferedWriter:
    """Open and lock a file without waiting; OSError if another process holds it."""
    lock = file.open("ab")
    try:
        take_lock(lock)
    except OSError:
        lock.close()
        raise
    return lock
