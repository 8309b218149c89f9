"""The kernel: copy-on-write state, tools with JSON schemas, servers and sessions."""

from provegym.kernel.errors import (
    BadArguments,
    Bug,
    Denied,
    Kind,
    Lost,
    NotFound,
    Rejected,
    ToolError,
)
from provegym.kernel.schema import Amount, Label, Page, Sensitive, Text, Time, money
from provegym.kernel.seed import Seed
from provegym.kernel.server import AnyServer, Server, Tool
from provegym.kernel.session import Outcome, Session
from provegym.kernel.state import Change, Record, State, Table, table

__all__ = [
    "Amount",
    "AnyServer",
    "BadArguments",
    "Bug",
    "Change",
    "Denied",
    "Kind",
    "Label",
    "Lost",
    "NotFound",
    "Outcome",
    "Page",
    "Record",
    "Rejected",
    "Seed",
    "Sensitive",
    "Server",
    "Session",
    "State",
    "Table",
    "Text",
    "Time",
    "Tool",
    "ToolError",
    "money",
    "table",
]
