"""The process a benchmark runs in: it takes one job on stdin and tells what happens on stdout.

It is started with an empty environment in an empty folder, and first gives up what it will not
need. It ends when whoever started it ends. `main.py NAME` plays the benchmark in NAME.py beside it.
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
    """Bound memory, file sizes and open files; no core dumps."""
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
    """One JSON line for each thing told; whatever else the benchmark prints goes nowhere."""
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
    """Wait for the end of stdin, which is the end of whoever wrote to it."""
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
