"""What holds for every tool of every server; a new folder in `servers` is picked up by itself."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from provegym.fuzz import Fuzzer, find_calls
from provegym.kernel import AnyServer, Session, Tool
from provegym.kernel.errors import MAX_ERROR
from provegym.kernel.state import ENCODE
from provegym.language.questions import read_way
from provegym.servers import asks, load, load_all, names, words
from provegym.verify import server_words, server_worlds
from provegym.verify.server_contract import MINUTES, undescribed
from provegym.verify.server_contract import take_step as take
from provegym.verify.server_words import SLOT
from provegym.verify.server_worlds import tables
from servers.runs import (
    CAMPAIGN,
    SHORT_CAMPAIGN,
    SHORT_WALK,
    WALK,
    Campaign,
    Step,
    Walk,
    campaign_of,
    take_walk,
    walk_of,
)
from servers.spoil import DELIBERATE, STRANGE, show, spoil

PAPER = {
    "banking": 17,
    "trading": 13,
    "payments": 10,
    "calendar": 17,
    "email": 17,
    "filesystem": 40,
    "shopping": 23,
    "marketplace": 13,
    "retail_chain": 11,
    "travel_booking": 20,
    "maps": 16,
    "social_media": 15,
    "team_chat": 11,
    "iot_devices": 25,
    "vehicle": 20,
    "crm": 16,
    "issue_tracker": 20,
    "budget": 12,
    "food_delivery": 17,
    "video_meeting": 10,
}
SEEDS = range(50)
LINES_OF_WORK = 200_000

REPLAY = """
import json, sys
from provegym.kernel import Session
from provegym.servers import load
name, seed, steps = json.load(sys.stdin)
session, seen = Session([load(name)], seed), []
for tool, given in steps:
    text = session.call(tool, given).text if tool else session.advance(given) or ""
    seen.append([text, session.digest()])
print(json.dumps(seen))
"""


@pytest.fixture(params=names())
def name(request: pytest.FixtureRequest) -> str:
    """Each server there is."""
    return str(request.param)


@pytest.fixture
def server(name: str) -> AnyServer:
    """That server, loaded."""
    return load(name)


def short_and_long(short: int, long: int) -> list[Any]:
    """Two sizes of a run, of which `make test` runs the short one."""
    return [pytest.param(short, id="short"), pytest.param(long, id="long", marks=pytest.mark.long)]


@pytest.fixture(params=short_and_long(SHORT_CAMPAIGN, CAMPAIGN))
def campaign(name: str, request: pytest.FixtureRequest) -> Campaign:
    """Fuzzed calls of every tool of that server."""
    return campaign_of(name, request.param)


@pytest.fixture(params=short_and_long(SHORT_WALK, WALK))
def walk(name: str, request: pytest.FixtureRequest) -> Walk:
    """A random walk through one world of that server."""
    return walk_of(name, request.param)


def faults(tools: AnyServer, broken: Callable[[Tool], Any]) -> dict[str, Any]:
    """What is wrong, by tool."""
    return {tool.name: fault for tool in tools.tools.values() if (fault := broken(tool))}


# The library as a whole


def test_the_papers_20_servers_have_its_343_tools() -> None:
    assert (len(PAPER), sum(PAPER.values())) == (20, 343)
    counted = {server.name: len(server.tools) for server in load_all() if server.name in PAPER}
    assert counted == PAPER


def test_tool_names_are_unique_over_all_servers() -> None:
    taken = Counter(name for server in load_all() for name in server.tools)
    assert [name for name, count in taken.items() if count > 1] == []


# What the model is shown


def test_names_and_descriptions(name: str, server: AnyServer) -> None:
    assert server.name == name
    assert server.about.endswith(".")
    for tool in server.tools.values():
        assert re.fullmatch(r"[a-z][a-z0-9_]{0,63}", tool.name)
        assert tool.server == name
        assert len(tool.description) >= 20
        assert tool.arguments.sensitive <= set(tool.input_schema["properties"])
        assert not (tool.destructive and not tool.writes)


def test_every_argument_is_described_and_bounded(server: AnyServer) -> None:
    assert faults(server, lambda tool: undescribed(tool.input_schema)) == {}


def test_schemas_are_json_schema(server: AnyServer) -> None:
    def broken(tool: Tool) -> bool:
        return not (
            jsonschema_rs.meta.is_valid(tool.input_schema)
            and jsonschema_rs.meta.is_valid(tool.output_schema)
            and tool.input_schema["additionalProperties"] is False
        )

    assert faults(server, broken) == {}


# What the kernel accepts


@pytest.mark.parametrize("draws", short_and_long(50, 200))
def test_schema_and_kernel_accept_the_same(server: AnyServer, draws: int) -> None:
    fuzzer, session = Fuzzer(server, "agreement"), Session([server], 5)
    fuzzer.look(session.state(server))

    def broken(tool: Tool) -> list[str]:
        validator = jsonschema_rs.validator_for(tool.input_schema, validate_formats=True)
        wrong: list[str] = []
        fitting = (fuzzer.arguments(tool) for _ in range(draws // 5))
        for arguments in (*fitting, *misfits(fuzzer, tool, draws * 4 // 5)):
            if problem := disagreement(session, tool, validator, arguments):
                wrong.append(problem)
        session.reset()
        return wrong[:3]

    assert faults(server, broken) == {}


def misfits(fuzzer: Fuzzer, tool: Tool, draws: int) -> Iterator[Any]:
    """Arguments spoiled at random, then every strange value in every place."""
    for _ in range(draws):
        spoilt = spoil(fuzzer.chance, tool.input_schema, fuzzer.arguments(tool))
        if not any(moment in show(spoilt, 100_000) for moment in DELIBERATE):
            yield spoilt
    for name in tool.input_schema["properties"]:
        arguments = fuzzer.arguments(tool)
        yield from ({**arguments, name: value} for value in STRANGE if value not in DELIBERATE)


def disagreement(
    session: Session, tool: Tool, validator: jsonschema_rs.Validator, arguments: Any
) -> str:
    """How the published schema and the kernel differ on these arguments, if they do."""
    try:
        value = json.loads(arguments) if isinstance(arguments, str) else arguments
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        valid = validator.is_valid(value)
    except (ValueError, TypeError, RecursionError):
        valid = False
    try:
        outcome = session.call(tool.name, arguments)
    except Exception as problem:
        return f"{type(problem).__name__} on {show(arguments)}"
    if valid == (outcome.error != "invalid_argument"):
        return ""
    return f"schema says {valid} to {show(arguments)}: {outcome.text[:160]}"


@pytest.mark.parametrize("wrong", ["x" * 60_000, "no such value", 5.5, ["x" * 60_000]])
def test_errors_are_short_and_list_the_allowed_values(server: AnyServer, wrong: Any) -> None:
    session = Session([server], 5)

    def broken(tool: Tool) -> list[str]:
        faults = []
        for arguments, part in planted(tool.input_schema, wrong):
            outcome = session.fork().call(tool.name, arguments)
            message = "" if outcome.ok else outcome.value["message"]
            if len(message) > MAX_ERROR or not all(value in message for value in allowed(part)):
                faults.append(message[:200])
        return faults

    assert faults(server, broken) == {}


def planted(schema: dict[str, Any], wrong: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Arguments with a wrong value in one place, for each place, with the schema of that place."""
    for name, part in schema.get("properties", {}).items():
        yield {name: wrong}, part
        for value, inner in planted(part, wrong):
            yield {name: value}, inner
        items = part.get("items", {})
        if items:
            yield {name: [wrong]}, items
        for value, inner in planted(items, wrong):
            yield {name: [value]}, inner


def allowed(part: dict[str, Any]) -> list[str]:
    """The values of an enum, or of the enums that a list or a union is made of."""
    options = [part, part.get("items", {}), *part.get("anyOf", ())]
    values = [value for option in options for value in option.get("enum", ())]
    return [str(value) for value in values if value is not None]


def test_nothing_is_given_a_blank_name(server: AnyServer) -> None:
    session = Session([server], 5)
    named = {tool.name: names_in(tool) for tool in server.tools.values() if tool.writes}
    tools = [server.tools[tool] for tool, found in named.items() if found]
    for tool, arguments in find_calls(tools, session):
        for name in named[tool]:
            outcome = session.fork().call(tool, {**arguments, name: " \t "})
            assert not outcome.ok, f"{tool}({name})"


def names_in(tool: Tool) -> list[str]:
    """The required arguments of a tool that name something."""
    endings = ("name", "title", "label", "subject", "place", "company", "description")
    return [name for name in tool.input_schema["required"] if name.endswith(endings)]


# What calls do


def test_tools_never_raise(campaign: Campaign) -> None:
    assert campaign.faults["raises"] == []


def test_reads_leave_the_world_alone(campaign: Campaign) -> None:
    assert campaign.faults["read changed the world"] == []


def test_failures_leave_no_trace(campaign: Campaign) -> None:
    assert campaign.faults["failure left a trace"] == []


def test_results_fit_the_output_schema_and_four_kilobytes(campaign: Campaign) -> None:
    assert campaign.faults["off the output schema"] == []
    assert campaign.faults["too long"] == []


def test_errors_are_sentences(campaign: Campaign) -> None:
    assert campaign.faults["says too little"] == []
    assert campaign.faults["says too much"] == []


def test_idempotent_writes_change_nothing_more(campaign: Campaign) -> None:
    assert campaign.faults["is not idempotent"] == []


def test_every_tool_succeeds_and_every_write_can_be_refused(campaign: Campaign) -> None:
    assert faults(campaign.server, campaign.missing) == {}


def test_the_tools_marked_as_writes_are_those_that_change_the_world(campaign: Campaign) -> None:
    writes = {tool.name for tool in campaign.server.tools.values() if tool.writes}
    assert campaign.changed == writes


def test_the_fuzz_draws_live_values_and_calls_each_tool_often(campaign: Campaign) -> None:
    drawn = campaign.fuzzer.drawn
    assert drawn["live"] >= 0.7 * drawn.total()
    least = campaign.calls - 10
    assert all(campaign.tallies[tool].total() >= least for tool in campaign.server.tools)


def test_work_is_bounded(campaign: Campaign) -> None:
    server, fuzzer = campaign.server, campaign.fuzzer
    walk = walk_of(server.name, SHORT_WALK if campaign.calls < CAMPAIGN else WALK)
    session = walk.at(400)
    fuzzer.look(session.state(server))

    def broken(tool: Tool) -> int:
        samples = [*fuzzer.kept[tool.name][:2], *(fuzzer.arguments(tool) for _ in "123")]
        samples += [fuzzer.extremes(tool) for _ in "123"]
        lines = max(
            lines_of(lambda sample=sample: session.call(tool.name, sample)) for sample in samples
        )
        return lines if lines > LINES_OF_WORK else 0

    assert faults(server, broken) == {}


def lines_of(work: Callable[[], Any]) -> int:
    """How many lines of Python some work takes."""
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


# Walks


@pytest.mark.parametrize(
    ("seed", "length"),
    [
        pytest.param(11, SHORT_WALK, id="short"),
        *(pytest.param(seed, WALK, id=f"{seed}", marks=pytest.mark.long) for seed in (11, 12, 13)),
    ],
)
def test_invariants_hold_on_a_walk(name: str, seed: int, length: int) -> None:
    assert len(walk_of(name, length, seed).digests) == length


def test_the_fuzz_itself_repeats(server: AnyServer) -> None:
    assert take_walk(server, 3, 60) == take_walk(server, 3, 60)


def test_replay_reproduces(walk: Walk) -> None:
    session = walk.session()
    for step, text, digest in zip(walk.steps, walk.texts, walk.digests, strict=True):
        assert (take(session, step), session.digest()) == (text, digest)
    session.reset()
    assert session.digest() == walk.session().digest()


def test_a_fresh_interpreter_reproduces(name: str) -> None:
    walk = walk_of(name, SHORT_WALK)
    given = json.dumps([name, walk.seed, walk.steps])
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}
    run = subprocess.run(
        [sys.executable, "-c", REPLAY],
        input=given,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    expected = zip(walk.texts, walk.digests, strict=True)
    assert json.loads(run.stdout) == [list(pair) for pair in expected]


def test_forks_go_their_own_way(walk: Walk) -> None:
    half = len(walk.steps) // 2
    session = walk.at(half)
    twin, before = session.fork(), session.digest()
    assert twin.digest() == before
    for step in reversed(walk.steps[:150]):
        take(twin, step)
    assert session.digest() == before
    third = session.fork()
    for number in range(half, half + 100):
        assert take(third, walk.steps[number]) == walk.texts[number]
        assert third.digest() == walk.digests[number]
    assert session.digest() == before


@pytest.mark.parametrize("count", short_and_long(100, 1_000))
def test_many_sessions_never_see_each_other(server: AnyServer, count: int) -> None:
    chance = Random(f"{server.name}:interleaved")
    seeds = [number % 5 for number in range(count)]
    scripts = [(seed, script(server, seed, f"script {n}")) for n, seed in enumerate(seeds)]
    alone = [play(server, seed, steps) for seed, steps in scripts]
    sessions = [Session([server], seed) for seed, _ in scripts]
    texts: list[list[str]] = [[] for _ in scripts]
    turns = [number for number, (_, steps) in enumerate(scripts) for _ in steps]
    chance.shuffle(turns)
    for number in turns:
        step = scripts[number][1][len(texts[number])]
        texts[number].append(take(sessions[number], step))
    for number, expected in enumerate(alone):
        assert (texts[number], sessions[number].digest()) == expected


def script(server: AnyServer, seed: int, key: str) -> list[Step]:
    """A few steps drawn from a seed's world."""
    fuzzer, tools = Fuzzer(server, key), list(server.tools.values())
    fuzzer.pool = pool_of(server, seed)
    steps: list[Step] = [
        (tool.name, fuzzer.arguments(tool)) for tool in fuzzer.chance.sample(tools, 5)
    ]
    return [*steps[:3], ("", fuzzer.chance.choice(MINUTES)), *steps[3:]]


@cache
def pool_of(server: AnyServer, seed: int) -> Any:
    """The live values of a seeded world."""
    fuzzer = Fuzzer(server, "")
    fuzzer.look(server.world(seed))
    return fuzzer.pool


def play(server: AnyServer, seed: int, steps: list[Step]) -> tuple[list[str], str]:
    """What the steps come to in a session of their own."""
    session = Session([server], seed)
    return [take(session, step) for step in steps], session.digest()


def test_time_passes_alike_in_one_go_or_several(walk: Walk) -> None:
    chance = Random(f"{walk.server.name}:time")
    for count in (0, 60, 200, 500):
        start = walk.at(count)
        for _ in range(3):
            splits = [chance.choice((0, 1, 37, *MINUTES, 20_000)) for _ in range(4)]
            once, often = start.fork(), start.fork()
            once.advance(sum(splits))
            for minutes in splits:
                often.advance(minutes)
                often.check()
            assert (once.digest(), once.diff()) == (often.digest(), often.diff())
    early, late = Session([walk.server], 4), Session([walk.server], 4)
    early.digest()
    for session in (early, late):
        session.advance(600)
        session.advance(5_000)
    assert early.digest() == late.digest()


# Records


def test_records_round_trip_and_money_is_exact(walk: Walk) -> None:
    for session in (walk.session(), walk.at(len(walk.steps))):
        for rows in tables(session.state(session.servers[0])).values():
            for row in rows:
                assert msgspec.json.decode(ENCODE(row), type=type(row)) == row
                assert {amount.as_tuple().exponent for amount in decimals(row)} <= {-2}, row


def decimals(value: Any) -> Iterator[Decimal]:
    """Every amount within a record."""
    if isinstance(value, Decimal):
        yield value
    elif isinstance(value, msgspec.Struct):
        for part in msgspec.structs.astuple(value):
            yield from decimals(part)
    elif isinstance(value, tuple):
        for part in value:
            yield from decimals(part)


# Seeds


def test_worlds_have_many_records_and_keep_their_invariants(server: AnyServer) -> None:
    assert [*server_worlds.few_records(server, SEEDS)] == []
    for seed in SEEDS:
        server.world(seed).check()


def test_different_seeds_are_different_worlds(server: AnyServer) -> None:
    assert [*server_worlds.similar_worlds(server, SEEDS)] == []


def test_ids_cannot_be_guessed(server: AnyServer) -> None:
    assert [*server_worlds.guessable_ids(server, SEEDS)] == []


# How people ask


def test_every_tool_has_ways_to_ask(server: AnyServer) -> None:
    assert [*server_words.ask_faults(server)] == []


def test_every_question_says_what_it_asks_for(server: AnyServer) -> None:
    """Ways to ask for a read name fields of its result; ways to ask for a write name none."""
    assert [*server_words.question_faults(server)] == []


def test_people_refer_to_records_by_their_fields(server: AnyServer) -> None:
    assert [*server_words.refer_faults(server)] == []
    assert [*server_words.nameless(server)] == []


def test_people_say_no_ids_and_no_tool_names(server: AnyServer) -> None:
    texts = asks(server.name)
    ways = [
        read_way(way).words
        for part in (texts["refer"], texts["asks"])
        for list_ in part.values()
        for way in list_
    ]
    for way in ways:
        assert "_" not in SLOT.sub("", way), way
    prefixes = "|".join(spec.prefix for spec in server.state.tables.values() if spec.prefix)
    drawn = json.dumps(words(server.name))
    assert not re.search(rf"\b(?:{prefixes or '-'})_\d", drawn)
