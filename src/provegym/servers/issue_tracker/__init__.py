"""An issue tracker as one member of five software teams sees it."""

from . import issues, planning, seed
from .state import server

__all__ = ["issues", "planning", "seed", "server"]
