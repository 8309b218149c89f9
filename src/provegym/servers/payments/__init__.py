"""A merchant's payment back office: invoices, captures, refunds and webhooks."""

from . import seed, tools
from .state import server

__all__ = ["seed", "server", "tools"]
