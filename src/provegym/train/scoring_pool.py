"""Scores rollouts in worker processes, so that a rollout engine goes on sampling meanwhile.

All rollouts of an example go to the same worker, which proves their equal beginnings once. Each
worker has a pipe to its engine, and ends when the engine does.
"""

import traceback
from collections import deque
from collections.abc import Mapping
from functools import cached_property
from multiprocessing.connection import wait
from typing import Any, NamedTuple

from provegym import servers
from provegym.players.local import Trajectory
from provegym.trace import Rollout
from provegym.train.recipe import Recipe
from provegym.train.run import TrainError
from provegym.train.scoring import Scored, Scorer, Scoring
from provegym.workers import fork_server, prepare

MOST = 4
# How many rollouts are in the pipe to a worker: one to score, and others to go on with. More could
# fill the pipe, and the engine would wait for the worker.
AHEAD = 4


def count_workers(cores: int) -> int:
    """How many workers an engine has, by the cores of its own: one core stays free for itself."""
    return max(0, min(MOST, cores - 1))


class ScoringTask(NamedTuple):
    """A rollout to score: the numbers of its batch, and of itself in the batch."""

    batch: int
    number: int
    rollout: Rollout


class ScoringWorker:
    """A process that scores rollouts one after the other, and the rollouts that wait for it."""

    def __init__(self, context: Any, recipe: Recipe) -> None:
        self.pipe, there = context.Pipe()
        given = (there, recipe, servers.places())
        self.process = context.Process(target=_serve, args=given, daemon=True)
        self.process.start()
        there.close()
        self.waiting: deque[ScoringTask] = deque()
        self.asked = 0

    @property
    def is_busy(self) -> bool:
        """Whether some results are still to come."""
        return bool(self.asked or self.waiting)

    def send(self) -> None:
        """Send as many of the waiting rollouts as the worker may have."""
        while self.waiting and self.asked < AHEAD:
            self.pipe.send(self.waiting.popleft())
            self.asked += 1

    def receive(self) -> dict[int, Scored]:
        """The results that are there, by the numbers of their rollouts."""
        found: dict[int, Scored] = {}
        while self.asked and self.pipe.poll():
            said = self.pipe.recv()
            if isinstance(said, str):
                raise TrainError(f"a process that scores rollouts failed: {said}")
            self.asked -= 1
            number, found[number] = said
        return found


class ScoringPool(Scoring):
    """Scores the rollouts of a batch in worker processes."""

    def __init__(self, recipe: Recipe, count: int) -> None:
        super().__init__(recipe)
        self.recipe, self.count = recipe, count
        self.context = fork_server("provegym.train.scoring_preload")
        self.batch = 0
        self.places: dict[str, int] = {}

    @cached_property
    def workers(self) -> list[ScoringWorker]:
        """The processes, begun when they are first needed: until then the fork server imports."""
        return [ScoringWorker(self.context, self.recipe) for _ in range(self.count)]

    def begin(self) -> None:
        """Begin another batch."""
        self.batch += 1
        self.places = {}

    def add(self, ended: Mapping[int, Trajectory]) -> None:
        """Give rollouts to the workers, and receive what is scored already; do not wait."""
        for number, each in ended.items():
            rollout = each.rollout
            place = self.places.setdefault(rollout.example.id, len(self.places) % self.count)
            self.workers[place].waiting.append(ScoringTask(self.batch, number, rollout))
        self._go_on(seconds=0)

    def close(self) -> None:
        """Stop the processes."""
        for worker in vars(self).get("workers", ()):
            worker.process.terminate()
            worker.process.join()
            worker.pipe.close()

    def _wait(self) -> None:
        while any(worker.is_busy for worker in self.workers):
            self._go_on(seconds=None)

    def _go_on(self, seconds: float | None) -> None:
        """Send rollouts, wait so long for a result (None: for ever), and receive what is there."""
        busy = [worker for worker in self.workers if worker.is_busy]
        try:
            for worker in busy:
                worker.send()
            ready = wait([worker.pipe for worker in busy], seconds)
            for worker in busy:
                if worker.pipe in ready:
                    self.found |= worker.receive()
                    worker.send()
        except (EOFError, ConnectionError):
            raise TrainError(
                "a process that scores rollouts died, perhaps for lack of memory; --resume goes on"
            ) from None


def _serve(pipe: Any, recipe: Recipe, places: servers.Places) -> None:
    """The life of a worker: score what it is sent, until the engine is gone."""
    try:
        prepare(places)
        scorer, batch = Scorer(recipe), 0
        while True:
            task: ScoringTask = pipe.recv()
            if task.batch != batch:
                scorer.forget()
                batch = task.batch
            pipe.send((task.number, scorer.score(task.rollout)))
    except (EOFError, ConnectionError):
        return
    except BaseException:
        pipe.send(traceback.format_exc(limit=-3))
