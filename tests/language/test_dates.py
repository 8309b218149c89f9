"""What people say for a date can be read back, and means one day only."""

import re
from datetime import UTC, date, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.language.dates import MONTHS, find, placed, read, say

WEDNESDAY = datetime(2027, 3, 10, 9, 0, tzinfo=UTC)
moments = st.dates(date(2020, 1, 1), date(2035, 1, 1)).map(
    lambda day: datetime(day.year, day.month, day.day, 9, 30, tzinfo=UTC)
)
days = st.integers(-400, 400)
minutes = st.integers(0, 24 * 60 - 1)
seeds = st.integers(0, 10_000)


def iso(day: date, minute: int | None) -> str:
    if minute is None:
        return day.isoformat()
    return f"{day.isoformat()}T{minute // 60:02}:{minute % 60:02}:00Z"


@given(now=moments, ahead=days, minute=st.none() | minutes, seed=seeds)
def test_reads_back_what_it_says(now: datetime, ahead: int, minute: int | None, seed: int) -> None:
    value = iso(now.date() + timedelta(days=ahead), minute)
    phrase = say(value, now, Random(seed))
    assert read(phrase, now) == value
    for text in (f"starting {phrase}, please", f"Anything since {phrase}?", f"Is it {phrase}."):
        assert find(text, now) == [(phrase, value)]


@given(now=moments, ahead=st.integers(-14, 14), minute=st.none() | minutes)
def test_every_phrase_for_a_near_day_reads_back(
    now: datetime, ahead: int, minute: int | None
) -> None:
    value = iso(now.date() + timedelta(days=ahead), minute)
    phrases = {say(value, now, Random(seed)) for seed in range(60)}
    assert {read(phrase, now) for phrase in phrases} == {value}
    assert len(phrases) >= 4


@given(now=moments, ahead=days, minute=st.none() | minutes, seed=seeds)
def test_says_no_number_but_those_of_the_date(
    now: datetime, ahead: int, minute: int | None, seed: int
) -> None:
    day = now.date() + timedelta(days=ahead)
    phrase = say(iso(day, minute), now, Random(seed))
    allowed = {day.day, day.year} if re.search(rf"{'|'.join(MONTHS)}|the \d", phrase) else set()
    if minute is not None:
        hour = minute // 60
        allowed |= {hour, (hour - 1) % 12 + 1, minute % 60}
    assert {int(number) for number in re.findall(r"\d+", phrase)} <= allowed
    assert (str(day.year) in phrase) == (abs(ahead) > 120)


@pytest.mark.parametrize(
    ("phrase", "value"),
    [
        ("today", "2027-03-10"),
        ("tomorrow", "2027-03-11"),
        ("yesterday", "2027-03-09"),
        ("the day after tomorrow", "2027-03-12"),
        ("Tuesday", "2027-03-16"),
        ("on Friday", "2027-03-12"),
        ("next Friday", "2027-03-19"),
        ("next Monday", "2027-03-15"),
        ("last Monday", "2027-03-01"),
        ("last Friday", "2027-03-05"),
        ("a week from Friday", "2027-03-19"),
        ("a week from today", "2027-03-17"),
        ("in three days", "2027-03-13"),
        ("in 3 days", "2027-03-13"),
        ("two weeks ago", "2027-02-24"),
        ("16 March", "2027-03-16"),
        ("March 16th", "2027-03-16"),
        ("the 16th of March", "2027-03-16"),
        ("20 December", "2026-12-20"),
        ("March 16, 2028", "2028-03-16"),
        ("the 16th", "2027-03-16"),
        ("the 28th", "2027-02-28"),
        ("tomorrow at 3 pm", "2027-03-11T15:00:00Z"),
        ("tomorrow at 15:00", "2027-03-11T15:00:00Z"),
        ("3pm tomorrow", "2027-03-11T15:00:00Z"),
        ("16 March at half past nine in the morning", "2027-03-16T09:30:00Z"),
        ("Friday at quarter to twelve in the evening", "2027-03-12T23:45:00Z"),
        ("12:30 pm on Friday", "2027-03-12T12:30:00Z"),
        ("Friday at noon", "2027-03-12T12:00:00Z"),
        ("2027-03-16T15:00:07Z", "2027-03-16T15:00:07Z"),
    ],
)
def test_means(phrase: str, value: str) -> None:
    assert read(phrase, WEDNESDAY) == value


@pytest.mark.parametrize(
    "phrase",
    [
        "Wednesday",
        "soon",
        "31 February",
        "February 30, 2027",
        "tomorrow at 25:00",
        "13 pm today",
        "tomorrow or so",
        "16",
        "next year",
        "",
    ],
)
def test_means_nothing(phrase: str) -> None:
    assert read(phrase, WEDNESDAY) is None


def test_next_and_last_are_said_only_where_nobody_could_take_another_day() -> None:
    days = {ahead: iso(WEDNESDAY.date() + timedelta(days=ahead), None) for ahead in range(-20, 21)}
    said = {
        (say(day, WEDNESDAY, Random(seed)).split()[0], ahead)
        for ahead, day in days.items()
        for seed in range(80)
    }
    assert {ahead for word, ahead in said if word == "next"} == {5, 6, 7}
    assert {ahead for word, ahead in said if word == "last"} == {-7, -6, -5, -4, -3}


def test_seconds_and_other_zones_stay_as_they_are() -> None:
    for value in ("2027-03-16T15:00:07Z", "2027-03-16T15:00:00+02:00"):
        assert say(value, WEDNESDAY, Random(1)) == value


def test_finds_every_date_of_a_text() -> None:
    text = "Move last Friday to next Monday at 9:15 am, not to the 12th; not 1 May 2027!"
    assert find(text, WEDNESDAY) == [
        ("last Friday", "2027-03-05"),
        ("next Monday at 9:15 am", "2027-03-15T09:15:00Z"),
        ("the 12th", "2027-03-12"),
        ("1 May 2027", "2027-05-01"),
    ]
    assert find("Room 16, March past 3 people, two weeks long, id 1-16 March-2", WEDNESDAY) == []


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("tomorrow", "Show me what I spent tomorrow, please."),
        ("Tuesday", "Show me what I spent on Tuesday, please."),
        ("the 16th", "Show me what I spent on the 16th, please."),
        ("3 pm tomorrow", "Show me what I spent at 3 pm tomorrow, please."),
        ("next Friday at 3 pm", "Show me what I spent next Friday at 3 pm, please."),
        ("March 16 at noon", "Show me what I spent on March 16 at noon, please."),
    ],
)
def test_takes_the_right_preposition(phrase: str, text: str) -> None:
    for word in ("on", "at"):
        assert placed(f"Show me what I spent {word} {phrase}, please.", phrase) == text
    assert placed(f"Snooze it until {phrase}.", phrase) == f"Snooze it until {phrase}."
    assert placed("Look at files only.", "files") == "Look at files only."
