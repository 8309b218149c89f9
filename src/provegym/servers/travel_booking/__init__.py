"""A travel desk: flights, hotel rooms, bookings, itineraries and loyalty points."""

from . import lookups, reservations, seed
from .state import server

__all__ = ["lookups", "reservations", "seed", "server"]
