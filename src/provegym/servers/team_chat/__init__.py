"""A team's chat as one of its members sees it: channels, threads, direct conversations."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
