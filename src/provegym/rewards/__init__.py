"""What a rollout is paid: pure functions of what it did and what was right."""

from provegym.rewards.components import COMPONENTS, WEIGHTS
from provegym.rewards.total import PAPER, Scheme, rescore, score

__all__ = ["COMPONENTS", "PAPER", "WEIGHTS", "Scheme", "rescore", "score"]
