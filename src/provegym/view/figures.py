"""Headline figures of a file of rollouts: mean reward, and the shares of success and its parts."""

from collections import Counter
from collections.abc import Hashable
from hashlib import sha256
from typing import TypeVar

from provegym.rewards.success import PARTS
from provegym.trace import Json
from provegym.view.columns import Coded, Columns

POLICIES = 3
V = TypeVar("V", bound=Hashable)


def show_figures(columns: Columns) -> Json:
    """The figures over all rows. A rollout without a reward or verdict counts as 0 and as failed.

    `examples` is a hash of the example ids: two files with the same hash have the same examples,
    so their figures can be compared.
    """
    count = columns.count
    rewards, verdicts = tally(columns.rewards, count), tally(columns.verdicts, count)
    total = sum((reward or 0) * times for reward, times in rewards.items())
    judged = {verdict: times for verdict, times in verdicts.items() if verdict is not None}
    shares = {
        part: sum(times for each, times in judged.items() if getattr(each, part)) / max(1, count)
        for part in ("success", *PARTS)
    }
    ids = repr(sorted(tally(columns.ids, count).items())).encode("utf-8", "replace")
    return {
        "count": count,
        "examples": sha256(ids).hexdigest()[:16],
        "reward": total / count if any(reward is not None for reward in rewards) else None,
        "rates": shares,
        "policies": [name for name, _ in tally(columns.policies, count).most_common(POLICIES)],
    }


def tally(column: Coded[V], count: int) -> "Counter[V]":
    """How many of the first so many rows have each value."""
    found: Counter[V] = Counter()
    for code, times in Counter(column.codes[:count]).items():
        found[column.values[code]] += times
    return found
