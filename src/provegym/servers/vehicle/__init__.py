"""The electric cars of a household, gated by mode: driving, charging, navigation, services."""

from . import lookups, operations, seed
from .state import server

__all__ = ["lookups", "operations", "seed", "server"]
