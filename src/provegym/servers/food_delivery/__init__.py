"""A food-delivery app as one customer sees it: menus, a basket, orders and where they are."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
