"""Replies: true, and an answer to what was asked. Every tool has words of its own."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path as File
from random import Random
from typing import Any, NamedTuple

import pytest

from conversation.talks import candidates
from examples import fields
from provegym.corpus.transcript import transcript
from provegym.fuzz import Fuzzer
from provegym.kernel import Session, Tool
from provegym.language import replies
from provegym.language.replies import Done, TurnEnd, deed, report
from provegym.language.spoken import FEW, Speech, names_in
from provegym.language.templates import PART, SLOT, chooses_by, slots, templates
from provegym.language.vocabulary import did_by, phrases, told_of
from provegym.players import gold
from provegym.rewards.acts import claims_deed, confirms, declines
from provegym.rewards.answers import states_enough
from provegym.servers import load, load_all, names
from provegym.trace import Example, Json, Step, read
from provegym.verify.complete import complete

DATA = File(__file__).parents[1] / "data"
CALLS = 250
# Optional arguments that a tool insists on if others are left out.
EITHER = {"limit", "minutes", "closes", "labels", "label_id", "counter_amount"}
WRITES = [tool for server in load_all() for tool in server.tools.values() if tool.writes]
READS = [tool for server in load_all() for tool in server.tools.values() if not tool.writes]


class Said(NamedTuple):
    """The end of a turn, and what was said there."""

    scene: TurnEnd
    reply: str


@cache
def conversations() -> tuple[Said, ...]:
    """The replies in hundreds of conversations: those by hand, and candidates of every kind."""
    by_hand = [example for path in sorted(DATA.glob("*.jsonl")) for example in read(path, Example)]
    kinds = ("multi_turn", "clarification", "abstention", "irrelevance")
    drawn = [complete(each.example) for kind in kinds for each in candidates(kind)]
    said: list[Said] = []

    def overheard(scene: TurnEnd, toolbox: Any) -> str:
        said.append(Said(scene, replies.words(scene, toolbox)))
        return said[-1].reply

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gold, "words", overheard)
        for example in [*by_hand, *drawn]:
            transcript(example)
    assert len(by_hand) + len(drawn) > 300
    return tuple(said)


def sayable(tool: Tool) -> set[str]:
    """What a template of a tool may have as a slot."""
    named = fields(tool.output_schema) | tool.input_schema["properties"].keys()
    return named | {f"{what}_of_{name}" for name in named for what in ("count", "size")}


@pytest.mark.parametrize("tool", WRITES, ids=lambda tool: tool.name)
def test_every_write_has_a_sentence_with_slots_that_exist(tool: Tool) -> None:
    entry = did_by(tool.name, tool.server)
    assert entry is not None
    used = chooses_by(entry).union(*map(slots, templates(entry)))
    assert used <= sayable(tool)
    for template in templates(entry):
        assert not re.search(r"[()]", template)
        # A value that may be missing stands in an optional part.
        certain = slots(PART.sub("", template)) & tool.input_schema["properties"].keys()
        assert certain <= {*tool.input_schema["required"], *chooses_by(entry), *EITHER}, template


@pytest.mark.parametrize("tool", WRITES, ids=lambda tool: tool.name)
def test_a_sentence_chosen_by_an_enum_has_words_for_each_value(tool: Tool) -> None:
    def check(entry: Any) -> None:
        if isinstance(entry, str):
            return
        ((name, by_value),) = entry.items()
        schema = tool.input_schema["properties"].get(name, {})
        values = {str(value).lower() for value in schema.get("enum", ())}
        if values:
            assert by_value.keys() <= values | {"none", "else"}, name
            assert "else" in by_value or values - {"none"} <= by_value.keys(), name
        for inner in by_value.values():
            check(inner)

    check(did_by(tool.name, tool.server))


@pytest.mark.parametrize("tool", READS, ids=lambda tool: tool.name)
def test_every_read_has_clauses_with_slots_that_exist(tool: Tool) -> None:
    words = told_of(tool.name, tool.server)
    assert words["says"]
    assert ("each" in words) == ("items" in fields(tool.output_schema))
    for entry in words["says"]:
        used = chooses_by(entry).union(*map(slots, templates(entry)))
        assert used <= sayable(tool), used - sayable(tool)
    assert words.keys() <= {"each", "says", "most", "heads", "none", "single"}
    assert slots(words.get("none", "")) <= tool.input_schema["properties"].keys()


def walk(name: str) -> Iterator[tuple[Tool, Json, Any, Speech]]:
    """The calls of a random walk that work, each with how its values are said."""
    server = load(name)
    fuzzer, session = Fuzzer(server, "replies"), Session([server], 7)
    results: list[Any] = []
    for number in range(CALLS):
        if number % 16 == 0:
            fuzzer.look(session.state(server))
        tool = fuzzer.chance.choice([*server.tools.values()])
        arguments = fuzzer.arguments(tool)
        outcome = session.call(tool.name, arguments)
        fuzzer.learn(tool, arguments, outcome)
        if outcome.ok:
            results.append(outcome.value)
            speech = Speech(name, session.now, names_in(results, name))
            yield tool, arguments, gold.EXACT.decode(outcome.text), speech


@pytest.mark.parametrize("name", names())
def test_whatever_a_call_returns_there_are_words_for_it(name: str) -> None:
    for tool, arguments, result, speech in walk(name):
        step = Step(turn=0, tool=tool.name, writes=tool.writes)
        if tool.writes:
            told = deed(Done(step, arguments, result), "", speech)
            assert not SLOT.search(told)
        else:
            told = report(Done(step, arguments, result), speech).tell(Random(0))
        assert told
        assert not re.search(r"\b[a-z]{3}_\d+\b", told) or re.search(r"_\d", str(arguments))


def test_what_was_asked_stands_in_the_reply() -> None:
    answered = []
    for scene, reply in conversations():
        for done in scene.done if not scene.refusal else ():
            step = done.step
            if step.answers and step.values:
                answered.append(states_enough(reply, step.answers, step.values))
    assert len(answered) > 100
    assert sum(answered) / len(answered) >= 0.98


def pattern(template: str) -> str:
    """A regular expression for the sentences of a template, as its values may change its words."""
    parts = [re.escape(part) for part in re.split(r"\{\w+\}|\[[^\]]*\]", template)]
    parts = [re.sub(r"\\ (on|at)\\ $", r"(?:\\ \1)?\\ ", part) for part in parts]  # "on tomorrow"
    parts = [re.sub(r"\ba\\ $", r"an?\\ ", part) for part in parts]
    parts = [re.sub(r"^(\\ \w+)s\b", r"\1s?", part) for part in parts]  # "1 star"
    return ".*?".join(parts)


def claimed(text: str, server: str) -> str:
    """The write whose sentence a text begins with: the one with most literal words."""
    found = {}
    for tool in load(server).tools.values():
        for template in templates(did_by(tool.name, server) or {}):
            if re.match(pattern(template), text, re.DOTALL):
                found[len(pattern(template))] = tool.name
    return found[max(found)] if found else ""


def claims(reply: str, server: str) -> list[str]:
    """The writes that a reply claims to have made, outside quotations."""
    plain = re.sub(r'"[^"]*"', lambda quote: quote[0].replace("I", "i"), reply)
    begins = re.finditer(r"\bI(?:'ve| have)(?: just| also)? ", plain)
    return [claimed(reply[found.end() :], server) for found in begins]


def test_replies_claim_what_was_done_and_nothing_else() -> None:
    for scene, reply in conversations():
        if scene.refusal or not scene.done:
            assert not re.search(r"\bI(?:'ve| have) (?!no )\w+ed\b", reply), reply
            continue
        done = [each.step.tool for each in scene.done if each.step.writes]
        assert sorted(claims(reply, scene.server)) == sorted(done), reply


def test_confirmations_have_no_brackets_and_replies_no_ids() -> None:
    for scene, reply in conversations():
        assert not re.search(r"\b[a-z]{3}_\d{2,}\b", reply), reply
        assert not re.search(r"; \d+ more", reply), reply
        for done in scene.done:
            if done.step.writes:
                assert not re.search(r"[\[({]", deed(done, scene.said, scene.speech))


def test_a_room_given_back_is_not_told_as_booked() -> None:
    speech = Speech(
        "calendar", Session([load("calendar")], 7).now, {"evt_1": "Choir", "rom_1": "Kestrel"}
    )
    step = Step(turn=0, tool="book_meeting_room", writes=True)
    told = [deed(Done(step, arguments, {}), "", speech) for arguments in ROOMS]
    assert told == ["booked Kestrel for Choir", "given back the room for Choir"]


ROOMS = ({"event_id": "evt_1", "room_id": "rom_1"}, {"event_id": "evt_1"})


def accounts(count: int) -> Json:
    """A page of bank accounts."""
    items = [
        {"name": f"Pot {at}", "balance": Decimal("5.00"), "currency": "EUR"} for at in range(count)
    ]
    return {"items": items, "total": count}


@pytest.mark.parametrize(("count", "told"), [(0, 0), (1, 1), (FEW, FEW), (FEW + 1, 5)])
def test_short_lists_are_told_whole_and_long_ones_by_their_first_five(
    count: int, told: int
) -> None:
    step = Step(turn=0, tool="list_accounts", answers=("/total", "/items/0/balance"))
    speech = Speech("banking", Session([load("banking")], 7).now, {})
    for seed in range(8):
        reply = report(Done(step, {}, accounts(count)), speech).tell(Random(seed))
        assert reply.count("Pot ") == told
        assert ("no accounts" if count == 0 else f"{count} account") in reply.lower()
        assert ("five" in reply) == (count > FEW)


def test_records_without_a_name_are_told_apart() -> None:
    """Lists of foreign servers have such records: each was told as "one more"."""
    speech = Speech("somebodys", datetime(2027, 9, 3, tzinfo=UTC), {})
    step = Step(turn=0, tool="list_payments", arguments={})
    page = {"items": [{"id": "p_1", "sum": 5}, {"sum": 7, "at": "noon", "to": "Ada"}], "total": 2}
    told = report(Done(step, {}, page), speech).tell(Random(0))
    assert "p_1" in told
    assert "the sum is 7 and the at is noon" in told


def test_how_many_is_answered_by_the_number() -> None:
    step = Step(turn=0, tool="list_accounts", answers=("/total",))
    speech = Speech("banking", Session([load("banking")], 7).now, {})
    told = {report(Done(step, {}, accounts(4)), speech).tell(Random(seed)) for seed in range(40)}
    assert all("4 accounts" in reply and "Pot" not in reply for reply in told)


def told_of_accounts(*answers: str) -> str:
    """The report on the first two accounts of a world, by the pointers to its answer."""
    session = Session([load("banking")], 7)
    page = session.call("list_accounts", {"limit": 2}).value | {"total": 2}
    step = Step(turn=0, tool="list_accounts", answers=answers)
    return report(Done(step, {}, page), Speech("banking", session.now, {})).tell(Random(0))


def test_a_clause_is_told_if_it_is_asked_for() -> None:
    assert "IBAN" in told_of_accounts("/items/0/iban", "/items/1/iban")
    assert "IBAN" not in told_of_accounts("/items/0/name", "/items/1/name")


def test_a_question_about_the_first_item_is_answered_by_it_alone() -> None:
    first, both = told_of_accounts("/items/0/iban"), told_of_accounts("/items/0/iban", "/total")
    assert (first.count("IBAN"), both.count("IBAN")) == (1, 2)
    assert "\n" not in first


def test_answers_to_questions_come_in_the_order_of_the_calls() -> None:
    for scene, reply in conversations():
        kinds = [
            "w" if each.step.writes else "r"
            for each in scene.done
            if each.step.writes or each.step.answers
        ]
        if kinds[:2] == ["r", "w"] and not scene.refusal:
            assert not re.match(r"(\w+[.,:]? ){0,3}I've", reply), reply


def test_an_asking_turn_names_a_few_choices() -> None:
    schema = {"type": "string", "enum": ["monthly", "weekly"]}
    told = replies.question("interval", schema, "banking", Random(0))
    assert "?" in told
    assert "monthly or weekly" in told
    many = {"type": "string", "enum": list("abcdefg")}
    assert "g" not in replies.question("kind", many, "banking", Random(0)).split()


def test_there_are_enough_ways_to_say_it() -> None:
    lists = {name: each for name, each in phrases().items() if isinstance(each, list)}
    lists.pop("prepositions")
    for name, ways in (lists | phrases()["ask"]).items():
        assert len(set(ways)) >= 8, name


@pytest.mark.parametrize("purpose", ["missing", "unable", "elsewhere", "refused"])
def test_every_refusal_is_read_as_one(purpose: str) -> None:
    for frame in phrases()[purpose]:
        assert declines(
            frame.format(helps="your accounts", why="it is closed", able="pay bills")
        ), frame


@pytest.mark.parametrize("purpose", ["done", "also"])
def test_every_confirmation_is_read_as_one(purpose: str) -> None:
    for frame in phrases()[purpose]:
        text = frame.format(did="moved 120 to Savings")
        assert confirms(text, ["moved"], []), frame
        assert claims_deed(text, ["moved"], alone=False), frame


def test_a_refusal_names_what_every_write_does() -> None:
    writes = {tool.name for server in load_all() for tool in server.tools.values() if tool.writes}
    assert phrases()["able"].keys() == writes


def test_questions_are_whole_sentences() -> None:
    asked = {
        replies.question("text", {"type": "string"}, "team_chat", Random(n)) for n in range(40)
    }
    assert all(text.endswith("?") for text in asked)
    assert any("What should the message say?" in text for text in asked)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("checked Mira Lange in", "checked you in"),
        ("Mira Lange is invited.", "You are invited."),
        ("There is one:\n- Mira Lange's bid", "There is one:\n- Your bid"),
        ('sent "Mira Lange is late"', 'sent "Mira Lange is late"'),
    ],
)
def test_the_user_is_you(text: str, told: str) -> None:
    assert replies.to_the_user(text, "Mira Lange") == told
