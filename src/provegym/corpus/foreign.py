"""Synthesis of a corpus from one foreign MCP server, in small rounds and in one process.

Nobody knows before what a foreign server can offer. So only the counts of kinds are exact; knobs
and information levels have the shares that come by chance.
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
from provegym.corpus.candidates import DrawJob, Drawn, Made, judge
from provegym.corpus.corpus import IDLE_ROUNDS, Corpus
from provegym.corpus.lookahead import Lookahead
from provegym.corpus.near_copies import Deduplicator
from provegym.corpus.order import MIXES, Order
from provegym.corpus.quotas import CorpusPart, Quotas
from provegym.hosts.foreign import ForeignServer, NoStart
from provegym.hosts.inline import HostError
from provegym.kernel import Lost
from provegym.trace import Example

PER_ROUND = 2
SMALLEST = 100
# How often the server is started to try writes: per tool that is explored, and per example.
TO_EXPLORE, TO_MAKE = 15, 10
# Seconds for calls, beside the starts.
PER_TOOL, PER_EXAMPLE = 1.0, 0.5
CRASHED = "the server crashed or hung"
# How many tools are named when a sentence says why a server yields nothing.
TOLD = 3


@dataclass(frozen=True)
class ForeignOrder(Order):
    """The options of a corpus from a foreign server."""

    mcp: str = ""
    allow_writes: bool = False
    reset: str = ""
    fresh_from: Path | None = None
    reads: tuple[str, ...] = ()
    timeout: float = 20

    @property
    def parts(self) -> tuple[CorpusPart, ...]:
        """One training part. A foreign server has one world, so nothing is held out."""
        mix = {kind: share for kind, share in MIXES[self.mix].items() if kind in KINDS}
        return (CorpusPart("train", self.size, self.servers, mix),)


class LooseQuotas(Quotas):
    """Quotas that count only the kinds of examples."""

    def wants(self, server: str, shape: Shape) -> bool:
        """Whether another one of this kind is wanted."""
        return self.left[server, shape.kind] > 0


class LooseKeeper(Deduplicator):
    """Deduplication as for at least 100 examples, because a server may have few tools."""

    def objection(self, example: Example, of_server: int) -> str:
        """Why an example is not kept; empty if it is."""
        return super().objection(example, max(of_server, SMALLEST))


def draw(job: DrawJob) -> Drawn:
    """Draw and verify a few candidates; return them and the number of the next candidate."""
    made: list[Made] = []
    number = job.first
    while len(made) < PER_ROUND and job.quotas.owed(job.server):
        place = Place(job.server, WORLD, job.seed, number, ())
        wanted = shape(place)
        number += 1
        if job.quotas.wants(job.server, wanted):
            made.append(_make(place, wanted))
    return made, number


def _make(place: Place, wanted: Shape) -> Made:
    """Make one candidate and check it; it is dropped if the server crashes or hangs."""
    try:
        return judge(wanted, candidate(place, wanted))
    except NoStart:
        raise
    except Lost:
        return Made(wanted, None, CRASHED)


class ForeignCorpus(Corpus):
    """The synthesis of a corpus from a connected foreign server."""

    def __init__(self, order: ForeignOrder, server: ForeignServer) -> None:
        servers.add(server, asks_of(server))
        self.server = server
        super().__init__(order)
        self.keeper = LooseKeeper()

    def _begin(self) -> None:
        super()._begin()
        self.quotas = LooseQuotas(self.part)

    @property
    def asked(self) -> str:
        """The options that decide the bytes of the corpus, and the version of the server."""
        return msgspec.json.encode((super().asked, self.server.version)).decode()

    def _prove(self, bar: Progress) -> None:
        """Explore the server; raise an error if nothing can be asked of it."""
        task = bar.add_task("exploring", total=None)
        if not usable(self.server):
            raise HostError(self._nothing_works())
        bar.remove_task(task)
        super()._prove(bar)

    def _nothing_works(self) -> str:
        name, seen = self.server.name, explored(self.server)
        if seen.silent and not any(seen.worked.values()):
            told = "; ".join(f"{tool}: {why}" for tool, why in list(seen.silent.items())[:TOLD])
            return f"nothing can be asked of {name}: no result is an answer ({told})"
        if worked := [tool for tool, kept in seen.worked.items() if kept]:
            return (
                f"nothing can be asked of {name}: {', '.join(worked)} worked, but no read told"
                " anything and no read showed what a write changed"
            )
        said = [tried.outcome.value["message"] for kept in seen.refused.values() for tried in kept]
        lost = [sentences[-1] for sentences in self.server.pool.lost.values()]
        why = (*lost, *said, "no values that would fit were found in what it returned")[0]
        return f"none of the {len(self.server.tools)} tools of {name} ever worked: {why}"

    def _draw(self, jobs: list[DrawJob], ahead: Lookahead) -> Iterator[Drawn]:
        """Draw in this process, because the server is connected to it."""
        return iter([draw(job) for job in jobs])

    def missing(self) -> str:
        """A message that says how many examples are missing and why; empty if none is."""
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
    """A rough estimate of the time for a corpus, in words. `start` is the seconds per start."""
    writes = sum(tool.writes for tool in server.tools.values())
    starts = TO_EXPLORE * writes + (TO_MAKE * size if writes else 0)
    seconds = starts * start + PER_TOOL * len(server.tools) + PER_EXAMPLE * size
    told = f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"
    return f"this may take about {told}; an interrupted run goes on where it was"
