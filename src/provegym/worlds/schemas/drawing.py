"""How a seed draws the fields of a sketch, from their kinds, bounds and names."""

from typing import Any

from provegym.worlds.schemas import lexicon
from provegym.worlds.schemas.lexicon import Manner
from provegym.worlds.schemas.sketch import NOW, Property, Subject
from provegym.worlds.schemas.trimming import LOWEST
from provegym.worlds.spec import Field

# How often a field that may be empty has a value.
NEVER_EMPTY = 0.8
CODE_WORDS = ("@@-####", "@##-###")


def is_known_text(each: Property, manner: Manner | None, subject: Subject) -> bool:
    """Whether the lexicon can draw a text; a state is a place only beside a city or an address."""
    if manner is None or not manner.words or each.name.endswith("_id"):
        return False
    if each.name in ("state", f"{subject.name}_state"):
        return any(
            p.name.endswith(("city", "address", "country", "zip")) for p in subject.properties
        )
    return True


def field_of(name: str, each: Property, manner: Manner | None, noun: str) -> Field:
    """A field of a property, with the way to draw it."""
    start = each.default if each.default != NOW else None
    base: dict[str, Any] = {"name": name, "empty": each.empty, "share": NEVER_EMPTY, "start": start}
    if each.kind == "enum":
        if start not in each.values:
            base["start"] = None if each.empty else _first_status(name, each, noun)
        return Field(kind="enum", values=each.values, **base)
    if each.kind == "flag":
        return Field(name=name, kind="flag", share=0.5)
    if each.kind == "text":
        words = manner.words if manner and manner.words else lexicon.PLAIN_TEXT
        is_code = manner.code if manner is not None else each.unique
        kind: Any = "code" if is_code else "name" if each.unique else "text"
        if is_code and not (manner is not None and manner.words):
            words = CODE_WORDS
        base["start"] = (
            start if isinstance(start, str) and not start.startswith(("$", "=")) and start else None
        )
        return Field(kind=kind, words=lexicon.drawn_words(words), **base)
    low, high, step = bounds(each, manner)
    if manner is not None and manner.later:
        base |= {"empty": True, "share": 0.4}
    if each.kind in ("date", "time"):
        base["start"] = None
        return Field(kind=each.kind, low=low, high=high, **base)
    if isinstance(start, bool) or not isinstance(start, int | float):
        base["start"] = None
    kind = "money" if each.kind == "money" else "number"
    return Field(kind=kind, low=low, high=high, step=step, **base)


def _first_status(name: str, each: Property, noun: str) -> str | None:
    """The status of a new record, if the field is a status: one that is known to come first."""
    short = name.removeprefix(f"{noun}_")
    if short not in lexicon.status_words("columns") and not name.endswith("_status"):
        return None
    first = lexicon.status_words("first")
    known = [value for value in each.values if lexicon.folded(value) in first]
    return min(known, key=lambda v: first.index(lexicon.folded(v)), default=each.values[0])


def bounds(each: Property, manner: Manner | None) -> tuple[float, float, float | None]:
    """From where to where a number, an amount or a day is drawn."""
    if each.kind in ("date", "time"):
        if manner is not None and manner.low is not None and manner.high is not None:
            return manner.low, manner.high, None
        return -30, -1, None
    known = manner is not None and manner.low is not None and manner.high is not None
    low, high = (manner.low, manner.high) if known and manner else (1, 60)
    assert low is not None
    assert high is not None
    if each.low is not None and (low < each.low or (each.high is None and high <= each.low)):
        low, high = each.low, max(high, each.low + (high - low))
    if each.high is not None and high > each.high:
        high = each.high
        low = min(low, high) if each.low is None else max(each.low, min(low, high))
    if low == high and each.high is not None:
        # The lexicon knows larger numbers than the source allows.
        low = each.low if each.low is not None else min(1, high)
        if high <= 0 and low <= LOWEST:
            low = high - 59
    step = manner.step if manner is not None else None
    return low, high, step if step is None or step <= high - low else None
