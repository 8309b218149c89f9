"""The child process of a benchmark: one JSON job on stdin, one JSON line per event on stdout.

It starts with almost no environment variables in an empty folder, and first limits its own memory
and files. It ends when its parent ends. `main.py NAME` plays the benchmark in `NAME.py` beside it.
"""

import importlib
import json
import os
import resource
import sys
import threading
from collections.abc import Callable
from typing import Any

MEGABYTE = 1024**2
Emit = Callable[[dict[str, Any]], None]


def give_up_rights(megabytes: int) -> None:
    """Set resource limits for memory, file sizes and open files; no core dumps."""
    for kind, most in (
        (resource.RLIMIT_AS, megabytes * MEGABYTE),
        (resource.RLIMIT_FSIZE, 512 * MEGABYTE),
        (resource.RLIMIT_NOFILE, 1024),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (bound, bound))


def teller() -> Emit:
    """A function that writes JSON lines to stdout; other output goes to /dev/null."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    lock = threading.Lock()

    def emit(told: dict[str, Any]) -> None:
        with lock:
            out.write(json.dumps(told) + "\n")
            out.flush()

    return emit


def end_with_parent() -> None:
    """Exit when stdin closes, which means that the parent process has ended."""
    sys.stdin.read()
    os._exit(1)


def main() -> None:
    """Play one job."""
    job = json.loads(sys.stdin.readline())
    give_up_rights(job["megabytes"])
    emit = teller()
    threading.Thread(target=end_with_parent, daemon=True).start()
    importlib.import_module(sys.argv[1]).play(job, emit)
    emit({"end": True})
    os._exit(0)


if __name__ == "__main__":
    main()
