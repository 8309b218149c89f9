"""A mailbox as one user sees it: inbox, threads, drafts, labels, filters, contacts."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
