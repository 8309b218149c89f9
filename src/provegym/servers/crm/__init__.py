"""A CRM, the customer relations of a sales team: leads, contacts, deals, quotes, activities."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
