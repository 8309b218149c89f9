"""Discrete-event simulation of `provegym synth` on many cores, from measured CPU times.

`python docs/many_cores.py 300 1000` prints a table for corpora of these sizes, on 1, 2 and 16
workers; `--workers 1 64` names others. `--real 2` makes each corpus with real processes too, and
prints their CPU seconds, to check the simulation. It needs Linux, for the CPU time of processes.

The driver is the real one, with unchanged code, and its CPU time counts while it runs. Workers are
simulated: a candidate is made when the driver first asks for it, and its CPU time is measured. So
is that of each world it uses. The clock of a simulated worker goes on by these times. They are kept
in a file (`--times`), so that another version of the driver is compared with the same times.
"""

import argparse
import gc
import heapq
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, sleep
from typing import Any, NamedTuple

from rich.progress import Progress

from provegym import servers
from provegym.conversation import ground, kinds
from provegym.conversation.kinds import Place
from provegym.corpus.candidates import Aim, Made, attempt
from provegym.corpus.corpus import PRELOAD, Corpus
from provegym.corpus.order import Order
from provegym.corpus.shared_worlds import _json, draw_shared
from provegym.graph.dependency import lasting
from provegym.kernel.server import WORLDS_KEPT
from provegym.workers import Processes, Promise, Workers

World = tuple[str, int]
QUIET = Progress(disable=True)


class Cost(NamedTuple):
    """A candidate, the CPU seconds it takes besides, the scenes that it reads, and its worlds."""

    made: Made
    seconds: float
    scenes: tuple[World, ...]
    worlds: tuple[World, ...]


class WorldCost(NamedTuple):
    """CPU seconds of drawing a world, of writing it for others, and of reading what was written."""

    draw: float
    write: float
    read: float


class Start(NamedTuple):
    """CPU seconds before the first task: imports, graphs, the fork server, and each worker.

    The fork server imports while this process reads the graphs.
    """

    imports: float
    graphs: float
    server: float
    worker: float

    def seconds(self, workers: int) -> float:
        """Seconds until the first task can run."""
        if workers == 1:
            return self.imports + self.graphs
        return self.imports + max(self.graphs, self.server) + self.worker

    def cpu(self, workers: int) -> float:
        """CPU seconds of all processes."""
        own = self.imports + self.graphs
        return own if workers == 1 else own + self.server + workers * self.worker


class Ledger:
    """The CPU time of each candidate and each world, measured when it is first asked for."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.costs: dict[Place, Cost] = {}
        self.worlds: dict[World, WorldCost] = {}
        self.scenes: dict[World, float] = {}
        if file.exists():
            costs, worlds, self.scenes = pickle.loads(file.read_bytes())
            self.costs = {place: Cost(*cost) for place, cost in costs.items()}
            self.worlds = {world: WorldCost(*cost) for world, cost in worlds.items()}
        self.used: dict[World, None] = {}
        self.read: dict[World, None] = {}
        self.shared = self.disk = 0.0
        self._watch()

    def save(self) -> None:
        """Write what was measured."""
        costs = {place: tuple(cost) for place, cost in self.costs.items()}
        worlds = {world: tuple(cost) for world, cost in self.worlds.items()}
        self.file.write_bytes(pickle.dumps((costs, worlds, self.scenes)))

    def cost(self, aim: Aim) -> Cost:
        """What a candidate takes."""
        place = aim[0]
        if place not in self.costs:
            self.used, self.read, self.shared = {}, {}, 0.0
            begun = process_time()
            made = attempt(aim)
            seconds = process_time() - begun - self.shared
            self.costs[place] = Cost(made, seconds, tuple(self.read), tuple(self.used))
        return self.costs[place]

    def world(self, world: World) -> WorldCost:
        """What a world takes."""
        if world not in self.worlds:
            self._draw(servers.load(world[0]), world[1])
        return self.worlds[world]

    def _watch(self) -> None:
        """Measure what draws a world, reads a scene, or waits for the disk."""
        for server in servers.load_all():
            lasting(server)  # as before a fork, so that no candidate pays for it
            kept = lru_cache(maxsize=WORLDS_KEPT)(partial(self._draw, server))
            server.world = partial(self._use, server.name, kept)  # type: ignore[assignment]
        ground._scene = partial(self._read_scene, ground._scene)  # type: ignore[assignment]
        os.fsync = partial(self._wait_for_disk, os.fsync)

    def _use(self, name: str, kept: Callable[[int], Any], number: int) -> Any:
        self.used[name, number] = None
        return kept(number)

    def _draw(self, server: Any, number: int) -> Any:
        begun = process_time()
        world = server._world(number)
        drawn = process_time()
        if (server.name, number) not in self.worlds:
            pickled = pickle.dumps(world)
            reading = process_time()
            copy = pickle.loads(pickled)
            read = process_time() - reading
            is_shared = _json(copy) == _json(world)
            write = process_time() - drawn
            cost = WorldCost(drawn - begun, write, read if is_shared else drawn - begun + write)
            self.worlds[server.name, number] = cost
        self.shared += process_time() - begun
        return world

    def _read_scene(self, scene: Callable[..., Any], server: Any, world: int) -> Any:
        begun, shared = process_time(), self.shared
        read = scene(server, world)
        took = process_time() - begun - (self.shared - shared)
        self.read[server.name, world] = None
        self.scenes.setdefault((server.name, world), took)  # later it comes from a cache
        self.shared += took
        return read

    def _wait_for_disk(self, fsync: Callable[[int], None], file: int) -> None:
        begun, cpu = perf_counter(), process_time()
        fsync(file)
        self.disk += perf_counter() - begun - (process_time() - cpu)


class Task:
    """Work that the driver has begun at some moment. It has an end once a worker has taken it."""

    def __init__(self, aims: list[Aim], world: World | None, begun: float) -> None:
        self.aims, self.world, self.begun = aims, world, begun
        self.end = 0.0
        self.made: list[Made] = []
        self.is_read = False


class Simulated(Workers):
    """Workers in virtual time. They take tasks in the order in which the driver begins them."""

    def __init__(self, ledger: Ledger, count: int, start: float) -> None:
        self.ledger, self.processes = ledger, count
        self.folder = Path("/no/folder") if count > 1 else None
        self.free = [(start, number) for number in range(count)]
        self.queue: list[Task] = []
        self.drawn: dict[World, float] = {}
        self.known: list[set[World]] = [set() for _ in range(count)]
        self.scenes: list[set[World]] = [set() for _ in range(count)]
        self.busy = self.driver = ledger.disk = 0.0
        self.candidates = 0
        self.now, self.mark = start, process_time()

    @property
    def count(self) -> int:
        return self.processes

    def submit(self, work: Callable[..., Any], item: Any) -> Promise[Any]:
        if self.processes > 1:
            pickle.dumps((work, item))  # the driver's part of sending a task
        self._count_driver()
        is_world = isinstance(work, partial) and work.func is draw_shared
        world = (item.server, item.world) if is_world else None
        task = Task([] if is_world else item, world, self.now)
        self.queue.append(task)
        self.mark = process_time()
        return Promise(partial(self._get, task), partial(self._wait, task))

    def finish(self) -> None:
        """The driver is done. Tasks that are running are counted; those in the queue are not."""
        self._count_driver()
        while self.queue and self.processes > 1 and self.free[0][0] < self.now:
            self._run(self.queue.pop(0))

    def _count_driver(self) -> None:
        """Let the clock go on by the time that the driver took since it was looked at."""
        took = process_time() - self.mark
        self.driver += took
        self.now += took + self.ledger.disk
        self.ledger.disk = 0.0

    def _wait(self, task: Task, seconds: float) -> bool:
        """Let the clock go on by some seconds, or until a task is done."""
        if self.processes == 1:
            return True
        self._count_driver()
        until = self.now + seconds
        while self.queue and self.free[0][0] <= until:
            self._run(self.queue.pop(0))
        is_done = 0 < task.end <= until
        self.now = max(self.now, task.end) if is_done else until
        self.mark = process_time()
        return is_done

    def _get(self, task: Task) -> list[Made]:
        self._count_driver()
        if self.processes == 1 and not task.end:
            self.free = [(self.now, 0)]
            self._run(task)
        while not task.end:
            self._run(self.queue.pop(0))
        self.now = max(self.now, task.end)
        sent = b"" if self.processes == 1 or task.is_read else pickle.dumps(task.made)
        self.mark = process_time()
        if sent:
            pickle.loads(sent)  # the driver's part of receiving candidates
            task.is_read = True
        return task.made

    def _run(self, task: Task) -> None:
        """Let the worker that is free first do a task."""
        free, number = heapq.heappop(self.free)
        now = max(free, task.begun)
        if task.world:
            now = self._use(task.world, number, now)
        for aim in task.aims:
            cost = self.ledger.cost(aim)
            for world in cost.worlds:
                now = self._use(world, number, now)
            for scene in cost.scenes:
                if scene not in self.scenes[number]:
                    self.scenes[number].add(scene)
                    now = self._spend(self.ledger.scenes[scene], now)
            now = self._spend(cost.seconds, now)
            task.made.append(cost.made)
        self.candidates += len(task.aims)
        task.end = now
        heapq.heappush(self.free, (now, number))

    def _use(self, world: World, number: int, now: float) -> float:
        """A worker needs a world: it has it, or reads it once it is drawn, or draws it."""
        if world in self.known[number]:
            return now
        self.known[number].add(world)
        cost = self.ledger.world(world)
        if world in self.drawn:
            return self._spend(cost.read, max(now, self.drawn[world]))
        self.drawn[world] = self._spend(cost.draw + (cost.write if self.folder else 0), now)
        return self.drawn[world]

    def _spend(self, seconds: float, now: float) -> float:
        self.busy += seconds
        return now + seconds


def simulate(ledger: Ledger, size: int, workers: int, start: Start) -> tuple[Simulated, int]:
    """Make a corpus with simulated workers; also the number of candidates it needs."""
    for drawn in (kinds._shapes, kinds._ranks):
        drawn.clear()
    with TemporaryDirectory() as folder:
        corpus = Corpus(Order(size, 0, Path(folder)))
        corpus._prove = lambda bar: None  # type: ignore[method-assign]  # it is part of the start
        simulated = Simulated(ledger, workers, start.seconds(workers))
        funnel = corpus.make(QUIET, simulated)
        simulated.finish()
    return simulated, sum(counts.total() for counts in funnel.values())


def table(ledger: Ledger, sizes: list[int], workers: list[int], start: Start) -> None:
    """Print the time of each corpus on each number of workers."""
    print("| examples | workers | seconds | times as fast | CPU time | candidates | in vain |")
    print("|---|---|---|---|---|---|---|")
    for size in sizes:
        alone = alone_cpu = 0.0
        for count in workers:
            simulate(ledger, size, count, start)  # so that all times are known
            ledger.save()
            run, asked = simulate(ledger, size, count, start)
            cpu = start.cpu(count) + run.busy + run.driver
            alone, alone_cpu = alone or run.now, alone_cpu or cpu
            print(
                f"| {size:,} | {count} | {run.now:.2f} | {alone / run.now:.2f} |"
                f" {cpu / alone_cpu:.3f} | {asked:,} | {run.candidates - asked:,} |",
                flush=True,
            )


def cpu_of(process: int | str) -> float:
    """The CPU seconds of a running process."""
    return sum(map(int, _state(process)[11:13])) / os.sysconf("SC_CLK_TCK")


def _state(process: int | str) -> list[str]:
    """The fields of a process in /proc, from its state on."""
    return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()


def cpu_of_pool(pool: Processes) -> tuple[float, list[float]]:
    """The CPU seconds of the fork server, and of each worker."""
    ids = [process.pid for process in pool.pool._pool]  # type: ignore[attr-defined]
    return cpu_of(_state(ids[0])[1]), [cpu_of(each) for each in ids]


def print_start() -> None:
    """Start as `provegym synth` does, and print the CPU seconds before the first task."""
    import provegym.cli.synthesis  # noqa: F401

    with TemporaryDirectory() as folder, closing(Processes(2, PRELOAD)) as pool:
        imports = process_time()
        Corpus(Order(100, 0, Path(folder)))._prove(QUIET)
        graphs = process_time() - imports
        for _ in range(8):
            pool.submit(sleep, 0.1).get()
        server, workers = cpu_of_pool(pool)
        print(imports, graphs, server, sum(workers) / len(workers))


def measure_start() -> Start:
    """The CPU seconds of a start, measured in a new process."""
    told = subprocess.run([sys.executable, __file__, "--start"], stdout=-1, text=True, check=True)
    return Start(*map(float, told.stdout.split()))


def make(size: int, count: int) -> str:
    """Make a corpus with real processes, and say what CPU time they took."""
    begun = process_time()
    with TemporaryDirectory() as folder, closing(Processes(count, PRELOAD)) as pool:
        Corpus(Order(size, 0, Path(folder))).make(QUIET, pool)
        server, workers = cpu_of_pool(pool)
    driver = process_time() - begun
    return (
        f"{size:,} examples on {count} real workers: CPU seconds of the driver {driver:.2f}, of the"
        f" fork server {server:.2f}, of the workers {sum(workers):.2f}"
    )


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description="Simulates `provegym synth` on many cores.")
    options.add_argument("sizes", type=int, nargs="*", default=[1_000])
    options.add_argument("--workers", type=int, nargs="*", default=[1, 2, 16])
    options.add_argument("--real", type=int, nargs="*", default=[])
    options.add_argument("--times", type=Path, default=Path("many_cores.times"))
    options.add_argument("--start", action="store_true")
    asked = options.parse_args()
    if asked.start:
        print_start()
        return
    for size in asked.sizes:
        for count in asked.real:
            print(make(size, count), flush=True)
    if asked.workers:
        gc.set_threshold(100_000, 50, 50)  # as in a worker
        start = measure_start()
        print(start)
        table(Ledger(asked.times), asked.sizes, asked.workers, start)


if __name__ == "__main__":
    main()
