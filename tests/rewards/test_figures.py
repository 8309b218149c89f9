"""Figures in answers and claims that nothing has shown."""

from datetime import UTC, datetime

import msgspec
import pytest

from provegym.rewards.figures import figures, invents_figure, unseen_days
from provegym.trace import RAN, Call

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)
ROWS = [{"name": "Savings", "amount": 45.49}, {"name": "Travel", "amount": 120.5}]
RESULT = {"items": ROWS, "total": 62, "due": "2026-09-08T16:30:00Z", "meters": 2396}
CALL = Call(
    turn=0,
    message=0,
    tool="look",
    arguments={"nights": 4},
    checks=RAN,
    result=msgspec.json.encode(RESULT).decode(),
)
KNOWN = figures(["I need 150 by 3 October."], [CALL], NOW)


@pytest.mark.parametrize(
    "text",
    [
        "Savings has 45.49 and Travel 120.50.",
        "Savings has about 45, Travel 121.",
        "Together that is 165.99.",
        "You need 150, so 29.50 is missing in Travel: 120.50.",
        "It is 2.4 km away (2,396 m).",
        "There are 62. The first five:\n1. Savings\n2. Travel",
        "That is 73% of it, 3 out of 75, at 16:45.",
        "It runs from 8 to 12 September, so 4 nights.",
        "It is due on Tuesday, 8 September 2026.",
        "Today is 1 September; you asked for Oct 3rd.",
    ],
)
def test_what_was_shown_or_follows_may_be_told(text: str) -> None:
    assert not invents_figure(text, KNOWN.with_terms([45.49, 120.5]))


@pytest.mark.parametrize(
    "text",
    [
        "Savings has 45.49 and Travel 210.50.",
        "Savings has 454.90.",
        "There are 620.",
        "It is due on 9 November.",
        "It is due on Monday, 8 September.",
        "It is due on 8 September 2027.",
    ],
)
def test_what_nothing_has_shown_is_invented(text: str) -> None:
    assert invents_figure(text, KNOWN.with_terms([45.49, 120.5]))


def test_days_without_a_known_time() -> None:
    known = figures(["Book it for 3 October 2026."], [], None)
    assert not list(unseen_days("It is booked for Saturday, 3 October.", known))
    assert list(unseen_days("It is booked for Sun, 3 October or 4 October", known)) == [
        "3 October",
        "4 October",
    ]
