"""Task success: the final state equals the reference's, and every question was answered."""

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from provegym.kernel import Change
from provegym.trace import Rollout


def succeeded(rollout: Rollout) -> bool:
    """Whether a rollout succeeded, by three conditions.

    The final diff equals the reference's, every read that answers a question was made with equal
    arguments, and the assistant asked for each missing argument. Without steps: no call was made.
    """
    example = rollout.example
    if rollout.ended in ("policy_error", "server_bug"):
        return False
    if not any(path.steps for path in example.paths):
        return not rollout.calls
    for number, turn in enumerate(example.turns):
        if turn.asks is not None and not _asked(rollout, number, turn.asks):
            return False
    if rollout.reward is None or not same_outcome(example.outcome, rollout.outcome):
        return False
    exact = {
        served.step
        for served in rollout.reward.served
        if served.equal == 1 and rollout.calls[served.call].checks.ran
    }
    steps = example.paths[rollout.reward.path].steps
    return all(at in exact for at, step in enumerate(steps) if step.answers)


def _asked(rollout: Rollout, turn: int, slot: str) -> bool:
    """Whether a turn ended with a question about the missing argument, and without a write."""
    if any(call.writes for call in rollout.calls if call.turn == turn):
        return False
    heard = -1
    for message in rollout.messages:
        heard += message["role"] == "user"
        if heard == turn and message["role"] == "assistant" and not message.get("tool_calls"):
            words = str(message.get("content") or "").casefold()
            return "?" in words and any(part in words for part in slot.casefold().split("_"))
    return False


def same_outcome(one: Sequence[Change], two: Sequence[Change]) -> bool:
    """Whether two diffs are equal, apart from the ids of created records."""
    return masked(one) == masked(two)


def agreement(gold: Sequence[Change], given: Sequence[Change], drift: Sequence[str] = ()) -> float:
    """The Jaccard similarity of two diffs as multisets of changes.

    Changes in `drift` are left out: they happen by the passing of time alone.
    """
    one, two = (fingerprints(changes) - Counter(drift) for changes in (gold, given))
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
