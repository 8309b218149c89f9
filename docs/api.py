"""Writes docs/api.md, the reference of `import provegym`, from signatures and docstrings.

`python docs/api.py` writes the page anew; a test says if that was forgotten.
"""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

import provegym

PAGE = Path(__file__).with_suffix(".md")
HEAD = """# The Python API

What `import provegym` offers. The names are imported when they are first used.
The same in a notebook: [examples/tour.ipynb](../examples/tour.ipynb).
Written from signatures and docstrings by `python docs/api.py`; the examples are tested.
"""
GROUPS = {
    "Worlds": ("names", "load", "Session", "servers_from", "check_server"),
    "Tasks": ("synthesize", "Example", "verify", "make", "Env", "Observation", "StepResult"),
    "Playing": ("Policy", "Reply", "ToolCall", "rollout", "Rollout"),
    "Reward": ("score", "Scheme", "PAPER", "HARDENED"),
    "Files": ("read", "write"),
}
CONSTANTS = {
    "PAPER": "The reward of the paper: `Scheme()`. At most 1.3, and 1 where no call is right.",
    "HARDENED": 'The reward that pays by success: `Scheme(scheme="hardened")`, at most 1.3;'
    " a rollout that fails gets 0.34 at most.",
}
# "provegym.trace.records.Example" is shown as "Example".
PLACE = re.compile(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z_])")


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += [entry(name) for name in names]
    return "\n".join(parts)


def entry(name: str) -> str:
    """One name: its signature, what it is, an example, its fields and methods."""
    found = vars(import_module(provegym._WHERE[name]))[name]
    if name in CONSTANTS:
        return f"### `{name}`\n\n{CONSTANTS[name]}\n"
    if not inspect.isclass(found):
        return f"### `{name}`\n\n```\n{signature(name, found)}\n```\n\n{described(found)}\n"
    made = f"```\n{signature(name, found)}\n```" if inspect.isfunction(found.__init__) else ""
    parts = [f"### `{name}`", made, described(found), fields(found), "\n".join(methods(found))]
    return "\n\n".join(filter(None, parts)) + "\n"


def signature(name: str, function: Any) -> str:
    """A signature with short names of types."""
    told = name + str(inspect.signature(function))
    told = PLACE.sub("", told).replace("~", "").replace("-> 'Session'", "-> Session")
    told = told.replace("'", '"')
    told = re.sub(r"Union\[(Literal\[.*?\]), (\w+)\]", r"\1 | \2", told)
    return told.replace("(self, ", "(").replace("(self)", "()").removesuffix(" -> None")


def described(found: Any) -> str:
    """A docstring as Markdown, with its examples as code."""
    text = re.sub(r" +# doctest:.*", "", inspect.getdoc(found) or "")
    told, mark, code = text.partition(">>> ")
    return f"{told.strip()}\n\n```pycon\n{mark}{code}\n```" if mark else told.strip()


def fields(kind: type[Any]) -> str:
    """The fields of a record or a named tuple."""
    if not issubclass(kind, msgspec.Struct | tuple):
        return ""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name[0] != "_"}
    told = (f"`{name}: {short(hint)}`" for name, hint in hints.items())
    return f"Fields: {', '.join(told)}."


def short(hint: Any) -> str:
    """A type in short names."""
    told = hint.__name__ if inspect.isclass(hint) and not hasattr(hint, "__args__") else str(hint)
    return PLACE.sub("", told).replace("NoneType", "None").replace("'", '"')


def methods(kind: type[Any]) -> Iterator[str]:
    """The public methods and properties that a class defines itself, with one line each."""
    for name, found in vars(kind).items():
        function = found.fget if isinstance(found, property) else found
        function = function.__func__ if isinstance(found, classmethod) else function
        if name[0] == "_" or not inspect.isfunction(function):
            continue
        told = " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
        call = name if isinstance(found, property) else signature(name, getattr(kind, name))
        yield f"- `{call}`: {told}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
