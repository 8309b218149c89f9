"""Credit per turn: the reward that was due before each reply of a rollout.

Two provers look at the world before a reply. They cost no token, because worlds fork in
microseconds. `paid` is the reward if the rollout stops there. `reachable` is the reward if the
right calls finish it from there: the steps of the best path that no call has served yet are played
on a fork. The potential is a mean of both, and at the end of a rollout it is its reward.

What a reply is blamed or praised for is then the reward minus what was due before it:

    advantage of reply t = R - mean R of the other rollouts - λ · (potential before t - at start)

Everything that is subtracted was known before the reply was sampled, so the policy gradient stays
unbiased. λ is the slope that a linear regression found on the batch begun.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import fmean, pvariance
from typing import NamedTuple

import msgspec

from provegym.corpus.transcript import transcript
from provegym.kernel import Bug, Session
from provegym.players.local import ForkPoint
from provegym.rewards import Scheme, score
from provegym.rewards.align import resolve
from provegym.rewards.success import in_plain_words, last_words
from provegym.rewards.total import Finish
from provegym.rollout import Begun
from provegym.toolbox import Toolbox, plain
from provegym.trace import Call, Checks, Example, Reward, Rollout

STOPPED = "turns"


@dataclass
class TurnProver:
    """The potentials of the rollouts of one example. Equal beginnings are proven once."""

    example: Example
    scheme: Scheme
    alpha: float
    known: dict[bytes, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.example = plain(self.example)
        self.toolbox = Toolbox.of(self.example)
        self.gold: list[str] | None = None

    def potentials(self, rollout: Rollout) -> list[float]:
        """The potential before each reply of a rollout; none if a server has a bug."""
        if rollout.reward is None:
            return []
        try:
            return self._along(in_plain_words(rollout))
        except Bug:
            return []

    def _along(self, rollout: Rollout) -> list[float]:
        session = self.toolbox.session(self.example.seed)
        return [self._potential(begun) for begun in beginnings(rollout, session)]

    def _potential(self, begun: Begun) -> float:
        mark = _mark(begun)
        if mark not in self.known:
            paid = self.paid(begun)
            reachable = self.reachable(begun, paid)
            self.known[mark] = self.alpha * reachable + (1 - self.alpha) * paid.total
        return self.known[mark]

    def paid(self, begun: Begun) -> Reward:
        """The reward if the rollout stops here."""
        rest = Finish(begun.session.diff(), last_words(begun.messages), STOPPED)
        return score(self.example, begun.calls, self.scheme, rest)

    def reachable(self, begun: Begun, paid: Reward) -> float:
        """The reward if the right calls and the right words finish the rollout from here."""
        example, world, calls = self.example, begun.session.fork(), list(begun.calls)
        steps = example.paths[paid.path].steps
        served: list[int | None] = [None] * len(steps)
        for pair in paid.served:
            served[pair.step] = pair.call
        turn = begun.turn
        for at, step in enumerate(steps):
            if served[at] is not None:
                continue
            while turn < step.turn:
                turn += 1
                world.advance(example.turns[turn].minutes)
            served[at] = len(calls)
            arguments = {n: resolve(v, calls, served)[1] for n, v in step.arguments.items()}
            outcome = world.call(step.tool, arguments)
            calls.append(
                Call(
                    turn=turn,
                    message=calls[-1].message + 1 if calls else 1,
                    tool=step.tool,
                    arguments=arguments,
                    writes=step.writes,
                    checks=Checks(shown=True, fits=True, ran=outcome.ok),
                    result=outcome.text,
                    error=outcome.error,
                )
            )
        for later in example.turns[turn + 1 :]:
            world.advance(later.minutes)
        rest = Finish(world.diff(), self._replies(begun), "done")
        return score(example, calls, self.scheme, rest).total

    def _replies(self, begun: Begun) -> list[str]:
        """The replies of the turns that are over, then those of the reference transcript."""
        if self.scheme.scheme == "paper":
            return []
        if self.gold is None:
            self.gold = last_words(transcript(self.example)[0])
        return [*last_words(begun.messages)[: begun.turn], *self.gold[begun.turn :]]


def beginnings(rollout: Rollout, session: Session) -> Iterator[Begun]:
    """What was there before each reply of a rollout.

    The calls are repeated in a new session, which goes on with the next beginning.
    """
    made, turn, replies, turns = 0, -1, 0, rollout.example.turns
    for at, message in enumerate(rollout.messages):
        if message["role"] == "user":
            turn += 1
            session.advance(turns[turn].minutes)
        if message["role"] != "assistant":
            continue
        yield Begun(session, rollout.messages[:at], rollout.calls[:made], turn)
        replies += 1
        while made < len(rollout.calls) and rollout.calls[made].message == replies:
            _play(session, rollout.calls[made])
            made += 1


def _play(session: Session, call: Call) -> None:
    """Repeat a recorded call, so that the world is as it was."""
    if call.checks.shown and call.arguments is not None and call.tool in session.tools:
        session.call(call.tool, call.arguments)


def _mark(begun: Begun) -> bytes:
    """What tells two beginnings apart: the turn, the calls, and the words that ended turns.

    Calls in one message do not count as those in two: a call that needs a value comes later.
    """
    calls = [(call.turn, call.message, call.tool, call.arguments) for call in begun.calls]
    return msgspec.json.encode((begun.turn, calls, last_words(begun.messages)[: begun.turn]))


def paid_or_none(rollout: Rollout) -> float | None:
    """The reward of a rollout; None for one that a bug of a server ended."""
    return None if rollout.reward is None else rollout.reward.total


class Credit(NamedTuple):
    """The advantages of a batch of rollouts, by rollout and reply, and what they were made with."""

    advantages: list[list[float]]
    slope: float
    variance: float
    plain_variance: float


def credit(
    rewards: Sequence[float | None],
    potentials: Sequence[Sequence[float]],
    group: int,
    slope: float,
    *,
    scaled: bool,
    forked: Sequence[ForkPoint | None] = (),
    trunks: int = 0,
) -> Credit:
    """The advantage of every reply; `slope` is λ, as fitted on the batch before.

    Each `group` rollouts are of the same example, and the first `trunks` of them (0: all) were
    played first. Rollouts from the start are compared with the other trunks. One that branched off
    another, as `forked` says, is compared with the other branches from there, and what was due
    counts from there. With `scaled`, advantages are divided by the standard deviation of the
    group's rewards, as in GRPO; branches do not count.
    """
    tree = _Tree(rewards, forked or [None] * len(rewards), group, trunks or group)
    residuals = [tree.left_out(at) for at in range(len(rewards))]
    gains = [_gains(some, fork) for some, fork in zip(potentials, tree.forked, strict=True)]
    made = [
        [(left - slope * gain) / (tree.spread(at) if scaled else 1) for gain in some]
        for at, (left, some) in enumerate(zip(residuals, gains, strict=True))
    ]
    pairs = [
        (left, gain)
        for left, some, fork in zip(residuals, gains, tree.forked, strict=True)
        for gain in (some if fork is None else ())
    ]
    plain = [left for left, _ in pairs]
    return Credit(
        made,
        fit(pairs),
        pvariance([left - slope * gain for left, gain in pairs]) if pairs else 0.0,
        pvariance(plain) if plain else 0.0,
    )


def _gains(potentials: Sequence[float], fork: ForkPoint | None) -> list[float]:
    """How much more is due before each reply than where the rollout's own replies begin.

    It is 0 for the replies before the fork of a branch, which are not its own.
    """
    first = 0 if fork is None else fork.reply
    return [each - potentials[first] if at > first else 0.0 for at, each in enumerate(potentials)]


def fit(pairs: Sequence[tuple[float, float]]) -> float:
    """The slope of residuals over gains, by least squares; 0 without any gain."""
    if not pairs:
        return 0.0
    middle, usual = fmean(left for left, _ in pairs), fmean(gain for _, gain in pairs)
    spread = sum((gain - usual) ** 2 for _, gain in pairs)
    shared = sum((left - middle) * (gain - usual) for left, gain in pairs)
    return shared / spread if spread else 0.0


class _Tree(NamedTuple):
    """The rewards of a batch, and which of its rollouts branched off others."""

    rewards: Sequence[float | None]
    forked: Sequence[ForkPoint | None]
    group: int
    trunks: int

    def left_out(self, at: int) -> float:
        """A reward minus the mean of those it is compared with; 0 if there is none.

        How many rollouts are played after the trunks depends on what the trunks did. If trunks were
        compared with them, the gradient would be biased.
        """
        own, known = self.rewards[at], self._group(at)
        if self.forked[at] is None:
            known = known[: self.trunks]
        places = [place for place in known if self.forked[place] == self.forked[at]]
        others = self._paid(places, but=at)
        return 0.0 if own is None or not others else own - fmean(others)

    def spread(self, at: int) -> float:
        """The standard deviation of a group, with a little added, as in TRL."""
        places = [place for place in self._group(at) if self.forked[place] is None]
        values = self._paid(places)
        if len(values) < 2:
            return 1.0
        middle = fmean(values)
        return float((sum((v - middle) ** 2 for v in values) / (len(values) - 1)) ** 0.5 + 1e-4)

    def _group(self, at: int) -> range:
        """The places of the rollouts of the same example."""
        first = at - at % self.group
        return range(first, min(first + self.group, len(self.rewards)))

    def _paid(self, places: Sequence[int], but: int = -1) -> list[float]:
        """The rewards at these places, but one."""
        return [
            reward
            for place in places
            if place != but and (reward := self.rewards[place]) is not None
        ]


def per_token(starts: Sequence[int], advantages: Sequence[float], length: int) -> list[float]:
    """The advantage of each token of a completion: that of the reply it belongs to.

    `starts` are the places of the replies' first tokens. Tokens between replies are masked anyway.
    """
    found = [0.0] * length
    for start, advantage in zip(starts, advantages, strict=True):
        found[start:] = [advantage] * (length - start)
    return found
