"""Values in a reply stand with the names that they belong to."""

import pytest

from provegym.rewards.answers import states_enough

ACCOUNTS = [f"/items/{at}/{field}" for at in range(3) for field in ("name", "balance")]
BALANCES = ["Savings", 10, "Salt and Sons", 250.5, "Travel", 10]
RIGHT = [
    "Savings has 10, Salt and Sons 250.50 and Travel 10.",
    "10 in Savings, 250.50 in Salt and Sons and also 10 in Travel.",
    "| Savings | 10 |\n| Salt and Sons | 250.50 |\n| Travel | 10 |",
    "- Savings\n  - balance: 10\n- Salt and Sons\n  - balance: 250.50\n- Travel\n  - balance: 10",
    "Savings, Salt and Sons and Travel have 10, 250.50 and 10.",
    "They are Savings (10); Travel, with the same; and Salt and Sons, with 250.50.",
    "Salt and Sons has 240.50 more than Savings: 250.50. Savings and Travel hold 10 each.",
]
WRONG = [
    "Savings has 250.50, Salt and Sons 10 and Travel 10.",
    "250.50 in Savings, 10 in Salt and Sons and 10 in Travel.",
    "| Savings | 10 |\n| Salt and Sons | 10 |\n| Travel | 250.50 |",
    "- Savings\n  - balance: 250.50\n- Salt and Sons\n  - balance: 10\n- Travel\n  - balance: 10",
]


@pytest.mark.parametrize("text", RIGHT)
def test_each_value_may_stand_with_its_own_name_in_any_form(text: str) -> None:
    assert states_enough(text, ACCOUNTS, BALANCES)


@pytest.mark.parametrize("text", WRONG)
def test_a_value_on_another_name_is_no_answer(text: str) -> None:
    assert not states_enough(text, ACCOUNTS, BALANCES)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("The low was 12 and the high 31.", True),
        ("Between 12 and 31.", True),
        ("The high of 31 came after a low of 12.", True),
        ("The low was 31 and the high 12.", False),
        ("Low: 31\nHigh: 12", False),
    ],
)
def test_the_fields_of_one_record_keep_their_values(text: str, *, right: bool) -> None:
    assert states_enough(text, ["/low", "/high"], [12, 31]) is right


def test_without_a_name_for_each_record_nothing_is_compared() -> None:
    answers = ["/items/0/status", "/items/0/price", "/items/1/status", "/items/1/price"]
    assert states_enough("One for 4 is open, one for 5 too.", answers, ["open", 4, "open", 5])


def test_small_words_of_a_field_are_no_labels() -> None:
    values = [94.6, "2026-04-07T19:20:00Z"]
    fields = ["/price", "/ends_at"]
    assert states_enough("It stands at 94.60 and ends on 7 April.", fields, values)
    assert states_enough("The price is 94.60, until 7 April at 19:20.", fields, values)


PLACES = [f"/items/{at}/place" for at in range(4)]
CARS = {f"/items/{at}": [name] for at, name in enumerate(["Comet", "Juniper", "Mistral", "Wren"])}


@pytest.mark.parametrize(
    ("places", "right"),
    [
        (["Home", "Home", "Home", "Depot"], True),
        (["Depot", "Home", "Home", "Home"], False),
        (["Home", "blue", "Home", "Depot"], False),
    ],
)
def test_each_item_tells_of_its_own_record(places: list[str], *, right: bool) -> None:
    told = [f"- {CARS[f'/items/{at}'][0]} is at {place}" for at, place in enumerate(places)]
    values = ["Home", "Home", "Home", "Depot"]
    assert states_enough("\n".join(told), PLACES, values, names=CARS) is right


def test_a_list_may_be_grouped_by_its_values() -> None:
    text = "At Home:\n- Comet\n- Juniper\n- Mistral\n\nAt the Depot:\n- Wren"
    assert states_enough(text, PLACES, ["Home", "Home", "Home", "Depot"], names=CARS)


def test_a_day_may_name_a_record() -> None:
    nights = {"/items/0": ["2026-09-03"], "/items/1": ["2026-09-04"]}
    answers, values = ["/items/0/price", "/items/1/price"], [185, 180]
    right = "- 3 September: 185\n- Sept 4: 180"
    assert states_enough(right, answers, values, names=nights)
    assert not states_enough("- 3 September: 180\n- Sept 4: 185", answers, values, names=nights)
