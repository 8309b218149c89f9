"""Speculative execution: workers draw candidates of coming rounds before a round is complete.

Kept examples fill quotas, so a round is planned for certain only when the one before it is merged.
Most plans that are made earlier turn out right. A candidate is a pure function of its place: one
that was drawn early is used if its round asks for it, and is dropped otherwise. So the bytes of a
corpus do not depend on what was drawn early.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import ceil
from shutil import rmtree

from provegym.conversation.kinds import Place
from provegym.corpus.candidates import Aim, Made, attempt_all
from provegym.corpus.quotas import Quotas
from provegym.corpus.shared_worlds import attempt_on_shared, draw_shared, folder_of
from provegym.workers import Promise, Workers

# The share of candidates that are kept, before any is known, and the length of a moving average.
USUALLY_KEPT, MEMORY = 0.8, 16
# Tasks that are begun and not done, for each worker: with fewer more are begun, up to the most.
LEAST, MOST = 1.25, 1.5
# Tasks of a round for each worker, at least if it has so many candidates.
TASKS = 4
# Coming rounds are planned anew after the results of this part of a round.
PLANS = 4
# So many seconds are waited for a result until it is looked whether workers will soon be idle.
TICK = 0.005

Aims = Sequence[Aim]
Begun = tuple[Promise[list[Made]], int]
# The jobs of coming rounds, as they are planned now.
Coming = Callable[[], Iterator[Sequence[Aims]]]
# Why a candidate is not kept, with these quotas; empty if it is.
Objection = Callable[[str, Made, Quotas], str]


class Lookahead:
    """Candidates that workers have begun to draw, by place.

    The candidates of a job are a few tasks, which take about as long as others. Coming rounds are
    planned when workers will soon be idle, with all that is known then: of a candidate that is
    drawn, whether it will be kept, and of another one the share of its server that is kept.
    """

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self.attempt = partial(attempt_on_shared, workers.folder) if workers.folder else attempt_all
        self.begun: dict[Place, Begun] = {}
        self.running: list[Promise[list[Made]]] = []
        self.worlds: set[int] = set()
        self.drawn: set[int] = set()
        self.plan: Iterator[None] = iter(())
        self.news = self.lasts = 0
        self.kept_share: dict[str, float] = defaultdict(lambda: USUALLY_KEPT)

    def note(self, server: str, kept: bool) -> None:
        """Count a candidate that was kept or dropped, in a moving average."""
        self.kept_share[server] += (kept - self.kept_share[server]) / MEMORY

    def expect(self, quotas: Quotas, jobs: Sequence[Aims], objection: Objection) -> bool:
        """Take from quotas what will probably be kept of the candidates of a round, if anything.

        Of a candidate that is drawn already it is known whether there is an objection to it.
        """
        kept = False
        for aims in jobs:
            sum_of_shares = 0.5
            for place, shape in aims:
                made = self._known(place)
                if made is None:
                    sum_of_shares += self.kept_share[place.server]
                    if sum_of_shares < 1:
                        continue
                    sum_of_shares -= 1
                elif objection(place.server, made, quotas):
                    continue
                quotas.take(place.server, shape)
                kept = True
        return kept

    def _known(self, place: Place) -> Made | None:
        """A candidate, if it is drawn already."""
        if place not in self.begun:
            return None
        promise, at = self.begun[place]
        return promise.get()[at] if promise.wait(0) else None

    def begin(self, jobs: Sequence[Aims]) -> None:
        """Begin the candidates of a round, and forget those of worlds that are not asked for now.

        Worlds of coming rounds are kept: their rounds may ask for them.
        """
        now = worlds(aims[0][0] for aims in jobs if aims)
        for world in self.worlds - now:
            self._forget(world)
        self.worlds = now
        for _ in self._submit(jobs):
            pass
        self.lasts = sum(map(len, jobs)) // PLANS
        self.news = self.lasts

    def made(self, aims: Aims, coming: Coming) -> list[Made]:
        """The candidates of a job, once they are drawn; `coming` plans the rounds after this one.

        While they are waited for, candidates of coming rounds are begun, so that no worker waits.
        """
        begun = [self.begun[place] for place, _ in aims]
        for promise, _ in begun:
            self._look_ahead(coming)
            while not promise.wait(TICK):
                self._look_ahead(coming)
        return [promise.get()[at] for promise, at in begun]

    def _look_ahead(self, coming: Coming) -> None:
        """If workers will soon be idle, begin candidates that will probably be asked for."""
        if self.workers.count == 1:
            return
        running = [promise for promise in self.running if not promise.wait(0)]
        self.news += len(self.running) - len(running)
        self.running = running
        if len(running) >= LEAST * self.workers.count:
            return
        if self.news >= self.lasts:
            self.plan, self.news = self._submit_rounds(coming()), 0
        for _ in self.plan:
            if len(self.running) >= MOST * self.workers.count:
                return

    def _submit_rounds(self, rounds: Iterator[Sequence[Aims]]) -> Iterator[None]:
        """Begin the candidates of coming rounds, task by task. Worlds are drawn a round before."""
        jobs = next(rounds, ())
        while jobs:
            after = next(rounds, ())
            self._draw_worlds(jobs)
            self._draw_worlds(after)
            yield from self._submit(jobs)
            jobs = after

    def _forget(self, world: int) -> None:
        self.begun = {place: begun for place, begun in self.begun.items() if place.world != world}
        self.drawn.discard(world)
        if self.workers.folder:
            rmtree(folder_of(self.workers.folder, world), ignore_errors=True)

    def _submit(self, jobs: Sequence[Aims]) -> Iterator[None]:
        """Begin the candidates of a round that are not begun yet, task by task."""
        fresh = [[aim for aim in aims if aim[0] not in self.begun] for aims in jobs]
        self._draw_worlds(fresh)
        for aims in fresh:
            for task in self._tasks(aims, sum(map(len, jobs))):
                promise = self.workers.submit(self.attempt, task)
                self.running.append(promise)
                self.begun |= {place: (promise, at) for at, (place, _) in enumerate(task)}
                yield

    def _tasks(self, aims: Aims, of_round: int) -> list[Aims]:
        """Cut a job into tasks. It is one task if its worlds would be drawn again for each."""
        if not aims or not self.workers.folder:
            return [aims] if aims else []
        most = max(1.0, of_round / (TASKS * self.workers.count))
        size = ceil(len(aims) / ceil(len(aims) / most))
        return [aims[at : at + size] for at in range(0, len(aims), size)]

    def _draw_worlds(self, jobs: Sequence[Aims]) -> None:
        """Draw the worlds of a round first: its jobs need each other's, for distractors."""
        places = [aims[0][0] for aims in jobs if aims]
        if self.workers.folder and len(places) > 1:
            for place in places:
                if place.world not in self.drawn:
                    self.workers.submit(partial(draw_shared, self.workers.folder), place)
            self.drawn |= worlds(places)


def worlds(places: Iterable[Place]) -> set[int]:
    """The numbers of the worlds of some places."""
    return {place.world for place in places}
