"""Rollouts of a batch side by side, each with its own world, session and tokens.

Each goes on as soon as its reply is there; the loop that plays them is the one of `rollout`.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import coroutine

import msgspec
from msgspec.structs import replace

from provegym.models.codec import Codec, TooLong
from provegym.models.source import Generate, Rounds, Sampled, Source
from provegym.rewards import PAPER, Scheme
from provegym.rollout import Caps, play
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, Reply, Rollout


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long a rollout may get, in tokens, turns and calls (§4.1; the reply's is ours)."""

    prompt: int = 12_384
    completion: int = 16_384
    reply: int = 2_048
    user_turns: int = 5
    assistant_turns: int = 10
    calls: int = 64


@dataclass
class Trajectory:
    """A rollout and its tokens; the mask is 1 where the model wrote, 0 where the world did."""

    example: Example
    prompt: list[int]
    completion: list[int]
    mask: list[int]
    logprobs: list[float]
    rollout: Rollout


@dataclass
class Seat:
    """The policy of one rollout: keeps its tokens, and waits for replies to be sampled."""

    codec: Codec
    limits: Limits
    prompt: list[int] = field(default_factory=list)
    completion: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    heard: int = 0
    full: bool = False

    @property
    def room(self) -> int:
        """How many tokens are left."""
        return self.limits.completion - len(self.completion)

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        """What the model says next; a reply over the cap on tokens ends the rollout."""
        self._hear(messages, tools)
        over = self.limits.completion + 1
        if self.full:
            return Reply(tokens=over)
        room = self.room
        sampled = await _sample(self)
        ids = sampled.ids[:room]
        self._append(ids, 1, sampled.logprobs[:room])
        reply = self.codec.reply(ids)
        if not self.room and not self._ended():
            return replace(reply, tokens=over)
        return reply

    def _hear(self, messages: Sequence[Json], tools: list[Json]) -> None:
        """Append what was said since the last reply, all of it or, without room, nothing."""
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
        """The finished rollout with its tokens; an empty reply for want of room was never said."""
        messages = rollout.messages[:-1] if self.full else rollout.messages
        rollout = replace(rollout, messages=messages, tokens=sum(self.mask))
        return Trajectory(
            rollout.example, self.prompt, self.completion, self.mask, self.logprobs, rollout
        )


class Playing:
    """One rollout, stopped wherever it needs a reply: whoever has one makes it go on."""

    def __init__(
        self, example: Example, codec: Codec, limits: Limits, scheme: Scheme = PAPER
    ) -> None:
        caps = Caps(limits.user_turns, limits.assistant_turns, limits.calls, limits.completion)
        self.seat = Seat(codec, limits)
        self._play = play(example, self.seat, name=codec.name, caps=caps, scheme=scheme)

    @property
    def question(self) -> tuple[list[int], int]:
        """The tokens that the next reply follows, and how many it may have."""
        seat = self.seat
        return seat.prompt + seat.completion, min(seat.limits.reply, seat.room)

    def go_on(self, sampled: Sampled | None = None) -> Trajectory | None:
        """Start, or take the reply that was asked for; all of the rollout, where that ends it."""
        try:
            self._play.send(sampled)
        except StopIteration as end:
            return self.seat.trajectory(end.value)
        return None


def run(
    examples: Sequence[Example],
    source: Source | Generate,
    codec: Codec,
    limits: Limits,
    scheme: Scheme = PAPER,
) -> list[Trajectory]:
    """Play every example once, all of them side by side; a repeated one is another rollout."""
    source = source if isinstance(source, Source) else Rounds(source)
    plays = [Playing(example, codec, limits, scheme) for example in examples]
    done: dict[int, Trajectory] = {}
    given: Mapping[int, Sampled | None] = dict.fromkeys(range(len(plays)))
    while True:
        for at, sampled in given.items():
            ended = plays[at].go_on(sampled)
            if ended is None:
                source.ask(at, *plays[at].question)
            else:
                done[at] = ended
        if len(done) == len(plays):
            break
        given = source.take()
    return [done[at] for at in range(len(plays))]


@coroutine
def _sample(seat: Seat) -> Generator[Seat, Sampled, Sampled]:
    """Wait for the reply."""
    return (yield seat)


def opening(example: Example, codec: Codec) -> list[int]:
    """The tokens that a rollout of an example starts from."""
    tools = Toolbox.of(example).openai()
    return codec.open(example.system, example.turns[0].text, tools)


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
            return bool(opening(example, self.codec))
        except TooLong:
            return False

    def __call__(self, examples: Sequence[Example]) -> Iterator[Rollout]:
        """The rollouts, batch by batch."""
        for at in range(0, len(examples), self.batch):
            some = examples[at : at + self.batch]
            for played in run(some, self.generate, self.codec, self.limits):
                yield replace(played.rollout, policy=self.name)
