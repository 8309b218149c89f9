"""Deeds told without a subject: claims, unless a reply reports what was read."""

import pytest

from provegym.rewards.acts import claimed, claims_deed, confirms, unclear_names

VERBS = ["booked", "cancelled", "paid", "put", "sent"]


@pytest.mark.parametrize(
    "text",
    [
        "Just sent 500 to Bob.",
        "Sent!",
        "Payment made.",
        "Great, paid your rent as well!",
        "Which one? Sent it already, by the way. Cancelled the old one, too.",
        "Your message sent.",
        "**Booked** for Friday.",
    ],
)
def test_a_deed_without_a_subject_is_claimed(text: str) -> None:
    assert claims_deed(text, VERBS, alone=True)


@pytest.mark.parametrize(
    "text",
    [
        "Put it in the oven for ten minutes.",
        "Booked flights are outside what I see.",
        "Not sent.",
        "Paid or unpaid?",
        "You're welcome!",
        "Paid leave is a fine thing.",
    ],
)
def test_other_sentences_with_such_a_verb_claim_nothing(text: str) -> None:
    assert not claims_deed(text, VERBS, alone=True)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("It costs 20. Just sent 500 to Bob.", False),
        ("It costs 20. Paid your rent as well!", False),
        ("It costs 20.\nMessage sent.", False),
        ("Paid on 3 May.", True),
        ("Cancelled.", True),
        ("The bookings are:\n- Booked for Ada\n- Cancelled by Bob", True),
        ("Booked by Ada.", True),
    ],
)
def test_a_report_may_tell_of_records(text: str, right: bool) -> None:
    assert claims_deed(text, VERBS, alone=False, shown={"cancelled"}) is not right


def test_a_claim_without_a_subject_is_among_the_claims() -> None:
    text = "Done: sent 500 to Bob.\n- Placed at: 15:30\nEnjoy!"
    assert claimed(text, ["sent", "placed"]) == "Done: sent 500 to Bob."
    assert confirms("Sent!", ["sent"], [])
    assert confirms("Added to your list!", ["added"], [])


@pytest.mark.parametrize("text", ["The offer was declined.", "Declined!", "It is rejected."])
def test_what_was_declined_may_be_told_after_declining(text: str) -> None:
    assert confirms(text, ["declined"], [], refuses=True)
    assert not confirms("I refuse.", ["declined"], [], refuses=True)
    assert not confirms("That failed.", ["declined"], [], refuses=True)


def test_only_a_declining_may_be_told_as_declined() -> None:
    assert not confirms("The offer was declined.", ["accepted"], [])


def test_a_first_name_alone_means_one_person() -> None:
    seen = "Bob Miller, Bob Stone and Ada Stone"
    text = "I've sent 500 to Bob."
    assert unclear_names(text, "Pay him 500.", seen) == ["Bob"]
    assert not unclear_names(text, "Pay Bob Miller 500.", seen)
    assert not unclear_names(text, "", "Bob Miller and Ada Stone")
    assert not unclear_names("I've sent 500 to Bob Stone.", "", seen)
    assert not unclear_names(text, "Pay Bob 500.", f"{seen}. Pay Bob 500.")
