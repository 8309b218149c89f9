"""Small talk: every question that a user may draw has an answer, whatever a persona makes of it."""

import re
from collections.abc import Iterator
from random import Random

import pytest

from provegym.language.personas import PERSONAS, draw, styled
from provegym.language.smalltalk import Asked, answer, recognise, tables

HELPS = "your accounts"


def every_question() -> Iterator[tuple[str, Asked]]:
    """Each frame and each phrase at least once, as a text and as what it asks."""
    for table, lists in tables().items():
        for number, frame in enumerate(lists["frames"]):
            slot, *more = re.findall(r"\{(\w+)\}", frame)
            phrases = lists["topics" if slot == "topic" else slot]
            for phrase in phrases[number % 20 :: 20] if slot == "topic" else phrases:
                asked = (phrase, *(lists[name][-1] for name in more))
                text = frame
                for each in asked:
                    text = re.sub(r"\{\w+\}", each, text, count=1)
                yield text, Asked(table, frame, asked)


def test_every_question_has_its_own_answer() -> None:
    seen = set()
    for text, asked in every_question():
        found = recognise(text)
        assert found is not None
        assert (found.table, found.phrases) == (asked.table, asked.phrases), text
        assert found.frame == asked.frame or "beyond" in asked or "{topic}" in asked.frame
        told = answer(text, HELPS, Random(0))
        assert told, text
        assert "{" not in told
        assert HELPS in told or asked.table == "knowledge"
        seen |= {asked.frame, *asked.phrases}
    for lists in tables().values():
        assert {*lists["frames"], *lists["topics"]} <= seen


@pytest.mark.parametrize("persona", PERSONAS)
def test_a_question_is_recognised_in_every_persona(persona: str) -> None:
    chance, right = Random(persona), 0
    for _ in range(150):
        text = draw(chance.choice([*tables()]), chance)
        told = answer(styled(text, persona, [], chance), HELPS, Random(0))
        right += told == answer(text, HELPS, Random(0))
    assert right >= 147


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("What's the capital of Norway?", "The capital of Norway is Oslo."),
        ("Is Croatia larger than Portugal?", "No, Croatia is smaller than Portugal."),
        (
            "Which countries border on Iceland?",
            "Iceland is an island and borders on no other country.",
        ),
        ("What is seven times eight?", "Seven times eight is 56."),
        ("What do you get when you take nine away from sixty?", "Sixty minus nine is 51."),
        ("Is ninety-seven a prime number?", "Ninety-seven is a prime number."),
        ("Is a hundred a prime number?", "A hundred is not a prime number."),
        ("If I cut twenty-one in half, what is left?", "Half of twenty-one is 10.5."),
        ('What does the word "wane" mean?', '"wane" means to become weaker or smaller.'),
    ],
)
def test_facts_are_right(asked: str, told: str) -> None:
    assert answer(asked, HELPS, Random(0)) == told


def test_a_request_beyond_all_tools_is_declined_in_the_users_terms() -> None:
    told = answer("Could you find out whether I need a visa for Brazil?", HELPS, Random(0))
    assert told is not None
    assert "find out whether you need a visa for Brazil" in told
    assert HELPS in told


def test_what_nobody_drew_is_not_recognised() -> None:
    assert recognise("Freeze the card ending in 4384.") is None
    assert answer("Move 20 to Savings.", HELPS, Random(0)) is None
