"""A chain of shops as the clerk of one of them sees it: inventory, shipments, reservations."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
