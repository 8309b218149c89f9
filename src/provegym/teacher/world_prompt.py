"""The chat messages that ask a model for the spec of a world.

The parts, kinds, rules and limits that the prompt lists are read from the code of specs and of
admission, so that it never describes another format than the one that is parsed.
"""

import inspect
import types
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from provegym.admission import admit
from provegym.teacher.messages import data, prompt
from provegym.trace import Json
from provegym.worlds import check, formula, spec
from provegym.worlds.spec import SpecPart

PARTS: tuple[type[SpecPart], ...] = (
    *(spec.WorldSpec, spec.Entity, spec.Field, spec.Operation, spec.Argument),
    *(spec.OperationGuard, spec.Effect, spec.Test, spec.Let, spec.Join, spec.Figure),
    *(spec.Event, spec.Invariant, spec.Past),
)
# What a model does not decide.
NOT_ITS_OWN = ("source", "version", "kin")
PLAIN: dict[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Any: "text or table",
    type(None): "nothing",
}
SCALARS = [PLAIN[each] for each in get_args(spec.Scalar)]
# The newest worlds that are named in the prompt, at most.
MOST_TAKEN = 60
MOST_ECHOED = 40_000


def opening(about: str, taken: Sequence[str]) -> list[Json]:
    """The messages that ask a model for a world about something, unlike those that exist."""
    request = prompt(
        "world_request",
        about=data(about),
        taken=data("\n".join(taken[-MOST_TAKEN:])),
        **_reference(),
    )
    return [
        {"role": "system", "content": prompt("world_author")},
        {"role": "user", "content": request},
    ]


def refusing(text: str, reason: str, detail: str) -> list[Json]:
    """A spec that was refused, and the message that says why."""
    hint = _meanings("world_hints").get(reason, "")
    told = prompt("world_refused", reason=reason, detail=data(detail), hint=hint)
    return [
        {"role": "assistant", "content": text[:MOST_ECHOED] or "(nothing)"},
        {"role": "user", "content": told},
    ]


def example_text() -> str:
    """The spec that the prompt shows as an example."""
    return files(__package__).joinpath("prompts", "example_world.toml").read_text("utf-8").strip()


@cache
def _reference() -> dict[str, str]:
    return {
        "demands": _lines(_demands()),
        "parts": "\n\n".join(map(_part, PARTS)),
        "formulas": _paragraph(formula),
        "fields": _lines(_listed(inspect.getdoc(spec.Field) or "")),
        "operations": _lines(_kinds(spec.OperationKind)),
        "rules": _lines(_kinds(spec.Rule)),
        "limits": _lines(_limits()),
        "example": example_text(),
    }


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(f"- {each}" for each in lines)


def _demands() -> Iterator[str]:
    """What admission asks of a world."""
    yield f"at least {100 * admit.LEAST_WRITES:.0f} % of its tools write (kinds other than reads)"
    yield f"at least {admit.LEAST_RULES} guards that random calls run into"
    yield f"a chain of {admit.LEAST_CHAIN} tools, each needing what the one before found or made"
    yield "every tool can be asked for: things have unique names, a past makes records to act on"
    yield (
        "every effect is seen in a result or in a record, and at least"
        f" {100 * admit.LEAST_NOTICED:.0f} % of the guards make a difference"
    )


def _part(part: type[SpecPart]) -> str:
    """A part of a spec: what it is, and its fields with their types."""
    base = next((each for each in part.__mro__[1:] if each in PARTS), None)
    inherited = base.__struct_fields__ if base else ()
    told = [
        _field(each)
        for each in msgspec.structs.fields(part)
        if each.name not in (*inherited, *NOT_ITS_OWN)
    ]
    if base:
        told.append(f"and the fields of {base.__name__}")
    about = [line for line in (inspect.getdoc(part) or "").splitlines() if line[:2] != "- "]
    text = " ".join(" ".join(about).split()).replace("`is_`", "`is`")
    return f"### {part.__name__}\n{text}\n{', '.join(told)}"


def _field(field: msgspec.structs.FieldInfo) -> str:
    required = ", required" if field.required else ""
    return f"`{field.encode_name}` ({_type(field.type)}{required})"


def _type(of: Any) -> str:
    """A type in plain words."""
    if of in PLAIN:
        return PLAIN[of]
    origin, inner = get_origin(of), get_args(of)
    if origin is Literal:
        return "one of " + ", ".join(f'"{each}"' for each in inner)
    if origin in (Union, types.UnionType):
        kinds = [_type(each) for each in inner if each is not type(None)]
        scalars = {*get_args(spec.Scalar)} <= {*inner}
        kinds = [each for each in kinds if not scalars or each not in SCALARS]
        return " or ".join([*(["value"] if scalars else []), *kinds])
    if origin is tuple:
        return f"list of {_type(inner[0])}"
    if origin is dict:
        return f"table of {_type(inner[1])}"
    return str(of.__name__)


def _paragraph(module: types.ModuleType) -> str:
    """What the docstring of a module says after its first sentence."""
    return " ".join((module.__doc__ or "").partition("\n\n")[2].split())


def _listed(text: str) -> Iterator[str]:
    """The items of a list in a docstring."""
    return (line.removeprefix("- ") for line in text.splitlines() if line.startswith("- "))


def _kinds(of: Any) -> Iterator[str]:
    """The kinds of operations or rules, with what each means."""
    meaning = _meanings("world_kinds")
    for kind in get_args(of):
        reads = " (it reads)" if kind in spec.READS else ""
        yield f"{kind}{reads}: {meaning[kind]}"


def _meanings(name: str) -> dict[str, str]:
    """The lines of a prompt file, by the word or phrase before the colon."""
    return dict(line.split(": ", 1) for line in prompt(name).splitlines())


def _limits() -> Iterator[str]:
    yield ", ".join(f"{count} {what}" for what, count in check.MOST.items()) + " at most"
    yield f"{check.MOST_RECORDS} drawn records and {check.MOST_PAST} calls of the past at most"
    yield f"`most` of an entity is {check.MOST_IN_TABLE} at most; smaller is better"
    yield "names have a-z, 0-9 and _, from a letter on; prefixes have 2 to 8 letters"
    yield "texts are one line"
