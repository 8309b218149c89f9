"""Specs drawn from domains and patterns: deterministic, sound, and said in good English."""

import os
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import islice
from pathlib import Path

import msgspec
import pytest

from provegym import servers
from provegym.kernel import AnyServer, Session, Tool
from provegym.language.questions import COUNT, read_way
from provegym.servers import WORLD_NAME
from provegym.verify.server_contract import faults
from provegym.verify.server_words import SLOT, paths
from provegym.worlds.build import asks_of, build
from provegym.worlds.grammar import Noun, domains, draw_spec, draw_specs, patterns
from provegym.worlds.spec import WorldSpec, read

DOCS = Path(__file__).parents[2] / "docs"
ALL = sorted(domains())


def some_domains() -> list[str]:
    """A few domains that together have every pattern; `make test` looks at these."""
    chosen = ALL[::20]
    for name in patterns():
        if not any(name in domains()[domain] for domain in chosen):
            chosen.append(next(domain for domain in ALL if name in domains()[domain]))
    return chosen


SAMPLE = some_domains()
# A world has two or three patterns of its domain.
MANY = 4
# A vowel before which "a" stands, and the letters before which "an" stands.
WRONG_ARTICLE = re.compile(
    r"\ba (?!uni|use|usu|eu|one)[aeiou]|\ban (?!hour|heir|hon)[^aeiou\W]", re.I
)
DRAW = """
from itertools import islice
from pathlib import Path
import msgspec, sys
from provegym.worlds.grammar import draw_specs
for spec in islice(draw_specs(3), 4):
    sys.stdout.buffer.write(msgspec.json.encode(spec))
"""


@cache
def specs_of(domain: str) -> tuple[WorldSpec, ...]:
    """Drawn specs of a domain that together have all its patterns."""
    missing = {name for name in patterns() if name in domains()[domain]}
    chosen = []
    for number in range(100):
        spec = draw_spec(domain, 0, number)
        if missing & patterns_of(spec):
            missing -= patterns_of(spec)
            chosen.append(spec)
        if not missing:
            return tuple(chosen)
    raise AssertionError(f"{domain}: {missing} are never drawn")


def patterns_of(spec: WorldSpec) -> set[str]:
    """The patterns that a spec says it was drawn from."""
    return set(spec.source.partition(": ")[2].split(", ")[1:])


@pytest.fixture(
    params=[
        pytest.param(domain, marks=[] if domain in SAMPLE else [pytest.mark.long]) for domain in ALL
    ]
)
def domain(request: pytest.FixtureRequest) -> str:
    """Each domain there is, a few of them in the short run."""
    return str(request.param)


def test_there_are_enough_domains_and_patterns() -> None:
    assert len(ALL) >= 150
    assert len(patterns()) >= 25
    shares = Counter(name for domain in ALL for name in patterns() if name in domains()[domain])
    assert min(shares.values()) >= 40, shares
    assert min(sum(name in domains()[d] for name in patterns()) for d in ALL) >= MANY
    assert set().union(*(patterns_of(s) for d in SAMPLE for s in specs_of(d))) == set(patterns())


def test_options_and_verbs_of_patterns_have_names_of_their_own() -> None:
    """A world has the options of all its patterns in one table."""
    for part in ("verbs", "options"):
        names = Counter(name for each in patterns().values() for name in each[part])
        assert max(names.values()) == 1, names.most_common(3)
    words = Counter(name for each in patterns().values() for name in each["nouns"])
    assert max(words.values()) == 1, words.most_common(3)


def test_words_of_patterns_have_names_of_their_own() -> None:
    """The words of all patterns of a world are in one table: none hides that of another."""
    keys: dict[str, set[str]] = {}
    for words in domains().values():
        for name in patterns().keys() & words.keys():
            for key in words[name]:
                keys.setdefault(key, set()).add(name)
    assert {key: names for key, names in keys.items() if len(names) > 1} == {}


def test_the_same_seed_draws_the_same_bytes_in_any_process() -> None:
    here = b"".join(msgspec.json.encode(spec) for spec in islice(draw_specs(3), 4))
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}
    there = subprocess.run([sys.executable, "-c", DRAW], env=environment, capture_output=True)
    assert there.stdout == here, there.stderr.decode()
    other = b"".join(msgspec.json.encode(spec) for spec in islice(draw_specs(4), 4))
    assert other != here


def test_a_round_of_draws_has_every_domain_once() -> None:
    names = [spec.name for spec in islice(draw_specs(0), len(ALL))]
    assert len(set(names)) == len(ALL)
    assert all(WORLD_NAME.fullmatch(name) for name in names)
    assert {name.rsplit("_", 2)[0] for name in names} == set(ALL)


def test_its_spec_becomes_a_server_that_keeps_the_contract(domain: str) -> None:
    for spec in specs_of(domain):
        server = build(spec)
        assert faults(server, calls=160) == [], spec.source
        assert 8 <= len(server.tools) <= 40
        assert server.world(0).size() >= 25


def test_every_way_to_ask_names_what_there_is(domain: str) -> None:
    for spec in specs_of(domain):
        table, server = asks_of(spec), build(spec)
        wrong = {name: found for name, tool in server.tools.items() if (found := bad(tool, table))}
        assert wrong == {}, spec.source


def bad(tool: Tool, table: dict[str, dict[str, object]]) -> list[str]:
    """Ways to ask for a tool that name arguments or fields that do not exist, or too few."""
    known, needed = set(tool.input_schema["properties"]), set(tool.input_schema["required"])
    ways: list[str] = table["asks"][tool.name]  # type: ignore[assignment]
    short: dict[str, list[str]] = table["short"].get(tool.name, {})  # type: ignore[assignment]
    wrong = [way for way in ways if not needed <= slots(spoken(read_way(way).words))]
    wrong += [way for name, some in short.items() for way in some if name in slots(way)]
    wrong += [f"no argument {name}" for name in short if name not in known]
    every = [*ways, *(way for some in short.values() for way in some)]
    wrong += [way for way in every if not slots(read_way(way).words) <= known]
    wrong += [way for way in every if WRONG_ARTICLE.search(SLOT.sub("", way)) or "  " in way]
    wrong += ["too few ways"] * (len(set(ways)) < (4 if tool.writes else 3))
    wrong += ["one opening"] * (len({way.split()[0] for way in ways}) < 2)
    return wrong + [way for way in every if fields_are_wrong(tool, way)]


def spoken(way: str) -> str:
    """A way to ask without what may be left out; brackets must be well formed."""
    bare = re.sub(r"\[[^\[\]]*\]", "", way)
    assert not re.search(r"[\[\]]", bare), way
    assert not re.search(r"[{}]", SLOT.sub("", bare)), way
    return bare


def slots(way: str) -> set[str]:
    """The arguments that a way to ask says."""
    return set(SLOT.findall(way))


def fields_are_wrong(tool: Tool, way: str) -> bool:
    """A way to ask for a read names fields of its result, a way to ask for a write none."""
    asked = set(read_way(way).asked.fields)
    if tool.writes:
        return bool(asked)
    schema = tool.output_schema
    rows = schema["properties"]["items"]["items"] if tool.paged else schema
    return not asked or not asked <= {*paths(rows), COUNT}


def test_replies_and_names_of_records_use_fields_that_exist(domain: str) -> None:
    for spec in specs_of(domain):
        server = build(spec)
        for entity in spec.entities:
            known = {field.name for field in entity.fields}
            assert all(slots(way) <= known for way in entity.refer), entity.refer
        for operation in spec.operations:
            if isinstance(operation.did, str):
                record = server.tools[operation.tool].output_schema.get("properties", {})
                arguments = server.tools[operation.tool].input_schema["properties"]
                assert slots(operation.did) <= {*record, *arguments}, operation.did


def test_users_say_no_ids_and_no_tool_names(domain: str) -> None:
    for spec in specs_of(domain):
        for operation in spec.operations:
            for way in operation.asks:
                assert "_" not in SLOT.sub("", read_way(way).words), way


def test_tools_read_as_a_verb_and_a_noun(domain: str) -> None:
    for spec in specs_of(domain):
        names = [operation.tool for operation in spec.operations]
        assert len(set(names)) == len(names)
        assert all("_" in name for name in names)
        assert not {name for name in names if re.match(r"(give|place|put)_(?!back)", name)}


def test_what_is_released_belongs_to_nobody() -> None:
    """A shift that is open again has no staff, so that "who does it" has no stale answer."""
    spec = next(s for s in draw_specs(1) if "rota" in patterns_of(s))
    server = build(spec)
    release = next(o for o in spec.operations if o.tool.startswith("release_"))
    key = release.arguments[0].name
    staff = next(f.name for f in spec.entity(release.entity).fields if f.kind == "reference")
    session = Session([server], 0)
    covered = [
        row
        for row in getattr(session.state(server), table_of(server, release.entity))
        if row.status == "covered"
    ]
    outcomes = [session.call(release.tool, {key: row.id}) for row in covered]
    freed = [outcome.value for outcome in outcomes if outcome.ok]
    assert freed
    assert not [row for row in freed if row.get(staff)]


def table_of(server: AnyServer, entity: str) -> str:
    """The table that holds the records of an entity."""
    wanted = entity.replace("_", "")
    tables = server.state.tables
    return next(n for n, spec in tables.items() if spec.record.__name__.lower() == wanted)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("order", "an order"),
        ("class", "a class"),
        ("hour slot", "an hour slot"),
        ("uniform", "a uniform"),
        ("user", "a user"),
        ("umbrella", "an umbrella"),
    ],
)
def test_nouns_have_articles(word: str, said: str) -> None:
    assert Noun(word, "x").a == said


def test_drawn_worlds_are_not_found_by_name_alone() -> None:
    assert not servers.is_known(draw_spec(ALL[0], 0, 0).name)


@pytest.mark.parametrize(
    "file", sorted((DOCS / "drawn-worlds").glob("*.toml")), ids=lambda f: f.stem
)
def test_the_specs_in_the_docs_are_what_the_grammar_draws(file: Path) -> None:
    domain, seed, number = file.stem.rsplit("_", 2)
    drawn = draw_spec(domain, int(seed), int(number))
    assert read(file) == drawn, "run `python docs/drawn_worlds.py`"
