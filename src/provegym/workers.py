"""Parallel map: in this process, in a process pool, or on the cores of a Ray cluster.

Work is a function that maps a batch of items to one result per item, in order. The results of all
batches are also returned in order, so the output has the same bytes with any kind of workers.
"""

import gc
import importlib
import os
import pickle
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from multiprocessing import forkserver, get_all_start_methods, get_context, resource_tracker
from multiprocessing.context import BaseContext
from multiprocessing.context import TimeoutError as NotYet
from multiprocessing.pool import Pool
from pathlib import Path
from time import monotonic
from typing import Any, Generic, TypeVar

from provegym import __version__, servers
from provegym.errors import UserError
from provegym.pool_watch import TICK, PoolWatch
from provegym.temporary import SweptFolder

INSTALL = "in a clone of ProveGym, run pip install '.[ray]'"
OLDEST = (2, 60)
# The first module that the fork server imports.
OWN_GROUP = "provegym.worker_group"
GROUP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# What the main module imports, if this process is a command.
COMMANDS = "provegym.cli"
# Backpressure: the number of batches per core that are given to Ray and not yet returned.
AHEAD = 4
TRIES = 3
PATIENCE = 5.0
COUNT_SECONDS = 1.0
BATCH = 32
# What Ray says, in a RuntimeError, if a node cannot import the function of a task.
NO_IMPORT = "The remote function failed to import"
GO_ON = "fix this and start again: the results written so far are kept"

A = TypeVar("A")
B = TypeVar("B")
Work = Callable[[Sequence[A]], Iterable[B]]


@dataclass(frozen=True)
class Promise(Generic[B]):
    """The result of submitted work: `get` returns it, and `wait` says if it is there in time."""

    get: Callable[[], B]
    wait: Callable[[float], bool]


class ClusterError(UserError):
    """The cluster cannot do the work; the message says why."""


class Workers:
    """This process only: all items are one batch, and each result is returned at once.

    `folder` is a temporary folder that all workers can use, if there is one.
    """

    folder: Path | None = None

    def map(self, work: Work[A, B], items: Sequence[A], batch: int = BATCH) -> Iterator[B]:
        """What the work gives for each item, in the order of the items."""
        return iter(work(items))

    def submit(self, work: Callable[[A], B], item: A) -> Promise[B]:
        """Begin one piece of work. This process does it when the result is asked for."""
        return Promise(cache(partial(work, item)), lambda seconds: True)

    @property
    def count(self) -> int:
        """How many batches are worked on at the same time."""
        return 1

    @property
    def where(self) -> str:
        """A note for the progress bar on where the work is done; empty for this machine."""
        return ""

    def close(self) -> None:
        """Stop the workers; closing twice is fine."""


HERE = Workers()


def prepare(places: servers.Places) -> None:
    """Set up a worker process: the parent handles an interrupt, garbage is collected less often.

    Candidates make few reference cycles. The default thresholds cost a tenth of the CPU time. The
    process finds the same servers as its parent.
    """
    servers.look_at(places)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(100_000, 50, 50)


def fork_server(preload: str) -> BaseContext:
    """Start the fork server, which imports a module meanwhile; on Windows, spawn.

    A new process imports the main module of this one. What that imports is imported before, once.
    """
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    main = [COMMANDS] if COMMANDS in sys.modules else []
    context.set_forkserver_preload([OWN_GROUP, *filter(None, [preload]), *main])
    resource_tracker.ensure_running()  # it would unblock the signals again
    # The fork server inherits the mask, and unblocks the signals when it has a group of its own.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, GROUP_SIGNALS)
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


class Processes(Workers):
    """A process pool on this machine.

    The processes are forked from a fork server that has imported the module `preload` once. After
    `recycle` batches a process is replaced by a new one, which keeps memory flat.
    Windows has no fork server; there each process starts from nothing.
    """

    def __init__(self, count: int, preload: str = "", recycle: int | None = None) -> None:
        self.context = fork_server(preload)
        self.temporary = SweptFolder("workers")
        self.folder = self.temporary.path
        self.processes, self.recycle = count, recycle

    @cached_property
    def pool(self) -> Pool:
        """The pool, begun when it is first needed: until then the fork server imports.

        It is begun when the fork server has done so. If Ctrl-C came while a pool waits for these
        imports, a worker would be forked after the end of the pool, and print a traceback.
        """
        if "forkserver" in get_all_start_methods():
            first = get_context("forkserver").Process(target=os.getpid)
            first.start()
            first.join()
        return self.context.Pool(self.processes, prepare, (servers.places(),), self.recycle)

    @cached_property
    def watch(self) -> PoolWatch:
        """Notices if a process of the pool is killed."""
        return PoolWatch(self.pool)

    @property
    def count(self) -> int:
        """The number of processes."""
        return self.processes

    def map(self, work: Work[A, B], items: Sequence[A], batch: int = BATCH) -> Iterator[B]:
        """What the work gives for each item, in the order of the items."""
        made = self.pool.imap(partial(do, work), cut(items, batch))
        while True:
            self.watch.check()
            try:
                results = made.next(TICK)
            except NotYet:
                continue
            except StopIteration:
                return
            yield from results

    def submit(self, work: Callable[[A], B], item: A) -> Promise[B]:
        """Begin one piece of work, after those that were submitted before."""
        self.watch.check()
        result = self.pool.apply_async(work, (item,))
        return Promise(partial(self.watch.get, result), partial(self.watch.wait, result))

    def close(self) -> None:
        """Stop the processes, and remove their folder."""
        if "pool" in vars(self):
            self.watch.end()
        self.temporary.close()


def local(count: int, preload: str = "", recycle: int | None = None) -> Workers:
    """A pool of `count` processes, or this process if `count` is 1."""
    return Processes(count, preload, recycle) if count > 1 else HERE


def cut(items: Sequence[A], size: int) -> list[Sequence[A]]:
    """Split items into batches."""
    return [items[at : at + size] for at in range(0, len(items), size)]


def do(work: Work[A, B], batch: Sequence[A]) -> list[B]:
    """All results of one batch."""
    return list(work(batch))


class Cluster(Workers):
    """The cores of a Ray cluster: each batch is a Ray task, which Ray runs again if it is lost.

    Ray reuses its worker processes, so they keep loaded servers between batches. Ray may not be
    installed, so its types are written as Any.
    """

    def __init__(self, address: str = "") -> None:
        self.ray = _connect(address)
        self.run = self.ray.remote(
            num_cpus=1,
            max_retries=TRIES - 1,
            retry_exceptions=False,
            # By default Ray fills one node first, and often leaves the cores of others idle.
            scheduling_strategy="SPREAD",
        )(run_pickled)
        self.cores: list[int] = []
        self.counted = -COUNT_SECONDS
        self._count_cores()
        if not self.cores:
            self.close()
            raise ClusterError("the Ray cluster has no cores; start a node that has some")

    @property
    def count(self) -> int:
        """The number of cores, as counted a moment ago."""
        return max(1, sum(self.cores))

    @property
    def where(self) -> str:
        """The number of cores and of their nodes, as counted a moment ago."""
        return f" (cores: {sum(self.cores)}, nodes: {len(self.cores)})"

    def map(self, work: Work[A, B], items: Sequence[A], batch: int = BATCH) -> Iterator[B]:
        """What the work gives for each item, in the order of the items."""
        running: deque[Any] = deque()
        for some in cut(items, batch):
            if len(running) >= AHEAD * self.count:
                yield from self._result(running.popleft())
            pickled = self.ray.cloudpickle.dumps((work, some, servers.places()))
            running.append(self.run.remote(__version__, pickled))
        while running:
            yield from self._result(running.popleft())

    def submit(self, work: Callable[[A], B], item: A) -> Promise[B]:
        """Begin one piece of work."""
        pickled = self.ray.cloudpickle.dumps((partial(map, work), [item], servers.places()))
        task = self.run.remote(__version__, pickled)
        return Promise(cache(lambda: self._result(task)[0]), partial(self._is_done, task))

    def close(self) -> None:
        """Disconnect from the cluster; a cluster that was started here is stopped."""
        self.ray.shutdown()

    def _count_cores(self) -> None:
        """Ask Ray for the cores of each living node, at most once in COUNT_SECONDS."""
        now = monotonic()
        if now < self.counted + COUNT_SECONDS:
            return
        self.counted = now
        living = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        self.cores = [int(resources["CPU"]) for resources in living if "CPU" in resources]

    def _is_done(self, task: Any, seconds: float) -> bool:
        done, _ = self.ray.wait([task], timeout=seconds, fetch_local=False)
        return bool(done)

    def _result(self, task: Any) -> Any:
        """The results of a batch, once it is done; its errors are raised here."""
        errors = self.ray.exceptions
        try:
            results = self.ray.get(task)
        except errors.RayTaskError as problem:
            if NO_IMPORT in str(problem.cause):
                raise ClusterError(
                    f"a node of the Ray cluster cannot import provegym {__version__}; install the"
                    " same version on every node"
                ) from None
            raise problem.cause from problem
        except errors.OutOfDiskError:
            raise ClusterError(f"Ray's disk is full; {GO_ON}") from None
        except errors.RayError as problem:
            raise ClusterError(f"a batch was lost {TRIES} times: {_sentence(problem)}") from None
        self._count_cores()
        return results


def run_pickled(version: str, pickled: bytes) -> list[Any]:
    """A Ray task: all results of one batch; an error of the node names the node.

    The batch is pickled, because only the same version of provegym can surely unpickle it.
    """
    if version != __version__:
        raise ClusterError(
            f"{_this_node()} has provegym {__version__}, but this machine has {version};"
            " install the same version on every node"
        )
    work, batch, places = pickle.loads(pickled)
    servers.look_at(places)
    try:
        return do(work, batch)
    except OSError as problem:
        raise ClusterError(f"{_this_node()}: {problem}; {GO_ON}") from None


def _this_node() -> str:
    """The node of this process, by its address."""
    return f"node {_ray().util.get_node_ip_address()}"


def _ray() -> Any:
    """Import Ray, or say what to install."""
    # Keep log lines of the nodes out of our output, and the errors of all batches but the first.
    # Ray reads some of its variables only once, at import.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    try:
        ray = importlib.import_module("ray")
    except ModuleNotFoundError as problem:
        if problem.name != "ray":
            raise
        raise ClusterError(f"ray is missing: {INSTALL}") from None
    if tuple(map(int, ray.__version__.split(".")[:2])) < OLDEST:
        raise ClusterError(f"ray {ray.__version__} is too old: {INSTALL}")
    return ray


def _connect(address: str) -> Any:
    """Connect to a Ray cluster; without an address, to one on this machine, started if needed."""
    ray = _ray()
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        if host:  # fail fast: Ray itself would retry for many minutes
            socket.create_connection((host, int(port)), PATIENCE).close()
        ray.init(
            address or None, log_to_driver=False, logging_level="ERROR", include_dashboard=False
        )
    except (OSError, ValueError, RuntimeError) as problem:
        where = f"at {address}" if address else "on this machine"
        raise ClusterError(f"no Ray cluster {where}: {_sentence(problem)}") from None
    return ray


def _sentence(problem: Exception) -> str:
    """The first sentence of an error message of Ray, which can be many lines long."""
    return " ".join(str(problem).split()).partition(". ")[0]
