"""Two files of rollouts over the same examples: who was paid more where, and what changed."""

from collections import Counter
from typing import NamedTuple

from provegym.hosts.inline import HostError
from provegym.trace import Json, Rollout
from provegym.view.glance import cut
from provegym.view.item import decode, show_item
from provegym.view.sources import Missing, Rows

CLOSE = 1e-9
SORTS = ("", "difference", "-difference")
KEPT = 4


class Pair(NamedTuple):
    """A rollout of each side on the same example."""

    left: int
    right: int
    difference: float


def match(left: Rows, right: Rows) -> tuple[list[Pair], int, int]:
    """Rollouts of the same example, the first with the first, and how many have no other."""
    waiting: dict[tuple[int, int], int] = {}
    seen: Counter[int] = Counter()
    for at, key in enumerate(right.columns.keys[: right.count]):
        waiting[key, seen[key]] = at
        seen[key] += 1
    total = len(waiting)
    pairs, alone = [], 0
    seen.clear()
    for at, key in enumerate(left.columns.keys[: left.count]):
        other = waiting.get((key, seen[key]))
        seen[key] += 1
        if other is None:
            alone += 1
            continue
        pairs.append(Pair(at, other, _paid(right, other) - _paid(left, at)))
    return pairs, alone, total - len(pairs)


def _paid(source: Rows, at: int) -> float:
    """What a rollout was paid; nothing, if it went wrong."""
    return source.columns.reward(at) or 0.0


class Summary(NamedTuple):
    """How two files compare, and their pairs in some order."""

    pairs: list[Pair]
    told: Json


class Comparer:
    """Compares files; the last few comparisons are kept, so that turning a page costs little."""

    def __init__(self) -> None:
        self._kept: list[tuple[tuple[object, ...], Summary]] = []

    def compare(self, left: Rows, right: Rows, sort: str, page: slice) -> Json:
        """How two files compare, and a page of their pairs, the most different first."""
        for source in (left, right):
            if source.sort != "rollouts":
                raise HostError(f"{source.name} holds no rollouts; choose two files of rollouts")
        if sort not in SORTS:
            raise HostError("pairs are sorted by difference or -difference, or by its size")
        pairs, told = self._summary(left, right, sort)
        rows = [_row(left, right, pair) for pair in pairs[page]]
        return {**told, "done": left.done and right.done, "rows": rows}

    def _summary(self, left: Rows, right: Rows, sort: str) -> Summary:
        key = left.columns, left.count, right.columns, right.count, sort
        for known, summary in list(self._kept):
            if known == key:
                return summary
        summary = summarise(left, right, sort)
        self._kept = [*self._kept[1 - KEPT :], (key, summary)]
        return summary


def summarise(left: Rows, right: Rows, sort: str) -> Summary:
    """The pairs of two files in some order, counted."""
    pairs, only_left, only_right = match(left, right)
    sign = {"": 0, "difference": 1, "-difference": -1}[sort]
    pairs.sort(key=lambda pair: sign * pair.difference if sign else -abs(pair.difference))
    count = max(1, len(pairs))
    told = {
        "pairs": len(pairs),
        "only_left": only_left,
        "only_right": only_right,
        "mean_left": sum(_paid(left, pair.left) for pair in pairs) / count,
        "mean_right": sum(_paid(right, pair.right) for pair in pairs) / count,
        "wins_left": sum(pair.difference < -CLOSE for pair in pairs),
        "wins_right": sum(pair.difference > CLOSE for pair in pairs),
        "ties": sum(abs(pair.difference) <= CLOSE for pair in pairs),
    }
    return Summary(pairs, told)


def _row(left: Rows, right: Rows, pair: Pair) -> Json:
    try:
        sides = decode(left, pair.left), decode(right, pair.right)
        name, changed = sides[0], _changed(*sides)
    except (Missing, RecursionError):
        name, changed = None, ["cannot be read"]
    return {
        "id": cut(name.example.id) if isinstance(name, Rollout) else "",
        "server": left.columns.servers[pair.left],
        "kind": left.columns.kinds[pair.left],
        "left": pair.left,
        "right": pair.right,
        "left_reward": left.columns.reward(pair.left),
        "right_reward": right.columns.reward(pair.right),
        "left_success": left.columns.success(pair.left),
        "right_success": right.columns.success(pair.right),
        "difference": pair.difference,
        "changed": changed,
    }


def _changed(left: object, right: object) -> list[str]:
    """What is different, in short words."""
    assert isinstance(left, Rollout)
    assert isinstance(right, Rollout)
    calls = [[(call.tool, call.arguments) for call in each.calls] for each in (left, right)]
    tools = [[call.tool for call in each.calls] for each in (left, right)]
    told = []
    if Counter(tools[0]) != Counter(tools[1]):
        told.append("tools called")
    elif tools[0] != tools[1]:
        told.append("order of calls")
    elif calls[0] != calls[1]:
        told.append("arguments")
    if [call.error for call in left.calls] != [call.error for call in right.calls]:
        told.append("errors")
    if left.outcome != right.outcome:
        told.append("outcome")
    if left.ended != right.ended:
        told.append("ending")
    if not told and left.messages != right.messages:
        told.append("words")
    return told


def show_pair(left: tuple[Rows, int], right: tuple[Rows, int]) -> Json:
    """Two rollouts in full, and the first message in which they differ."""
    items = [show_item(*side) for side in (left, right)]
    if any(item["kind"] != "rollout" for item in items):
        raise HostError("only rollouts can be compared; choose two of them")
    one, two = (item["rollout"]["messages"] for item in items)
    shorter = min(len(one), len(two))
    first = next((at for at in range(shorter) if one[at] != two[at]), None)
    if first is None and len(one) != len(two):
        first = shorter
    return {"left": items[0], "right": items[1], "first_difference": first}
