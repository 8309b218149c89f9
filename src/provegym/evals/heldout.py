"""Tasks no model has trained on: on unseen servers, and on unseen worlds of seen ones.

The names hold for a model trained on a corpus that was split by servers: four servers and the last
hundred worlds of every other are kept out of training.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from provegym import servers
from provegym.evals.environments import BenchmarkError
from provegym.evals.journal import INSTEAD, ROLLOUTS, Folder
from provegym.evals.measure import Estimate, measure
from provegym.policies.endpoint import Endpoint, EndpointConfig, EndpointError
from provegym.policies.local import adapter_place
from provegym.policies.scripted import SCRIPTS
from provegym.rewards import PAPER, Scheme
from provegym.rollout import PAPER_CAPS, Caps, MakePolicy, play, play_all, play_script
from provegym.synth.corpus import TRAIN_WORLDS, Job, Made, draw
from provegym.synth.keeper import Keeper, Part, Quotas
from provegym.synth.perturb import HELD_OUT
from provegym.trace import BadFile, Example, Json, Rollout, line, read, read_some
from provegym.train.codec import Codec, TooLong
from provegym.train.data import prompt
from provegym.train.engine import Generate, Limits, Source, run
from provegym.workers import Workers

SERVERS, WORLDS, TRAINING = "unseen servers", "unseen worlds", "training worlds"
SEED, IDLE = 0, 3
Play = Callable[[Sequence[Example]], Iterator[Rollout]]


def group(example: Example) -> str:
    """What is new about an example for a model that was trained on a split corpus."""
    if example.server in HELD_OUT:
        return SERVERS
    return WORLDS if example.seed >= TRAIN_WORLDS else TRAINING


def tasks(data: Path | None, count: int) -> list[Example]:
    """So many tasks of each group, the same every time.

    A corpus's folder gives its held-out part; what it lacks is drawn now. A file is taken as it is.
    """
    found: list[Example] = []
    if data is not None and data.is_dir():
        files = sorted(data.glob("heldout-*.jsonl"))
        if not files:
            raise BadFile(f"{data} has no heldout-*.jsonl; make it with `synth --split servers`")
        found = [example for file in files for example in read(file, Example)]
    elif data is not None:
        found = list(read_some(data, Example))
    if data is None or data.is_dir():
        seen = tuple(name for name in servers.names() if name not in HELD_OUT)
        found += [] if data else drawn(HELD_OUT, count)
        found += drawn(seen, count)
    by_group: dict[str, list[Example]] = {}
    for example in found:
        by_group.setdefault(group(example), []).append(example)
    return [each for name in sorted(by_group) for each in _some(by_group[name], count)]


def _some(examples: list[Example], count: int) -> list[Example]:
    if len(examples) <= count:
        return examples
    return Random("heldout").sample(examples, count)


def drawn(names: tuple[str, ...], count: int) -> list[Example]:
    """Verified examples on worlds that no training part uses, in the paper's mix of kinds."""
    drawer = Drawer(names)
    while len(drawer.kept) < count:
        before = len(drawer.kept)
        drawer.fill(count - before)
        if len(drawer.kept) == before:
            raise BadFile(f"only {before} of {count} held-out tasks were found; ask for fewer")
    return drawer.kept


class Drawer:
    """Draws held-out tasks of some servers, none like another."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.kept: list[Example] = []
        self.names, self.keeper, self.round = names, Keeper(), 0
        self.next = dict.fromkeys(names, 0)

    def fill(self, count: int) -> None:
        """Draw so many more, or fewer if some rounds give none: a rare shape may not be found."""
        part = Part("heldout", count, self.names)
        quotas, wanted, idle = Quotas(part), len(self.kept) + count, 0
        while len(self.kept) < wanted and idle < IDLE:
            before = len(self.kept)
            for name in filter(quotas.open, self.names):
                job = Job(part, name, SEED, self.round, self.next[name], quotas)
                made, self.next[name] = draw(job)
                for each in made:
                    self._take(each, quotas, count)
            self.round += 1
            idle = 0 if len(self.kept) > before else idle + 1

    def _take(self, made: Made, quotas: Quotas, count: int) -> None:
        example = made.example
        if example is None or not quotas.wants(example.server, made.shape):
            return
        if not self.keeper.objection(example, count):
            self.keeper.keep(example)
            quotas.take(example.server, made.shape)
            self.kept.append(example)


@dataclass(frozen=True)
class Local:
    """A model that is played here, a batch of rollouts at a time."""

    name: str
    generate: Generate | Source
    codec: Codec
    limits: Limits
    batch: int = 64

    def takes(self, example: Example) -> bool:
        """Whether the prompt of an example is not too long for it."""
        try:
            return bool(prompt(example, self.codec))
        except TooLong:
            return False

    def __call__(self, examples: Sequence[Example]) -> Iterator[Rollout]:
        """The rollouts, batch by batch."""
        for at in range(0, len(examples), self.batch):
            some = examples[at : at + self.batch]
            for played in run(some, self.generate, self.codec, self.limits):
                yield replace(played.rollout, policy=self.name)


@dataclass(frozen=True)
class Remote:
    """A script, or an endpoint that is asked over the network, some rollouts at a time.

    It can be sent to other processes: each connects to the endpoint by itself, with its own key.
    """

    name: str
    policy: MakePolicy | EndpointConfig
    concurrency: int = 8
    scheme: Scheme = PAPER
    caps: Caps = PAPER_CAPS

    def greet(self) -> None:
        """Ask an endpoint once; a script needs no asking."""
        if not isinstance(self.policy, EndpointConfig):
            return
        try:
            asyncio.run(_greet(Endpoint(self.policy)))
        except EndpointError as problem:
            raise BenchmarkError(
                f"{problem}; nothing was played: check the URL, the model's name and the key"
            ) from None

    def __call__(self, examples: Sequence[Example]) -> Iterator[Rollout]:
        """The rollouts, in the order of the examples."""
        policy = self.policy
        make = Endpoint(policy) if isinstance(policy, EndpointConfig) else policy

        def one(example: Example) -> Any:
            return play(example, make(example), name=self.name, caps=self.caps, scheme=self.scheme)

        with asyncio.Runner() as runner:
            coming: AsyncIterator[Rollout] = play_all(examples, one, self.concurrency)
            while (rollout := runner.run(_next(coming))) is not None:
                yield rollout
            if isinstance(make, Endpoint):
                runner.run(make.aclose())


async def _greet(endpoint: Endpoint) -> None:
    try:
        await endpoint.probe()
    finally:
        await endpoint.aclose()


def greet(play: Play, workers: Workers) -> None:
    """Find out at once whether anybody answers, from where it is going to be played."""
    if isinstance(play, Remote):
        list(workers.map(partial(map, Remote.greet), [play]))


@dataclass(frozen=True)
class Lines:
    """A player to be sent elsewhere: examples and rollouts travel as lines, to the last byte.

    Pickled, a field that is left out because it is the default would come back as another object.
    """

    play: Play

    def __call__(self, lines: Sequence[bytes]) -> Iterator[bytes]:
        """The rollouts of the examples."""
        return map(line, self.play([msgspec.json.decode(each, type=Example) for each in lines]))


def played(examples: Sequence[Example], play: Play, workers: Workers) -> Iterator[Rollout]:
    """The rollouts, in the order of the examples, whoever does the work."""
    for each in workers.map(Lines(play), [line(example) for example in examples]):
        yield msgspec.json.decode(each, type=Rollout)


async def _next(coming: AsyncIterator[Rollout]) -> Rollout | None:
    return await anext(coming, None)


class Book(Folder[Rollout]):
    """The folder of a run: what is in it is not played again, but for what went wrong."""

    def __init__(self, folder: Path, settings: Json) -> None:
        super().__init__(folder, {"benchmark": "heldout", **settings}, ROLLOUTS, Rollout)
        self.take_back(lambda rollout: rollout.reward is None)

    def held(self, asked: Sequence[Example]) -> list[Rollout | None]:
        """The rollout of each task, where there is one; none may be of another task."""
        by_task: dict[bytes, list[Rollout]] = {}
        for rollout in reversed(self.lines):
            by_task.setdefault(line(rollout.example), []).append(rollout)
        found = [some.pop() if (some := by_task.get(line(task))) else None for task in asked]
        if others := [rollout.example.id for some in by_task.values() for rollout in some]:
            raise BenchmarkError(
                f"{self.folder} holds a run on other tasks ({others[0]}, say); {INSTEAD}"
            )
        return found


def marked(name: str) -> str:
    """The name of a model or an adapter; where it is a folder, with a mark of its weights.

    Training may have put others there under the same name.
    """
    folder = adapter_place(name)
    mark, files = sha256(), sorted(folder.glob("*.safetensors"))
    for file in files:
        with file.open("rb") as weights:
            mark.update(file_digest(weights, "sha256").digest())
    return f"{name}, weights {mark.hexdigest()[:12]}" if files else name


def evaluate(examples: Sequence[Example], player: Play, samples: int, book: Book | None) -> Json:
    """Play every task so many times, but for what is played already, and report on all."""
    asked = [example for example in examples for _ in range(samples)]
    found: list[Rollout | None] = book.held(asked) if book else [None] * len(asked)
    left = [at for at, rollout in enumerate(found) if rollout is None]
    for at, rollout in zip(left, player([asked[at] for at in left]), strict=True):
        found[at] = rollout
        if book:
            book.add(rollout)
    told = report([rollout for rollout in found if rollout])
    if book:
        book.tell(told)
    return told


def report(rollouts: Sequence[Rollout]) -> dict[str, Any]:
    """Every score by group, and the noop's beside it."""
    groups: dict[str, list[Rollout]] = {}
    for rollout in rollouts:
        groups.setdefault(group(rollout.example), []).append(rollout)
    return {name: _scores(groups[name]) for name in sorted(groups)}


def _scores(rollouts: list[Rollout]) -> dict[str, Any]:
    examples = {rollout.example.id: rollout.example for rollout in rollouts}
    idle = measure([play_script(example, SCRIPTS["noop"]) for example in examples.values()])
    scores: dict[str, dict[str, Estimate]] = {
        name: {"model": value, "noop": idle[name]} for name, value in measure(rollouts).items()
    }
    broken = sum(rollout.reward is None for rollout in rollouts)
    return {"tasks": len(examples), "rollouts": len(rollouts), "broken": broken, "scores": scores}
