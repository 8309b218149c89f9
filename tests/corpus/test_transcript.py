"""Transcripts: played on the live world, paid what the right calls are paid, ended with words."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path as File
from random import Random
from typing import Any

import msgspec
import pytest

from examples import fields, pay_example
from provegym.corpus.transcript import transcript
from provegym.kernel import Session
from provegym.language.replies import Done, deed, question
from provegym.language.spoken import Speech, to_you
from provegym.language.vocabulary import phrases, slot_name
from provegym.models.dialects import openai
from provegym.players.plan import TOGETHER, together
from provegym.players.scripted import Script
from provegym.rewards.asking import asks_for
from provegym.rewards.success import succeeded
from provegym.rollout import play_script
from provegym.servers import asks, load, load_all
from provegym.trace import (
    Attempt,
    BadFile,
    Claim,
    Edge,
    Example,
    Path,
    Provenance,
    Ref,
    Rollout,
    Step,
    Turn,
    read,
)
from provegym.verify.complete import complete

DATA = File(__file__).parents[1] / "data"


class Said(Script):
    """A script that makes the calls of a transcript and says its words."""

    def __init__(self, example: Example, messages: list[dict[str, Any]]) -> None:
        plan: list[list[Any]] = []
        self.words: list[str] = []
        for message in messages:
            if message["role"] == "user":
                plan.append([])
            elif message["role"] == "assistant":
                calls = openai.parse(message).calls
                plan[-1] += [list(calls)] if calls else []
                self.words += [] if calls else [message["content"]]
        super().__init__(example, plan)

    def _words(self, turn: int) -> str:
        return self.words[turn]


def replayed(example: Example, messages: list[dict[str, Any]]) -> Rollout:
    """The rollout of a policy that does what a transcript says."""
    rollout = play_script(example, lambda played: Said(played, messages))
    assert [*rollout.messages] == messages
    return rollout


def failing_pay(attempt: Attempt) -> Example:
    """The payment, after an attempt that fails."""
    return pay_example(provenance=Provenance(attempts=(attempt,)))


def too_much() -> Attempt:
    """An attempt to pay more than there is."""
    wanted = pay_example().paths[0].steps[2].arguments
    arguments = {**wanted, "amount": 900_000}
    return Attempt(before=2, tool="pay_payee", arguments=arguments, error="rejected")


@pytest.mark.parametrize("path", sorted(DATA.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_transcript_is_paid_the_maximum_and_does_the_task(path: File) -> None:
    for example in read(path, Example):
        messages, learn = transcript(example)
        rollout = replayed(example, messages)
        assert rollout.reward is not None
        assert rollout.reward.total == (1.3 if example.paths[0].steps else 1.0), example.id
        assert succeeded(rollout), example.id
        assert learn == [message["role"] == "assistant" for message in messages]
        ends = [m for m in messages if m["role"] == "assistant" and not m.get("tool_calls")]
        assert len(ends) == len(example.turns)
        assert all(message["content"] for message in ends)


def test_the_same_example_is_told_the_same_way_and_another_may_not_be() -> None:
    told = [transcript(pay_example(id=name)).messages[-1]["content"] for name in "aabcdefgh"]
    assert told[0] == told[1]
    assert len(set(told)) > 2


def test_calls_without_an_edge_between_them_share_a_message() -> None:
    calls = [m["tool_calls"] for m in transcript(pay_example()).messages if "tool_calls" in m]
    names = [[call["function"]["name"] for call in message] for message in calls]
    assert names == [["list_accounts", "list_payees"], ["pay_payee"], ["set_card_status"]]


def test_at_most_five_calls_go_out_at_once_and_answers_wait_for_changes() -> None:
    reads = [Step(turn=0, tool="read") for _ in range(TOGETHER + 1)]
    assert [len(group) for group in together(reads, 0)] == [5, 1]
    write = Step(turn=0, tool="write", writes=True)
    assert together([write, Step(turn=0, tool="read", answers=("/x",))], 0) == [[0], [1]]
    assert together([write, Step(turn=0, tool="read")], 0) == [[0, 1]]
    needs = (Edge(step=0, kind="implicit"),)
    assert together([write, Step(turn=0, tool="other", writes=True, needs=needs)], 0) == [[0], [1]]


def test_a_failed_attempt_is_played_and_not_to_be_learnt() -> None:
    example = failing_pay(too_much())
    messages, learn = transcript(example)
    tried = next(at for at, m in enumerate(messages) if "900000" in str(m.get("tool_calls")))
    assert msgspec.json.decode(messages[tried + 1]["content"])["error"] == "rejected"
    assert messages[tried + 2]["tool_calls"][0]["function"]["name"] == "pay_payee"
    assistants = [at for at, m in enumerate(messages) if m["role"] == "assistant"]
    assert [at for at in assistants if not learn[at]] == [tried]
    reward = replayed(example, messages).reward
    assert reward is not None
    # One of five calls does not run: it loses a third of its share of validity, and no more.
    assert reward.total == pytest.approx(1.3 - 0.5 / 3 / 5)


def test_what_should_fail_and_works_is_reported() -> None:
    works = msgspec.structs.replace(too_much(), tool="list_accounts", arguments={})
    example = failing_pay(works)
    with pytest.raises(BadFile, match="list_accounts works, but must fail"):
        transcript(example)
    step = Step(turn=0, tool="close_account", arguments={"account_id": "acc_0"}, writes=True)
    with pytest.raises(BadFile, match=r"close_account fails: .*not_found.*provegym verify"):
        transcript(pay_example(paths=(Path(steps=(step,)),)))


def reporting(pointers: tuple[str, ...], asked: str) -> str:
    """What is said of the accounts, pointed to in some way."""
    step = Step(turn=0, tool="list_accounts", answers=pointers)
    example = pay_example(turns=(Turn(text=asked),), paths=(Path(steps=(step,)),))
    return str(transcript(example).messages[-1]["content"])


def test_an_answer_names_what_is_pointed_to() -> None:
    page = Session([load("banking")], pay_example().seed).call("list_accounts", {}).value
    first = page["items"][0]
    listed = reporting(("/total", "/items/0/name"), "Which accounts have I?")
    assert f"{page['total']} accounts" in listed
    assert f"{first['name']} holds {first['balance']:,.2f} {first['currency']}" in listed
    assert "acc_" not in listed
    picked = reporting(("/total", "/items/0/iban"), "What is the balance there?")
    assert f"its IBAN is {first['iban']}" in picked


UNSERVED = Claim(turn=0, tool="pay_payee", arguments={})


@pytest.mark.parametrize(
    ("provenance", "kind", "table"),
    [
        (Provenance(why="knowledge"), "abstention", "elsewhere"),
        (Provenance(why="no_tool"), "irrelevance", "elsewhere"),
        (Provenance(levels=("aside",)), "multi_turn", "elsewhere"),
        (Provenance(levels=("complete",), unserved=UNSERVED), "multi_turn", "unable"),
        (Provenance(), "irrelevance", "elsewhere"),
        (Provenance(why="missing"), "abstention", "unclear"),
        (Provenance(), "clarification", "missing"),
        (Provenance(), "multi_turn", "noted"),
    ],
)
def test_a_turn_without_calls_is_answered_by_its_reason(
    provenance: Provenance, kind: str, table: str
) -> None:
    turns = (Turn(text="Do that thing."),)
    example = pay_example(turns=turns, paths=(Path(),), kind=kind, provenance=provenance)
    helps = asks("banking")["reply"]["helps"]
    ways = [way.format(helps=helps, able="make payments") for way in phrases()[table]]
    assert transcript(example).messages[-1]["content"] in ways


def test_small_talk_is_answered() -> None:
    turns = (Turn(text="What's the capital of Peru?"),)
    made = Provenance(why="knowledge")
    example = pay_example(turns=turns, paths=(Path(),), kind="abstention", provenance=made)
    assert transcript(example).messages[-1]["content"] == "The capital of Peru is Lima."


def test_a_refusal_is_tried_not_learnt_and_explained_with_names() -> None:
    steps = pay_example().paths[0].steps
    read_only = Path(steps=(msgspec.structs.replace(steps[0], answers=("/items/0/balance",)),))
    infeasible = Claim(turn=0, tool="pay_payee", arguments=too_much().arguments)
    example = pay_example(
        turns=(Turn(text="Pay Harbour 900000 from Freelance."),),
        paths=(read_only,),
        provenance=Provenance(infeasible=infeasible),
    )
    messages, learnt = transcript(example)
    read_first, tried = [at for at, message in enumerate(messages) if "tool_calls" in message]
    assert learnt[read_first]
    assert not learnt[tried]
    refused = Session([load("banking")], example.seed).call(infeasible.tool, infeasible.arguments)
    assert refused.error == "rejected"
    told = messages[-1]["content"]
    assert "funds" in told
    assert "acc_" not in told


def test_a_teachers_own_transcript_is_kept() -> None:
    bad = {"id": "1", "type": "function", "function": {"name": "x", "arguments": "{}"}}
    messages = (
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "", "tool_calls": [bad]},
        {"role": "tool", "tool_call_id": "1", "content": '{"error":"rejected","message":"no"}'},
        {"role": "assistant", "content": "Hi"},
    )
    told = transcript(pay_example(provenance=Provenance(transcript=messages)))
    assert told.messages == [*messages]
    assert told.learn == [False, False, False, True]


def test_ids_of_new_records_come_from_the_live_result() -> None:
    opened = complete(
        pay_example(
            turns=(Turn(text="Open a savings account called Boat."), Turn(text="Close it again.")),
            paths=(
                Path(
                    steps=(
                        Step(
                            turn=0,
                            tool="open_account",
                            arguments={"name": "Boat", "kind": "savings"},
                        ),
                        Step(turn=1, tool="close_account", arguments={"account_id": new_account()}),
                    )
                ),
            ),
        )
    )
    assert isinstance(opened.paths[0].steps[1].arguments["account_id"], Ref)
    messages, _ = transcript(opened)
    made = msgspec.json.decode(next(m for m in messages if m["role"] == "tool")["content"])
    assert made["id"] in str(messages[-3]["tool_calls"])
    assert "Boat" in messages[-1]["content"]


def new_account() -> str:
    """The id the next account will have."""
    session = Session([load("banking")], pay_example().seed)
    return str(session.call("open_account", {"name": "Boat", "kind": "savings"}).value["id"])


def test_every_argument_of_every_tool_can_be_asked_for() -> None:
    for server in load_all():
        for tool in server.tools.values():
            for slot, schema in tool.input_schema["properties"].items():
                for seed in range(9):
                    asked = question(slot, schema, server.name, Random(seed))
                    names = (slot, slot_name(slot, server.name))
                    assert asks_for(asked, names, schema, ""), (slot, asked)


def test_a_write_without_words_of_its_own_is_told_by_its_name() -> None:
    now = Session([load("banking")], 7).now
    speech = Speech("", now, {})

    def told(tool: str, arguments: dict[str, Any]) -> str:
        step = Step(turn=0, tool=tool, writes=True)
        return deed(Done(step, arguments, {}), "Call it Boat, for 5.", speech)

    assert told("transfer_funds", {}) == "transferred the funds"
    assert told("reply_to_email", {}) == "replied to the email"
    assert told("create_pot", {"name": "Boat", "amount": 5, "kind": "x"}) == (
        "created the pot with the name Boat and the amount 5"
    )


def test_a_server_has_words_for_its_own_tools_arguments_and_fields_only() -> None:
    for server in load_all():
        tools, table = server.tools.values(), asks(server.name)
        assert table.get("did", {}).keys() <= {tool.name for tool in tools if tool.writes}
        arguments = {name for tool in tools for name in tool.input_schema["properties"]}
        assert table.get("slots", {}).keys() <= arguments
        shown = {name for tool in tools for name in fields(tool.output_schema)}
        assert table.get("fields", {}).keys() <= shown


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, None),
        (True, "yes"),
        (122.0, "122"),
        (45.5, "45.50"),
        (Decimal("1204.50"), "1,204.50"),
        (2027, "2027"),
        ("2027-03-06", "6 March"),
        ("2027-03-02", "tomorrow"),
        ("2028-03-06T15:00:00Z", "6 March 2028 at 15:00"),
        ("not_received", "not received"),
        ("other_words", "other_words"),
        ("acc_7", "Savings"),
        ("acc_8", None),
        ([], None),
        (["a", "b", "c"], "a, b and c"),
        ([str(number) for number in range(9)], "0, 1, 2, 3, 4, 5, 6, 7 and 8"),
        ([f"{n:09}" for n in range(12)], "000000000, 000000001, 000000002 and 9 others"),
        ({"name": "Bea"}, "Bea"),
        ({"km": 3}, "km 3"),
    ],
)
def test_values_are_said_as_people_say_them(value: Any, told: str | None) -> None:
    now = datetime(2027, 3, 1, 9, tzinfo=UTC)
    assert Speech("banking", now, {"acc_7": "Savings"}).say(value) == told


def test_the_users_words_are_turned_around() -> None:
    assert to_you("my card for what I owe") == "your card for what you owe"
    assert to_you('the mail "Call me" of My Own Time') == 'the mail "Call me" of My Own Time'


def test_slots_have_plain_names() -> None:
    assert slot_name("payee_id", "banking") == "payee"
    assert slot_name("teammate_ids", "team_chat") == "teammates"
