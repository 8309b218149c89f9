"""What a reply says: values in any format, questions for what is missing, deeds."""

from typing import Any

import pytest

from provegym.rewards.answers import (
    asks_for,
    claims_deed,
    declines,
    denies_deed,
    states,
    states_enough,
)

STATED: list[tuple[str, Any]] = [
    ("Your balance is 1,250.00 euros.", 1250),
    ("It costs $63.68.", 63.68),
    ("It costs about 63.7.", 63.68),
    ("There are three.", 3),
    ("There are none.", 0),
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
    assert states_enough("Mostly Rainy Day and Everyday.", names, values)
    assert not states_enough("Rainy Day, for one.", names, values)
    assert not states_enough("There are three.", names, values)
    assert states_enough("There are 14 of them.", ["/total", *names], [14, *values])
    assert not states_enough("There are 15 of them.", ["/total", *names], [14, *values])


DATE = {"type": "string", "format": "date"}
KIND = {"type": "string", "enum": ["window", "aisle"]}
ASKED: list[tuple[str, str, Any, str]] = [
    ("Which account should I use?", "from_account_id", {}, ""),
    ("Sure. When should it start?", "first_date", DATE, ""),
    ("Window or aisle?", "seat_kind", KIND, ""),
    ("I still need the email. What is it?", "email", {}, ""),
    ("Please tell me the title.", "title", {}, ""),
    ("What should I call it?", "name", {}, ""),
    ("How much do you want to send?", "amount", {"type": "number"}, ""),
    ("Which one do you mean?", "card_id", {}, "freeze my card"),
    ("Could you let me know the categories?", "category", {}, ""),
    ("Who is travelling?", "traveller_id", {}, ""),
    ("Where should it be delivered?", "delivery_address_id", {}, ""),
    ("Which workshop?", "garage_id", {}, ""),
    ("What type of issue is it?", "kind", {}, ""),
]
NOT_ASKED: list[tuple[str, str, Any, str]] = [
    ("I did that. Anything else?", "account_id", {}, ""),
    ("I've set up the account. Anything else?", "account_id", {}, ""),
    ("Did it go through?", "account_id", {}, ""),
    ("The account is ready.", "account_id", {}, ""),
    ("Which one do you mean?", "card_id", {}, "do it"),
    ("Is there anything else I can help with?", "title", {}, ""),
    ("Shall I send it?", "first_date", DATE, ""),
    ("I don't need the title. Sounds good?", "title", {}, ""),
]


@pytest.mark.parametrize(("text", "slot", "schema", "heard"), ASKED)
def test_a_question_for_the_missing_thing(text: str, slot: str, schema: Any, heard: str) -> None:
    assert asks_for(text, [slot], schema, heard)


@pytest.mark.parametrize(("text", "slot", "schema", "heard"), NOT_ASKED)
def test_another_question_does_not_ask_for_it(
    text: str, slot: str, schema: Any, heard: str
) -> None:
    assert not asks_for(text, [slot], schema, heard)


def test_a_deed_is_claimed_in_the_first_person() -> None:
    verbs = ["booked", "sent"]
    assert claims_deed("I've booked it.", verbs, alone=False)
    assert claims_deed("I have just sent the mail.", verbs, alone=False)
    assert not claims_deed("It was booked on 3 May.", verbs, alone=False)
    assert not claims_deed("I have already sent it earlier.", verbs, alone=False)
    assert not claims_deed("I can't book that.", verbs, alone=True)
    assert claims_deed("All set!", verbs, alone=True)
    assert claims_deed("Your mail has been sent.", verbs, alone=True)
    assert not claims_deed("Your mail has been sent.", verbs, alone=False)


def test_a_reply_declines_and_claims_nothing_to_the_contrary() -> None:
    assert declines("I'm afraid that can't be done: the card is cancelled.")
    assert declines("Somebody else will have to do that.")
    assert not declines("asdf")
    assert not declines("I've done that.")
    assert not declines("All taken care of, it went through. Sorry for the wait.")


def test_a_reply_may_deny_what_was_done() -> None:
    assert denies_deed("Sorry, I could not do that; nothing was changed.")
    assert not denies_deed("I've moved 20 from Household to Savings.")
