"""A stock broker as one investor sees it: portfolios, orders, and a market with a real book."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
