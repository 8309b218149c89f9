"""Synthesis of a corpus with parallel workers: deterministic, and resumable after a crash.

Synthesis runs in rounds. In each round, workers draw and verify a few candidates on one world of
every server whose quota is not full. One process then decides, in a fixed order, which candidates
to keep. So one seed always gives the same bytes, whatever the number of workers or interruptions.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from copy import deepcopy
from functools import partial
from pathlib import Path
from time import monotonic

import msgspec
from rich.progress import Progress

from provegym import servers
from provegym.conversation.kinds import SHARES
from provegym.corpus.candidates import (
    PER_WORLD,
    SHAPES,
    Aim,
    DrawJob,
    Drawn,
    Made,
    aim,
    numbers_after,
)
from provegym.corpus.lookahead import Lookahead
from provegym.corpus.near_copies import Deduplicator
from provegym.corpus.order import Order
from provegym.corpus.quotas import Quotas, shape_of
from provegym.files import Append, describe, locked, write_atomically
from provegym.graph.dependency import admitted, cached
from provegym.lines import cut_all_to, recording
from provegym.trace import BadFile, Example, line, read
from provegym.workers import Workers, local
from provegym.worlds.files import copy_worlds

# Candidates of one server in a round, at least and at most.
LEAST, MOST = 2, 16
# A larger corpus uses more worlds per server and round, so that more cores can work:
# one world per WIDE examples.
WIDE = 20_000
IDLE_ROUNDS = 25
# After a round that gave no example, a checkpoint is written only if the last is older than this.
SECONDS = 1.0
# So many coming rounds are planned. Their jobs look at few shapes: if wanted ones are rare, the
# plan may be wrong.
ROUNDS_AHEAD, FORESEEN = 8, 500
# Worlds that are data and servers of one's own may have few tools and give few examples; these are
# as different as among so many.
OF_WORLD = 20
SHARD = 4_000
PRELOAD = "provegym.corpus.preload"


class Saved(msgspec.Struct, frozen=True):
    """A checkpoint of the synthesis: its progress, and the options that decide its bytes."""

    asked: str
    part: int
    round: int
    idle: int
    kept: int
    bytes: int
    next: dict[str, int]
    funnel: dict[str, dict[str, int]]
    free: bool = False


class Corpus:
    """The synthesis of a corpus, with its progress."""

    def __init__(self, order: Order) -> None:
        self.order = order
        if order.worlds is not None:  # before workers start, so that they find them too
            servers.look_in(order.worlds.resolve())
        self.state = order.out / "progress.json"
        self.keeper = Deduplicator()
        self.at = self.kept = 0
        self.saved = 0.0
        self.part = order.parts[0]
        self.funnel: dict[str, Counter[str]] = {part.name: Counter() for part in order.parts}

    def _begin(self) -> None:
        self.part = self.order.parts[self.at]
        self.quotas = Quotas(self.part)
        self.round = self.idle = self.kept = 0
        self.next = dict.fromkeys(self.part.all_servers, 0)

    @property
    def asked(self) -> str:
        """The options that decide the bytes of the corpus, as JSON."""
        parts = [(part.name, part.size, part.servers, dict(part.mix)) for part in self.order.parts]
        aliases = (self.order.aliases,) if self.order.aliases else ()
        drawn = [(self.order.drawn, self.order.worlds_share)] if self.order.drawn else []
        return msgspec.json.encode((self.order.seed, parts, *aliases, *drawn)).decode()

    def make(self, bar: Progress, workers: Workers | None = None) -> dict[str, Counter[str]]:
        """Make or resume the corpus; count, by part, candidates kept and dropped by reason."""
        with locked(self.order.out):
            return self._make(bar, workers)

    def _make(self, bar: Progress, workers: Workers | None) -> dict[str, Counter[str]]:
        self._prove(bar)
        self._begin()
        self._resume()
        done = sum(self.order.parts[at].size for at in range(self.at)) + self.kept
        total = sum(part.size for part in self.order.parts)
        self.bar, self.task = bar, bar.add_task("examples", total=total, completed=done)
        if workers is None:
            with closing(local(self.order.workers, PRELOAD)) as own:
                self._make_parts(Lookahead(own))
        else:
            self._make_parts(Lookahead(workers))
        return self.funnel

    def _make_parts(self, ahead: Lookahead) -> None:
        """Make what is missing of each part, one after the other."""
        while self.at < len(self.order.parts):
            while self._goes_on():
                self._run(ahead)
            self._save()
            if self.at + 1 == len(self.order.parts) or self.kept < self.part.size:
                break
            self.at += 1
            self.keeper.next_part()
            self._begin()
            self._save()

    def _goes_on(self) -> bool:
        """Whether to run another round. After idle rounds, any server may fill another's quota."""
        if self.idle == IDLE_ROUNDS and len(self.part.all_servers) > 1 and not self.quotas.free:
            self.quotas.free, self.idle = True, 0
        return self.kept < self.part.size and self.idle < IDLE_ROUNDS

    def missing(self) -> str:
        """A message that says how many examples are missing and why; empty if none is."""
        if self.kept == self.part.size and self.at + 1 == len(self.order.parts):
            return ""
        return (
            f"{self.kept} of {self.part.size} {self.part.name} examples were found, then"
            f" {IDLE_ROUNDS} rounds gave no more ({self._reasons()}); too few came from"
            f" {', '.join(self.short()[:20])}: ask for fewer examples, or name more servers"
        )

    def short(self) -> list[str]:
        """The servers of this part from which too few examples came."""
        left, names = self.quotas.left, self.part.all_servers
        return [name for name in names if any(left[name, kind] > 0 for kind in SHARES)]

    def _reasons(self) -> str:
        """The three most frequent reasons why candidates of this part were dropped."""
        dropped = self.funnel[self.part.name].copy()
        dropped.pop("kept", None)
        return ", ".join(f"{count} {why}" for why, count in dropped.most_common(3))

    def _prove(self, bar: Progress) -> None:
        """Build the dependency graphs before the workers need them."""
        self._copy_worlds()
        names = dict.fromkeys(name for part in self.order.parts for name in part.servers)
        task = bar.add_task("proving edges", total=len(names))
        for name in names:
            if admitted(name) is None:
                cached(servers.load(name))
            bar.advance(task)
        bar.remove_task(task)

    def _copy_worlds(self) -> None:
        """Copy the files of the worlds into the corpus, so that anybody can draw them again."""
        if self.order.worlds is None:
            return
        copy_worlds(self.order.drawn, self.order.out / servers.BESIDE)

    def _run(self, ahead: Lookahead) -> None:
        """Run one round: draw some candidates from every server whose quota is not full."""
        jobs = self._jobs(self.quotas, self.round, self.next)
        before, funnel = self.kept, self.funnel[self.part.name]
        with recording(self._shard()) as append:
            drawn = self._draw(jobs, ahead)
            for job, (made, number) in zip(jobs, drawn, strict=True):
                self.next[job.server] = number
                for each in made:
                    reason = self._take(job.server, each, append)
                    funnel[reason or "kept"] += 1
                    ahead.note(job.server, not reason)
                self.bar.update(self.task, description=f"examples{ahead.workers.where}")
        self.round += 1
        self.idle = 0 if self.kept > before else self.idle + 1
        if not self.idle or monotonic() > self.saved + SECONDS:
            self._save()

    def _jobs(self, quotas: Quotas, number: int, first: Mapping[str, int]) -> list[DrawJob]:
        """The jobs of a round. `first` is the number of each server's first candidate.

        A server gets candidates in proportion to what it still lacks. So all servers are complete
        at about the same time, and rounds stay large to the end.
        """
        wide = max(1, self.part.size // WIDE)
        owed = {name: n for name in self.part.all_servers if (n := quotas.owed(name))}
        usual = PER_WORLD * len(owed) / max(1, sum(owed.values()))
        return [
            DrawJob(
                self.part,
                name,
                self.order.seed,
                number * wide + at,
                first[name] + at * SHAPES,
                quotas,
                min(MOST, max(LEAST, round(usual * owed[name]))),
            )
            for name in owed
            for at in range(wide)
        ]

    def _draw(self, jobs: list[DrawJob], ahead: Lookahead) -> Iterator[Drawn]:
        """Run the jobs of a round, and begin those of coming rounds, so that no worker waits."""
        aimed = [aim(job) for job in jobs]
        ahead.begin([aims for aims, _ in aimed])
        first = self.next | numbers_after(jobs, aimed)
        for at, (aims, number) in enumerate(aimed):
            left = [aims for aims, _ in aimed[at:]]
            yield ahead.made(aims, partial(self._coming, left, first, ahead)), number

    def _coming(
        self, jobs: list[list[Aim]], first: dict[str, int], ahead: Lookahead
    ) -> Iterator[list[list[Aim]]]:
        """The aims of the rounds after this one, if as many candidates are kept as usual.

        `jobs` is what is left of this round; `first` has the number of each server's next one.
        """
        quotas, idle = deepcopy(self.quotas), self.idle
        for number in range(self.round + 1, self.round + 1 + ROUNDS_AHEAD):
            kept = ahead.expect(quotas, jobs, self._objection)
            idle = 0 if kept else idle + 1
            if idle == IDLE_ROUNDS:
                if quotas.free:
                    return
                quotas.free, idle = True, 0
            planned = self._jobs(quotas, number, first)
            aimed = [aim(job, FORESEEN) for job in planned]
            jobs = [aims for aims, _ in aimed]
            if not any(jobs):
                return
            yield jobs
            first = first | numbers_after(planned, aimed)

    def _take(self, server: str, made: Made, append: Append) -> str:
        reason = self._objection(server, made, self.quotas)
        if not reason and made.example is not None:
            self.keeper.keep(made.example)
            self.quotas.take(server, made.shape)
            append(line(made.example))
            self.kept += 1
            self.bar.advance(self.task)
        return reason

    def _objection(self, server: str, made: Made, quotas: Quotas) -> str:
        """Why a candidate is not kept, with these quotas; empty if it is."""
        if made.example is None:
            return made.reason
        if self.kept == self.part.size or not quotas.wants(server, made.shape):
            return "of a kind that was complete"
        of_server = self.quotas.of_server[server]
        if server in self.order.drawn or server in servers.own():
            of_server = max(of_server, OF_WORLD)
        return self.keeper.objection(made.example, of_server)

    def _shard(self) -> Path:
        return self.order.out / f"{self.part.name}-{self.kept // SHARD:05d}.jsonl"

    def _save(self) -> None:
        """Write a checkpoint. The examples that it counts are on disk already."""
        shards = sorted(self.order.out.glob(f"{self.part.name}-*.jsonl"))
        size = sum(shard.stat().st_size for shard in shards)
        saved = Saved(
            self.asked,
            self.at,
            self.round,
            self.idle,
            self.kept,
            size,
            self.next,
            {name: dict(counts) for name, counts in self.funnel.items()},
            self.quotas.free,
        )
        write_atomically(self.state, msgspec.json.encode(saved))
        self.saved = monotonic()

    def _resume(self) -> None:
        """Resume from the checkpoint. Examples written after it are cut off and drawn again."""
        try:
            if not self.state.exists():
                if any(self.order.out.glob("*.jsonl")):
                    raise BadFile(f"{self.order.out} has examples already; choose another folder")
                self._save()
                return
            saved = msgspec.json.decode(self.state.read_bytes(), type=Saved)
        except OSError as problem:
            raise BadFile(describe(problem, self.order.out)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise BadFile(f"{self.state}: {problem}; remove the folder to start anew") from None
        if saved.asked != self.asked:
            raise BadFile(
                f"{self.order.out} holds a corpus made with other options; choose another folder"
            )
        self._restore(saved)

    def _restore(self, saved: Saved) -> None:
        if not 0 <= saved.part < len(self.order.parts):
            raise BadFile(f"{self.state} is damaged; remove the folder to start anew")
        for self.at in range(saved.part + 1):
            self._begin()
            self.keeper.next_part()
            if self.at == saved.part:
                cut_all_to(self.order.out, self.part.name, saved.bytes)
            for example in self._kept():
                self.keeper.keep(example)
                self.quotas.take(example.server, shape_of(example))
                self.kept += 1
            noted = saved.kept if self.at == saved.part else self.part.size
            if self.kept != noted:
                held = f"{self.kept} {self.part.name} examples, not {noted}"
                raise BadFile(f"{self.order.out} holds {held}; remove it to start anew")
        self.round, self.idle, self.next = saved.round, saved.idle, dict(saved.next)
        self.quotas.free = saved.free
        self.funnel = {name: Counter(counts) for name, counts in saved.funnel.items()}

    def _kept(self) -> Iterator[Example]:
        for shard in sorted(self.order.out.glob(f"{self.part.name}-*.jsonl")):
            yield from read(shard, Example)
