"""Evidence: whether the result of a read shows the facts that a reference read is needed for."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from provegym.language.values import InContext, in_context, normal
from provegym.rewards.equality import equal
from provegym.trace import Call, Evidence, Fact, Json

RESULTS = 1_024
PAGE = 10


def shows(call: Call, evidence: Evidence | None) -> bool:
    """Whether a call shows all facts of an evidence that is not tied to its own call."""
    if evidence is None or evidence.tied or not evidence.facts or not call.checks.ran:
        return False
    return holds(call.result, evidence.facts)


def holds(result: str, facts: Iterable[Fact]) -> bool:
    """Whether a result, as JSON text, holds every fact."""
    records = shown(result)
    return all(any(is_in(fact, record) for record in records) for fact in facts)


def is_in(fact: Fact, record: InContext) -> bool:
    """Whether a record has the fields of a fact and is about the same values."""
    fields, about = record
    return all(normal(value) in about for value in fact.about) and all(
        name in fields and equal(value, fields[name]) for name, value in fact.fields.items()
    )


@lru_cache(maxsize=RESULTS)
def shown(result: str) -> Sequence[InContext]:
    """Every record of a result, with the values it is about; none if it is not JSON."""
    try:
        return tuple(in_context(msgspec.json.decode(result)))
    except msgspec.DecodeError:
        return ()


def bare(given: Json, wanted: Json, defaults: Json) -> Json:
    """Arguments without those that change nothing: null, a default, a wide page, a zero offset."""
    return {
        name: value
        for name, value in given.items()
        if name in wanted or not _changes_nothing(name, value, defaults)
    }


def _changes_nothing(name: str, value: Any, defaults: Json) -> bool:
    if value is None or (name in defaults and equal(defaults[name], value)):
        return True
    if name == "limit":
        return isinstance(value, int) and value >= PAGE
    return name == "offset" and value == 0
