"""Branches: further rollouts from where others went wrong, in forks of their worlds.

Some rollouts of a group are played from the start: the trunks. The reply after which the potential
of a trunk fell most has spoilt it. From before that reply, further rollouts are sampled: the
branches. They cost no tokens for the beginning, and their rewards differ by what was said after it
alone.

The beginning of a branch is masked, and its own replies are compared with those of the other
branches from there, so the gradient at that reply is unbiased. Replies at which rollouts go wrong
are learnt from more often than a policy meets them. That is the point of branches, and it changes
what is optimised.
"""

from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from statistics import fmean, pstdev

from provegym.models.codec import Codec
from provegym.models.source import Source
from provegym.players.local import BranchPlan, ForkPoint, Trajectory, rounds
from provegym.rollout import Begun
from provegym.toolbox import Toolbox
from provegym.trace import Example
from provegym.train.credit import beginnings, paid_or_none
from provegym.train.recipe import Grpo, Recipe
from provegym.train.scoring import Scoring

# Sums of equal parts differ by less.
LEAST = 1e-9
Played = tuple[list[Trajectory], list[list[float]]]


def play(
    examples: Sequence[Example],
    source: Source,
    codec: Codec,
    recipe: Recipe,
    scoring: Scoring | None = None,
) -> Played:
    """Play the rollouts of a batch; return them and the potentials before their replies.

    Each example is named as often as the recipe has rollouts: one after another. There are no
    potentials if the whole rollout has one advantage.
    """
    grpo = recipe.grpo or Grpo()
    size = grpo.rollouts
    scoring = scoring or Scoring(recipe)
    scoring.begin()

    def played(plans: Sequence[Example | BranchPlan]) -> Played:
        done: dict[int, Trajectory] = {}
        for ended in rounds(plans, source, codec, recipe.limits, None):
            scoring.add(ended)
            done |= ended
        ordered = [done[at] for at in range(len(plans))]
        return ordered, scoring.collect(ordered)

    trunks, potentials = played([e for at, e in enumerate(examples) if at % size < grpo.trunks])
    if not grpo.branches:
        return trunks, potentials
    groups = [slice(at, at + grpo.trunks) for at in range(0, len(trunks), grpo.trunks)]
    wanted = [each for group in groups for each in _branch(trunks[group], potentials[group], grpo)]
    grown, further = played(wanted)
    many = size - grpo.trunks
    both: list[Trajectory] = []
    found: list[list[float]] = []
    for number, group in enumerate(groups):
        own = slice(number * many, (number + 1) * many)
        both += [*trunks[group], *grown[own]]
        found += [*potentials[group], *further[own]]
    return both, found


def _branch(
    trunks: Sequence[Trajectory], potentials: Sequence[Sequence[float]], grpo: Grpo
) -> list[BranchPlan | Example]:
    """The branches of a group; rollouts from the start if too few trunks went wrong."""
    paid = [paid_or_none(each.rollout) for each in trunks]
    made: list[BranchPlan | Example] = []
    for fork in choose(paid, potentials, grpo.forks):
        trunk = trunks[fork.trunk]
        branch = BranchPlan(trunk, begin(trunk, fork.reply), fork)
        made += [branch] * grpo.branches
    return made + [trunks[0].example] * (grpo.rollouts - grpo.trunks - len(made))


def choose(
    rewards: Sequence[float | None], potentials: Sequence[Sequence[float]], forks: int
) -> list[ForkPoint]:
    """The replies of a group after which the potential fell most, at most one of each rollout.

    After the last reply, the potential is the reward. Where it never falls, nothing is chosen.
    """
    found = []
    for trunk, (reward, some) in enumerate(zip(rewards, potentials, strict=True)):
        if reward is not None and some:
            falls = [one - two for one, two in pairwise([*some, reward])]
            reply = max(range(len(falls)), key=falls.__getitem__)
            if falls[reply] > LEAST:
                found.append((-falls[reply], trunk, reply))
    return [ForkPoint(trunk, reply) for _, trunk, reply in sorted(found)[:forks]]


def begin(trunk: Trajectory, reply: int) -> Begun:
    """The beginning of a rollout before one of its replies, in a world of its own."""
    example = trunk.example
    session = Toolbox.of(example).session(example.seed)
    begun = next(islice(beginnings(trunk.rollout, session), reply, None))
    return begun._replace(tokens=sum(trunk.mask[: trunk.starts[reply]]))


def spreads(played: Sequence[Trajectory], grpo: Grpo) -> dict[str, float]:
    """The mean standard deviation of rewards among trunks, and among branches of one reply."""
    groups = [played[at : at + grpo.rollouts] for at in range(0, len(played), grpo.rollouts)]
    trunks = [[each for each in group if each.fork is None] for group in groups]
    grown: dict[tuple[int, ForkPoint], list[Trajectory]] = {}
    for number, group in enumerate(groups):
        for each in group:
            if each.fork is not None:
                grown.setdefault((number, each.fork), []).append(each)
    return {"trunk_spread": _spread(trunks), "branch_spread": _spread(grown.values())}


def _spread(groups: Iterable[Sequence[Trajectory]]) -> float:
    paid = [
        [reward for each in group if (reward := paid_or_none(each.rollout)) is not None]
        for group in groups
    ]
    return fmean([pstdev(some) for some in paid if some] or [0.0])
