"""The electric cars of a household, gated by mode: driving, charging, navigation, services."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
