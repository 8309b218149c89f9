"""Corpora of anybody's server: made by the same pipeline, verified, and no harm where it fails."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import command
from provegym import servers
from provegym.conversation.foreign import (
    ForeignVoice,
    answer_pointers,
    asks_of,
    candidate,
    in_words,
    others,
    shape,
    usable,
)
from provegym.conversation.kinds import Place
from provegym.hosts.foreign import ForeignServer, Options, connect
from provegym.hosts.foreign_answers import has_effect
from provegym.kernel import Session, Tool
from provegym.language.things import survey
from provegym.language.values import spoken_values
from provegym.trace import Example, read
from provegym.verify.complete import complete
from provegym.verify.contract import verify

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "foreign"
FIXTURE = f"{sys.executable} {ROOT / 'tests' / 'hosts' / 'foreign_fixture.py'}"
PATIENCE = 2.5
FULL = '{"box_40": "spoons", "box_41": "string", "box_42": "old keys"}'
BAD = f"{sys.executable} {Path(__file__).parent / 'foreign_bad.py'}"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with boxes to start from."""
    folder = tmp_path_factory.mktemp("shelf")
    (folder / "boxes.json").write_text(FULL)
    return folder


@pytest.fixture(scope="module")
def reader(shelf: Path) -> Iterator[ForeignServer]:
    """The fixture, to be read only, with ways of asking for it."""
    with connect(f"{FIXTURE} {shelf}", Options(call_seconds=PATIENCE)) as server:
        servers.add(server, asks_of(server))
        yield server


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands of these tests keep graphs."""
    return tmp_path_factory.mktemp("cache")


def run(cache: Path, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "provegym", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
    )


@pytest.fixture(scope="module")
def corpus(shelf: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of the fixture, read only."""
    out = tmp_path_factory.mktemp("corpus") / "shelf"
    target = ("--timeout", str(PATIENCE), "--mcp", f"{FIXTURE} {shelf}")
    done = run(cache, "synth", "--size", "5", "--out", out, *target)
    assert done.returncode == 0, done.stderr
    assert "may take about" in done.stderr
    assert "look for real or private data" in done.stderr
    return out


def test_every_tool_is_asked_for_in_several_ways_by_its_name(reader: ForeignServer) -> None:
    for name, ways in asks_of(reader)["asks"].items():
        assert len(set(ways)) >= 5
        for way in ways:
            assert in_words(name) in way.lower()
            assert set(reader.tools[name].input_schema["required"]) <= set(
                re.findall(r"\{(\w+)\}", way)
            )
    assert asks_of(reader)["asks"]["list_boxes"][0] == "Please list boxes."
    assert asks_of(reader)["asks"]["crash"][0] == "Please run crash."


def test_names_are_said_in_words() -> None:
    assert in_words("createEntities") == "create entities"
    assert in_words("read-text.file") == "read text file"
    assert in_words("…") == "that"


def voice(server: ForeignServer) -> ForeignVoice:
    """A user of a server's one world."""
    from random import Random

    session = Session([server])
    return ForeignVoice(server, survey(session), Random(3), session.now)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("tea", 'it "tea"'),
        (["tea", "jam"], 'it "tea" and "jam"'),
        ([{"name": "x", "itsTags": ["a"]}], 'name "x" and its tags "a"'),
        (2.5, "it 2.5"),
        (True, "it on"),
        ('say "hi"', None),
        ("two\nlines", None),
        ("", None),
        ("}", None),
        ("x" * 200, None),
        (["a", "b", "c"], None),
        ([], None),
        (None, None),
        ({"deep": {"none": None}}, None),
    ],
)
def test_every_value_is_said_or_the_request_is_not_made(
    reader: ForeignServer, value: object, said: str | None
) -> None:
    tool: Tool = reader.tools["open_box"]
    phrase = voice(reader).phrase(tool, "it", value)
    assert (phrase and phrase.text) == said


def test_what_is_in_quotes_can_be_derived(reader: ForeignServer) -> None:
    told = voice(reader).phrase(reader.tools["open_box"], "names", ["Ada Brandt", "plays_for"])
    assert told is not None
    assert spoken_values(Session([reader]), told.text) == ["Ada Brandt", "plays_for"]


def test_a_record_with_an_id_is_called_by_its_label(reader: ForeignServer) -> None:
    things = survey(Session([reader])).things
    assert {key: thing.names for key, thing in things.items()} == {
        "box_40": ("spoons",),
        "box_41": ("string",),
        "box_42": ("old keys",),
    }
    said = voice(reader).ask(reader.tools["open_box"], {"boxId": "box_42"})
    assert said is not None
    assert 'box "old keys"' in said.text
    assert "box_42" not in said.text
    assert said.names == (("old keys", "box_42"),)


def test_tools_that_never_worked_are_not_asked_for(reader: ForeignServer) -> None:
    assert set(usable(reader)) == {"list_boxes", "open_box", "tell"}


def test_distractors_share_no_name_with_the_server(reader: ForeignServer) -> None:
    assert others(reader) == servers.names()
    ours = servers.load("banking")
    assert "banking" not in others(ours)


def test_candidates_are_completed_and_most_keep_the_contract(reader: ForeignServer) -> None:
    kept = []
    for number in range(8):
        place = Place(reader.name, 0, 1, number, ())
        made = candidate(place, shape(place))
        assert made == candidate(place, shape(place))
        example = complete(made) if made else None
        if example and verify(example) == []:
            kept.append(example)
            assert all(turn.minutes == 0 and turn.asks is None for turn in example.turns)
    assert len(kept) > 4
    steps = [step for example in kept for step in example.paths[0].steps]
    assert any(step.tool == "open_box" and step.needs for step in steps), "nothing is looked up"


def test_an_answer_is_all_that_a_read_tells() -> None:
    result = {"items": [{"id": 1}], "query": "tea", "none": [], "a/b": 1}
    assert answer_pointers(result, {"q": "Tea"}) == ("/items",)


def test_a_write_that_no_read_shows_is_no_goal(shelf: Path) -> None:
    with connect(f"{FIXTURE} {{fresh}}", Options(True, fresh_from=shelf)) as server:
        session, tools = Session([server]), server.tools
        for name in ("crash", "hang"):
            del server.tools[name]
        assert has_effect(session, tools["add_box"], {"label": "tea"})
        assert not has_effect(session, tools["stamp"], {})
        assert not has_effect(session, tools["break_box"], {"boxId": "box_40"})


def test_a_corpus_is_made_and_its_card_warns(corpus: Path) -> None:
    examples = list(read(corpus, Example))
    assert len(examples) == 5
    assert {example.server for example in examples} == {"box_shelf"}
    assert all(example.seed == 0 for example in examples)
    card = (corpus / "README.md").read_text()
    assert "Real data may be in here" in card
    again = card[card.index("provegym synth --size 5") :].splitlines()[0]
    assert "--mcp" in again
    assert f"--timeout {PATIENCE}" in again
    assert "--servers" not in again


def test_a_corpus_is_verified_with_its_server_and_not_without(
    corpus: Path, shelf: Path, cache: Path
) -> None:
    done = run(cache, "verify", corpus, "--timeout", str(PATIENCE), "--mcp", f"{FIXTURE} {shelf}")
    assert done.returncode == 0, done.stdout
    assert "5 examples checked, every one keeps all rules" in done.stdout
    alone = run(cache, "verify", corpus)
    assert alone.returncode == 2
    assert alone.stderr.count("\n") == 1
    assert 'or connect it with --mcp "COMMAND"' in alone.stderr
    other = run(cache, "verify", corpus, "--mcp", f"{BAD} plain")
    assert "what was connected is bad" in other.stderr


def test_a_corpus_is_read_played_and_exported_with_its_server(
    corpus: Path, shelf: Path, cache: Path, tmp_path: Path
) -> None:
    target = ("--mcp", f"{FIXTURE} {shelf}")
    shown = run(cache, "samples", corpus, "--count", "1", *target)
    assert "**User:**" in shown.stdout
    # The next command connects the same server.
    assert f"next: provegym verify {corpus} --mcp " in shown.stderr
    played = run(
        cache, "rollout", "--data", corpus, "--policy", "oracle", "--out", tmp_path / "o", *target
    )
    assert "5 rollouts" in played.stdout
    assert "success 100.0%" in played.stdout
    done = run(cache, "export", corpus, "--format", "sft", "--out", tmp_path / "s.jsonl", *target)
    assert "5 examples in" in done.stdout
    alone = run(cache, "rollout", "--data", corpus, "--policy", "noop", "--out", tmp_path / "n")
    assert alone.returncode == 2
    assert 'or connect it with --mcp "COMMAND"' in alone.stderr
    assert not (tmp_path / "n").exists()


@pytest.mark.long
def test_the_same_command_ends_with_the_same_bytes(
    corpus: Path, shelf: Path, cache: Path, tmp_path: Path
) -> None:
    target = ("--timeout", str(PATIENCE), "--mcp", f"{FIXTURE} {shelf}")
    again = tmp_path / "again"
    assert run(cache, "synth", "--size", "5", "--out", again, *target).returncode == 0
    for shard in corpus.glob("*.jsonl"):
        assert (again / shard.name).read_bytes() == shard.read_bytes()
    other = run(cache, "synth", "--size", "6", "--out", again, *target)
    assert "made with other options" in other.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--mcp", f"{BAD} none"), "has no tools"),
        (("--mcp", f"{BAD} failing"), "none of the 1 tools of bad ever worked: not today"),
        (("--mcp", f"{BAD} crashing"), "ended while it ran look; it last said: oh dear"),
        (("--mcp", f"{BAD} hanging", "--timeout", "0.2"), "did not answer look within 0.2 s"),
        (("--mcp", f"{BAD} silent"), "no result is an answer (look: it returns nothing)"),
        (("--mcp", f"{BAD} plain"), "of its 1 tools 1 could be asked for (look)"),
        (("--mcp", "no-such-program"), "No such file"),
        (("--mcp", f"{BAD} plain", "--allow-writes"), "writes need a way to start anew"),
        (
            ("--mcp", f"{BAD} plain", "--servers", "banking"),
            "leave --servers, --split, --worlds out",
        ),
    ],
)
def test_what_gives_no_corpus_is_one_sentence(
    options: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    done = command.run("synth", "--size", "4", "--out", str(tmp_path / "out"), *options)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert sum(says in line for line in done.stderr.splitlines()) >= 1


@pytest.mark.long
@pytest.mark.conformance
def test_the_shipped_example(tmp_path: Path) -> None:
    path = f"{EXAMPLE / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"
    program = shutil.which("mcp-server-memory", path=path)
    if program is None or shutil.which("node") is None:
        pytest.skip("mcp-server-memory is not installed: npm ci --prefix examples/foreign")
    whose = (
        *("--allow-writes", "--fresh-from", str(EXAMPLE / "world")),
        *("--mcp", f"env MEMORY_FILE_PATH={{fresh}}/memory.jsonl {program}"),
    )
    cache = Path(os.environ["XDG_CACHE_HOME"])  # shared: its graph takes a minute to prove
    done = run(cache, "synth", "--size", "4", "--out", tmp_path / "out", *whose)
    assert done.returncode == 0, done.stderr
    tools = {s.tool for e in read(tmp_path / "out", Example) for s in e.paths[0].steps}
    assert any(tool.startswith(("create", "add", "delete")) for tool in tools)
    done = run(cache, "verify", tmp_path / "out", *whose)
    assert "4 examples checked, every one keeps all rules" in done.stdout
