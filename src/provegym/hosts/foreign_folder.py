"""Temporary folders of foreign servers; those of a ProveGym that was killed are swept later.

All folders of one pool are in one folder, with a lock file that its process holds (flock) and that
tells its id. The kernel releases the lock when the process ends, however it ends.
"""

import os
import shutil
import sys
from pathlib import Path
from tempfile import gettempdir, mkdtemp

if sys.platform != "win32":
    import fcntl

PREFIX, NEW = "provegym-foreign-", "provegym-new-"
LOCK = "lock"


class PoolFolder:
    """The folder of one pool of processes."""

    def __init__(self) -> None:
        sweep()
        # Another sweep must not find it before it is locked.
        new = Path(mkdtemp(prefix=NEW))
        self._lock = _locked(new / LOCK)
        os.write(self._lock, str(os.getpid()).encode())
        self.path = new.rename(new.with_name(PREFIX + new.name.removeprefix(NEW)))

    def add(self) -> Path:
        """A new folder for one process."""
        return Path(mkdtemp(dir=self.path)).resolve()

    def close(self) -> None:
        """Remove it with all folders in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


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
        os.close(lock)


def _locked(file: Path) -> int:
    """Open and lock a file without waiting; OSError if another process holds it."""
    lock = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    if sys.platform != "win32":
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise
    return lock
