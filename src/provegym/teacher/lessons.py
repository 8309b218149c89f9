"""Synthesis with a teacher model: rewrites every planned example of a corpus, resumable.

The plans are a corpus of their own in a subfolder. A model's output differs from run to run, so
each result is written at once, and an interrupted run resumes after the last one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from rich.progress import Progress, TaskID

from provegym.files import describe, locked, write_atomically
from provegym.lines import cut_to, recording
from provegym.models.endpoint import Endpoint, EndpointConfig
from provegym.teacher.teacher import LLM, NO_ANSWER, teach_all
from provegym.trace import BadFile, Example, line, read

PLANS = "plans"
TEMPERATURE = 0.7


@dataclass(frozen=True)
class Lessons:
    """The options: the corpus folder, the teacher's endpoint and model, and how it rewrites.

    `reply_limits` are limits of `EndpointConfig` on the time and the size of a reply.
    """

    out: Path
    url: str
    model: str
    rephrase: bool = False
    concurrency: int = 8
    reply_limits: Mapping[str, Any] = field(default_factory=dict)


class LessonProgress(msgspec.Struct, frozen=True):
    """A checkpoint: for each shard, how many plans were done and how many bytes were written.

    `refused` counts why texts were refused. `vetoes` are the reasons of vetoes, by example id.
    """

    model: str
    rephrase: bool
    shards: dict[str, tuple[int, int]]
    counts: dict[str, int]
    refused: dict[str, int] = {}
    vetoes: dict[str, str] = {}


class Classroom:
    """The rewriting of a corpus, with its progress."""

    def __init__(self, lessons: Lessons, bar: Progress) -> None:
        self.lessons, self.bar = lessons, bar
        self.state = lessons.out / "lessons.json"
        how = {"temperature": TEMPERATURE, **lessons.reply_limits}
        config = EndpointConfig(url=lessons.url, model=lessons.model, **how)
        self.teacher = LLM(Endpoint(config))
        self.shards: dict[str, tuple[int, int]] = {}
        self.counts: Counter[str] = Counter()

    async def hold(self) -> Counter[str]:
        """Rewrite every plan; count the examples kept and those dropped, by reason."""
        with locked(self.lessons.out):
            return await self._hold()

    async def _hold(self) -> Counter[str]:
        self._resume()
        plans = sorted((self.lessons.out / PLANS).glob("*-*.jsonl"))
        total = sum(1 for shard in plans for _ in read(shard, Example))
        task = self.bar.add_task("lessons", total=total, completed=self.counts.total())
        try:
            for shard in plans:
                await self._teach(shard, task)
        finally:
            await self.teacher.endpoint.aclose()
        return self.counts

    async def _teach(self, shard: Path, task: TaskID) -> None:
        taken, size = self.shards.get(shard.name, (0, 0))
        out = self.lessons.out / shard.name
        cut_to(out, size)
        lessons = self.lessons
        taught = teach_all(
            _after(shard, taken),
            self.teacher,
            rephrase=lessons.rephrase,
            concurrency=lessons.concurrency,
        )
        async with aclosing(taught):
            async for example, reason in taught:
                taken += 1
                self.counts[reason or "kept"] += 1
                if example is not None:
                    with recording(out) as append:
                        append(line(example))
                # An example without an answer from the endpoint is tried again by the next run.
                if reason != NO_ANSWER:
                    self.shards[shard.name] = taken, out.stat().st_size
                    self._save()
                self.bar.advance(task)

    def _save(self) -> None:
        lessons = self.lessons
        counts = {why: count for why, count in self.counts.items() if why != NO_ANSWER}
        written = LessonProgress(
            model=lessons.model,
            rephrase=lessons.rephrase,
            shards=self.shards,
            counts=counts,
            refused=dict(self.teacher.refused),
            vetoes=self.teacher.vetoes,
        )
        write_atomically(self.state, msgspec.json.encode(written))

    def _resume(self) -> None:
        if not self.state.exists():
            return
        try:
            written = msgspec.json.decode(self.state.read_bytes(), type=LessonProgress)
        except OSError as problem:
            raise BadFile(describe(problem, self.state)) from None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise BadFile(f"{self.state}: {problem}; remove it to start the lessons anew") from None
        if (written.model, written.rephrase) != (self.lessons.model, self.lessons.rephrase):
            raise BadFile(
                f"{self.lessons.out} was taught by {written.model}"
                f"{' (rephrased)' if written.rephrase else ''}; choose another folder"
            )
        self.shards, self.counts = dict(written.shards), Counter(written.counts)
        self.teacher.refused, self.teacher.vetoes = Counter(written.refused), dict(written.vetoes)


def _after(shard: Path, taken: int) -> Iterator[Example]:
    return islice(read(shard, Example), taken, None)
