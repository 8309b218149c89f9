"""A stock broker as one investor sees it: portfolios, orders, and a market with an order book."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
