"""Alternatives: a value that is one of two is not stated."""

from typing import Any

import pytest

from provegym.rewards.answers import states_enough


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("It is 45 or 54.", 45),
        ("It is 54 or 45.", 45),
        ("It's either \u20ac45 or \u20ac54.", 45),
        ("It is 45 (or 54).", 45),
        ("It is 45, maybe 54.", 45),
        ("It is 45/54.", 45),
        ("It is between 45 and 54.", 45),
        ("There are five or six.", 5),
        ("It is on 3 May or 4 May.", "2026-05-03"),
        ("It is frozen or active.", "frozen"),
        ("It is either active or frozen.", "frozen"),
        ("The host is Ada Stone or somebody else.", "Ada Stone"),
    ],
)
def test_one_of_two_is_not_stated(text: str, value: Any) -> None:
    assert not states_enough(text, ["/value"], [value])


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("It comes in 45 or 54.", [45, 54]),
        ("You can have red or blue.", ["red", "blue"]),
        ("It is 45. Orders open at 16 or fewer.", [45]),
        ("It is 45. Shall I use 10 or 20?", [45]),
        ("It is frozen. Do you want it active or cancelled?", ["frozen"]),
        ("It is rated 4.5/5.", [4.5]),
        ("The place is Trick or Treat.", ["Trick or Treat"]),
        ("It is due on 05/03/2026.", ["2026-05-03"]),
    ],
)
def test_other_words_with_or_state_a_value(text: str, values: list[Any]) -> None:
    assert states_enough(text, [f"/{at}" for at, _ in enumerate(values)], values)


def test_a_share_of_a_number_that_was_seen_is_no_alternative() -> None:
    assert states_enough("21/40 seats are taken.", ["/taken"], [21], seen='{"seats": 40}')
    assert not states_enough("21/40 seats are taken.", ["/taken"], [21], seen='{"seats": 50}')
