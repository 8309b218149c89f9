"""What results so far tell about a value: whether somebody who reads them knows what it stands for.

"Freeze the card ending in 1078" can be done only if a result shows the card's id in a record that
also holds 1078, or holds a key that an earlier result shows beside 1078.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from provegym.kernel import AnyServer
from provegym.language.things import Survey, kinds, noun_of
from provegym.language.values import Scalar, in_context, leaves, normal
from provegym.trace import Json

# A call: its arguments and its result.
Made = tuple[Json, Any]


def marks_of(
    value: Scalar, named: Iterable[tuple[str, str]], survey: Survey
) -> Iterator[frozenset[str]]:
    """For each name of a thing that has this value: the forms of the values that make up the name.

    `named` are pairs of a phrase and the key of the thing that it names. If one of them names the
    value itself, only this one counts: "buy Acme shares for my Growth portfolio" does not mean the
    portfolio in which there is an order for Acme.
    """
    named = list(named)
    for phrase, key in [each for each in named if each[1] == value] or named:
        thing = survey.things.get(key)
        if thing is None:
            continue
        name = {normal(name): name for name in thing.names}.get(normal(phrase))
        if name is not None and (key == value or value in set(leaves(thing.fields))):
            yield thing.marks(name)


def is_understood(
    server: AnyServer, made: Iterable[Made], value: Scalar, marks: frozenset[str]
) -> bool:
    """Whether calls show a value in a record about all these marks.

    A record is about its own values, the arguments of the call, and everything that earlier results
    say about the things it refers to.
    """
    known: dict[str, set[str]] = {}
    form = normal(value)
    for arguments, result in made:
        given = set(map(normal, leaves(arguments)))
        for key in leaves(arguments):
            given |= known.get(str(key), set())
        for record, context in in_context(result):
            about = context | given
            for part in direct(record):
                about |= known.get(str(part), set())
            if marks <= about and form in map(normal, _alone(record)):
                return True
            own = own_key(server, record)
            if own is not None:
                known.setdefault(own, set()).update(context | given)
    return False


def _alone(record: Json) -> Iterator[Scalar]:
    """The values of a record itself; of a list only if it has one: one id of many tells nothing."""
    for part in record.values():
        if isinstance(part, Scalar):
            yield part
        elif isinstance(part, list) and len(part) == 1 and isinstance(part[0], Scalar):
            yield part[0]


def direct(record: Json) -> Iterator[Scalar]:
    """The values of a record itself and of its lists of plain values."""
    for part in record.values():
        if isinstance(part, Scalar):
            yield part
        elif isinstance(part, list):
            yield from (each for each in part if isinstance(each, Scalar))


def own_key(server: AnyServer, record: Json) -> str | None:
    """The key of a record: its id, or a key that people chose, such as a path."""
    key = record.get("id")
    if isinstance(key, str) and (server.foreign or noun_of(server, key)):
        return key
    chosen = [record[f] for f in kinds(server).chosen if isinstance(record.get(f), str)]
    return chosen[0] if chosen else None
