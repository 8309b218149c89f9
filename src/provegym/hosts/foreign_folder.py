"""Temporary folders of foreign servers; those of a ProveGym that was killed are swept later.

All folders of one pool are in one folder, with a lock file that its process holds (flock) and that
tells its id. The kernel releases the lock when the process ends, however it ends.
"""

import os
import shutil
import sys
from io import BufferedWriter
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from provegym.files import take_lock

PREFIX, NEW = "provegym-foreign-", "provegym-new-"
LOCK = "lock"


class PoolFolder:
    """The folder of one pool of processes."""

    def __init__(self) -> None:
        sweep()
        # Another sweep must not find it before it is locked.
        new = Path(mkdtemp(prefix=NEW))
        self._lock = _locked(new / LOCK)
        self._lock.write(str(os.getpid()).encode())
        self._lock.flush()
        self.path = new.rename(new.with_name(PREFIX + new.name.removeprefix(NEW)))

    def add(self) -> Path:
        """A new folder for one process."""
        return Path(mkdtemp(dir=self.path)).resolve()

    def close(self) -> None:
        """Remove it with all folders in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def sweep() -> None:
    """Remove the folders whose process is gone."""
    if sys.platform == "win32":
        return
    for folder in Path(gettempdir()).glob(f"{PREFIX}*"):
        try:
            if folder.lstat().st_uid != os.getuid():
                continue
            lock = _locked(folder / LOCK)
        except OSError:  # in use, or another user's, or swept by somebody else
            continue
        shutil.rmtree(folder, ignore_errors=True)
        lock.close()


def _locked(file: Path) -> BufferedWriter:
    """Open and lock a file without waiting; OSError if another process holds it."""
    lock = file.open("ab")
    try:
        take_lock(lock)
    except OSError:
        lock.close()
        raise
    return lock
