"""The programmatic reward of a rollout: pure functions of its calls and of the reference steps."""

from provegym.rewards.components import COMPONENTS, WEIGHTS
from provegym.rewards.total import BEST, HARDENED, PAPER, Scheme, paid, rescore, score

__all__ = [
    "BEST",
    "COMPONENTS",
    "HARDENED",
    "PAPER",
    "WEIGHTS",
    "Scheme",
    "paid",
    "rescore",
    "score",
]
