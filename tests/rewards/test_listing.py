"""Invented items in enumerations, and what may stand around a list."""

import msgspec
import pytest

from examples import SEED, pay_example
from provegym.kernel import Session
from provegym.players.scripted import SCRIPTS
from provegym.rewards.listing import invents_item, labels_of, names_of
from provegym.rewards.success import judge
from provegym.rollout import play_script
from provegym.servers import load
from provegym.trace import Path, Step, Turn
from provegym.verify.complete import complete

replace = msgspec.structs.replace

RESULT = {"items": [{"name": "Savings", "kind": "pot"}, {"name": "Car Fund", "kind": "pot"}]}
NAMES = names_of(RESULT, ["/items/0/name", "/items/1/name"])
SEEN = f"Which pots do I have? {RESULT}"


def test_items_are_called_by_what_no_other_item_has() -> None:
    assert names_of(RESULT, ["/items/0/name"]) == [{"savings"}, {"car fund"}]
    assert names_of({"name": "Savings"}, ["/name"]) == []


@pytest.mark.parametrize(
    "text",
    [
        "You have Savings, Car Fund and Zebra Bank.",
        "You have Savings, Zebra Bank and the Car Fund.",
        "You have: Zebra Bank, Savings and Car Fund.",
        "- Savings\n- Car Fund\n- Zebra",
        "1. **Savings** has 10\n2. **Zebra** has 30\n3. **Car Fund** has 20",
        "| # | Name |\n|---|---|\n| 1 | Savings |\n| 2 | Car Fund |\n| 3 | Zebra Bank |",
        "- Savings: 10\n\n- Car Fund: 20\n\n- Zebra Bank: 30",
        "- The Savings has 10\n- The Car Fund has 20\n- The Zebra Bank has 30",
        "- Savings, next to Car Fund\n- Car Fund\n- Zebra Bank, next to Car Fund",
        "Savings is a pot; Car Fund is a pot; Zebra Bank is a pot.",
        "- Zebra Bank costs 10\n- Ramen Yard costs 20\n- Print Corner costs 30",
        "- 10 was put into Savings\n- 20 was put into Zebra Bank",
    ],
)
def test_an_item_that_nothing_has_shown_is_invented(text: str) -> None:
    assert invents_item(text, NAMES, SEEN)


@pytest.mark.parametrize(
    "text",
    [
        "You have Savings and Car Fund.",
        "Good news: Savings and Car Fund are both open. Would you like Tips on saving?",
        "Okay, I've looked: Savings and Car Fund, both since Monday and 3 May.",
        "Savings and Car Fund; Transfers between them are free.",
        "Hello from Zebra Bank! You have Savings and Car Fund.",
        "- Savings\n- Car Fund\n- Total: 2",
        "- Savings\n- Car Fund\n- None of them is empty",
        "- Savings\n  - Location: North\n- Car Fund\n  - Location: South",
        "| Name | Kind |\n|---|---|\n| Savings | pot |\n| Car Fund | pot |\n| **Total** | 2 |",
        "Zebra Bank\n- Status: fine\n- Location: North",
        "- Location: North\n- Status: fine\n- Opening Hours: 9 to 5",
        "- 10 is in Savings since Monday\n- 20 is in the Car Fund since 3 May, paid by Visa",
    ],
)
def test_sentences_around_a_list_may_say_anything(text: str) -> None:
    assert not invents_item(text, NAMES, SEEN)


def test_a_right_list_with_an_invented_item_is_a_wrong_answer() -> None:
    session = Session([load("banking")], SEED)
    names = [each["name"] for each in session.call("list_accounts", {}).value["items"]]
    answers = tuple(f"/items/{at}/name" for at, _ in enumerate(names))
    step = Step(turn=0, tool="list_accounts", arguments={}, answers=answers)
    turns = (Turn(text="Which accounts do I have?"),)
    example = complete(pay_example(turns=turns, paths=(Path(steps=(step,)),)))
    rollout = play_script(example, SCRIPTS["oracle"])
    *before, _ = rollout.messages

    def answer(text: str) -> bool:
        said = (*before, {"role": "assistant", "content": text})
        return judge(replace(rollout, messages=said)).answer

    listed = "\n".join(f"- {name}" for name in names)
    assert answer(f"Here you are:\n{listed}")
    assert answer(f"You have {', '.join(names)}.")
    assert not answer(f"Here you are:\n{listed}\n- Zebra Bank")
    assert not answer(f"You have {', '.join(names)} and Zebra Bank.")


def test_labels_are_names_and_days_that_were_not_asked_for() -> None:
    rows = [
        {"name": "Ada", "kind": "pot", "on": "2026-05-03", "amount": 1},
        {"name": "Bob", "kind": "jar", "on": "2026-05-04", "amount": 2},
    ]
    result = {"items": rows}
    amounts = labels_of(result, ["/items/0/amount", "/items/1/amount"])
    assert amounts == {"/items/0": ["Ada", "2026-05-03"], "/items/1": ["Bob", "2026-05-04"]}
    days = labels_of(result, ["/items/0/on", "/items/1/on"])
    assert days == {"/items/0": ["Ada"], "/items/1": ["Bob"]}
