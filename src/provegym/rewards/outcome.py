"""The final state of a rollout: equality and similarity of diffs, apart from created ids."""

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from provegym.kernel import Change


def same_outcome(one: Sequence[Change], two: Sequence[Change]) -> bool:
    """Whether two diffs are equal, apart from the ids of created records."""
    if len(one) != len(two):
        return False
    return list(one) == list(two) or masked(one) == masked(two)


def agreement(one: Counter[str], two: Counter[str]) -> float:
    """The Jaccard similarity of two diffs as multisets of changes."""
    return (one & two).total() / total if (total := (one | two).total()) else 1.0


def fingerprints(changes: Sequence[Change]) -> Counter[str]:
    """The changes of a diff as hashes."""
    found: Counter[str] = Counter()
    for change, count in masked(changes).items():
        found[blake2b(change, digest_size=8).hexdigest()] += count
    return found


def masked(changes: Sequence[Change]) -> Counter[bytes]:
    """The changes of a diff; ids of created records are replaced by a rank of their contents.

    The order of records inside a record, such as the lines of an order, does not matter.
    """
    made = {change.key: f"<new {change.table}>" for change in changes if change.before is None}
    plain = {c.key: _mask(c.after, made) for c in changes if c.before is None}
    order = sorted({msgspec.json.encode(record) for record in plain.values()})
    ranks = {key: order.index(msgspec.json.encode(record)) for key, record in plain.items()}
    told = {key: f"{name} {ranks[key]}" for key, name in made.items()}
    return Counter(
        msgspec.json.encode(
            [c.server, c.table, *(_mask(v, told) for v in (c.key, c.before, c.after))]
        )
        for c in changes
    )


def _mask(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _mask(part, names) for name, part in value.items()}
    if isinstance(value, list):
        parts = [_mask(part, names) for part in value]
        return sorted(parts, key=msgspec.json.encode) if _are_records(parts) else parts
    return names.get(value, value) if isinstance(value, str) else value


def _are_records(parts: list[Any]) -> bool:
    return all(isinstance(part, dict) for part in parts)
