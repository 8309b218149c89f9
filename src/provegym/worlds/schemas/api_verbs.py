"""Verbs of paths in an API description, such as POST /orders/{id}/cancel, and what they change.

A verb sets a status if one is named after it, and the properties that its body and the record
share. A verb of which neither is known is left out, and a note says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from provegym.inflection import past
from provegym.worlds.schemas import api_document, lexicon, nouns
from provegym.worlds.schemas.api_document import Document
from provegym.worlds.schemas.api_properties import property_of, status_of
from provegym.worlds.schemas.sketch import Move, Property, Setting

MOST_NOTED = 8
SETTABLE = ("enum", "text", "number", "money", "date", "time", "reference")


@dataclass(frozen=True)
class Verb:
    """The last word of a path, and the schema of the body that a call takes."""

    word: str
    body: Any = None


def moves_of(
    document: Document, noun: str, verbs: list[Verb], made: dict[str, Property], notes: list[str]
) -> list[Move]:
    """What verbs do to a record; if known verbs find no status, one is made up and noted."""
    status = status_of(noun, made)
    moves: list[Move] = []
    homeless: list[str] = []
    for verb in {verb.word: verb for verb in reversed(verbs)}.values():
        value = _end(verb.word, status)
        sets = _shared(document, noun, verb.body, made, None if value else status)
        if not value and verb.word not in lexicon.verbs():
            sets = sets or _shared(document, noun, verb.body, made, status, any_of_them=True)[:1]
        if value and status is not None:
            sets = tuple(each for each in sets if each.property != status.name)
            notes += _unused(document, noun, verb, sets, status)
            moves.append(Move(verb=verb.word, property=status.name, value=value, sets=sets))
        elif sets:
            notes += _unused(document, noun, verb, sets)
            moves.append(Move(verb=verb.word, sets=sets))
        elif status is None and verb.word in lexicon.verbs():
            notes += _unused(document, noun, verb, ())
            homeless.append(verb.word)
        elif status is not None:
            notes.append(f"left out: {verb.word} of {noun}, since no {status.name} is known for it")
        else:
            notes.append(f"left out: {verb.word} of {noun}, since nothing says what it changes")
    moves.reverse()
    return [*moves, *_made_up(noun, homeless[::-1], made, notes)]


def _unused(
    document: Document,
    noun: str,
    verb: Verb,
    sets: tuple[Setting, ...],
    status: Property | None = None,
) -> list[str]:
    """A note on what the body of a verb must have, and what the verb of the world is not given."""
    used = {f"{noun}_id", "id", *(each.argument for each in sets)}
    used |= {status.name} if status is not None else set()
    held = [nouns.snake(name) for name in api_document.properties(document, verb.body)]
    needed = {nouns.snake(name) for name in api_document.required(document, verb.body)}
    unused = [name for name in held if name in needed and name not in used][:MOST_NOTED]
    if not unused:
        return []
    what = f"{' and '.join(unused)} of {verb.word} of {noun}"
    return [f"left out: {what}, since no property of a record is set by them"]


def _made_up(
    noun: str, verbs: list[str], made: dict[str, Property], notes: list[str]
) -> list[Move]:
    """Moves of a status that is added to a record, since known verbs lead somewhere."""
    if not verbs:
        return []
    ends = [lexicon.verbs()[verb][0] for verb in verbs]
    values = tuple(dict.fromkeys(["active", *ends]))
    made["status"] = Property(name="status", kind="enum", values=values, default="active")
    notes.append(f"added: {noun}.status, since {', '.join(verbs)} must lead somewhere")
    return [Move(verb=v, property="status", value=e) for v, e in zip(verbs, ends, strict=True)]


def _end(verb: str, status: Property | None) -> str:
    """The value of a status that a verb leads to, or ""."""
    if status is None:
        return ""
    wanted = [*lexicon.verbs().get(verb, ()), past(verb), f"{verb}{verb[-1]}ed", verb]
    first, _, rest = verb.partition("_")
    wanted += [f"{past(first)}_{rest}"] if rest else []  # check_in: checked_in
    return next((v for v in status.values if lexicon.folded(v) in wanted), "")


def _shared(
    document: Document,
    noun: str,
    body: Any,
    made: Mapping[str, Property],
    status: Property | None,
    *,
    any_of_them: bool = False,
) -> tuple[Setting, ...]:
    """The properties that a body sets: by their names, or a status by some of its values.

    Only what the body requires counts, or else any of them.
    """
    needed = {nouns.snake(name) for name in api_document.required(document, body)}
    known = {each.to for each in made.values() if each.to}
    found: list[Setting] = []
    for name, schema in api_document.properties(document, body).items() if body else ():
        each = property_of(document, name, schema, noun, known, notes=[], empty=False)
        if each is None or each.name == f"{noun}_id":
            continue
        own = made.get(each.name)
        if own is not None and own.kind == each.kind in SETTABLE:
            values = each.values if {*each.values} < {*own.values} else ()
            found.append(Setting(argument=each.name, property=own.name, values=values))
        elif own is None and status is not None and _is_part(each, status):
            setting = Setting(argument=each.name, property=status.name, values=each.values)
            found.append(setting)
    chosen = [each for each in found if any_of_them or each.argument in needed]
    return tuple({each.property: each for each in chosen}.values())


def _is_part(each: Property, status: Property) -> bool:
    """Whether an enum has only values of a status: an outcome "won" or "lost" of a stage."""
    return each.kind == "enum" and {*each.values} <= {*status.values}
