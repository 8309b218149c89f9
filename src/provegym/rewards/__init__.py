"""What a rollout is paid: pure functions of what it did and what was right."""

from provegym.rewards.components import COMPONENTS, WEIGHTS
from provegym.rewards.total import BEST, PAPER, Scheme, paid, rescore, score

__all__ = ["BEST", "COMPONENTS", "PAPER", "WEIGHTS", "Scheme", "paid", "rescore", "score"]
