"""Who does the work: this process, several, or the cores of a Ray cluster; one interface for all.

Work is a function of a batch of items that gives a result for each, in their order. The results of
all batches come back in order too, so whoever does the work, what is written has the same bytes.
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
# Batches that may be done before their turn to be handed on, for every core.
AHEAD = 4
TRIES = 3
PATIENCE = 5.0
BATCH = 32
GO_ON = "put it right and start again: what was written is kept"

A = TypeVar("A")
B = TypeVar("B")
Work = Callable[[Sequence[A]], Iterable[B]]


class ClusterError(Exception):
    """The cluster cannot do the work; the message says why."""


class Workers:
    """This process alone: all items are one batch, and a result is there as soon as it is made."""

    def map(self, work: Work[A, B], items: Sequence[A], batch: int = BATCH) -> Iterator[B]:
        """What the work gives for each item, in the order of the items."""
        return iter(work(items))

    @property
    def where(self) -> str:
        """Where the work is done, to be said beside what it is; nothing if it is here."""
        return ""

    def close(self) -> None:
        """End what was started; a second time is fine."""


HERE = Workers()


class Processes(Workers):
    """Several processes of this machine."""

    def __init__(self, count: int) -> None:
        quiet = (signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to answer
        self.pool = get_context("spawn").Pool(count, signal.signal, quiet)

    def map(self, work: Work[A, B], items: Sequence[A], batch: int = BATCH) -> Iterator[B]:
        """What the work gives for each item, in the order of the items."""
        for made in self.pool.imap(partial(do, work), cut(items, batch)):
            yield from made

    def close(self) -> None:
        """End the processes."""
        self.pool.terminate()
        self.pool.join()


def local(count: int) -> Workers:
    """So many processes of this machine, or this one."""
    return Processes(count) if count > 1 else HERE


def cut(items: Sequence[A], size: int) -> list[Sequence[A]]:
    """Items in batches."""
    return [items[at : at + size] for at in range(0, len(items), size)]


def do(work: Work[A, B], batch: Sequence[A]) -> list[B]:
    """A batch from its beginning to its end."""
    return list(work(batch))


class Home(NamedTuple):
    """Where an actor lives, and which version it has."""

    node: str
    address: str
    version: str


class Actor:
    """One core of a cluster: a process that keeps what it has loaded from batch to batch."""

    def home(self) -> Home:
        """Where it lives."""
        ray = _ray()
        node = ray.get_runtime_context().get_node_id()
        return Home(node, ray.util.get_node_ip_address(), __version__)

    def run(self, work: Work[A, B], batch: Sequence[A]) -> list[B]:
        """A batch from its beginning to its end."""
        return do(work, batch)


class WorkerLost(Exception):
    """An actor is gone, or its node, and what it had in hand with it."""


@dataclass
class Batches:
    """The batches of one piece of work: to do (a heap), in whose hands, and done."""

    work: Any
    items: list[Any]
    todo: list[int]
    running: dict[Any, tuple[Any, int]] = field(default_factory=dict)
    done: dict[int, Any] = field(default_factory=dict)
    lost: Counter[int] = field(default_factory=Counter)


class Cluster(Workers):
    """The cores of a Ray cluster, an actor on each; what a lost one had in hand runs again.

    Ray has its own types for refs and actors, and none where it is not installed: both are Any.
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
        """How many cores work, and on how many nodes."""
        cores, nodes = len(self.homes), len({home.node for home in self.homes.values()})
        return f" (cores: {cores}, nodes: {nodes})"

    def map(self, work: Work[A, B], items: Sequence[A], batch: int = BATCH) -> Iterator[B]:
        """What the work gives for each item, in the order of the items; to be taken whole."""
        some = cut(items, batch)
        batches = Batches(self.ray.put(work), some, list(range(len(some))))
        for turn in range(len(some)):
            while turn not in batches.done:
                self._give(batches, turn + AHEAD * len(self.homes))
                self._take(batches)
            yield from batches.done.pop(turn)

    def close(self) -> None:
        """Let go of the cluster; one that was started for this ends."""
        self.ray.shutdown()

    def _start(self) -> None:
        """Another actor, which waits until there is a core for it."""
        self._ask(self.make.remote())

    def _ask(self, actor: Any) -> None:
        """Before it gets work, an actor is to say where it is."""
        self.asked[actor.home.remote()] = actor

    def _give(self, batches: Batches, end: int) -> None:
        """A batch for every idle actor, as far as results may run ahead of their turn."""
        while self.idle and batches.todo and batches.todo[0] < end:
            actor, number = self.idle.pop(), heappop(batches.todo)
            ref = actor.run.remote(batches.work, batches.items[number])
            batches.running[ref] = actor, number

    def _take(self, batches: Batches) -> None:
        """Wait for one actor, be it done with a batch, ready for its first, or lost."""
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
        """Start another; those without work may be lost as well, with their node, and are asked."""
        del self.homes[lost]
        self._start()
        while self.idle:
            self._ask(self.idle.pop())

    def _welcome(self, ref: Any) -> None:
        """An actor that answers gets work; one that could not even start is done without."""
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
                f"node {home.address} has provegym {home.version}, and {__version__} is here;"
                " install the same on every node"
            )
        self.homes[actor] = home
        self.idle.append(actor)

    def _get(self, ref: Any, node: str) -> Any:
        """What an actor gives back; its errors are raised here."""
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
    """The package, as it is installed here."""
    # What its nodes report would be printed among our results; it is read once, at the import.
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
    """Ray, connected to a cluster, or to one of this machine: started if there is none."""
    ray = _ray()
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        if host:  # Ray itself would try for many minutes
            socket.create_connection((host, int(port)), PATIENCE).close()
        ray.init(
            address or None, log_to_driver=False, logging_level="ERROR", include_dashboard=False
        )
    except (OSError, ValueError, RuntimeError) as problem:
        where = f"at {address}" if address else "on this machine"
        raise ClusterError(f"no Ray cluster {where}: {_sentence(problem)}") from None
    return ray


def _sentence(problem: Exception) -> str:
    """What Ray says first; it says much more, on many lines."""
    return " ".join(str(problem).split()).partition(". ")[0]
