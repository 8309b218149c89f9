"""Verdicts of recorded rollouts: stored or judged anew, also without their server."""

import msgspec
import pytest

from conversation.talks import verified
from examples import pay_example
from provegym.players.scripted import SCRIPTS
from provegym.rewards import HARDENED, rescore
from provegym.rewards.deeds import Account, claims_too_much
from provegym.rewards.explain import marks
from provegym.rewards.success import is_answer_due, judge, rates, verdict_of
from provegym.rollout import play_script
from provegym.trace import RAN, Call, Claim, Example, Provenance, Rollout, Verdict
from provegym.verify.complete import complete

replace = msgspec.structs.replace


@pytest.fixture(scope="module")
def rollout() -> Rollout:
    """A rollout that succeeds."""
    return play_script(complete(pay_example()), SCRIPTS["oracle"])


def test_a_stored_verdict_is_taken_and_a_missing_one_is_judged(rollout: Rollout) -> None:
    assert rollout.verdict == Verdict(state=True, answer=True, ended=True)
    assert verdict_of(replace(rollout, verdict=None)) == rollout.verdict
    stored = Verdict(ended=True)
    assert verdict_of(replace(rollout, verdict=stored)) == stored


def test_rates_are_shares_of_all(rollout: Rollout) -> None:
    verdicts = [Verdict(state=True, answer=True, ended=True), Verdict(state=True), Verdict()]
    found = rates(verdicts)
    assert found == pytest.approx(
        {"success": 1 / 3, "state": 2 / 3, "answer": 1 / 3, "ended": 1 / 3}
    )
    assert rates([]) == {"success": 0, "state": 0, "answer": 0, "ended": 0}


def changed(example: Example, what: str) -> Example:
    """The example with one reason for a reply: a question, a missing value, a refusal, an aside."""
    steps = example.paths[0].steps
    if what == "answer":
        steps = (replace(steps[0], answers=("/items/0/balance",)), *steps[1:])
        return replace(example, paths=(replace(example.paths[0], steps=steps),))
    if what == "question":
        return replace(
            example, turns=(replace(example.turns[0], asks="amount"), *example.turns[1:])
        )
    made = {
        "refusal": Provenance(infeasible=Claim(turn=1, tool="set_card_status", arguments={})),
        "hidden tool": Provenance(unserved=Claim(turn=0, tool="pay_payee", arguments={})),
        "small talk": Provenance(levels=("complete", "aside")),
    }
    return replace(example, provenance=made[what])


def test_an_order_alone_has_no_answer_due() -> None:
    assert not is_answer_due(pay_example())


@pytest.mark.parametrize("what", ["answer", "question", "refusal", "hidden tool", "small talk"])
def test_a_reply_that_must_say_something_is_due(what: str) -> None:
    assert is_answer_due(changed(pay_example(), what))


def test_nobody_gets_a_tick_for_an_answer_that_was_not_due() -> None:
    verdict = {"state": False, "answer": True, "ended": True}
    assert marks(verdict, False) == "state ✗, no answer due, ended ✓"
    assert marks(verdict, True) == "state ✗, answer ✓, ended ✓"
    assert marks({**verdict, "answer": False}, False) == "state ✗, answer ✗, ended ✓"


def test_more_user_messages_than_turns_are_not_an_end(rollout: Rollout) -> None:
    more = ({"role": "user", "content": "And?"}, {"role": "assistant", "content": "Nothing."})
    longer = replace(rollout, messages=(*rollout.messages, *more))
    assert judge(longer) == Verdict(state=True, answer=True)


def test_an_asking_turn_is_judged_without_its_server() -> None:
    rollout = play_script(complete(pay_example()), SCRIPTS["noop"])
    turns = tuple(replace(turn, asks="card_id") for turn in rollout.example.turns)
    example = replace(rollout.example, server="theirs", turns=turns)
    words = {"role": "assistant", "content": "Which card do you have in mind?"}
    said = [words if each["role"] == "assistant" else each for each in rollout.messages]
    foreign = replace(rollout, example=example, messages=tuple(said))
    assert judge(foreign) == Verdict(answer=True, ended=True)
    assert rescore(foreign).verdict == judge(foreign)
    bare = replace(foreign, reward=None, example=replace(example, paths=()))
    assert judge(bare) == Verdict(state=True, answer=True, ended=True)


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ("I've frozen it.", True),
        ("I've paid 9,999 to Satan.", False),
        ("9,999 has been paid.", False),
        ("Done. Your reference is 9,999.", True),
        ("I've frozen your card, after the 20 paid to Harbour.", True),
        ("I've frozen 7 cards.", False),
        ("I've frozen the card of Zora.", False),
        ("I've frozen your card and emailed your boss.", False),
        ("I've frozen your card. I have also opened an account for you.", False),
        ("I've locked your card and it can no longer be used.", True),
        ("I've frozen it until 4 March.", False),
        ('I\'ve frozen it as "Zebra Crossing".', False),
        ("I've frozen your card. Your invoice has been paid.", False),
        ("I've frozen your card. Refund issued.", False),
        ("I've frozen your card. A parcel was sent to you.", False),
        ("I'll freeze it right away.", False),
        ("Let me freeze it for you now.", False),
        ("I think I may have frozen it.", False),
        ("Have I frozen it?", False),
        ("Something went wrong, so it was not done.", False),
        ("Done. I haven't frozen it.", False),
        ("Sure, it's frozen, and you'll hear from me.", True),
        ('I\'ve frozen it. The note says "I moved 9,999 to Satan."', True),
    ],
)
def test_a_deed_is_told_as_it_was_done_and_no_other(
    rollout: Rollout, words: str, right: bool
) -> None:
    *before, _ = rollout.messages
    said = replace(rollout, messages=(*before, {"role": "assistant", "content": words}))
    assert judge(said) == Verdict(state=True, answer=right, ended=True)


def test_the_words_of_the_user_confirm_nothing(rollout: Rollout) -> None:
    text = "I want my card frozen."
    turns = (*rollout.example.turns[:-1], replace(rollout.example.turns[-1], text=text))
    *before, _ = rollout.messages
    said = replace(
        rollout,
        example=replace(rollout.example, turns=turns),
        messages=(*before, {"role": "assistant", "content": text}),
    )
    assert not judge(said).answer


def test_a_deed_is_not_told_of_another_record() -> None:
    rows = [{"id": "crd_1", "name": "Blue Card"}, {"id": "crd_2", "name": "Red Card"}]
    seen = msgspec.json.encode({"items": rows}).decode()
    read = Call(turn=0, message=0, tool="list_cards", arguments={}, checks=RAN, result=seen)
    write = Call(
        turn=0,
        message=1,
        tool="set_card_status",
        arguments={"card_id": "crd_1", "status": "frozen"},
        writes=True,
        checks=RAN,
        result='{"id": "crd_1", "status": "frozen"}',
    )
    for name, right in (("Blue Card", True), ("Red Card", False)):
        reply = f"I've frozen the {name}."
        account = Account("banking", 0, reply, ["Freeze my card."], [read, write], [])
        assert claims_too_much(account) is not right


def test_a_refusal_need_not_say_what_its_read_showed() -> None:
    example = next(verified("multi_turn", lambda example: example.provenance.infeasible))
    refused = example.provenance.infeasible.turn
    played = play_script(example, SCRIPTS["oracle"])
    messages, turn = [], -1
    for message in played.messages:
        turn += message["role"] == "user"
        is_reply = message["role"] == "assistant" and not message.get("tool_calls")
        if is_reply and turn == refused:
            message = {**message, "content": "Unfortunately I can't do that."}
        messages.append(message)
    scored = rescore(replace(played, messages=tuple(messages)), HARDENED)
    assert verdict_of(scored).success
    assert scored.reward.total == pytest.approx(HARDENED.best)
