"""Gold transcripts for supervised fine-tuning: an example played by a perfect assistant.

The calls run on the live world. A teacher's failed attempts are played too, but are outside the
loss: a model sees how to recover from an error and does not learn to make it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from provegym import servers
from provegym.aliases.shapes import is_error
from provegym.kernel import Session
from provegym.players.gold import CAPS, Gold, Unplayable
from provegym.players.plan import with_attempts
from provegym.rollout import Player, run_now
from provegym.trace import Example, Json


class Transcript(NamedTuple):
    """Messages, and a loss mask: for each message, whether a model should learn to write it."""

    messages: list[Json]
    learn: list[bool]


def transcript(example: Example) -> Transcript:
    """The teacher's own transcript, or one made by playing the first path."""
    messages = example.provenance.transcript or play_gold(example)
    return Transcript(list(messages), lessons(messages))


def play_gold(example: Example) -> list[Json]:
    """Play the first path of an example and return the messages of the conversation.

    On another world than its own the same calls may run and tell something else.
    """
    player = Player(example, CAPS)
    run_now(player.play(Gold(example, with_attempts(example))))
    if _is_on_another_world(example):
        raise Unplayable(
            f"{example.id}: world {example.seed} of {example.server} is not the one that the"
            " example was made on; see `provegym verify`"
        )
    return player.messages


def _is_on_another_world(example: Example) -> bool:
    """Whether a seed draws another world than the one whose digest an example holds."""
    if not example.server or not example.digest:
        return False
    server = servers.load(example.server)
    return not server.foreign and Session([server], example.seed).digest() != example.digest


def lessons(messages: Sequence[Json]) -> list[bool]:
    """The loss mask: true for the assistant's messages whose calls had no error."""
    failed = {m["tool_call_id"] for m in messages if m["role"] == "tool" and is_error(m["content"])}
    return [
        message["role"] == "assistant"
        and failed.isdisjoint(call["id"] for call in message.get("tool_calls") or ())
        for message in messages
    ]
