"""Video meetings as one person hosts and joins them: lobbies, hosts, recordings with consent."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
