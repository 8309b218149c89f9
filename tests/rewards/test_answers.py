"""Which values a reply states, in any format."""

from datetime import UTC, datetime
from typing import Any

import pytest

from provegym.rewards.answers import asserted, states, states_enough
from provegym.rewards.figures import unseen_numbers

STATED: list[tuple[str, Any]] = [
    ("Your balance is 1,250.00 euros.", 1250),
    ("It costs $63.68.", 63.68),
    ("It costs about 63.7.", 63.68),
    ("There are three.", 3),
    ("There are none.", 0),
    ("Shipping is free.", 0),
    ("It is about 1,250.", 1249.6),
    ("It leaves on Sept 5.", "2026-09-05"),
    ("It leaves on 05 Sep 2026.", "2026-09-05"),
    ("It leaves on 09/05/2026.", "2026-09-05"),
    ("It leaves on 5. September.", "2026-09-05"),
    ("The status is no-show.", "no_show"),
    ("It comes on at 6:15 am.", "06:15"),
    ("It comes on at 18:15.", "18:15"),
    ("It comes on every Tuesday.", "tue"),
    ("It is sold out.", 0),
    ("A transfer of 250.00 went out.", -250.0),
    ("It leaves on Sunday.", "2026-05-03"),
    ("It is at 12%.", 12),
    ("It leaves on 3 May 2026 at 10:00.", "2026-05-03T10:00:00Z"),
    ("It leaves on May 3rd.", "2026-05-03"),
    ("It leaves on the 3rd of May.", "2026-05-03"),
    ("It leaves tomorrow at 4:30 pm.", "2026-05-03T16:30:00Z"),
    ("It is 2026-05-03.", "2026-05-03"),
    ("The status is Not Received.", "not_received"),
    ('They wrote "See you there."', "See you there."),
    ("Ada, Bea and Cleo.", ["Ada", "Bea", "Cleo"]),
    ("Ada and Bea, among others.", ["Ada", "Bea", "Cleo"]),
]
NOT_STATED: list[tuple[str, Any]] = [
    ("It leaves on 3 May 1999.", "2026-05-03"),
    ("It leaves on 3 May at 11:00.", "2026-05-03T10:00:00Z"),
    ("It is not 63.68, it is 127.", 63.68),
    ('It is not "Rainy Day".', "Rainy Day"),
    ("It is anything but frozen.", "frozen"),
    ("It isn't currently marked as frozen.", "frozen"),
    ("The bids are 0 and 0.", 63.68),
    ("It costs 64.", 63.68),
    ("It costs 163.68.", 63.68),
    ("There are thirteen.", 3),
    ("It leaves on 4 May.", "2026-05-03"),
    ("I am not sure. Maybe Tuesday.", "2026-05-03"),
    ("It leaves on 13 May.", "2026-05-03"),
    ("It leaves on 3 June.", "2026-05-03"),
    ("It leaves tomorrow at 4:30 pm.", "2026-05-03T15:30:00Z"),
    ("All set.", "frozen"),
    ("It is unfrozen.", "frozen"),
    ("Ada.", ["Ada", "Bea", "Cleo"]),
]


@pytest.mark.parametrize(("text", "value"), STATED)
def test_a_value_is_stated_in_any_format(text: str, value: Any) -> None:
    assert states(text, value)


@pytest.mark.parametrize(("text", "value"), NOT_STATED)
def test_another_value_is_not_the_value(text: str, value: Any) -> None:
    assert not states(text, value)


def test_a_list_is_told_item_by_item_or_by_its_length_where_it_is_long() -> None:
    names = ["/items/0/name", "/items/1/name", "/items/2/name"]
    values = ["Rainy Day", "Everyday", "Travel"]
    assert states_enough("Rainy Day, Everyday and Travel.", names, values)
    assert not states_enough("Mostly Rainy Day and Everyday.", names, values)
    assert not states_enough("There are three.", names, values)
    assert not states_enough("There are 14 of them.", ["/total", *names], [14, *values])
    assert states_enough("There are 14, among them Travel.", ["/total", *names], [14, *values])
    assert states_enough("Among them Rainy Day and Travel.", ["/total", *names], [14, *values])
    assert not states_enough("Rainy Day, for one.", ["/total", *names], [14, *values])
    assert not states_enough("There are 15 of them.", ["/total", *names], [14, *values])


@pytest.mark.parametrize(
    "text",
    ["It is not frozen.", "It isn't yet frozen.", "It isn\u2019t frozen.", "No longer frozen."],
)
def test_what_is_denied_is_not_stated(text: str) -> None:
    assert not states(text, "frozen")
    assert states(f"{text} Now it is frozen.", "frozen")
    assert not states(text.replace("frozen", "500"), 500) or "yet" in text


def test_a_reply_that_counts_through_states_nothing() -> None:
    counting = ", ".join(map(str, range(60)))
    assert not states_enough(counting, ["/total"], [17])
    readings = ". ".join(f"On 3 May it read {at}" for at in range(60))
    assert states_enough(readings, ["/total"], [17])


@pytest.mark.parametrize(
    ("text", "unseen"),
    [
        ("I moved 120 on 3 May at 15:45.", []),
        ("I moved 1,250.50 and then 1251.", []),
        ("I moved 9,999.", [9999]),
        ("I moved 120 for 3 people, 12.5 each.", [3, 12.5]),
        ("I cancelled 7 orders on 7 May 2026.", [7]),
        ("I rated the 120 one with 120 out of 5 stars.", []),
    ],
)
def test_numbers_that_are_not_known(text: str, unseen: list[float]) -> None:
    assert unseen_numbers(text, {120, 1250.5}) == unseen


@pytest.mark.parametrize(
    ("word", "day"), [("today", "2026-05-03"), ("tomorrow", "2026-05-04"), ("Friday", "2026-05-08")]
)
def test_a_word_for_a_day_depends_on_the_time(word: str, day: str) -> None:
    now = datetime(2026, 5, 3, 12, tzinfo=UTC)
    assert states(f"It is {word}.", day, now)
    assert not states(f"It is {word}.", "2026-05-22", now)


def test_eight_times_are_no_crowd_of_numbers() -> None:
    times = [f"2026-05-{day:02}T07:30:00Z" for day in range(1, 9)]
    told = "8 journeys: " + ", ".join(f"2026-05-{day:02} 07:30" for day in range(1, 9))
    assert states_enough(told, [f"/items/{at}/ended" for at in range(8)], times)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("It is active.", True),
        ("- It is active\n- Ada answered with a maybe\n- Perhaps you know", True),
        ("It could be active. I am sure that it is active.", True),
        ("It is active or perhaps something else.", False),
        ("It was active once but has since changed.", False),
        ("Probably it is active.", False),
        ("I think it is active.", False),
        ("It is active. But I may be wrong.", False),
        ("It is active. Forget that.", False),
        ("It is not true that it is active.", False),
        ("Presumably these:\n- active\n- new", False),
        ('A message says "I think so", and it is active.', True),
        ('{"id": "a_1", "status": "active", "name": "x", "total": 1}', False),
        ('{"status":"active"}', False),
    ],
)
def test_a_hedge_and_raw_json_are_no_answers(text: str, *, right: bool) -> None:
    assert states_enough(text, ["/status"], ["active"]) is right


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("Is it 45?", ""),
        ("It is 45?", ""),
        ("It is 45. Is that all?", "It is 45."),
        ("It is 45, shall I pay it?", "It is 45."),
        ("Ada wrote: Can we meet at 9?", "Ada wrote: Can we meet at 9?"),
    ],
)
def test_a_question_of_its_own_states_nothing(text: str, stated: str) -> None:
    assert asserted(text, "Can we meet at 9?").strip() == stated


@pytest.mark.parametrize(
    ("text", "value", "right"),
    [
        ("It was not a card payment of 59.98.", 59.98, False),
        ("It was not changed on 3 May.", "2026-05-03", False),
        ("It is not due until 3 May.", "2026-05-03", True),
        ("It isn't paid yet, and comes to 59.98.", 59.98, True),
    ],
)
def test_a_figure_some_words_after_a_denial(text: str, value: Any, *, right: bool) -> None:
    assert states(text, value) is right


def test_a_heading_counts_its_list() -> None:
    names = [f"/items/{at}/name" for at in range(3)]
    values = ["Ada", "Bob", "Cy"]
    told = "\n- Ada\n- Bob\n- Cy"
    assert states_enough(f"I found 3 people:{told}", names, values)
    assert not states_enough(f"I found 5 people:{told}", names, values)
    assert not states_enough(f"You have five people:{told}", names, values)
    assert states_enough(f"You have 5 pets.{told}", names, values)


def test_a_dump_of_words_is_no_answer() -> None:
    dump = " ".join(f"w{at}x" for at in range(90))
    assert not states_enough(f"{dump} active", ["/status"], ["active"])
    assert states_enough(f"It is active. {dump[:60]}", ["/status"], ["active"])


def test_counting_through_all_numbers_is_no_answer() -> None:
    counting = (
        "It must be " + ", ".join(map(str, range(21))) + " of them, as far as anybody can say."
    )
    assert not states_enough(counting, ["/total"], [17])
    assert states_enough("The bids are 5, 6, 7, 8 and 9.", ["/bids"], [[5, 6, 7, 8, 9]])


def test_a_long_list_is_not_said_to_have_another_length() -> None:
    answers = ["/total", *(f"/items/{at}/name" for at in range(4))]
    values = [14, "Ada", "Bob", "Cy", "Dee"]
    assert states_enough("There are 14 people: Ada, Bob, Cy and others.", answers, values)
    assert states_enough("Ada, Bob, Cy and others.", answers, values)
    assert not states_enough("There are 19 people: Ada, Bob, Cy and others.", answers, values)
    assert states_enough("Here are 3 of them:\n- Ada\n- Bob\n- Cy", answers, values)


def test_a_file_may_be_called_by_its_name() -> None:
    path = "/home/ada/Letters/oven-budget.csv"
    assert states("It is **oven-budget.csv** in the Letters folder.", path)
    assert not states("It is budget.csv.", path)
