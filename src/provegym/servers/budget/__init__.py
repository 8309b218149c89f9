"""A household's budget in envelopes, with expenses, recurring costs and savings goals."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
