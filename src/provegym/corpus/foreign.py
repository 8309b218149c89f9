"""A corpus of one foreign server: as every other, but counted out loosely and a few at a time.

What such a server can give is not known before, so only the kinds of examples are exact: knobs and
information levels come as they are drawn.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.progress import Progress

from provegym import servers
from provegym.conversation.foreign import KINDS, WORLD, asks_of, candidate, shape, usable
from provegym.conversation.ground import explored
from provegym.conversation.kinds import Place, Shape
from provegym.corpus.corpus import IDLE_ROUNDS, MIXES, Corpus, DrawJob, Drawn, Made, Order, judge
from provegym.corpus.near_copies import Keeper
from provegym.corpus.quotas import CorpusPart, Quotas
from provegym.hosts.foreign import ForeignServer
from provegym.hosts.inline import HostError
from provegym.trace import Example
from provegym.workers import Workers

PER_ROUND = 2
SMALLEST = 100
# Starts of a server, for the writes that are tried: per tool to explore it, and per example.
TO_EXPLORE, TO_MAKE = 15, 10
# Seconds beside them, for calls.
PER_TOOL, PER_EXAMPLE = 1.0, 0.5


@dataclass(frozen=True)
class ForeignOrder(Order):
    """What corpus to make, and of whose server: the command's options."""

    mcp: str = ""
    allow_writes: bool = False
    reset: str = ""
    fresh_from: Path | None = None
    reads: tuple[str, ...] = ()
    timeout: float = 20

    @property
    def parts(self) -> tuple[CorpusPart, ...]:
        """One part: nothing is held out of a single world."""
        mix = {kind: share for kind, share in MIXES[self.mix].items() if kind in KINDS}
        return (CorpusPart("train", self.size, self.servers, mix),)


class Loose(Quotas):
    """Exact by kind alone."""

    def wants(self, server: str, shape: Shape) -> bool:
        """Whether another one of this kind is wanted."""
        return self.left[server, shape.kind] > 0


class LooseKeeper(Keeper):
    """As strict as for a larger corpus: a server may have few tools."""

    def objection(self, example: Example, of_server: int) -> str:
        """Why an example is not kept, or nothing."""
        return super().objection(example, max(of_server, SMALLEST))


def draw(job: DrawJob) -> Drawn:
    """A few candidates of wanted kinds, verified, and the number to go on from."""
    made: list[Made] = []
    number = job.first
    while len(made) < PER_ROUND and job.quotas.open(job.server):
        place = Place(job.server, WORLD, job.seed, number, ())
        wanted = shape(place)
        number += 1
        if job.quotas.wants(job.server, wanted):
            made.append(judge(wanted, candidate(place, wanted)))
    return made, number


class ForeignCorpus(Corpus):
    """A corpus of a server that is connected, while it is made."""

    def __init__(self, order: ForeignOrder, server: ForeignServer) -> None:
        servers.add(server, asks_of(server))
        self.server = server
        super().__init__(order)
        self.keeper = LooseKeeper()

    def _begin(self) -> None:
        super()._begin()
        self.quotas = Loose(self.part)

    @property
    def asked(self) -> str:
        """What was asked for, and of which state of the server."""
        return msgspec.json.encode((super().asked, self.server.version)).decode()

    def _prove(self, bar: Progress) -> None:
        """Explore the server, and stop where none of its tools ever worked."""
        task = bar.add_task("exploring", total=None)
        if not usable(self.server):
            raise HostError(self._nothing_works())
        bar.remove_task(task)
        super()._prove(bar)

    def _nothing_works(self) -> str:
        name, seen = self.server.name, explored(self.server)
        if worked := [tool for tool, kept in seen.worked.items() if kept]:
            return (
                f"nothing can be asked of {name}: {', '.join(worked)} worked, but no read told"
                " anything and no read showed what a write changed"
            )
        said = [tried.outcome.value["message"] for kept in seen.refused.values() for tried in kept]
        lost = [sentences[-1] for sentences in self.server.pool.lost.values()]
        why = (*lost, *said, "no values that would fit were found in what it returned")[0]
        return f"none of the {len(self.server.tools)} tools of {name} ever worked: {why}"

    def _draw(self, jobs: list[DrawJob], workers: Workers) -> Iterator[Drawn]:
        """In this process, to which the server is connected."""
        return map(draw, jobs)

    def missing(self) -> str:
        """What could not be made, and why, in a sentence; nothing if all was."""
        if self.kept == self.part.size:
            return ""
        asked = usable(self.server)
        return (
            f"{self.kept} of {self.part.size} examples were found, then {PER_ROUND * IDLE_ROUNDS}"
            f" candidates in a row gave no more ({self._reasons()}); of its"
            f" {len(self.server.tools)} tools {len(asked)} could be asked for ({', '.join(asked)}):"
            " ask for fewer examples, allow more of its tools, or let it start with more data"
        )


def expected(server: ForeignServer, size: int, start: float) -> str:
    """Roughly how long a corpus may take, in words, where a start takes so many seconds."""
    writes = sum(tool.writes for tool in server.tools.values())
    starts = TO_EXPLORE * writes + (TO_MAKE * size if writes else 0)
    seconds = starts * start + PER_TOOL * len(server.tools) + PER_EXAMPLE * size
    told = f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"
    return f"this may take about {told}; an interrupted run goes on where it was"
