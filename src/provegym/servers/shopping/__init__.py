"""An online shop as one customer sees it: catalogue, cart, checkout, orders, reviews, wishes."""

from . import cart, catalogue, orders, seed
from .state import server

__all__ = ["cart", "catalogue", "orders", "seed", "server"]
