"""A city map for one user: addresses, places, routes, road problems, saved places, journeys."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
