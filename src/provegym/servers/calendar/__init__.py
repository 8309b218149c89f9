"""The calendars of one user: events and series, invitations, rooms, reminders, free times."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
