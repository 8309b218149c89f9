"""The reward of a rollout: the weighted sum of its components, on the path with the highest sum."""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Literal, NamedTuple

import msgspec

from provegym.kernel import Change
from provegym.rewards.align import align
from provegym.rewards.components import BETA, COMPONENTS, MOST, WEIGHTS, Case
from provegym.rewards.success import (
    Judged,
    has_succeeded,
    in_plain_words,
    judge,
    last_words,
    verdict,
)
from provegym.trace import Call, Example, Path, Reward, Rollout, Served


class Scheme(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a recipe may change: the weights, β, and which calls count.

    `scheme` is "paper", the paper's weights, or "hardened", which pays by what was reached.
    `weights` changes some of them. `strict`: only the first path counts, call by call.

    >>> provegym.Scheme(weights={"efficiency": 0.3}).best
    1.3
    """

    scheme: Literal["paper", "hardened"] = "paper"
    weights: Mapping[str, float] = {}
    beta: float = BETA
    strict: bool = False

    def weight(self, part: str) -> float:
        """The weight of a component: the recipe's, or else the scheme's."""
        default = HARDENED_WEIGHTS.get(part, 0.0) if self.scheme == "hardened" else WEIGHTS[part]
        return self.weights.get(part, default)

    @property
    def best(self) -> float:
        """The maximum reward, which the reference calls earn."""
        return fsum(self.weight(part) * most for part, most in MOST.items())


# Failing rollouts are paid for their progress alone, so never more than 0.34 of 1.3.
HARDENED_WEIGHTS = {"success": 0.96, "progress": 0.34, "efficiency": 0.15, "waste": 0.1}
PAPER = Scheme()
HARDENED = Scheme(scheme="hardened")
BEST = PAPER.best


class Finish(NamedTuple):
    """The rest of a rollout, beside its calls: the final diff, the replies and the end."""

    outcome: Sequence[Change] = ()
    replies: Sequence[str] = ()
    ended: str = "done"


ONGOING = Finish()


def score(
    example: Example, calls: Sequence[Call], scheme: Scheme = PAPER, rest: Finish = ONGOING
) -> Reward:
    """The reward of these calls on an example; the best path counts.

    The paper's scheme reads the calls alone. Other schemes also read the rest of the rollout.
    """
    return _score(example, calls, scheme, rest)[0]


def _score(
    example: Example, calls: Sequence[Call], scheme: Scheme, rest: Finish
) -> tuple[Reward, Judged]:
    """The reward, and what it was judged from."""
    if not any(path.steps for path in example.paths):
        judged = Judged(example, (), calls, (), rest.outcome, rest.replies, rest.ended)
        return _score_nothing(judged, scheme), judged
    best: tuple[Reward, Judged] | None = None
    for number, path in enumerate(_paths(example, scheme)):
        alignment = align(path.steps, calls)
        judged = Judged(
            example, path.steps, calls, alignment.served, rest.outcome, rest.replies, rest.ended
        )
        reward = _score_path(
            Case(path.steps, calls, alignment, judged, scheme.beta), scheme, number
        )
        if best is None or reward.total > best[0].total:
            best = reward, judged
    assert best is not None
    return best


def _score_nothing(judged: Judged, scheme: Scheme) -> Reward:
    """The reward where no call is right: 1 for none; hardened, 0.34 if a reply is wrong."""
    if judged.calls or scheme.scheme == "paper":
        return Reward(total=0.0 if judged.calls else 1.0)
    failed = HARDENED_WEIGHTS["progress"]
    return Reward(total=1.0 if has_succeeded(judged) else failed)


def paid(rollout: Rollout) -> float:
    """The reward of a rollout, 0 if it failed and has none."""
    return rollout.reward.total if rollout.reward else 0.0


def rescore(rollout: Rollout, scheme: Scheme = PAPER) -> Rollout:
    """The rollout with its reward and its verdict, computed from its recorded calls and replies."""
    plain = in_plain_words(rollout)
    rest = Finish(plain.outcome, last_words(plain.messages), plain.ended)
    reward, judged = _score(plain.example, plain.calls, scheme, rest)
    scored = msgspec.structs.replace(rollout, reward=reward)
    # A strict reward is judged from steps without evidence; the verdict is not.
    found = judge(scored) if scheme.strict else verdict(judged)
    return msgspec.structs.replace(scored, verdict=found)


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
