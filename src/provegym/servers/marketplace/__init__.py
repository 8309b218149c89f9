"""A second-hand marketplace: auctions, fixed prices with offers, escrow, ratings."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
