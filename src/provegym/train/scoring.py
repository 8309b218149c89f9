"""Scores the finished rollouts of a batch: rewards, verdicts and the potentials of their replies.

A rollout is scored while others are still sampled. `ScoringPool` does it in worker processes.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from provegym.players.local import Trajectory
from provegym.rewards.success import FAILED
from provegym.rewards.total import rescore
from provegym.trace import Reward, Rollout, Verdict
from provegym.train.credit import TurnProver
from provegym.train.recipe import Grpo, Recipe


class Scored(NamedTuple):
    """What a rollout is paid, and the potentials before its replies: none without a reward."""

    reward: Reward | None = None
    verdict: Verdict | None = None
    potentials: Sequence[float] = ()


class Scorer:
    """Scores rollouts. It keeps the provers of a batch, which prove equal beginnings once."""

    def __init__(self, recipe: Recipe) -> None:
        self.scheme, self.grpo = recipe.reward, recipe.grpo or Grpo()
        self.provers: dict[str, TurnProver] = {}

    def forget(self) -> None:
        """Forget the provers: another batch has other examples."""
        self.provers = {}

    def score(self, rollout: Rollout) -> Scored:
        """Score a rollout; one that failed has no reward."""
        if rollout.ended in FAILED:
            return Scored()
        scored = rescore(rollout, self.scheme)
        if self.grpo.credit == "rollout":
            return Scored(scored.reward, scored.verdict)
        example = scored.example
        if example.id not in self.provers:
            self.provers[example.id] = TurnProver(example, self.scheme, self.grpo.credit_reach)
        potentials = self.provers[example.id].potentials(scored)
        return Scored(scored.reward, scored.verdict, potentials)


class Scoring:
    """Scores the rollouts of a batch in this process, each as soon as it has ended."""

    def __init__(self, recipe: Recipe) -> None:
        self.scorer = Scorer(recipe)
        self.is_turn_based = self.scorer.grpo.credit == "turn"
        self.found: dict[int, Scored] = {}

    def begin(self) -> None:
        """Begin another batch."""
        self.scorer.forget()

    def add(self, ended: Mapping[int, Trajectory]) -> None:
        """Score rollouts; each has a number."""
        for number, each in ended.items():
            self.found[number] = self.scorer.score(each.rollout)

    def collect(self, played: Sequence[Trajectory]) -> list[list[float]]:
        """Wait until all that were added are scored, and give them their rewards and verdicts.

        They are numbered from 0 on. The result has the potential before each of their replies, 0
        where a server has a bug; it is empty if the whole rollout has one advantage.
        """
        self._wait()
        found, self.found = self.found, {}
        potentials = []
        for number, each in enumerate(played):
            scored = found[number]
            if scored.reward is not None:
                each.rollout = replace(each.rollout, reward=scored.reward, verdict=scored.verdict)
            empty = [0.0] * len(each.starts) if self.is_turn_based else []
            potentials.append(list(scored.potentials) or empty)
        return potentials

    def _wait(self) -> None:
        """Wait for all results: here they are there already."""
