"""Leaves out what a world cannot keep: contradictory bounds, unknown ids, broken keys."""

from collections.abc import Iterable, Iterator, Mapping
from math import ceil, floor

import msgspec

from provegym.worlds.schemas.sketch import Property, Subject

# Numbers that may be as low or as high as one likes stay between these.
LOWEST, HIGHEST = -1_000_000, 1_000_000
NEAR_HIGHEST = 900_000


def settled(subjects: Iterable[Subject], notes: list[str]) -> Iterator[Subject]:
    """The subjects with bounds that a world can keep; bounds that contradict are left out."""
    for subject in subjects:
        properties = tuple(_settled(each, subject.name, notes) for each in subject.properties)
        yield msgspec.structs.replace(subject, properties=properties)


def _settled(each: Property, noun: str, notes: list[str]) -> Property:
    low, high = each.low, each.high
    if each.kind not in ("number", "money") or (low is None and high is None):
        return each
    if each.kind == "number":
        low, high = low if low is None else ceil(low), high if high is None else floor(high)
    if low is not None and high is not None and low > high:
        notes.append(f"left out: the bounds of {noun}.{each.name}, since no number is within them")
        return msgspec.structs.replace(each, low=None, high=None)
    if each.kind == "number" and high is not None and high <= 0:
        low = LOWEST if low is None else max(low, LOWEST)
    if low is not None and low > NEAR_HIGHEST:
        high = HIGHEST if high is None else min(high, HIGHEST)
    is_amount_below = each.kind == "money" and high is not None and high <= 0
    if is_amount_below or (low is not None and high is not None and low > high):
        # A world has no amounts below zero, and no numbers that far from it.
        return msgspec.structs.replace(each, kind="unknown", default=None)
    default = each.default
    if isinstance(default, int | float):
        is_below, is_above = low is not None and default < low, high is not None and default > high
        default = None if is_below or is_above else default
    return msgspec.structs.replace(each, low=low, high=high, default=default)


def note_lost_rules(subject: Subject, kept: Mapping[str, str], notes: list[str]) -> None:
    """Note the rules on several properties together of which one was left out."""
    groups = (*subject.unique, subject.key if len(subject.key) > 1 else ())
    for group in dict.fromkeys(groups):
        lost = [n for n in group if n not in kept and n != "id" and subject.key != (n,)]
        if lost:
            notes.append(
                f"left out: the rule of {subject.name} that {' and '.join(group)} are unique"
                f" together, since it has no {lost[0]} here"
            )


def without_bare_ids(
    properties: list[Property], subject: Subject, notes: list[str]
) -> list[Property]:
    """Leave out ids of records that are not in this world: users would say meaningless numbers."""
    kept = []
    for each in properties:
        is_own = each.name == f"{subject.name}_id" and each.kind != "reference"
        is_bare = each.kind == "number" and each.name.endswith("_id")
        if not (is_own or is_bare):
            kept.append(each)
        elif not is_own or each.name not in subject.key:
            name = f"{subject.name}.{each.name}"
            notes.append(f"left out: {name}, since no record of this world has such an id")
    return kept
