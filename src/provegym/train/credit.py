"""Credit per turn: the reward that was due before each reply of a rollout.

Two provers look at the world before a reply. They cost no token, because worlds fork in
microseconds. `paid` is the reward if the rollout stops there. `reachable` is the reward if the
right calls finish it from there: the steps of the best path that no call has served yet are played
on a fork. The potential is a mean of both, and at the end of a rollout it is its reward.

What a reply is blamed or praised for is then the reward minus what was due before it:

    advantage of reply t = R - mean R of the other rollouts - λ · (potential before t - at start)

Everything that is subtracted was known before the reply was sampled, so the policy gradient stays
unbiased. λ is the slope that a linear regression found on the batch before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, pvariance
from typing import NamedTuple

import msgspec

from provegym.corpus.transcript import transcript
from provegym.kernel import Bug, Session
from provegym.players.local import Trajectory
from provegym.rewards import Scheme, score
from provegym.rewards.align import resolve
from provegym.rewards.success import in_plain_words, last_words
from provegym.rewards.total import Finish
from provegym.toolbox import Toolbox, plain
from provegym.trace import Call, Checks, Example, Json, Reward, Rollout
from provegym.train.recipe import Grpo, Recipe

STOPPED = "turns"


class Before(NamedTuple):
    """Everything before a reply: the world, the calls, the messages, and the user turn."""

    session: Session
    calls: tuple[Call, ...]
    messages: tuple[Json, ...]
    turn: int


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
        made, turn, replies = 0, -1, 0
        found: list[float] = []
        for at, message in enumerate(rollout.messages):
            if message["role"] == "user":
                turn += 1
                session.advance(self.example.turns[turn].minutes)
            if message["role"] != "assistant":
                continue
            before = Before(session, rollout.calls[:made], rollout.messages[:at], turn)
            found.append(self._potential(before))
            replies += 1
            while made < len(rollout.calls) and rollout.calls[made].message == replies:
                _play(session, rollout.calls[made])
                made += 1
        return found

    def _potential(self, before: Before) -> float:
        mark = _mark(before)
        if mark not in self.known:
            paid = self.paid(before)
            reachable = self.reachable(before, paid)
            self.known[mark] = self.alpha * reachable + (1 - self.alpha) * paid.total
        return self.known[mark]

    def paid(self, before: Before) -> Reward:
        """The reward if the rollout stops here."""
        rest = Finish(before.session.diff(), last_words(before.messages), STOPPED)
        return score(self.example, before.calls, self.scheme, rest)

    def reachable(self, before: Before, paid: Reward) -> float:
        """The reward if the right calls and the right words finish the rollout from here."""
        example, world, calls = self.example, before.session.fork(), list(before.calls)
        steps = example.paths[paid.path].steps
        served: list[int | None] = [None] * len(steps)
        for pair in paid.served:
            served[pair.step] = pair.call
        turn = before.turn
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
                    message=len(calls) + 1,
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
        rest = Finish(world.diff(), self._replies(before), "done")
        return score(example, calls, self.scheme, rest).total

    def _replies(self, before: Before) -> list[str]:
        """The replies of the turns that are over, then those of the reference transcript."""
        if self.scheme.scheme == "paper":
            return []
        if self.gold is None:
            self.gold = last_words(transcript(self.example)[0])
        return [*last_words(before.messages)[: before.turn], *self.gold[before.turn :]]


def _play(session: Session, call: Call) -> None:
    """Repeat a recorded call, so that the world is as it was."""
    if call.checks.shown and call.arguments is not None and call.tool in session.tools:
        session.call(call.tool, call.arguments)


def _mark(before: Before) -> bytes:
    """What tells two beginnings apart: the turn, the calls, and the words that ended turns."""
    calls = [(call.turn, call.tool, call.arguments) for call in before.calls]
    return msgspec.json.encode((before.turn, calls, last_words(before.messages)[: before.turn]))


def prove(played: Sequence[Trajectory], recipe: Recipe) -> list[list[float]]:
    """The potential before each reply of some rollouts; 0 where a server has a bug."""
    reach = (recipe.grpo or Grpo()).credit_reach
    provers: dict[str, TurnProver] = {}
    found = []
    for each in played:
        key = each.example.id
        if key not in provers:
            provers[key] = TurnProver(each.example, recipe.reward, reach)
        found.append(provers[key].potentials(each.rollout) or [0.0] * len(each.starts))
    return found


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
    scaled: bool,
) -> Credit:
    """The advantage of every reply; `slope` is λ, as fitted on the batch before.

    Each `group` rollouts are of the same example. With `scaled`, advantages are divided by the
    standard deviation of the group's rewards, as in GRPO.
    """
    residuals = [_left_out(rewards, at, group) for at in range(len(rewards))]
    gains = [[each - some[0] for each in some] for some in potentials]
    pairs = [(left, gain) for left, some in zip(residuals, gains, strict=True) for gain in some]
    made = [
        [(left - slope * gain) / (_spread(rewards, at, group) if scaled else 1) for gain in some]
        for at, (left, some) in enumerate(zip(residuals, gains, strict=True))
    ]
    plain = [left for left, _ in pairs]
    return Credit(
        made,
        fit(pairs),
        pvariance([left - slope * gain for left, gain in pairs]) if pairs else 0.0,
        pvariance(plain) if plain else 0.0,
    )


def fit(pairs: Sequence[tuple[float, float]]) -> float:
    """The slope of residuals over gains, by least squares; 0 without any gain."""
    if not pairs:
        return 0.0
    middle, usual = fmean(left for left, _ in pairs), fmean(gain for _, gain in pairs)
    spread = sum((gain - usual) ** 2 for _, gain in pairs)
    shared = sum((left - middle) * (gain - usual) for left, gain in pairs)
    return shared / spread if spread else 0.0


def _group(rewards: Sequence[float | None], at: int, group: int) -> list[tuple[int, float]]:
    """The rewards of the rollouts of the same example, with their places."""
    first = at - at % group
    places = range(first, min(first + group, len(rewards)))
    return [(place, reward) for place in places if (reward := rewards[place]) is not None]


def _left_out(rewards: Sequence[float | None], at: int, group: int) -> float:
    """A reward minus the mean of the other rollouts of its group; 0 for one without a reward."""
    own = rewards[at]
    others = [reward for place, reward in _group(rewards, at, group) if place != at]
    return 0.0 if own is None or not others else own - fmean(others)


def _spread(rewards: Sequence[float | None], at: int, group: int) -> float:
    """The standard deviation of a group, with a little added, as in TRL."""
    values = [reward for _, reward in _group(rewards, at, group)]
    if len(values) < 2:
        return 1.0
    middle = fmean(values)
    return float((sum((v - middle) ** 2 for v in values) / (len(values) - 1)) ** 0.5 + 1e-4)


def per_token(starts: Sequence[int], advantages: Sequence[float], length: int) -> list[float]:
    """The advantage of each token of a completion: that of the reply it belongs to.

    `starts` are the places of the replies' first tokens. Tokens between replies are masked anyway.
    """
    found = [0.0] * length
    for start, advantage in zip(starts, advantages, strict=True):
        found[start:] = [advantage] * (length - start)
    return found
