"""The order in which a seed draws the records of a sketch: after those that they refer to."""

from collections.abc import Iterable, Mapping

import msgspec

from provegym.worlds.schemas.sketch import Subject


def ordered(subjects: Iterable[Subject], notes: list[str]) -> list[Subject]:
    """Subjects after those they refer to; circles are cut where a reference may be empty."""
    left = {subject.name: subject for subject in subjects}
    done: list[Subject] = []
    while left:
        ready = [s for s in left.values() if not _awaited(s, left)]
        if not ready:
            circle = [s for s in left.values() if _reaches_itself(s, left)]
            ready = [min(circle, key=lambda s: (len(_needed(s, left)), -_pointed(s, left)))]
        for subject in ready[:1]:
            dropped = _needed(subject, left) | set(_awaited(subject, left))
            for name in sorted(dropped):
                notes.append(f"left out: {subject.name}.{name}, since references form a circle")
            properties = tuple(p for p in subject.properties if p.name not in dropped)
            done.append(msgspec.structs.replace(subject, properties=properties))
            del left[subject.name]
    return done


def _awaited(subject: Subject, left: Mapping[str, Subject]) -> list[str]:
    """The references of a subject to others that are not yet done."""
    return [p.name for p in subject.references if p.to in left and p.to != subject.name]


def _needed(subject: Subject, left: Mapping[str, Subject]) -> set[str]:
    """The references among them that cannot be empty, also to itself."""
    return {p.name for p in subject.references if p.to in left and not p.empty}


def _pointed(subject: Subject, left: Mapping[str, Subject]) -> int:
    """How many references of others wait for a subject."""
    return sum(p.to == subject.name for other in left.values() for p in other.references)


def _reaches_itself(subject: Subject, left: Mapping[str, Subject]) -> bool:
    """Whether references lead from a subject back to it."""
    seen: set[str] = set()
    todo = [p.to for p in subject.references if p.to != subject.name]
    while todo:
        name = todo.pop()
        if name == subject.name:
            return True
        if name in left and name not in seen:
            seen.add(name)
            todo += [p.to for p in left[name].references if p.to != name]
    return False
