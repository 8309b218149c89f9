"""Speculative execution: workers draw candidates of coming rounds before a round is complete.

Kept examples fill quotas, so a round is planned for certain only when the one before it is merged.
Most plans that are made earlier turn out right. A candidate is a pure function of its place: one
that was drawn early is used if its round asks for it, and is dropped otherwise. So the bytes of a
corpus do not depend on what was drawn early.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from shutil import rmtree

from provegym.conversation.kinds import Place
from provegym.corpus.candidates import Aim, Made, attempt_all
from provegym.corpus.quotas import Quotas
from provegym.corpus.shared_worlds import attempt_on_shared, draw_shared, folder_of
from provegym.workers import Promise, Workers

# The share of candidates that are kept, before any is known, and the length of a moving average.
USUALLY_KEPT, MEMORY = 0.8, 16

Aims = Sequence[Aim]
Begun = tuple[Promise[list[Made]], int]
# Why a candidate is not kept, with these quotas; empty if it is.
Objection = Callable[[str, Made, Quotas], str]


class Lookahead:
    """Candidates that workers have begun to draw, by place.

    The candidates of a job are one task.
    """

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self.attempt = partial(attempt_on_shared, workers.folder) if workers.folder else attempt_all
        self.begun: dict[Place, Begun] = {}
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
        """A candidate that is drawn already."""
        promise, at = self.begun[place]
        return promise.get()[at] if promise.is_known() else None

    def begin(self, jobs: Sequence[Aims], coming: Iterator[Sequence[Aims]]) -> None:
        """Begin the candidates of a round; while workers may become idle, of coming rounds too."""
        earlier, self.begun = self.begun, {}
        self._submit(jobs, earlier)
        ahead = 0
        while self.workers.count > 1 and ahead < self.workers.count:
            jobs = next(coming, ())
            if not jobs:
                break
            self._submit(jobs, earlier)
            ahead += len(jobs)
        if self.workers.folder:
            for world in worlds(earlier) - worlds(self.begun):
                rmtree(folder_of(self.workers.folder, world), ignore_errors=True)

    def _submit(self, jobs: Sequence[Aims], earlier: Mapping[Place, Begun]) -> None:
        """Begin the candidates of a round that were not begun earlier."""
        fresh = [[aim for aim in aims if aim[0] not in earlier] for aims in jobs]
        if self.workers.folder:
            self._draw_worlds(self.workers.folder, fresh, worlds(earlier))
        for aims, new in zip(jobs, fresh, strict=True):
            self.begun |= {place: earlier[place] for place, _ in aims if place in earlier}
            if new:
                promise = self.workers.submit(self.attempt, new)
                self.begun |= {place: (promise, at) for at, (place, _) in enumerate(new)}

    def _draw_worlds(self, folder: Path, jobs: Sequence[Aims], known: Set[int]) -> None:
        """Draw the worlds of a new round first: its jobs need each other's, for distractors."""
        places = [aims[0][0] for aims in jobs if aims]
        for place in places if len(places) > 1 else ():
            if place.world not in known:
                self.workers.submit(partial(draw_shared, folder), place)

    def made(self, aims: Aims) -> list[Made]:
        """The candidates of a job, once they are drawn."""
        return [promise.get()[at] for promise, at in (self.begun[place] for place, _ in aims)]


def worlds(places: Iterable[Place]) -> set[int]:
    """The numbers of the worlds of some places."""
    return {place.world for place in places}
