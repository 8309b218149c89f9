"""A travel desk: flights, hotel rooms, bookings, itineraries and loyalty points."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
