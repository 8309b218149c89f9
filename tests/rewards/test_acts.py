"""Speech acts of a reply: questions for what is missing, refusals, deeds."""

from typing import Any

import pytest

from provegym.rewards.acts import asks_for, claimed, claims_deed, declines, denies_deed

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


def test_the_sentences_that_claim_a_deed() -> None:
    text = "Sure. I've moved 120 to Savings. It now holds 500. I had moved 7 earlier."
    assert claimed(text, ["moved"]) == "I've moved 120 to Savings."
    assert claimed("It has been moved.", ["moved"]) == "It has been moved."
