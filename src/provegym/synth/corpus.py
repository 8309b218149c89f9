"""From candidates to a corpus: verified, without near copies, in one pass that can be resumed.

Workers draw and verify candidates in any order; keeping them is decided one after the other, so the
same seed gives the same bytes whatever the number of workers, and after a kill as well.
"""

import os
import signal
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import BinaryIO

import msgspec
from rich.progress import Progress

from provegym.policies.knowledge import literals
from provegym.synth.kinds import candidate
from provegym.trace import BadFile, Example, line, read
from provegym.verify import verify

NEAR_COPY = 0.70
PER_KEPT = 20
FLUSH = 10
CHUNK = 4


@dataclass(frozen=True)
class Order:
    """What corpus to make."""

    size: int
    seed: int
    out: Path
    servers: tuple[str, ...]
    workers: int = 1


def drawn(job: tuple[int, int, tuple[str, ...]]) -> tuple[Example | None, str]:
    """A candidate that keeps the contract, or the reason why there is none."""
    seed, number, names = job
    example = candidate(seed, number, names)
    if example is None:
        return None, "no goal found"
    problems = verify(example)
    return (None, "breaks the contract") if problems else (example, "")


class Keeper:
    """Decides which candidates are kept: none too like another, no call sequence too often."""

    def __init__(self, order: Order) -> None:
        self.most = max(3, -(-order.size // (50 * len(order.servers))))
        self.sets: list[frozenset[str]] = []
        self.holders: dict[str, list[int]] = defaultdict(list)
        self.sequences: Counter[tuple[str, ...]] = Counter()
        self.texts: set[str] = set()

    def objection(self, example: Example) -> str:
        """Why an example is not kept, or nothing."""
        steps = example.paths[0].steps
        if not steps:
            return "the same words twice" if _words(example) in self.texts else ""
        if self.sequences[_sequence(example)] >= self.most:
            return "a common sequence of calls"
        return "a near copy" if self._is_near_copy(_calls(example)) else ""

    def _is_near_copy(self, calls: frozenset[str]) -> bool:
        shared = Counter(number for call in calls for number in self.holders[call])
        return any(
            count / (len(calls) + len(self.sets[number]) - count) >= NEAR_COPY
            for number, count in shared.items()
        )

    def keep(self, example: Example) -> None:
        """Remember an example that is kept."""
        if not example.paths[0].steps:
            self.texts.add(_words(example))
            return
        calls = _calls(example)
        for call in calls:
            self.holders[call].append(len(self.sets))
        self.sets.append(calls)
        self.sequences[_sequence(example)] += 1


def _calls(example: Example) -> frozenset[str]:
    """An example's calls as they are compared; the same call on another world is another one."""
    steps = example.paths[0].steps
    given = [msgspec.json.encode(literals(step.arguments), order="sorted") for step in steps]
    return frozenset(f"{step.tool}{args!r}" for step, args in zip(steps, given, strict=True))


def _sequence(example: Example) -> tuple[str, ...]:
    return (example.server, *(step.tool for step in example.paths[0].steps))


def _words(example: Example) -> str:
    return f"{example.server} {example.turns[0].text.casefold()}"


def make(order: Order, bar: Progress) -> Counter[str]:
    """Make a corpus, or go on with one; return what became of its candidates."""
    file, state = order.out / "examples.jsonl", order.out / "progress.json"
    keeper, start, funnel = _resume(order, file, state)
    task = bar.add_task("examples", total=order.size, completed=funnel["kept"])
    with file.open("ab") as out:
        for number, (example, reason) in enumerate(_candidates(order, start), start):
            if funnel["kept"] == order.size:
                break
            reason = reason or (keeper.objection(example) if example else "")
            if example is not None and not reason:
                keeper.keep(example)
                out.write(line(example))
                bar.advance(task)
            funnel[reason or "kept"] += 1
            if number % FLUSH == FLUSH - 1 or funnel["kept"] == order.size:
                _save(order, out, state, (number + 1, funnel))
    return funnel


def _candidates(order: Order, start: int) -> Iterator[tuple[Example | None, str]]:
    jobs = ((order.seed, n, order.servers) for n in range(start, PER_KEPT * order.size + 200))
    if order.workers == 1:
        yield from map(drawn, jobs)
        return
    quiet = (signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to answer
    with get_context("spawn").Pool(order.workers, signal.signal, quiet) as pool:
        yield from pool.imap(drawn, jobs, chunksize=CHUNK)


class Saved(msgspec.Struct, frozen=True):
    """How far a corpus has come, and what it was asked for."""

    size: int
    seed: int
    servers: tuple[str, ...]
    next: int
    bytes: int
    funnel: dict[str, int]


def _save(order: Order, out: BinaryIO, state: Path, done: tuple[int, Counter[str]]) -> None:
    """Write down how far it is, after what it counts is safely in the file."""
    out.flush()
    os.fsync(out.fileno())
    saved = Saved(order.size, order.seed, order.servers, done[0], out.tell(), dict(done[1]))
    part = state.with_suffix(".part")
    part.write_bytes(msgspec.json.encode(saved))
    part.replace(state)


def _resume(order: Order, file: Path, state: Path) -> tuple[Keeper, int, Counter[str]]:
    """Where to go on: what was written after the last note is cut off and drawn again."""
    keeper = Keeper(order)
    try:
        order.out.mkdir(parents=True, exist_ok=True)
        if not state.exists():
            file.write_bytes(b"")
            return keeper, 0, Counter()
        saved = msgspec.json.decode(state.read_bytes(), type=Saved)
        os.truncate(file, saved.bytes)
    except OSError as problem:
        raise BadFile(f"{order.out}: {problem.strerror}") from None
    except msgspec.DecodeError as problem:
        raise BadFile(f"{state}: {problem}; remove it to start anew") from None
    if (saved.size, saved.seed, saved.servers) != (order.size, order.seed, order.servers):
        raise BadFile(f"{order.out} holds a corpus that was asked for differently; choose another")
    for example in read(file, Example):
        keeper.keep(example)
    return keeper, saved.next, Counter(saved.funnel)
