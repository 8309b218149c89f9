"""Batched rollouts of a local model, each with its own session, tokens, loss mask and logprobs.

A rollout continues as soon as its reply is sampled. Each one runs the loop in `rollout`.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import coroutine
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from provegym.models.codec import Codec, TooLong
from provegym.models.source import Generate, Rounds, Sampled, Source
from provegym.rewards import PAPER, Scheme
from provegym.rollout import Begun, Caps, play
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, Reply, Rollout


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a rollout in tokens, turns and calls (§4.1; the limit per reply is our own)."""

    prompt: int = 12_384
    completion: int = 16_384
    reply: int = 2_048
    user_turns: int = 5
    assistant_turns: int = 10
    calls: int = 64


class ForkPoint(NamedTuple):
    """Where a branch left another rollout: before its reply of this number, counted from 0.

    `trunk` is the place of that rollout among the rollouts of the example.
    """

    trunk: int
    reply: int


@dataclass
class Trajectory:
    """A rollout and its tokens; the loss mask is 1 for sampled tokens and 0 for all others.

    `starts` are the places in the completion where the sampled replies begin. A rollout that
    branched off another has a `fork`; the tokens before it are not its own, and are masked.
    """

    example: Example
    prompt: list[int]
    completion: list[int]
    mask: list[int]
    logprobs: list[float]
    rollout: Rollout
    starts: list[int] = field(default_factory=list)
    fork: ForkPoint | None = None


@dataclass
class BranchPlan:
    """A rollout to be played from the beginning of another one: its trunk."""

    trunk: Trajectory
    begun: Begun
    fork: ForkPoint

    def seat(self, codec: Codec, limits: Limits) -> "Seat":
        """A seat that has heard the beginning."""
        trunk, reply = self.trunk, self.fork.reply
        end = trunk.starts[reply] if reply < len(trunk.starts) else 0
        return Seat(
            codec,
            limits,
            prompt=list(trunk.prompt),
            completion=trunk.completion[:end],
            mask=[0] * end,
            logprobs=trunk.logprobs[:end],
            starts=trunk.starts[:reply],
            heard=len(self.begun.messages),
            fork=self.fork,
        )


@dataclass
class Seat:
    """The policy of one rollout: collects its tokens, and waits for sampled replies."""

    codec: Codec
    limits: Limits
    prompt: list[int] = field(default_factory=list)
    completion: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    heard: int = 0
    full: bool = False
    fork: ForkPoint | None = None

    @property
    def room(self) -> int:
        """The number of completion tokens left."""
        return self.limits.completion - len(self.completion)

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        """The next reply of the model; a reply beyond the token limit ends the rollout."""
        self._hear(messages, tools)
        over = self.limits.completion + 1
        if self.full:
            return Reply(tokens=over)
        room = self.room
        sampled = await _sample(self)
        ids = sampled.ids[:room]
        self.starts.append(len(self.completion))
        self._append(ids, 1, sampled.logprobs[:room])
        reply = self.codec.reply(ids)
        if not self.room and not self._ended():
            return replace(reply, tokens=over)
        return reply

    def _hear(self, messages: Sequence[Json], tools: list[Json]) -> None:
        """Append the messages since the last reply; if they do not all fit, append nothing."""
        if self.heard == len(messages):  # a branch begins with everything heard
            return
        if not self.prompt:
            system, user = messages
            self.prompt = self.codec.open(system["content"], user["content"], tools)
        else:
            ids = self.codec.after(messages[self.heard + 1 :], self._ended())
            if len(ids) >= self.room:
                self.full = True
                return
            self._append(ids, 0, [0.0] * len(ids))
        self.heard = len(messages)

    def _ended(self) -> bool:
        return bool(self.completion) and self.completion[-1] == self.codec.end

    def _append(self, ids: list[int], own: int, logprobs: list[float]) -> None:
        self.completion += ids
        self.mask += [own] * len(ids)
        self.logprobs += logprobs

    def trajectory(self, rollout: Rollout) -> Trajectory:
        """The finished rollout with its tokens, without the empty reply that a full seat gives."""
        messages = rollout.messages[:-1] if self.full else rollout.messages
        rollout = replace(rollout, messages=messages, tokens=sum(self.mask))
        return Trajectory(
            rollout.example,
            self.prompt,
            self.completion,
            self.mask,
            self.logprobs,
            rollout,
            self.starts,
            self.fork,
        )


class Playing:
    """One rollout as a coroutine that pauses whenever it needs a sampled reply."""

    def __init__(
        self,
        each: Example | BranchPlan,
        codec: Codec,
        limits: Limits,
        scheme: Scheme | None = PAPER,
    ) -> None:
        caps = Caps(limits.user_turns, limits.assistant_turns, limits.calls, limits.completion)
        if isinstance(each, BranchPlan):
            self.seat, example, begun = each.seat(codec, limits), each.trunk.example, each.begun
        else:
            self.seat, example, begun = Seat(codec, limits), each, None
        self._play = play(
            example, self.seat, name=codec.name, caps=caps, scheme=scheme, begun=begun
        )

    @property
    def question(self) -> tuple[list[int], int]:
        """The context of the next reply, and the largest number of tokens to sample."""
        seat = self.seat
        return seat.prompt + seat.completion, min(seat.limits.reply, seat.room)

    def go_on(self, sampled: Sampled | None = None) -> Trajectory | None:
        """Start, or continue with a sampled reply; returns the trajectory once it has ended."""
        try:
            self._play.send(sampled)
        except StopIteration as end:
            return self.seat.trajectory(end.value)
        return None


def run(
    examples: Sequence[Example | BranchPlan],
    source: Source | Generate,
    codec: Codec,
    limits: Limits,
    scheme: Scheme = PAPER,
) -> list[Trajectory]:
    """Play all examples concurrently, once each; a repeated example gives another rollout.

    In the place of an example, a branch goes on from the beginning of a played rollout.
    """
    done: dict[int, Trajectory] = {}
    for ended in rounds(examples, source, codec, limits, scheme):
        done |= ended
    return [done[at] for at in range(len(examples))]


def rounds(
    examples: Sequence[Example | BranchPlan],
    source: Source | Generate,
    codec: Codec,
    limits: Limits,
    scheme: Scheme | None,
) -> Iterator[dict[int, Trajectory]]:
    """Play as `run` does. Before each wait for the source: the rollouts that ended, by their place.

    Without a scheme they are not scored.
    """
    source = source if isinstance(source, Source) else Rounds(source)
    plays = [Playing(each, codec, limits, scheme) for each in examples]
    left = len(plays)
    given: Mapping[int, Sampled | None] = dict.fromkeys(range(left))
    while left:
        ended: dict[int, Trajectory] = {}
        for at, sampled in given.items():
            trajectory = plays[at].go_on(sampled)
            if trajectory is None:
                source.ask(at, *plays[at].question)
            else:
                ended[at] = trajectory
        left -= len(ended)
        yield ended
        if left:
            given = source.take()


@coroutine
def _sample(seat: Seat) -> Generator[Seat, Sampled, Sampled]:
    """Pause until `Playing.go_on` sends the sampled reply."""
    return (yield seat)


def opening(example: Example, codec: Codec) -> list[int]:
    """The prompt tokens of an example."""
    tools = Toolbox.of(example).openai()
    return codec.open(example.system, example.turns[0].text, tools)


@dataclass(frozen=True)
class Local:
    """A player with a model in this process, which plays a batch of rollouts at a time."""

    name: str
    generate: Generate | Source
    codec: Codec
    limits: Limits
    batch: int = 64

    def takes(self, example: Example) -> bool:
        """Whether the prompt of an example fits the limit."""
        try:
            return bool(opening(example, self.codec))
        except TooLong:
            return False

    def __call__(self, examples: Sequence[Example]) -> Iterator[Rollout]:
        """The rollouts, batch by batch."""
        for at in range(0, len(examples), self.batch):
            some = examples[at : at + self.batch]
            for played in run(some, self.generate, self.codec, self.limits):
                yield replace(played.rollout, policy=self.name)
