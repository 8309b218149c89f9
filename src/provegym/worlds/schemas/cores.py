"""Chooses the connected core of a schema that is larger than a world may be."""

import re
from collections import Counter
from collections.abc import Iterable

from provegym.worlds.check import MOST
from provegym.worlds.plain import SpecError
from provegym.worlds.schemas import nouns
from provegym.worlds.schemas.sketch import Subject

# Tables that serve the machine and not people.
MACHINERY = (
    *("migration", "schema", "log", "audit", "session", "token", "version", "setting", "config"),
    *(
        "cache",
        "lock",
        "queue",
        "permission",
        "history",
        "sequence",
        "backup",
        "job_run",
        "metadata",
    ),
)


def core(subjects: Iterable[Subject], notes: list[str]) -> list[Subject]:
    """The subjects of a world: all of them, or the most referenced ones that belong together."""
    known: dict[str, Subject] = {}
    for subject in subjects:
        if not nouns.is_sayable(subject.name) or subject.name.rpartition("_")[2] in MACHINERY:
            letters = re.sub(r"_?\d+", "", subject.name)
            has_digit = letters != subject.name and nouns.is_sayable(letters)
            why = "its name has a digit" if has_digit else "people would not speak of it"
            notes.append(f"left out: {subject.name}, since {why}")
        else:
            known[subject.name] = subject
    if len(known) <= MOST["entities"]:
        return list(known.values())
    incoming = Counter(each.to for subject in known.values() for each in subject.references)
    ranks = {name: _rank(subject, incoming[name]) for name, subject in known.items()}
    fitting = [name for name in known if len(_needed(known[name], known)) <= MOST["entities"]]
    if not fitting:
        raise SpecError(
            f"all of the {len(known)} kinds of records need more than {MOST['entities']} of them,"
            " and a world has at most so many; leave some out, or let references be empty"
        )
    first = max(fitting, key=lambda name: ranks[name])
    chosen = _needed(known[first], known)
    while len(chosen) < MOST["entities"]:
        near = [
            name for name in known if name not in chosen and _touches(known[name], chosen, known)
        ]
        grown = None
        for name in sorted(near, key=lambda name: -ranks[name]):
            grown = chosen | _needed(known[name], known)
            if len(grown) <= MOST["entities"]:
                break
            grown = None
        if grown is None:
            break
        chosen = grown
    left = [name for name in known if name not in chosen]
    shown = ", ".join(left[:20]) + (f" and {len(left) - 20} others" if len(left) > 20 else "")
    notes.append(
        f"left out: {len(left)} of {len(known)} kinds of records, since a world has at most"
        f" {MOST['entities']}, which belong together: {shown}"
    )
    return [subject for name, subject in known.items() if name in chosen]


def _rank(subject: Subject, incoming: int) -> float:
    """How much a subject matters: who points to it, whether people name it, what can be done."""
    names = {each.name.removeprefix(f"{subject.name}_") for each in subject.properties}
    named = bool(names & {"name", "title", "first_name", "number", "code", "username"})
    deeds = len(subject.deeds) + len(subject.moves)
    words = subject.name.count("_")
    status = any(each.kind == "enum" for each in subject.properties)
    return incoming * 2 + 3 * named + deeds * 0.8 + 2 * status - words - 4 * (len(names) < 2)


def _touches(subject: Subject, chosen: set[str], known: dict[str, Subject]) -> bool:
    """Whether a subject points to a chosen one, or a chosen one to it."""
    if any(each.to in chosen for each in subject.references):
        return True
    return any(each.to == subject.name for name in chosen for each in known[name].references)


def _needed(subject: Subject, known: dict[str, Subject]) -> set[str]:
    """A subject with all that it must point to."""
    found: set[str] = set()
    todo = [subject.name]
    while todo:
        name = todo.pop()
        if name in found or name not in known:
            continue
        found.add(name)
        todo += [each.to for each in known[name].references if not each.empty]
    return found
