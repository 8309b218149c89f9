"""Equality of JSON arguments, tolerant of case, outer blanks, number types and time zones."""

from datetime import datetime
from typing import Any


def equal(gold: Any, given: Any) -> bool:
    """Whether two values are equal: 1 equals 1.0, text ignores case, times compare by instant.

    A boolean equals only the same boolean. Outer blanks of a text are ignored.
    """
    if isinstance(gold, bool) or isinstance(given, bool):
        return gold is given
    if isinstance(gold, str):
        return isinstance(given, str) and (gold == given or _same_text(gold, given))
    if isinstance(gold, dict):
        return (
            isinstance(given, dict)
            and gold.keys() == given.keys()
            and all(equal(value, given[key]) for key, value in gold.items())
        )
    if isinstance(gold, list | tuple):
        return (
            isinstance(given, list | tuple)
            and len(gold) == len(given)
            and all(map(equal, gold, given))
        )
    return bool(gold == given) and not isinstance(given, str)


def _same_text(gold: str, given: str) -> bool:
    gold, given = gold.strip().casefold(), given.strip().casefold()
    if gold == given:
        return True
    one, two = _instant(gold), _instant(given)
    return one is not None and two is not None and one == two


def _instant(text: str) -> datetime | None:
    """A time with a zone, or None: dates and local times are compared as text."""
    if len(text) < 16 or text[4] != "-" or text[10] not in "t ":
        return None
    try:
        moment = datetime.fromisoformat(text.replace("t", "T").replace("z", "+00:00"))
    except ValueError:
        return None
    return moment if moment.tzinfo else None
