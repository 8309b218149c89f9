"""Discrete-event simulation of `provegym synth` on many cores, from measured CPU times.

`python docs/many_cores.py 1000` prints a table for a corpus of 1,000 examples; `--workers 1 2 16`
names other numbers of workers, `--real 16` makes the corpus with real processes too.

The driver is the real one, with unchanged code. Its workers are simulated: a candidate is made when
the driver first asks for it, its CPU time is measured, and so is that of each world it uses. The
clock of a simulated worker then advances by these times. What a candidate took is kept in a file,
so that another version of the driver is compared with the same times.
"""

import argparse
import gc
import heapq
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, NamedTuple

from rich.progress import Progress

from provegym import servers
from provegym.conversation import ground, kinds
from provegym.conversation.kinds import Place
from provegym.corpus.candidates import Aim, Made, attempt
from provegym.corpus.corpus import PRELOAD, Corpus, Order
from provegym.corpus.shared_worlds import _json, draw_shared
from provegym.workers import Processes, Promise, Workers

World = tuple[str, int]


class Cost(NamedTuple):
    """CPU seconds of a candidate, of reading its server's world, and the worlds it uses."""

    made: Made
    seconds: float
    scene: float
    worlds: tuple[World, ...]


class WorldCost(NamedTuple):
    """CPU seconds of drawing a world, of writing it for others (zero if it is not), of reading."""

    draw: float
    write: float
    read: float


class Ledger:
    """The CPU time of each candidate and each world, measured when it is first asked for."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.costs: dict[Place, Cost] = {}
        self.worlds: dict[World, WorldCost] = {}
        if file.exists():
            costs, drawn = pickle.loads(file.read_bytes())
            self.costs = {place: Cost(*cost) for place, cost in costs.items()}
            self.worlds = {world: WorldCost(*cost) for world, cost in drawn.items()}
        self.known = len(self.costs)
        self.used: dict[World, None] = {}
        self.spent = self.scene = 0.0
        for server in servers.load_all():
            kept = lru_cache(maxsize=64)(partial(self._draw, server))
            server.world = partial(self._touch, server.name, kept)
        self.disk = 0.0
        fsync = os.fsync

        def timed(file: int) -> None:
            begun, cpu = perf_counter(), process_time()
            fsync(file)
            self.disk += perf_counter() - begun - (process_time() - cpu)

        os.fsync = timed
        scene = ground._scene
        ground._scene = partial(self._read_scene, scene)  # type: ignore[assignment]

    def save(self) -> None:
        """Write what was measured, if there is more than in the file."""
        if len(self.costs) > self.known:
            costs = {place: tuple(cost) for place, cost in self.costs.items()}
            drawn = {world: tuple(cost) for world, cost in self.worlds.items()}
            self.file.write_bytes(pickle.dumps((costs, drawn)))

    def cost(self, aim: Aim) -> Cost:
        """What a candidate takes."""
        place = aim[0]
        if place not in self.costs:
            self.used, self.spent, self.scene = {}, 0.0, 0.0
            begun = process_time()
            made = attempt(aim)
            seconds = process_time() - begun - self.spent - self.scene
            self.costs[place] = Cost(made, seconds, self.scene, tuple(self.used))
        return self.costs[place]

    def world(self, world: World) -> WorldCost:
        """What a world takes."""
        if world not in self.worlds:
            self._draw(servers.load(world[0]), world[1])
        return self.worlds[world]

    def _touch(self, name: str, kept: Callable[[int], Any], number: int) -> Any:
        self.used[name, number] = None
        return kept(number)

    def _draw(self, server: Any, number: int) -> Any:
        begun = process_time()
        drawn = server._world(number)
        after = process_time()
        if (server.name, number) not in self.worlds:
            pickled = pickle.dumps(drawn)
            reading = process_time()
            read = pickle.loads(pickled)
            took = process_time() - reading
            same = _json(read) == _json(drawn)
            written = process_time() - after
            self.worlds[server.name, number] = WorldCost(
                after - begun, written, took if same else after - begun + written
            )
        self.spent += process_time() - begun
        return drawn

    def _read_scene(self, scene: Callable[..., Any], server: Any, world: int) -> Any:
        begun, spent = process_time(), self.spent
        read = scene(server, world)
        self.scene += process_time() - begun - (self.spent - spent)
        return read


class Task:
    """A piece of work, begun by the driver at some time; its end is known once it is run."""

    def __init__(self, item: Any, begun: float) -> None:
        self.item, self.begun = item, begun
        self.end = 0.0
        self.made: list[Made] = []
        self.is_read = False


class Simulated(Workers):
    """Workers in virtual time. The driver's own CPU time is measured while it runs."""

    def __init__(self, ledger: Ledger, count: int, start: float) -> None:
        self.ledger, self.processes = ledger, count
        self.folder = Path("/nowhere") if count > 1 else None
        self.free = [(start, number) for number in range(count)]
        self.queue: list[Task] = []
        self.drawn: dict[World, float] = {}
        self.known: list[set[World]] = [set() for _ in range(count)]
        self.scenes: list[set[World]] = [set() for _ in range(count)]
        self.now, self.mark = start, process_time()
        self.tasks = self.candidates = 0
        self.asked: set[Place] = set()
        self.times: dict[str, float] = dict.fromkeys(
            ("candidates", "scenes", "drawing", "writing", "reading", "driver"), 0.0
        )
        self.disk = ledger.disk = 0.0

    @property
    def count(self) -> int:
        return self.processes

    def submit(self, work: Callable[..., Any], item: Any) -> Promise[Any]:
        if self.processes > 1:
            pickle.dumps((work, item))
        self._pass()
        drawing = isinstance(work, partial) and work.func is draw_shared
        task = Task(item if not drawing else None, self.now)
        if drawing:
            task.item = [(item, None)]
        self.queue.append(task)
        self.tasks += 1
        self.mark = process_time()
        return Promise(partial(self._result, task), partial(self._wait, task))

    def _wait(self, task: Task, seconds: float) -> bool:
        """Let the clock go on by some seconds, or until a task is done."""
        if self.processes == 1:
            return True
        self._pass()
        until = self.now + seconds
        while self.queue and min(self.free)[0] <= until:
            self._run(self.queue.pop(0))
        done = 0 < task.end <= until
        self.now = max(self.now, task.end) if done else until
        self.mark = process_time()
        return done

    def _pass(self) -> None:
        took = process_time() - self.mark
        self.now += took + self.ledger.disk
        self.times["driver"] += took
        self.disk += self.ledger.disk
        self.ledger.disk = 0.0

    def _result(self, task: Task) -> list[Made]:
        self._pass()
        if self.processes == 1:
            if not task.end:
                self.free = [(self.now, 0)]
                self._run(task)
        else:
            while not task.end:
                self._run(self.queue.pop(0))
        if task.end > self.now:
            self.now = task.end
        sent = pickle.dumps(task.made) if self.processes > 1 and not task.is_read else b""
        self.mark = process_time()
        if sent:
            pickle.loads(sent)
            task.is_read = True
        return task.made

    def _run(self, task: Task) -> None:
        free, number = heapq.heappop(self.free)
        now = max(free, task.begun)
        for place, shape in task.item:
            if shape is None:
                now = self._use((place.server, place.world), number, now)
                continue
            cost = self.ledger.cost((place, shape))
            self.candidates += 1
            for world in cost.worlds:
                now = self._use(world, number, now)
            own = place.server, place.world
            if own not in self.scenes[number]:
                self.scenes[number].add(own)
                now = self._spend("scenes", cost.scene or self._scene_of(own), now)
            now = self._spend("candidates", cost.seconds, now)
            task.made.append(cost.made)
        task.end = max(now, 1e-9)
        heapq.heappush(self.free, (now, number))

    def _scene_of(self, own: World) -> float:
        return next(
            (
                cost.scene
                for place, cost in self.ledger.costs.items()
                if (place.server, place.world) == own and cost.scene
            ),
            0.0,
        )

    def _use(self, world: World, number: int, now: float) -> float:
        if world in self.known[number]:
            return now
        self.known[number].add(world)
        cost = self.ledger.world(world)
        if self.folder is None:
            return self._spend("drawing", cost.draw, now)
        if world in self.drawn:
            return self._spend("reading", cost.read, max(now, self.drawn[world]))
        now = self._spend("drawing", cost.draw, now)
        now = self._spend("writing", cost.write, now)
        self.drawn[world] = now
        return now

    def _spend(self, what: str, seconds: float, now: float) -> float:
        self.times[what] += seconds
        return now + seconds

    def end(self) -> float:
        """The time at which the driver is done. Tasks that wait are never run."""
        self._pass()
        while self.queue and min(self.free)[0] < self.now:
            self._run(self.queue.pop(0))
        return self.now


class Start(NamedTuple):
    """CPU seconds before the first task: importing, reading graphs, the fork server, a worker.

    The fork server imports while this process reads the graphs.
    """

    imports: float
    graphs: float
    server: float
    worker: float

    @property
    def own(self) -> float:
        """Of this process alone."""
        return self.imports + self.graphs


def cpu_of(process: int | str) -> float:
    """The CPU seconds of a running process, from /proc."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def parent_of(process: int | str) -> str:
    """The parent of a running process, from /proc."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]


def ids(pool: Processes) -> list[int]:
    """The processes of a pool."""
    return [process.pid for process in pool.pool._pool]  # type: ignore[attr-defined]


def first_seconds() -> None:
    """Start as `provegym synth` does, and print the CPU seconds before the first task."""
    from provegym.cli import app, synthesis  # noqa: F401

    with TemporaryDirectory() as folder, closing(Processes(2, PRELOAD)) as pool:
        imports = process_time()
        Corpus(Order(100, 0, Path(folder)))._prove(Progress(disable=True))
        graphs = process_time() - imports
        for _ in range(8):
            pool.submit(_wait, 0.1).get()
        workers = [cpu_of(each) for each in ids(pool)]
        print(imports, graphs, cpu_of(parent_of(ids(pool)[0])), sum(workers) / len(workers))


def _wait(seconds: float) -> None:
    """Leave time for the other worker to start."""
    from time import sleep

    sleep(seconds)


def start() -> Start:
    """The CPU seconds of a start, measured in a new process."""
    told = subprocess.run(
        [sys.executable, __file__, "--start"], capture_output=True, text=True, check=True
    )
    return Start(*map(float, told.stdout.split()))


def simulate(ledger: Ledger, size: int, count: int, begun: Start) -> Simulated:
    """Make a corpus with simulated workers."""
    for known in (kinds._shapes, kinds._ranks):
        known.clear()
    first = begun.own
    if count > 1:
        first = begun.imports + max(begun.graphs, begun.server) + begun.worker
    with TemporaryDirectory() as folder:
        corpus = Corpus(Order(size, 0, Path(folder)))
        bar = Progress(disable=True)
        corpus._prove(bar)
        corpus._prove = lambda bar: None  # type: ignore[method-assign]
        workers = Simulated(ledger, count, first)
        funnel = corpus.make(bar, workers)
        workers.end()
        workers.made = sum(each.total() for each in funnel.values())  # type: ignore[attr-defined]
        workers.corpus = corpus  # type: ignore[attr-defined]
    return workers


def cpu(workers: Simulated, begun: Start) -> float:
    """The CPU seconds of a simulated run."""
    extra = begun.server + workers.count * begun.worker if workers.count > 1 else 0
    return begun.own + extra + sum(workers.times.values())


def real(size: int, count: int) -> str:
    """Make a corpus with real processes; their wall time and CPU seconds."""
    begun, before = perf_counter(), process_time()
    with TemporaryDirectory() as folder, closing(Processes(count, PRELOAD)) as pool:
        corpus = Corpus(Order(size, 0, Path(folder)))
        corpus.make(Progress(disable=True), pool)
        seconds, own = perf_counter() - begun, process_time() - before
        server = cpu_of(parent_of(ids(pool)[0]))
        workers = sum(cpu_of(each) for each in ids(pool))
    return f"real, {count} workers: {seconds:.1f} s wall; CPU: own {own:.2f}, fork server {server:.2f}, workers {workers:.2f}"


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser()
    options.add_argument("size", type=int, nargs="*")
    options.add_argument("--workers", type=int, nargs="+", default=[1, 2, 16])
    options.add_argument("--real", type=int, nargs="*", default=[])
    options.add_argument("--times", type=Path, default=Path("/tmp/sim/ledger"))
    options.add_argument("--start", action="store_true")
    asked = options.parse_args()
    if asked.start:
        first_seconds()
        return
    for size in asked.size:
        for count in asked.real:
            print(real(size, count), flush=True)
    if not asked.workers or not asked.size:
        return
    gc.set_threshold(100_000, 50, 50)
    begun = start()
    print(begun)
    for size in asked.size:
        ledger = Ledger(asked.times)
        alone = 0.0
        for count in asked.workers:
            simulate(ledger, size, count, begun)  # so that all times are known
            workers = simulate(ledger, size, count, begun)
            spent = cpu(workers, begun)
            alone = alone or workers.now
            print(
                f"{size} {count}: {workers.now:.2f} s, {alone / workers.now:.2f} x, CPU {spent:.2f} {spent / alone:.3f}; asked {workers.made}, made {workers.candidates}, rounds {workers.corpus.round} tasks {workers.tasks} disk {workers.disk:.2f}",
                {k: round(v, 2) for k, v in workers.times.items()},
                flush=True,
            )
        ledger.save()


if __name__ == "__main__":
    main()
