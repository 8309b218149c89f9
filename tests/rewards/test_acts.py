"""Speech acts of a reply: questions for what is missing, refusals, deeds."""

from typing import Any

import pytest

from provegym.rewards.acts import (
    claimed,
    claimed_deeds,
    claims_deed,
    confirms,
    declines,
    unseen_names,
)
from provegym.rewards.asking import asks_for

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
    ("Which one do you mean?", "message_id", {"type": "string"}, "pin a message"),
    ("Could you let me know the categories?", "category", {}, ""),
    ("Who is travelling?", "traveller_id", {}, ""),
    ("Where should it be delivered?", "delivery_address_id", {}, ""),
    ("Which workshop?", "garage_id", {}, ""),
    ("What type of issue is it?", "kind", {}, ""),
    ("Should it go from checking or from savings?", "source_id", {}, "which account"),
    ("Which account should I take it from?", "source_account_id", {}, ""),
    ("Which account would you like to use?", "source_account_id", {}, ""),
    ("When does it end?", "ends_at", DATE, ""),
    ("Which scene would you like me to delete?", "scene_id", {}, ""),
    ("Just tell me the amount and I'll take care of the rest.", "amount", {}, ""),
    ("Who should get it?", "teammate_ids", {}, ""),
    ("At what level should it react?", "threshold", {}, ""),
    ("I'll need one more detail:\n- **Amount**\nCould you share it?", "amount", {}, ""),
]
NOT_ASKED: list[tuple[str, str, Any, str]] = [
    ("I did that. Anything else?", "account_id", {}, ""),
    ("I've set up the account. Anything else?", "account_id", {}, ""),
    ("Did it go through?", "account_id", {}, ""),
    ("The account is ready.", "account_id", {}, ""),
    ("Which one do you mean?", "card_id", {}, "do it"),
    ("Which one do you mean?", "price", {"type": "number"}, "sell it at a fixed price"),
    ("Which one do you mean?", "first_date", DATE, "it starts on some day"),
    ("Which one do you mean?", "text", {"type": "string"}, "send a message to Olga Brandt"),
    ("Is there anything else I can help with?", "title", {}, ""),
    ("Shall I send it?", "first_date", DATE, ""),
    ("I don't need the title. Sounds good?", "title", {}, ""),
    ("Shall I send you an email?", "email", {}, ""),
    ("Why do you need the amount?", "amount", {}, ""),
    ("Would you like me to describe it?", "description", {}, ""),
    ("When does it end?", "starts_at", DATE, ""),
    ("Which account should it go to?", "source_account_id", {}, ""),
    ("Which account should it come from?", "target_account_id", {}, ""),
    ("Can you pay the amount?", "amount", {}, "Hello. Can you pay the amount?"),
    ("Which amount? I picked one for you.", "amount", {}, ""),
    ("Who? What? When? Where? How much?", "amount", {"type": "number"}, ""),
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


@pytest.mark.parametrize(
    "text",
    [
        "I'm afraid that can't be done: the card is cancelled.",
        "Somebody else will have to do that.",
        "None of my tools can do that.",
        "I have no access to that.",
        "You'd need somebody else to clean the gutters, I'm afraid.",
        "I'm afraid it isn't in my power to test your hearing.",
        "There's no option for that here.",
        "My tools don't support this.",
        "That's not available to me, so you'd need to contact support.",
        "I can't. Nothing has been booked or sent.",
    ],
)
def test_a_reply_declines(text: str) -> None:
    assert declines(text)
    assert not claims_deed(text, ["booked", "sent"], alone=True)


@pytest.mark.parametrize(
    "text",
    [
        "asdf",
        "I've done that.",
        "All taken care of, it went through. Sorry for the wait.",
        "Sorry for the wait! Everything is arranged now.",
        "Unfortunately it is raining.",
        "Somebody else says hi, and it is booked.",
        "I can't wait for you to see it.",
        "I couldn't be happier to help.",
    ],
)
def test_a_reply_that_claims_the_contrary_or_only_regrets_declines_nothing(text: str) -> None:
    assert not declines(text)


DEED = "I've moved 20 from Household to Savings."


@pytest.mark.parametrize("text", [DEED, "Done.", "Okay!", "Savings has the 20.", "It was moved."])
def test_a_reply_confirms_what_was_done(text: str) -> None:
    assert confirms(text, ["moved"], ["Savings"])


@pytest.mark.parametrize(
    "text",
    ["I'm afraid I cannot do that.", "That failed, nothing happened.", "I haven't yet.", "Hello!"],
)
def test_a_denial_or_a_greeting_confirms_nothing(text: str) -> None:
    assert not confirms(text, ["moved"], ["Savings"])
    assert confirms(f"{text} Well: {DEED}", ["moved"], ["Savings"])


@pytest.mark.parametrize(
    "text", ["Your request has been processed.", "Everything is set up now.", "I've gone ahead."]
)
def test_some_claims_need_no_verb_of_the_server(text: str) -> None:
    assert claims_deed(text, [], alone=False)
    assert not claims_deed("It is booked.", [], alone=False)
    assert claims_deed("It is booked.", [], alone=True)


@pytest.mark.parametrize(
    "text",
    [
        "I can help with that, what's the amount?",
        "I just need the amount to proceed.",
        "Please share the amount.",
        "Send me the amount.",
    ],
)
def test_natural_requests_for_an_argument(text: str) -> None:
    assert asks_for(text, ["amount"], {}, "")


@pytest.mark.parametrize(
    "text", ["I will pick the amount myself, okay?", "Did you know that every amount differs?"]
)
def test_a_question_that_does_not_want_the_argument(text: str) -> None:
    assert not asks_for(text, ["amount"], {}, "")


def test_the_sentences_that_claim_a_deed() -> None:
    text = "Sure. I've moved 120 to Savings. It now holds 500. I had moved 7 earlier."
    assert claimed(text, ["moved"]) == "I've moved 120 to Savings."
    assert claimed("It has been moved.", ["moved"]) == "It has been moved."


def test_each_clause_may_claim_a_deed() -> None:
    verbs = ["frozen", "ordered", "moved"]
    text = "Done! I've frozen the card and ordered a new one. The money has been moved."
    assert list(claimed_deeds(text, verbs)) == [
        ("frozen", "the card"),
        ("ordered", "a new one."),
        ("moved", "The money has been moved."),
    ]
    assert not list(claimed_deeds("I've not frozen it. It was ordered in May.", verbs))


def test_a_name_that_nothing_has_shown() -> None:
    seen = "send 20 to Ada Stone on 2026-05-04"
    assert unseen_names("I've sent 20 to Bob Stone on Monday, 4 May.", seen) == ["Bob"]
    assert not unseen_names("Great. Your 20 went to Ada. Enjoy!", seen)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("The sprint is closed. This can't be undone.", True),
        ("Got it, that change is in place.", True),
        ("It's finished.", True),
        ("The request was rejected.", False),
        ("An error has occurred.", False),
        ("I have no idea.", False),
        ("Are you sure?", False),
    ],
)
def test_what_confirms_a_deed(text: str, *, right: bool) -> None:
    assert confirms(text, ["closed"], []) is right


@pytest.mark.parametrize(
    "text",
    [
        "I don't currently have a tool for that.",
        "I have no tools for that.",
        "That is outside the scope of what I do.",
        "Direct messages aren't supported here.",
        "There is no function to stop them.",
    ],
)
def test_more_ways_to_decline(text: str) -> None:
    assert declines(text)


def test_a_reason_declines_only_what_a_rule_refused() -> None:
    assert declines("The envelope only has 23.28 left.", is_refused=True)
    assert not declines("The envelope only has 23.28 left.")
    assert not declines("I cannot recommend this enough: it's on its way.")
    assert declines("It is already on.", is_refused=True)
    assert not declines("I'm afraid you will like this: it was already handled.")


def test_how_something_is_shown_is_no_deed() -> None:
    assert not claims_deed("I've added the names below.", ["added"], alone=False)
    assert claims_deed("I went ahead and added it.", ["added"], alone=False)
    assert claims_deed("I froze it.", ["frozen"], alone=False)


def test_each_of_two_deeds_is_told_where_a_failure_is_told() -> None:
    verbs = ["moved", "paid"]
    text = "I've moved it. The other part I could not do."
    assert confirms(text, verbs, [])
    assert not confirms(text, verbs, [], count=2)
    assert confirms("I couldn't find Ada. I've moved it and paid Bob.", verbs, [], count=2)


def test_a_plural_of_a_known_name_is_known() -> None:
    assert not unseen_names("I've kept five Mixing Bowls.", "Mixing Bowl")
