"""A retail bank as one customer sees it: accounts, payees, cards, standing orders, transactions."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
