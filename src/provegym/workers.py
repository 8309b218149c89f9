"""Parallel map: in this process, in a process pool, or on the cores of a Ray cluster.

Work is a function that maps a batch of items to one result per item, in order. The results of all
batches are also returned in order, so the output has the same bytes with any kind of workers.
"""

import importlib
import os
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from multiprocessing import get_context
from typing import Any, NamedTuple, TypeVar

from provegym import __version__

INSTALL = "pip install 'provegym[ray]'"
OLDEST = (2, 60)
# Backpressure: the number of batches per core that may be finished but not yet returned.
AHEAD = 4
TRIES = 3
PATIENCE = 5.0
BATCH = 32
GO_ON = "fix this and start again: the results written so far are kept"

A = TypeVar("A")
B = TypeVar("B")
Work = Callable[[Sequence[A]], Iterable[B]]


class ClusterError(Exception):
    """The cluster cannot do the work; the message says why."""


class Workers:
    """This process only: all items are one batch, and each result is returned at once."""

    def map(self, work: Work[A, B], items: Sequence[A], batch: int = BATCH) -> Iterator[B]:
        """What the work gives for each item, in the order of the items."""
        return iter(work(items))

    @property
    def where(self) -> str:
        """A note for the progress bar on where the work is done; empty for this machine."""
        return ""

    def close(self) -> None:
        """Stop the workers; closing twice is fine."""


HERE = Workers()


class Processes(Workers):
    """A process pool on this machine."""

    def __init__(self, count: int) -> None:
        quiet = (signal.SIGINT, signal.SIG_IGN)  # the parent process handles an interrupt
        self.pool = get_context("spawn").Pool(count, signal.signal, quiet)

    def map(self, work: Work[A, B], items: Sequence[A], batch: int = BATCH) -> Iterator[B]:
        """What the work gives for each item, in the order of the items."""
        for made in self.pool.imap(partial(do, work), cut(items, batch)):
            yield from made

    def close(self) -> None:
        """Stop the processes."""
        self.pool.terminate()
        self.pool.join()


def local(count: int) -> Workers:
    """A pool of `count` processes, or this process if `count` is 1."""
    return Processes(count) if count > 1 else HERE


def cut(items: Sequence[A], size: int) -> list[Sequence[A]]:
    """Split items into batches."""
    return [items[at : at + size] for at in range(0, len(items), size)]


def do(work: Work[A, B], batch: Sequence[A]) -> list[B]:
    """All results of one batch."""
    return list(work(batch))


class Home(NamedTuple):
    """The node of an actor, and the version of provegym there."""

    node: str
    address: str
    version: str


class Actor:
    """A Ray actor on one core: a process that keeps loaded data between batches."""

    def home(self) -> Home:
        """The node it runs on."""
        ray = _ray()
        node = ray.get_runtime_context().get_node_id()
        return Home(node, ray.util.get_node_ip_address(), __version__)

    def run(self, work: Work[A, B], batch: Sequence[A]) -> list[B]:
        """All results of one batch."""
        return do(work, batch)


class WorkerLost(Exception):
    """An actor or its node has died, and its batch is lost."""


@dataclass
class Batches:
    """The batches of one `map`: to do (a heap), running (by Ray reference), done and lost."""

    work: Any
    items: list[Any]
    todo: list[int]
    running: dict[Any, tuple[Any, int]] = field(default_factory=dict)
    done: dict[int, Any] = field(default_factory=dict)
    lost: Counter[int] = field(default_factory=Counter)


class Cluster(Workers):
    """The cores of a Ray cluster, with one actor on each; the batch of a lost actor runs again.

    Ray may not be installed, so its types for references and actors are written as Any.
    """

    def __init__(self, address: str = "") -> None:
        self.ray = _connect(address)
        self.homes: dict[Any, Home] = {}
        self.idle: list[Any] = []
        self.asked: dict[Any, Any] = {}
        self.make = self.ray.remote(num_cpus=1)(Actor)
        cores = int(self.ray.cluster_resources().get("CPU", 0))
        if not cores:
            raise ClusterError("the Ray cluster has no cores; start a node that has some")
        for _ in range(cores):
            self._start()

    @property
    def where(self) -> str:
        """The number of working cores and of their nodes."""
        cores, nodes = len(self.homes), len({home.node for home in self.homes.values()})
        return f" (cores: {cores}, nodes: {nodes})"

    def map(self, work: Work[A, B], items: Sequence[A], batch: int = BATCH) -> Iterator[B]:
        """The result of each item, in order; the caller must take all of them."""
        some = cut(items, batch)
        batches = Batches(self.ray.put(work), some, list(range(len(some))))
        for turn in range(len(some)):
            while turn not in batches.done:
                self._give(batches, turn + AHEAD * len(self.homes))
                self._take(batches)
            yield from batches.done.pop(turn)

    def close(self) -> None:
        """Disconnect from the cluster; a cluster that was started here is stopped."""
        self.ray.shutdown()

    def _start(self) -> None:
        """Start an actor; it waits until a core is free."""
        self._ask(self.make.remote())

    def _ask(self, actor: Any) -> None:
        """Ask an actor for its node; it gets work after it has answered."""
        self.asked[actor.home.remote()] = actor

    def _give(self, batches: Batches, end: int) -> None:
        """Give a batch to every idle actor, but only batches before number `end`."""
        while self.idle and batches.todo and batches.todo[0] < end:
            actor, number = self.idle.pop(), heappop(batches.todo)
            ref = actor.run.remote(batches.work, batches.items[number])
            batches.running[ref] = actor, number

    def _take(self, batches: Batches) -> None:
        """Wait for one actor: it has finished a batch, is ready for its first, or is lost."""
        (ref, *_), _ = self.ray.wait([*batches.running, *self.asked], num_returns=1)
        if ref in self.asked:
            self._welcome(ref)
            return
        actor, number = batches.running.pop(ref)
        try:
            batches.done[number] = self._get(ref, self.homes[actor].address)
            self.idle.append(actor)
        except WorkerLost as problem:
            batches.lost[number] += 1
            if batches.lost[number] == TRIES:
                raise ClusterError(f"a batch was lost {TRIES} times, {problem}") from None
            heappush(batches.todo, number)
            self.ray.kill(actor)
            self._replace(actor)

    def _replace(self, lost: Any) -> None:
        """Start another actor; check the idle ones, which may be lost with the same node."""
        del self.homes[lost]
        self._start()
        while self.idle:
            self._ask(self.idle.pop())

    def _welcome(self, ref: Any) -> None:
        """Give work to an actor that has answered; ignore one that could not start."""
        actor = self.asked.pop(ref)
        try:
            home: Home = self._get(ref, "unknown")
        except WorkerLost:
            if actor in self.homes:
                self._replace(actor)
            elif not self.homes and not self.asked:
                raise ClusterError(
                    f"no actor can start on the Ray cluster: is provegym {__version__} installed on"
                    " its nodes? Ray's logs say more"
                ) from None
            return
        if home.version != __version__:
            raise ClusterError(
                f"node {home.address} has provegym {home.version}, but this machine has"
                f" {__version__}; install the same version on every node"
            )
        self.homes[actor] = home
        self.idle.append(actor)

    def _get(self, ref: Any, node: str) -> Any:
        """The result of an actor; its errors are raised here."""
        errors = self.ray.exceptions
        try:
            return self.ray.get(ref)
        except errors.RayTaskError as problem:
            if isinstance(problem.cause, OSError):
                raise ClusterError(f"node {node}: {problem.cause}; {GO_ON}") from None
            raise problem.cause from problem
        except errors.OutOfDiskError:
            raise ClusterError(f"node {node}: Ray's disk is full; {GO_ON}") from None
        except errors.RayError as problem:
            raise WorkerLost(f"node {node}: {_sentence(problem)}") from None


def _ray() -> Any:
    """Import Ray, or say what to install."""
    # Keeps log lines of the nodes out of our output. Ray reads it once, at import.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
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
