"""A small server of your own: a shop that sells tea by the gram."""

from . import tools
from .state import server

__all__ = ["server", "tools"]
