"""Branches: further rollouts from the replies that decided most, in forks of their worlds.

Some rollouts of a group are played from the start: the trunks. Where a trunk's reward differs most
from what was due before a reply, that reply or a later one decided it. From there, further replies
are sampled: the branches. They cost no tokens for the beginning, and their rewards differ by what
was said after it alone.

The beginning of a branch is masked. Its own replies are compared with those of the trunk and of the
other branches from the same beginning, so the gradient at that reply is unbiased. Decisive replies
are learnt from more often than a policy meets them; that is the point of branches, and a change of
what is optimised.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from statistics import fmean, pstdev

from provegym.models.codec import Codec
from provegym.models.source import Source
from provegym.players.local import BranchPlan, ForkPoint, Trajectory, run
from provegym.rollout import Begun
from provegym.toolbox import Toolbox
from provegym.trace import Example
from provegym.train.credit import TurnProver, beginnings, credit, paid_or_none, prove
from provegym.train.recipe import Grpo, Recipe

DIGITS = 9


def play(
    examples: Sequence[Example], source: Source, codec: Codec, recipe: Recipe, slope: float
) -> tuple[list[Trajectory], list[list[float]]]:
    """Play the rollouts of a batch; return them and the potentials before their replies.

    Each example is named as often as the recipe has rollouts: one after another. There are no
    potentials if the whole rollout has one advantage. `slope` is λ of the batch before.
    """
    grpo = recipe.grpo or Grpo()
    size, limits, scheme = grpo.rollouts, recipe.limits, recipe.reward
    firsts = [each for at, each in enumerate(examples) if at % size < grpo.trunks]
    trunks = run(firsts, source, codec, limits, scheme)
    if grpo.credit == "rollout":
        return trunks, [[] for _ in trunks]
    provers: dict[str, TurnProver] = {}
    potentials = prove(trunks, recipe, provers)
    if not grpo.branches:
        return trunks, potentials
    groups = [slice(at, at + grpo.trunks) for at in range(0, len(trunks), grpo.trunks)]
    wanted = [
        each for group in groups for each in _branch(trunks[group], potentials[group], grpo, slope)
    ]
    grown = run(wanted, source, codec, limits, scheme)
    further = prove(grown, recipe, provers)
    many = size - grpo.trunks
    played: list[Trajectory] = []
    found: list[list[float]] = []
    for number, group in enumerate(groups):
        own = slice(number * many, (number + 1) * many)
        played += [*trunks[group], *grown[own]]
        found += [*potentials[group], *further[own]]
    return played, found


def _branch(
    trunks: Sequence[Trajectory], potentials: Sequence[Sequence[float]], grpo: Grpo, slope: float
) -> list[BranchPlan | Example]:
    """The branches of a group; rollouts from the start if no trunk has a reward."""
    paid = [paid_or_none(each.rollout) for each in trunks]
    made: list[BranchPlan | Example] = []
    for fork in choose(paid, potentials, grpo.forks, slope):
        trunk = trunks[fork.trunk]
        branch = BranchPlan(trunk, begin(trunk, fork.reply), fork)
        made += [branch] * grpo.branches
    return made + [trunks[0].example] * (grpo.rollouts - grpo.trunks - len(made))


def choose(
    rewards: Sequence[float | None], potentials: Sequence[Sequence[float]], forks: int, slope: float
) -> list[ForkPoint]:
    """The replies of a group with the largest residual, at most one of each rollout.

    Before a reply that spoilt a rollout, much more was due than was paid; after it no more. Of
    replies with equal residuals, the last is therefore the one that decided.
    """
    residuals = credit(rewards, potentials, len(rewards), slope, scaled=False).advantages
    largest = []
    for trunk, (reward, some) in enumerate(zip(rewards, residuals, strict=True)):
        if reward is not None and some:
            size, reply = max((round(abs(each), DIGITS), at) for at, each in enumerate(some))
            largest.append((-size, trunk, reply))
    return [ForkPoint(trunk, reply) for _, trunk, reply in sorted(largest)[:forks]]


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
