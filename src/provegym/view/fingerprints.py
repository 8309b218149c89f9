"""Fingerprints of a rollout: the page compares them to say what differs between two rollouts."""

from hashlib import blake2b

import msgspec

from provegym.trace import Json, Rollout
from provegym.view.item import decode
from provegym.view.sources import Missing, Rows

DIGEST_BYTES = 6
ENCODE = msgspec.json.Encoder(order="deterministic").encode


def fingerprint(source: Rows, at: int) -> dict[str, str] | None:
    """The fingerprints of a row by what they are of, or None where the row is no whole rollout."""
    try:
        rollout = decode(source, at)
        if not isinstance(rollout, Rollout):
            return None
        return {name: _digest(value) for name, value in _facts(rollout).items()}
    except (Missing, RecursionError):
        return None


def _facts(rollout: Rollout) -> Json:
    tools = [call.tool for call in rollout.calls]
    return {
        "tools": sorted(tools),
        "order": tools,
        "arguments": [(call.tool, call.arguments) for call in rollout.calls],
        "errors": [call.error for call in rollout.calls],
        "outcome": rollout.outcome,
        "ending": rollout.ended,
        "messages": rollout.messages,
    }


def _digest(value: object) -> str:
    return blake2b(ENCODE(value), digest_size=DIGEST_BYTES).hexdigest()
