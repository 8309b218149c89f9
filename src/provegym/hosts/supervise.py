"""Supervisor of a foreign server: a small process that starts the server and ends all of it.

It is run as a script, with nothing but the standard library: `supervise.py FOLDER COMMAND…`. It
passes stdin and stdout on, and keeps only the end of stderr, in FOLDER/stderr. If ProveGym closes
the connection, is killed, or sends SIGTERM, the server and all its descendants are killed, also
those in a session of their own: on Linux this process adopts them (child subreaper). A server that
is killed with this process alone gets a signal from the kernel (parent death signal).
"""

import ctypes
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

# A message of the server is one line. A longer one is not read to its end.
LONGEST_LINE = 16 * 2**20
STDERR_KEPT = 64 * 1024
CHUNK = 64 * 1024
# Seconds: for the server to end by itself, and for the kernel to end what was killed.
GRACE, DYING = 1.5, 10.0
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LINUX = sys.platform == "linux"


class Supervisor:
    """One server, its pipes, and the threads that pass its output on."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self.folder = folder
        self.parent = os.getppid()
        self.over = threading.Event()
        self.status = 0
        if LINUX:
            _prctl(PR_SET_CHILD_SUBREAPER, 1)
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, lambda *_: self.over.set())
        self.server, self.into, out, said = _start(command)
        self.relay = _thread(self._pass_stdout, out)
        self.stderr = _thread(self._keep_stderr, said)
        _thread(self._pass_stdin)
        _thread(self._reap)

    def run(self) -> int:
        """Wait until the server ends or has to end; then end everything that it started."""
        self.over.wait()
        kill_all(self.server)
        self.relay.join(GRACE)
        self.stderr.join(GRACE)
        if os.getppid() != self.parent:  # ProveGym is gone and cannot remove it
            shutil.rmtree(self.folder, ignore_errors=True)
            _remove_if_last(self.folder.parent)
        return self.status

    def _pass_stdin(self) -> None:
        try:
            while chunk := os.read(0, CHUNK):
                _write(self.into, chunk)
        except OSError:
            pass
        os.close(self.into)
        time.sleep(GRACE)
        self.over.set()

    def _pass_stdout(self, source: int) -> None:
        """Pass the server's messages on, until one is too long."""
        line = 0
        try:
            while chunk := os.read(source, CHUNK):
                end = chunk.rfind(b"\n")
                line = line + len(chunk) if end < 0 else len(chunk) - end - 1
                if line > LONGEST_LINE:
                    self._note(f"a message had more than {LONGEST_LINE // 2**20} MB")
                    break
                _write(1, chunk)
        except OSError:
            pass
        self.over.set()

    def _note(self, text: str) -> None:
        with (self.folder / "stderr").open("ab") as file:
            file.write(f"\n{text}\n".encode())

    def _keep_stderr(self, source: int) -> None:
        """Keep the end of stderr in a file that never grows beyond twice its size."""
        kept, size = b"", 0
        with (self.folder / "stderr").open("ab", buffering=0) as file:
            while chunk := os.read(source, CHUNK):
                kept = (kept + chunk)[-STDERR_KEPT:]
                size += len(chunk)
                if size > 2 * STDERR_KEPT:
                    file.truncate(0)
                    chunk, size = kept, len(kept)
                file.write(chunk)

    def _reap(self) -> None:
        """Wait for the server, and for the orphans that this process has adopted."""
        while True:
            try:
                ended, status = os.waitpid(-1, 0)
            except ChildProcessError:
                break
            if ended == self.server:
                self.status = os.waitstatus_to_exitcode(status)
                self.over.set()
        self.over.set()


def _thread(do: Callable[..., None], *given: int) -> threading.Thread:
    thread = threading.Thread(target=do, args=given, daemon=True)
    thread.start()
    return thread


def _start(command: list[str]) -> tuple[int, int, int, int]:
    """Start the server in a session of its own; returns its id, and our ends of its pipes."""
    theirs, into = os.pipe()
    out, their_out = os.pipe()
    said, their_said = os.pipe()
    parent = os.getpid()
    server = os.fork()
    if server:
        for end in (theirs, their_out, their_said):
            os.close(end)
        return server, into, out, said
    try:
        os.setsid()
        for at, end in enumerate((theirs, their_out, their_said)):
            os.dup2(end, at)
        for name in (signal.SIGPIPE, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, signal.SIG_DFL)
        if LINUX:
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            os.execvp(command[0], command)
    except OSError as problem:
        os.write(2, f"{command[0]}: {problem.strerror}\n".encode())
    os._exit(127)


def kill_all(server: int) -> None:
    """Kill a server's process group and every descendant of this process, until none is left."""
    until = time.monotonic() + DYING
    while time.monotonic() < until:
        alive = descendants(os.getpid())
        for process in (-server, *alive):  # a negative id is that of a process group
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:
                continue
        if not alive:
            return
        time.sleep(0.01)


def descendants(root: int) -> list[int]:
    """The processes that descend from one and still run; empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    running: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        children.setdefault(int(parent), []).append(int(folder.name))
        if state not in (b"Z", b"X"):
            running.add(int(folder.name))
    found: list[int] = []
    below = list(children.get(root, ()))
    while below:
        found += below
        below = [child for each in below for child in children.get(each, ())]
    return [each for each in found if each in running]


def _remove_if_last(base: Path) -> None:
    """Remove the folder of all servers of a dead ProveGym, if only its lock file is left."""
    try:
        if {each.name for each in base.iterdir()} <= {"lock"}:
            shutil.rmtree(base, ignore_errors=True)
    except OSError:
        return


def _write(to: int, data: bytes) -> None:
    while data:
        data = data[os.write(to, data) :]


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    os._exit(abs(Supervisor(Path(sys.argv[1]), sys.argv[2:]).run()) & 0xFF)
