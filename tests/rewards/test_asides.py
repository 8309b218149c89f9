"""Replies to what is beside the point: small talk, and odd requests between other turns."""

import pytest

from provegym.rewards.success import Judged, is_right_reply
from provegym.trace import Example, Provenance, Turn


def is_right(asked: str, reply: str) -> bool:
    """Whether a reply to an aside is right."""
    example = Example(
        id="aside",
        kind="multi_turn",
        server="banking",
        server_version=0,
        seed=7,
        digest="",
        system="You help.",
        turns=(Turn(text=asked),),
        paths=(),
        provenance=Provenance(levels=("aside",)),
    )
    return is_right_reply(Judged(example, (), (), (), (), [reply]), 0)


@pytest.mark.parametrize("reply", ["Bananas.", "42", "\U0001f642"])
def test_one_word_answers_no_small_talk(reply: str) -> None:
    assert not is_right("I'm bored. Let's talk about moss.", reply)


@pytest.mark.parametrize("reply", ["With pleasure!", "Moss is soft and green.", "I can't, sorry."])
def test_any_polite_text_answers_small_talk(reply: str) -> None:
    assert is_right("I'm bored. Let's talk about moss.", reply)


def test_an_odd_request_between_other_turns_is_declined() -> None:
    asked = "I wonder if you could notarise my lease."
    assert is_right(asked, "I'm afraid I can't do that.")
    assert not is_right(asked, "What a lovely day it is.")
    assert not is_right(asked, "Notarised!")
