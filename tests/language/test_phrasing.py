"""How a user puts things: every tool can be asked for, in words that mean what they stand for."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from math import prod
from random import Random

import jsonschema_rs
import pytest

from conversation.talks import Drawn, every_goal, goals, planner
from provegym.kernel import Seed, Session, Tool
from provegym.language import dates
from provegym.language.phrasing import Voice, listed
from provegym.language.questions import read_way
from provegym.language.templates import CHOICE, fit, vary
from provegym.language.things import noun_of, survey
from provegym.language.values import is_said, leaves, normal
from provegym.rewards.equality import equal
from provegym.servers import asks, load, names, people

LEVELS = ("complete", "missing", "minimal")
INTERNAL = re.compile(r"\b[a-z]+_\d+\b")
WORLDS = 60
FEWEST_WAYS = 12
# What an asks.toml may have; CONTRIBUTING.md says what each is for.
TABLES = {
    *("kin", "never_first", "shared_words"),
    *("asks", "short", "refer", "call", "relation", "new", "say"),
    *("did", "told", "parts", "slots", "fields", "reply", "question", "near"),
}


def voice(name: str, world: int = 1, key: str = "") -> Voice:
    """A user on one world."""
    return planner(name, world, key).voice


def test_ways_of_asking_are_filled_with_what_there_is_to_say_and_nothing_else() -> None:
    way = "Pay {payee_id} {amount}[ from {account_id}]."
    assert fit(way, {"payee_id": "Ada", "amount": "5"}) == "Pay Ada 5."
    full = {"payee_id": "Ada", "amount": "5", "account_id": "the pot"}
    assert fit(way, full) == "Pay Ada 5 from the pot."
    assert fit(way, {"payee_id": "Ada"}) is None
    assert fit(way, {**full, "note": "x"}) is None
    assert fit("[ {a}][ {b}]", {"b": "two"}) == " two"
    assert fit("Hello[ {a} and {b}].", {"a": "one"}) is None
    assert fit("{a} or {a}", {"a": "{b}"}) == "{b} or {b}"
    assert fit("Anything new?", {}) == "Anything new?"


def test_one_alternative_of_each_group_is_said() -> None:
    said = {vary("(Move|Shift) {amount} (twice)(, please|).", Random(seed)) for seed in range(40)}
    assert said == {
        "Move {amount} (twice).",
        "Move {amount} (twice), please.",
        "Shift {amount} (twice).",
        "Shift {amount} (twice), please.",
    }


@pytest.mark.parametrize("name", names())
def test_there_are_many_ways_to_ask_for_each_tool(name: str) -> None:
    """The last one, for held-out worlds, does not count; it has no alternatives."""
    for tool, ways in asks(name)["asks"].items():
        groups = [[len(group.split("|")) for group in CHOICE.findall(way)] for way in ways]
        assert sum(map(prod, groups[:-1])) >= FEWEST_WAYS, tool
        assert groups[-1] == [], tool


@pytest.mark.parametrize("name", names())
def test_held_out_worlds_have_a_way_of_their_own(name: str) -> None:
    """No alternative of another way is equal to the last one."""
    for tool, ways in asks(name)["asks"].items():
        *others, last = (read_way(way).words for way in ways)
        drawn = {vary(way, Random(seed)) for way in others for seed in range(60)}
        assert last not in drawn, tool


def test_several_things_are_said_in_a_row() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"]) == "a, b and c"


def worlds_with(tool: Tool, level: str, worlds: range) -> Iterator[int]:
    """The worlds on which a tool can be asked for."""
    for world in worlds:
        plan, session = planner(tool.server, world, level), Session([load(tool.server)], world)
        if plan.draw(session, tool, level, {}):
            yield world


def is_ever_asked_for(tool: Tool, level: str) -> bool:
    """Whether its server says that a tool can be asked for on a fresh world.

    A tool in `never_first` follows a turn that made what it is about; one with an empty [short]
    table takes no argument that could be left out.
    """
    table = asks(tool.server)
    if tool.name in table.get("never_first", ()):
        return False
    return level != "missing" or bool(table["short"][tool.name])


@pytest.mark.parametrize("level", LEVELS)
def test_every_tool_can_be_asked_for_at_every_level(level: str) -> None:
    """On some fresh world, but for the few of which their server says otherwise."""
    for tool in (tool for name in names() for tool in load(name).tools.values()):
        if tool.writes or level != "missing":
            expected = is_ever_asked_for(tool, level)
            worlds = range(WORLDS) if expected else range(3)
            found = next(worlds_with(tool, level, worlds), None)
            assert (found is not None) == expected, tool.name


@pytest.mark.parametrize("name", names())
def test_the_tables_of_a_server_are_known(name: str) -> None:
    assert asks(name).keys() <= TABLES
    assert set(asks(name).get("never_first", ())) <= load(name).tools.keys()


def test_what_can_be_left_out_is_what_a_tool_takes() -> None:
    for name in names():
        tools = load(name).tools
        for tool, short in asks(name).get("short", {}).items():
            parts = tools[tool].input_schema["properties"]
            assert short.keys() <= parts.keys()
            for argument, ways in short.items():
                assert not [way for way in ways if f"{{{argument}}}" in way]
        writes = {tool.name for tool in tools.values() if tool.writes}
        assert writes <= asks(name)["short"].keys()


@pytest.mark.parametrize("level", LEVELS)
def test_no_internal_id_is_ever_said(level: str) -> None:
    said = [drawn.goal.said for drawn in every_goal(level)]
    assert len(said) > 250
    for each in said:
        assert not INTERNAL.search(f"{each.text} {each.answer}")


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_said_holds_its_phrases_letter_by_letter(level: str) -> None:
    for drawn in every_goal(level):
        said = drawn.goal.said
        for slot in said.slots:
            assert is_said(slot, said.text), (slot, said.text)
        for name, _ in said.names:
            assert any(name in slot for slot in said.slots)
        for name, _ in said.answer_names:
            assert name in said.answer


def test_what_is_left_out_is_nowhere_said_and_answers_when_asked() -> None:
    left_out: Counter[str] = Counter()
    for drawn in every_goal("missing"):
        said = drawn.goal.said
        assert said.missing in drawn.goal.arguments
        assert said.answer
        assert normal(said.answer) not in normal(said.text)
        left_out[said.missing] += 1
    assert len(left_out) > 20
    assert not any(drawn.goal.said.missing for drawn in every_goal("complete"))


def dated(drawn: Drawn, argument: str) -> bool:
    """Whether an argument is a date or a time."""
    return "format" in drawn.tool.input_schema["properties"][argument]


@pytest.mark.parametrize("level", LEVELS)
def test_words_for_a_day_or_a_time_mean_it(level: str) -> None:
    count = 0
    for drawn in every_goal(level):
        for argument, words in drawn.goal.said.derived.items():
            if dated(drawn, argument):
                value = drawn.goal.arguments[argument]
                assert dates.read(words, drawn.session.now) == value
                assert equal(dates.read(words, drawn.session.now), value)
                count += 1
    assert count > 10


def test_words_for_another_value_are_those_the_server_lists() -> None:
    count = 0
    for drawn in every_goal():
        for argument, words in drawn.goal.said.derived.items():
            if dated(drawn, argument):
                continue
            say = asks(drawn.planner.server.name)["say"]
            table = say.get(f"{drawn.goal.tool}.{argument}", say.get(argument))
            known = [table.get(normal(leaf).replace(" ", "_"), table.get(str(leaf).lower(), ()))
                     for leaf in leaves(drawn.goal.arguments[argument])]  # fmt: skip
            assert any(phrase in words for phrases in known for phrase in phrases)
            count += 1
    assert count > 30


def test_a_thing_is_named_by_a_name_of_its_own_or_of_what_belongs_to_it() -> None:
    for drawn in every_goal():
        seen = drawn.planner.voice.survey
        for name, key in drawn.goal.said.names:
            assert name in seen.things[key].names
            held = set(map(str, leaves(drawn.goal.arguments)))
            about = {key, *map(str, seen.things[key].fields.values())}
            assert held & about, (name, key, drawn.goal.arguments)


@pytest.mark.parametrize("name", names())
def test_a_pronoun_means_one_thing_of_its_kind(name: str) -> None:
    """Things come up in any order, new ones and old ones."""
    chance = Random(name)
    for _ in range(60):
        user = voice(name)
        keys = chance.sample(sorted(user.things), min(6, len(user.things)))
        latest: dict[str, str] = {}
        for key in chance.choices(keys, k=10):
            noun = user.things[key].noun
            others = {k for k, n in user.spoken_of.items() if n == noun and k != key}
            user = user.call_it(key, noun, new=chance.random() < 0.3)
            latest[noun] = key
            assert not others & user.pronouns.keys()
            if others:
                assert not [
                    p for p in user.pronouns.get(key, ()) if p.startswith(("that", "the same"))
                ]
        meant: dict[tuple[str, str], set[str]] = defaultdict(set)
        for key, phrases in user.pronouns.items():
            for phrase in phrases:
                meant[user.spoken_of[key], phrase].add(key)
        assert all(len(held) == 1 for held in meant.values())


def test_that_account_is_dropped_once_there_are_two() -> None:
    user = voice("banking")
    one, two, three = user.survey.named["account"][:3]
    payee = user.survey.named["payee"][0]
    user = user.call_it(one, "account", new=False)
    assert user.pronouns == {one: ("that account", "the same account")}
    user = user.call_it(payee, "payee", new=False)
    assert user.pronouns.keys() == {one, payee}
    user = user.call_it(two, "account", new=False)
    assert user.pronouns.keys() == {payee}
    heard = user.call_it(payee, "payee", new=False).speak_of(one, "account")
    assert heard.call_it(two, "account", new=False).pronouns.keys() == {payee}
    user = user.call_it(three, "account", new=True)
    assert user.pronouns[three] == ("the new account",)
    user = user.call_it(one, "account", new=False)
    assert user.pronouns.keys() == {payee}


def test_that_account_is_dropped_once_another_is_named_in_the_same_turn() -> None:
    user = voice("banking")
    one, two = user.survey.named["account"][:2]
    payee = user.survey.named["payee"][0]
    user = user.call_it(one, "account", new=False).call_it(payee, "payee", new=False)
    assert user.mention({"account_id": one}).pronouns.keys() == {one, payee}
    assert user.mention({"account_id": two, "amount": 5}).pronouns.keys() == {payee}
    assert user.mention({"from": one, "to": two}).pronouns.keys() == {one, payee}


def test_nothing_is_left_out_beside_a_thing_of_its_kind() -> None:
    drawn = next(d for d in goals("banking", 0) if d.goal.tool == "close_account")
    (key,) = drawn.goal.arguments.values()
    user = voice("banking", 0)
    other = next(each for each in user.survey.named["account"] if each != key)
    assert user.ask_short(drawn.tool, drawn.goal.arguments) is not None
    user = user.call_it(other, "account", new=False)
    assert user.ask_short(drawn.tool, drawn.goal.arguments) is None


def test_nobody_calls_themselves_by_name() -> None:
    for world in range(5):
        me = people.acting_user(Seed(world)).name
        seen = survey(Session([load("calendar")], world))
        assert not any(me in name for thing in seen.things.values() for name in thing.names)


def test_a_pronoun_stands_in_the_place_of_the_name() -> None:
    drawn = next(d for d in goals("banking", 0) if d.goal.tool == "close_account")
    (key,) = drawn.goal.arguments.values()
    user = voice("banking", 0)
    user = user.call_it(key, "account", new=False)
    said = [user.ask(drawn.tool, drawn.goal.arguments) for _ in range(40)]
    spoken = [each for each in said if each and "account" in "".join(each.slots) and not each.names]
    assert len(spoken) > 15
    assert {slot for each in spoken for slot in each.slots} == {"that account", "the same account"}


@pytest.mark.parametrize("name", names())
def test_kinds_that_share_a_word_are_known(name: str) -> None:
    """A pronoun could mean either of them; nobody is to add another such pair unawares."""
    user = voice(name)
    by_word: dict[str, set[str]] = defaultdict(set)
    for thing in user.things.values():
        by_word[user._word(thing.key, thing.noun)].add(thing.noun)
    shared = {word for word, nouns in by_word.items() if len(nouns) > 1}
    assert shared == set(asks(name).get("shared_words", ()))


@pytest.mark.parametrize("name", names())
def test_values_that_users_make_up_fit_the_schema(name: str) -> None:
    user, server = voice(name), load(name)
    entries = asks(name).get("new", {})
    used = set()
    for tool in server.tools.values():
        for argument, part in tool.input_schema["properties"].items():
            keys = [k for k in (f"{tool.name}.{argument}", argument) if k in entries]
            if not keys:
                assert user.make_up(tool, argument) is None
                continue
            used.add(keys[0])
            fits = jsonschema_rs.validator_for(part, validate_formats=True).is_valid
            for _ in range(150):
                value = user.make_up(tool, argument)
                assert fits(value), (tool.name, argument, value)
                if "format" in part:
                    assert dates.find(value, user.now)
                assert "{" not in str(value)
    assert {key for key in entries if not key.startswith("_")} == used


@pytest.mark.parametrize("name", names())
def test_every_slot_of_every_way_is_an_argument(name: str) -> None:
    tools, table = load(name).tools, asks(name)
    assert table["asks"].keys() == tools.keys()
    for tool, ways in table["asks"].items():
        parts = tools[tool].input_schema["properties"].keys()
        for way in ways:
            assert set(re.findall(r"\{(\w+)\}", way)) <= parts


def test_a_value_is_said_as_people_say_it() -> None:
    user = voice("banking")
    pay = load("banking").tools["pay_payee"]
    said = {value: user.phrase(pay, "amount", value) for value in (5, 5.0, 5.5, 0.125)}
    texts = {value: phrase.text for value, phrase in said.items() if phrase}
    assert texts == {5: "5", 5.5: "5.50", 0.125: "0.125"}
    assert user.phrase(pay, "amount", None) is None
    assert user.phrase(pay, "amount", True) is None
    assert user.phrase(pay, "note", "two\nlines") is None
    assert user.phrase(pay, "account_id", "acc_1") is None
    account = user.survey.named["account"][0]
    phrase = user.phrase(pay, "account_id", account)
    assert phrase is not None
    assert not INTERNAL.search(phrase.text)
    assert noun_of(load("banking"), account) == "account"
    assert survey(Session([load("banking")], 1)) is user.survey
