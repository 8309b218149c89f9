"""Hostile specs run nothing, read nothing and end soon: they are built or refused in a sentence.

A server that was built from a spec never raises Bug, whatever it is called with.
"""

import builtins
import gc
import io
import os
import subprocess
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from random import Random
from time import process_time
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from provegym.fuzz import Fuzzer
from provegym.kernel import AnyServer, Session
from provegym.worlds import SpecError, build, parse, read
from provegym.worlds.build import asks_of
from provegym.worlds.formula import Compiler
from provegym.worlds.plain import MAX_BYTES
from provegym.worlds.shapes import NOW, TEXT, Shapes, Type
from provegym.worlds.spec import convert
from worlds.editing import base, edited, server_of
from worlds.mutants import LIBRARY, mutant

# A quiet core needs less than one second of CPU time; a busy machine may be three times slower.
SECONDS, MEGABYTES = 3.0, 100
CALLS = 40
LEND = "operations/lend_item"


@contextmanager
def soon() -> Iterator[None]:
    """Fail if something takes more than a few seconds of CPU time."""
    gc.disable()
    start = process_time()
    try:
        yield
        assert process_time() - start < SECONDS
    finally:
        gc.enable()


def short_and_long(short: int, long: int) -> list[Any]:
    """Two sizes of a run, of which `make test` runs the short one."""
    return [pytest.param(short, id="short"), pytest.param(long, id="long", marks=pytest.mark.long)]


# Mutants


@pytest.mark.parametrize("count", short_and_long(1_000, 8_000))
def test_mutants_are_built_or_refused(count: int) -> None:
    built, sentences = 0, []
    for number in range(count):
        data = mutant(Random(f"mutant {number}"), base())
        try:
            with soon():
                spec = convert(data)
                server = build(spec)
                asks_of(spec)
                server.world(number % 7)
        except SpecError as refused:
            sentences.append(str(refused))
            continue
        except Exception as problem:
            raise AssertionError(f"mutant {number} of the library") from problem
        built += 1
        play(server, number)
    assert min(built, len(sentences)) > count / 20
    assert not [each for each in sentences if "\n" in each or len(each) > 600]


def play(server: AnyServer, number: int) -> None:
    """Random calls, extreme ones too, with time that passes; none raises Bug."""
    session, fuzzer = Session([server], number % 7), Fuzzer(server, f"play {number}")
    tools = list(server.tools.values())
    for at in range(CALLS):
        if at % 10 == 0:
            fuzzer.look(session.state(server))
            session.advance(fuzzer.chance.choice((60, 5_000, 100_000, 500_000)))
        tool = fuzzer.chance.choice(tools)
        extreme = fuzzer.chance.random() < 0.2
        arguments = fuzzer.extremes(tool) if extreme else fuzzer.arguments(tool)
        try:
            outcome = session.call(tool.name, arguments)
        except Exception as problem:
            raise AssertionError(f"mutant {number}: {tool.name}({arguments})") from problem
        fuzzer.learn(tool, arguments, outcome)


# Bombs


def headers(count: int) -> str:
    return "\n".join(f"[a{number}.b.c.d]" for number in range(count))


TEXTS = {
    "dotted key": "a." * 150_000 + "b = 1",
    "dotted key with blanks": "a . " * 90_000 + "b = 1",
    "dotted key of strings": '"a".' * 90_000 + "b = 1",
    "dotted header": f"[{'a.' * 150_000}b]",
    "arrays": f"a = {'[' * 200_000}",
    "tables": f"a = {'{a=' * 100_000}",
    "JSON objects": '{"a":' * 70_000,
    "JSON arrays": f'{{"a":{"[" * 200_000}',
    "many tables": "[[x]]\n" * 60_000,
    "many headers": headers(20_000),
    "many keys": "\n".join(f"k{number} = 1" for number in range(30_000)),
    "quotes": '"\\"' * 120_000,
    "open string": 'a = "' + '\\"' * 190_000,
    "many quotes": f'a = """{chr(34) * 390_000}',
    "digits": f"a = {'9' * 390_000}",
    "hexadecimal digits": f"a = 0x{'f' * 390_000}",
    "exponent": f"a = 1e{'9' * 1_000}",
    "comment": "#" * 399_000,
    "JSON number": f'{{"days": {"9" * 390_000}}}',
    "blanks": " " * 399_000,
    "too long": "a" * (MAX_BYTES + 1),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_that_blow_up_are_refused(name: str) -> None:
    with soon(), pytest.raises(SpecError):
        parse(TEXTS[name])
    if name.startswith("many"):
        return
    tracemalloc.start()
    try:
        with pytest.raises(SpecError):
            parse(TEXTS[name])
        assert tracemalloc.get_traced_memory()[1] < MEGABYTES * 1e6
    finally:
        tracemalloc.stop()


def chain(length: int, times: int, words: int) -> dict[str, Any]:
    """Word lists, each of which names the next one several times."""
    lists = {f"l{n}": [f"{{l{n + 1}}}" * times] * words for n in range(length)}
    return {**lists, f"l{length}": ["word"]}


def copies(depth: int, width: int) -> list[dict[str, Any]]:
    """Entities, each of which copies the fields of the one before it."""
    made: list[dict[str, Any]] = []
    for number in range(depth):
        fields: list[dict[str, Any]] = [{"name": "name", "kind": "code", "words": ["A####"]}]
        if number:
            fields.append({"name": "up", "kind": "reference", "to": f"e{number - 1}"})
            source = "up.name" if number == 1 else "up.c0"
            fields += [{"name": f"c{n}", "kind": "copy", "to": source} for n in range(width)]
        prefix = "abcdefgh"[number] * 2
        made.append({"name": f"e{number}", "prefix": prefix, "count": 10, "fields": fields})
    return made


RENAME = {
    "tool": "rename",
    "kind": "update",
    "about": "Give a thing another name.",
    "entity": "e0",
    "arguments": [
        {"name": "e_id", "about": "The thing.", "of": "e0"},
        {"name": "name", "about": "Its name.", "kind": "name"},
    ],
    "effects": [{"change": "$e_id", "set": {"name": "$name"}}],
}
EMPTY = [("events", []), ("invariants", []), ("past", []), ("words", {})]
MANY = [{"tool": "lend_item", "times": 400}]
BRANDS = [f"Brand{number}" for number in range(200)]
BOMBS: dict[str, tuple[list[tuple[str, Any]], str]] = {
    "word lists with many words": ([("lists", {**base()["lists"], **chain(7, 1, 400)})], ""),
    "word lists that multiply": ([("lists", chain(7, 60, 1))], "more than 400 characters"),
    "word lists in a row": ([("lists", chain(12, 1, 1))], "lead in a circle or too far"),
    "copies that multiply": (
        [("entities", copies(6, 5)), ("operations", [RENAME]), *EMPTY],
        "too many copies",
    ),
    "copies that scan": (
        [
            ("entities", [{**each, "most": 2_000} for each in copies(4, 1)]),
            ("operations", [RENAME]),
            *EMPTY,
        ],
        "records, more than 300,000",
    ),
    "guards": (
        [(f"{LEND}/guards", base()["operations"][3]["guards"][2:] * 20), ("past", MANY)],
        "drawing a world may look at",
    ),
    "a long past": (
        [
            ("past", [{"tool": "lend_item", "times": 200}, {"tool": "return_item", "times": 200}]),
            ("days", 1_000),
            ("lists/brand", BRANDS),
            ("entities/item/count", 350),
        ],
        "",
    ),
    "a count for each record of a search": (
        [
            ("entities/loan/most", 2_000),
            ("entities/tag/most", 2_000),
            (
                "operations/list_tags/arguments/checked/tests",
                [{"count": "loan", "where": {"item_id": "$row.item_id"}, "is": 0}],
            ),
        ],
        "list_tags may look at 4,002,000 records",
    ),
    "invariants": (
        [
            ("invariants", [base()["invariants"][1]] * 24),
            ("entities/item/count", 300),
            ("lists/brand", BRANDS),
            ("past", [{"tool": "lend_item", "times": 60}]),
        ],
        "invariants may look at",
    ),
    "events every day": (
        [
            ("events/0/effects/0/set/next_check", "$now + 1d"),
            ("entities/tag/most", 80),
            ("entities/item/count", 300),
            ("lists/brand", BRANDS),
            ("past", [{"tool": "tag_item", "times": 300}]),
            ("days", 1_000),
        ],
        "drawing a world may look at",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_worlds_that_blow_up_are_refused_or_small(name: str) -> None:
    edits, says = BOMBS[name]
    data = edited(*edits)
    tracemalloc.start()
    try:
        if says:
            with pytest.raises(SpecError, match=says):
                build(convert(data)).world(0)
        else:
            build(convert(data)).world(0)
        assert tracemalloc.get_traced_memory()[1] < MEGABYTES * 1e6
    finally:
        tracemalloc.stop()
    with soon():
        try:
            build(convert(data)).world(1)
        except SpecError:
            assert says


# Nothing is run


@pytest.mark.parametrize(
    "text",
    [
        "=__import__('os').system('touch x')",
        "$item_id.__class__.__mro__",
        "=open('/etc/passwd')",
        "{item_id.__init__.__globals__}",
        "$now.__class__",
        "{0.__class__}",
        "%(name)s",
        "${HOME}",
    ],
)
def test_nothing_in_a_spec_is_run_or_read(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **named: Any) -> NoReturn:
        raise AssertionError("a spec ran something")

    read(LIBRARY)
    build(convert(edited())).world(0)
    for module, name in ((builtins, "open"), (io, "open"), (os, "system"), (subprocess, "run")):
        monkeypatch.setattr(module, name, refuse)
    for name in ("eval", "exec", "compile"):
        monkeypatch.setattr(builtins, name, refuse)
    places = [f"{LEND}/guards/0/of", f"{LEND}/guards/0/says", f"{LEND}/effects/0/set/due_at"]
    places += ["entities/item/fields/shelf/words", "lists/brand", f"{LEND}/did"]
    for place in places:
        value: Any = [text] if place.endswith(("words", "brand")) else text
        try:
            server = server_of((place, value))
            server.world(0)
        except SpecError:
            continue


# Formulas


@cache
def compiler() -> Compiler:
    """A place with values of all types."""
    types = {
        "item_id": Type("key", "item"),
        "loan_id": Type("key", "loan", optional=True),
        "days": Type("number"),
        "price": Type("money"),
        "at": Type("time", optional=True),
        "on": Type("date"),
    }
    return Compiler(Shapes(convert(edited())), {**types, "now": NOW, "me": TEXT}, "here")


PIECES = st.sampled_from(
    [
        *("$item_id", "$item_id.name", "$item_id.deposit", "$loan_id.due_at", "$days", "$price"),
        *("$at", "$on", "$now", "$me", "$nothing", "0", "1", "2.5", "999999999", "1d", "999999d"),
        *("+", "-", "*", "(", ")", ",", "days(", "date(", "min(", "max(", "abs(", " ", "$", "x"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=24).map("".join))
def test_formulas_compute_or_are_refused(text: str) -> None:
    try:
        formula = compiler().value(f"={text}")
    except SpecError:
        return
    session = Session([server_of()], 0)
    state: Any = session.state(session.servers[0])
    item, loan = next(iter(state.items.keys())), next(iter(state.loans.keys()))
    for loan_id, at in ((loan, state.now), (None, None)):
        known = {"item_id": item, "loan_id": loan_id, "days": 10**6, "price": state.members}
        known |= {"price": next(iter(state.members)).fees_owed, "at": at, "on": state.now.date()}
        value = formula.compute(state, {**known, "now": state.now, "me": "Ada"})
        assert formula.type.optional or value is not None


# Calls


@cache
def full_server() -> AnyServer:
    """The library with small tables, so that they can be full."""
    return server_of(("entities/loan/most", 60), ("entities/note/most", 12))


WILD = st.one_of(
    st.text(max_size=200),
    st.text(alphabet='\x00\x01\x1f"\\\u2028🙂é', max_size=200),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
    st.datetimes().map(lambda moment: f"{moment.isoformat()}Z"),
    st.dates().map(str),
)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.lists(WILD, min_size=30, max_size=30))
def test_a_server_never_raises_bug(chance: Random, wild: list[Any]) -> None:
    server = full_server()
    session = Session([server], chance.randrange(3))
    fuzzer = Fuzzer(server, str(chance.random()))
    fuzzer.look(session.state(server))
    tools = list(server.tools.values())
    for value in wild:
        tool = chance.choice(tools)
        arguments = fuzzer.arguments(tool)
        names = [*arguments] or ["x"]
        if chance.random() < 0.5:
            arguments[chance.choice(names)] = value
        outcome = session.call(tool.name, arguments)
        fuzzer.learn(tool, arguments, outcome)
        if chance.random() < 0.1:
            session.advance(chance.choice((1, 1_440, 527_040)))
            fuzzer.look(session.state(server))
    session.check()


def test_tables_fill_up_and_results_stay_short() -> None:
    server = full_server()
    session = Session([server], 0)
    state: Any = session.state(server)
    item = next(iter(state.items.keys()))
    text = '"\\🙂' * 53
    outcomes = [session.call("add_note", {"item_id": item, "text": text}) for _ in range(20)]
    assert outcomes[-1].error == "rejected"
    assert "holds no more than 12 note records" in outcomes[-1].text
    assert len(state.notes) == 12
    for member in state.members:
        outcome = session.call("get_member", {"member_id": member.id})
        assert outcome.ok
        assert len(outcome.text.encode()) <= 4_096


def test_a_record_that_others_point_to_is_not_removed() -> None:
    server = server_of(("operations/remove_item/guards", []))
    session = Session([server], 0)
    state: Any = session.state(server)
    loan = next(iter(state.loans))
    refused = session.call("remove_item", {"item_id": loan.item_id})
    assert refused.error == "rejected"
    assert "still belongs to" in refused.text
    pointed = {row.item_id for name in ("loans", "tags", "notes") for row in getattr(state, name)}
    free = next(key for key in state.items.keys() if key not in pointed)  # noqa: SIM118
    assert session.call("remove_item", {"item_id": free}).ok
    assert session.call("remove_item", {"item_id": free}).error == "not_found"
    session.check()


def test_numbers_that_grow_too_large_are_refused() -> None:
    double = {"change": "$member_id", "set": {"fees_owed": "$member_id.fees_owed * 1000 + 1"}}
    server = server_of(
        ("operations/pause_member/effects/0/set", {"status": "active", **double["set"]}),
        ("operations/pause_member/guards", []),
    )
    session = Session([server], 0)
    state: Any = session.state(server)
    member = next(iter(state.members.keys()))
    ends = [session.call("pause_member", {"member_id": member}) for _ in range(12)]
    assert ends[0].ok
    assert ends[-1].error == "rejected"
    assert "the fees owed would be too large" in ends[-1].text


def test_a_sum_that_is_too_large_is_not_stored() -> None:
    """Each call sets the fees of one member to the fees of all members together."""
    edits: list[tuple[str, Any]] = [
        ("operations/pause_member/let", [{"name": "all", "sum": "member.fees_owed"}]),
        ("operations/pause_member/guards", []),
        ("operations/pause_member/effects/0/set", {"status": "active", "fees_owed": "$all"}),
    ]
    session = Session([server_of(*edits)], 0)
    state: Any = session.state(session.servers[0])
    ends = [
        session.call("pause_member", {"member_id": key}).error
        for _ in range(20)
        for key in list(state.members.keys())
    ]
    assert ends[0] is None
    assert ends[-1] == "rejected"
    session.check()


def test_what_an_event_cannot_do_is_left_out() -> None:
    """The check of a tag would make a number too large; the event ends all the same."""
    huge = {"checks": "=($row.checks + 1) * 900000", "next_check": "$now + 30d"}
    server = server_of(("events/0/effects/0/set", huge))
    session = Session([server], 0)
    session.advance(400 * 1_440 // 2)
    session.advance(400 * 1_440 // 2)
    state: Any = session.state(server)
    assert max(tag.checks for tag in state.tags) <= 10**9
    assert all(tag.next_check > state.now for tag in state.tags)
