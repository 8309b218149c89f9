"""The error model: errors that are returned to the model, and bugs of a server.

    ToolError          returned to the model as the result of its call; the state is unchanged
    ├── BadArguments   invalid_argument   the arguments do not fit the schema; for the kernel only
    ├── NotFound       not_found          there is no such tool or record
    ├── Rejected       rejected           a rule of the domain forbids the call now
    └── Denied         denied             the acting user may not do this
    Bug                a server broke the kernel's rules; never shown to the model
    └── Lost           a foreign server crashed, hung or is out of reach; the rollout is void

Every message is a sentence that says what was wrong and, if possible, what to do. The model never
gets more than `MAX_ERROR` characters of it.
Any other exception that a server raises in a tool, an event or its seed function becomes a Bug.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import ClassVar, Literal, NoReturn

import msgspec

from provegym.errors import UserError

Kind = Literal["invalid_argument", "not_found", "rejected", "denied"]

MAX_ERROR = 600


class ToolError(Exception):
    """A call that failed in a way the model can act on."""

    kind: ClassVar[Kind]


class BadArguments(ToolError):
    """The arguments do not fit the tool's published schema."""

    kind = "invalid_argument"


class NotFound(ToolError):
    """No tool or record has this name or key."""

    kind = "not_found"


class Rejected(ToolError):
    """A rule of the domain forbids the call in the current state."""

    kind = "rejected"


class Denied(ToolError):
    """The acting user has no right to do this."""

    kind = "denied"


class Bug(RuntimeError):
    """A server broke one of the kernel's rules."""


class Lost(Bug, UserError):
    """A foreign server crashed, hung or is out of reach. This is no error of the policy."""


def blame(server: str, action: str, problem: Exception) -> NoReturn:
    """Raise a Bug that names the server, the action and the unexpected exception."""
    if isinstance(problem, Bug):
        raise problem
    raise Bug(f"{server}: {action} raised {type(problem).__name__}: {problem}") from problem


def quote(value: object) -> str:
    """A value for an error message, shortened if it is long."""
    text = repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:48]}… ({len(text)} characters)"


def shorten(message: str) -> str:
    """A message of at most `MAX_ERROR` characters; a longer one loses its middle."""
    if len(message) <= MAX_ERROR:
        return message
    half = MAX_ERROR // 2 - 2
    return f"{message[:half]} … {message[-half:]}"


def near(word: str, known: Sequence[str]) -> str:
    """Suggest the most similar known word, if one is similar enough."""
    found = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {found[0]!r}?" if found else ""


def suggest(word: str, known: list[str]) -> str:
    """Suggest the most similar known word, or list the known words if they are few."""
    if hint := near(word, known):
        return hint
    if 0 < len(known) <= 12:
        return f"known are {', '.join(known)}"
    return "see the list of what there is" if known else "there is none to choose from"
