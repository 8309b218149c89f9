"""A shared computer as one of its users sees it: files, directories, rights, versions, trash."""

from . import rights, seed, texts, tree, views
from .state import server

__all__ = ["rights", "seed", "server", "texts", "tree", "views"]
