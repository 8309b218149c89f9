"""The reward of a rollout: the weighted sum of its parts on the path that pays best."""

from collections.abc import Mapping, Sequence

import msgspec

from provegym.rewards.align import align
from provegym.rewards.components import BETA, COMPONENTS, WEIGHTS, Case
from provegym.trace import Call, Example, Path, Reward, Rollout, Served


class Scheme(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a recipe may change the reward: weights, β, and whether only the first path counts."""

    weights: Mapping[str, float] = {}
    beta: float = BETA
    strict: bool = False

    def weight(self, part: str) -> float:
        """The recipe's weight of a part, or the paper's."""
        return self.weights.get(part, WEIGHTS[part])


PAPER = Scheme()


def score(example: Example, calls: Sequence[Call], scheme: Scheme = PAPER) -> Reward:
    """What these calls are paid on this example; the best of its paths counts."""
    if not any(path.steps for path in example.paths):
        return Reward(total=0.0 if calls else 1.0)
    best: Reward | None = None
    for number, path in enumerate(_paths(example, scheme)):
        reward = _score_path(path, calls, scheme, number)
        if best is None or reward.total > best.total:
            best = reward
    assert best is not None
    return best


def rescore(rollout: Rollout, scheme: Scheme = PAPER) -> Rollout:
    """The rollout with its reward computed anew from what it recorded."""
    reward = score(rollout.example, rollout.calls, scheme)
    return msgspec.structs.replace(rollout, reward=reward)


def _paths(example: Example, scheme: Scheme) -> Sequence[Path]:
    if not scheme.strict:
        return example.paths
    bare = [msgspec.structs.replace(step, alternatives=()) for step in example.paths[0].steps]
    return [Path(steps=tuple(bare))]


def _score_path(path: Path, calls: Sequence[Call], scheme: Scheme, number: int) -> Reward:
    alignment = align(path.steps, calls)
    case = Case(path.steps, calls, alignment, scheme.beta)
    parts = {part: function(case) for part, function in COMPONENTS.items()}
    served = tuple(
        Served(
            call=call, step=step, in_order=alignment.in_order[step], equal=alignment.shares[step]
        )
        for step, call in enumerate(alignment.served)
        if call is not None
    )
    total = sum(scheme.weight(part) * value for part, value in parts.items())
    return Reward(total=total, parts=parts, path=number, served=served, greedy=alignment.greedy)
