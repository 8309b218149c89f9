"""The reward of a rollout: the weighted sum of its components, on the path with the highest sum."""

from collections.abc import Mapping, Sequence
from math import fsum

import msgspec

from provegym.kernel import Change
from provegym.rewards.align import align
from provegym.rewards.components import BETA, COMPONENTS, MOST, WEIGHTS, Case
from provegym.trace import Call, Example, Path, Reward, Rollout, Served


class Scheme(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a recipe may change: weights, β, and `strict`: only the first path, call by call."""

    weights: Mapping[str, float] = {}
    beta: float = BETA
    strict: bool = False

    def weight(self, part: str) -> float:
        """The recipe's weight of a component, or else the paper's."""
        return self.weights.get(part, WEIGHTS[part])

    @property
    def best(self) -> float:
        """The maximum reward, which the reference calls earn."""
        return fsum(self.weight(part) * most for part, most in MOST.items())


PAPER = Scheme()
BEST = PAPER.best


def score(
    example: Example, calls: Sequence[Call], scheme: Scheme = PAPER, outcome: Sequence[Change] = ()
) -> Reward:
    """The reward of these calls and their final diff on an example; the best path counts."""
    if not any(path.steps for path in example.paths):
        return Reward(total=0.0 if calls else 1.0)
    best: Reward | None = None
    for number, path in enumerate(_paths(example, scheme)):
        case = Case(path.steps, calls, align(path.steps, calls), scheme.beta)
        case = case._replace(wanted=example.outcome, outcome=outcome, drift=example.drift)
        reward = _score_path(case, scheme, number)
        if best is None or reward.total > best.total:
            best = reward
    assert best is not None
    return best


def paid(rollout: Rollout) -> float:
    """The reward of a rollout, 0 if it failed and has none."""
    return rollout.reward.total if rollout.reward else 0.0


def rescore(rollout: Rollout, scheme: Scheme = PAPER) -> Rollout:
    """The rollout with its reward computed again from its recorded calls and diff."""
    reward = score(rollout.example, rollout.calls, scheme, rollout.outcome)
    return msgspec.structs.replace(rollout, reward=reward)


def _paths(example: Example, scheme: Scheme) -> Sequence[Path]:
    if not scheme.strict:
        return example.paths
    bare = [
        msgspec.structs.replace(step, alternatives=(), evidence=None)
        for step in example.paths[0].steps
    ]
    return [Path(steps=tuple(bare))]


def _score_path(case: Case, scheme: Scheme, number: int) -> Reward:
    weights = {part: weight for part in COMPONENTS if (weight := scheme.weight(part))}
    parts = {part: COMPONENTS[part](case) for part in weights}
    served, in_order, shares, greedy = case.alignment
    pairs = tuple(
        Served(call=call, step=step, in_order=in_order[step], equal=shares[step])
        for step, call in enumerate(served)
        if call is not None
    )
    # fsum: the last bit of a plain sum differs between versions of Python.
    total = fsum(weight * parts[part] for part, weight in weights.items())
    return Reward(total=total, parts=parts, path=number, served=pairs, greedy=greedy)
