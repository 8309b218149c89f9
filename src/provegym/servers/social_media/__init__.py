"""A social network as one user sees it: profiles, follows, posts, replies, reposts, feeds."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
