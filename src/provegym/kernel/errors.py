"""The error model: what a model is told, and what is our own bug.

    ToolError          told to the model as the result of its call; the world is as it was before
    ├── BadArguments   invalid_argument   it does not fit the schema; the kernel alone raises it
    ├── NotFound       not_found          there is no such tool or record
    ├── Rejected       rejected           a rule of the domain forbids it now
    └── Denied         denied             the acting user may not do it
    Bug                a server broke the kernel's rules; never shown to the model

Every message is a sentence that says what was wrong and, where there is a way on, which.
Any other exception that a server raises becomes a Bug: in a tool, in an event, in drawing a world.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import ClassVar, Literal, NoReturn

import msgspec

Kind = Literal["invalid_argument", "not_found", "rejected", "denied"]


class ToolError(Exception):
    """A call that failed in a way the model can act on."""

    kind: ClassVar[Kind]


class BadArguments(ToolError):
    """The arguments do not fit the tool's published schema."""

    kind = "invalid_argument"


class NotFound(ToolError):
    """Nothing in this world goes by that name."""

    kind = "not_found"


class Rejected(ToolError):
    """A rule of the domain forbids the call in the world's present state."""

    kind = "rejected"


class Denied(ToolError):
    """The acting user has no right to do this."""

    kind = "denied"


class Bug(RuntimeError):
    """A server broke one of the kernel's rules."""


def blame(server: str, action: str, problem: Exception) -> NoReturn:
    """Raise what a server must not raise as a Bug that names server, action and cause."""
    if isinstance(problem, Bug):
        raise problem
    raise Bug(f"{server}: {action} raised {type(problem).__name__}: {problem}") from problem


def quote(value: object) -> str:
    """Show a model's own value back to it, shortened so that an error stays a sentence."""
    text = repr(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:48]}… ({len(text)} characters)"


def near(word: str, known: Sequence[str]) -> str:
    """Point to the nearest known word, if one is near."""
    found = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {found[0]!r}?" if found else ""


def suggest(word: str, known: list[str]) -> str:
    """Point to the nearest known word, or list the known ones where they are few."""
    if hint := near(word, known):
        return hint
    if 0 < len(known) <= 12:
        return f"known are {', '.join(known)}"
    return "see the list of what there is" if known else "there is none to choose from"
