"""Results of a foreign server that are no answers: refusals in disguise, and empty politeness."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from command import run
from provegym import servers
from provegym.conversation.foreign import asks_of, usable
from provegym.graph.dependency import cached, graph_key
from provegym.hosts.foreign import ForeignServer, Options, connect
from provegym.hosts.foreign_answers import _parts, has_effect, no_answer, nonsense
from provegym.hosts.foreign_refusal import says_it_failed
from provegym.kernel import Session
from provegym.trace import Example, Json, Step, Turn, read
from provegym.trace import Path as Gold
from provegym.verify.complete import complete
from provegym.verify.contract import verify

POLITE = f"{sys.executable} {Path(__file__).parent / 'foreign_polite.py'}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three documents."""
    place = tmp_path_factory.mktemp("docs")
    for name, text in (
        ("minutes", "We met in March and painted the shed."),
        ("offer", "Two garden sheds, green, with a door each, for 420."),
        ("menu", "Soup on Monday."),
        ("blank", ""),
    ):
        (place / f"{name}.txt").write_text(text)
    return place


@pytest.fixture(scope="module")
def polite(folder: Path) -> Iterator[ForeignServer]:
    """The polite server, with writes."""
    options = Options(True, fresh_from=folder, start_seconds=300)
    with connect(f"{POLITE} plain {{fresh}}", options) as server:
        servers.add(server, asks_of(server))
        yield server


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ({"success": False, "message": "no"}, {}),
        ({"ok": False, "data": None}, {}),
        ({"result": '{"success": false, "error": "x"}'}, {}),
        ({"isError": True, "content": []}, {}),
        ({"error": "no task 7", "taskId": "7"}, {"taskId": "7"}),
        ({"error": {"code": 404}}, {}),
        ({"status": "error", "message": "Task not found"}, {}),
        ({"status": "Failed"}, {}),
        ({"status": "task_not_found", "message": "No such task"}, {}),
        ({"statusCode": 500, "body": "21 ksat"}, {"id": "task 12"}),
        ({"status": 404, "message": "task 12"}, {"id": "task 12"}),
        ({"message": "Task 12 not found"}, {"id": 12}),
        ([{"success": False}, {"success": False}], {}),
        ("Error: no", {}),
        ("❌ Error reading file: no such file", {}),
        ("Failed to open document: it is a folder", {}),
        ("Error executing tool x: bad", {}),
        ("Document x.docx does not exist", {"filename": "x.docx"}),
        ("Document x.docx does not exist", {"filename": "/workspace/x.docx"}),
        ({"result": "Sheet 'Prices' not found"}, {"sheet": "Prices"}),
        ("Entity Ada already exists", {"name": "Ada"}),
        ("No task found with id 3", {"id": 3}),
        ("Invalid cell A0", {"cell": "A0"}),
        ("Cannot find minutes", {"doc": "minutes"}),
        ('{"success": false}', {}),
    ],
)
def test_a_result_that_says_that_it_failed(value: Any, arguments: Json) -> None:
    assert says_it_failed(value, arguments)


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ({"success": True, "error": None}, {}),
        ({"success": True, "message": "Document x was created"}, {"name": "x"}),
        ({"id": "job_1", "name": "backup", "started": "Monday", "error": "disk full"}, {}),
        ({"id": "job_1", "name": "backup", "status": "failed", "tries": 3}, {}),
        ({"url": "/a", "statusCode": 404, "at": "Monday", "ms": 3}, {}),
        ({"statusCode": 200, "body": "soup"}, {}),
        ({"errors": [{"line": 3, "text": "unused name"}]}, {}),
        ({"valid": False, "problems": ["too short"]}, {}),
        ({"items": [{"success": False}, {"success": True}]}, {}),
        ({"items": []}, {}),
        ("The key was not found under the mat.", {"note": "keys"}),
        ("Cannot wait to see you on Monday!", {"note": "letter"}),
        ("Failed states of the world, a book", {"id": "b1"}),
        ("Invalid passports are sent back.", {"path": "/workspace/rules.txt"}),
        ("There is no rush.", {"note": "n1"}),
        ("Created document x.docx", {"filename": "x.docx"}),
        ("Successfully deleted x", {"name": "x"}),
        ("x.txt\ny.txt", {"path": "x.txt"}),
        ("# Errors we made\n\nError: we forgot the milk.", {"path": "diary.md"}),
        ("milk, not found in any shop, " * 40, {"item": "milk"}),
        ("", {}),
        (None, {}),
        (7, {}),
    ],
)
def test_a_result_that_speaks_of_failures_is_not_one(value: Any, arguments: Json) -> None:
    assert not says_it_failed(value, arguments)


@pytest.mark.parametrize(
    "value", ["minutes", "/workspace/a/offer-12.docx", "Ada Brandt", "x", "B-204", "ä", 7]
)
def test_nonsense_has_the_same_shape(value: str | int) -> None:
    other = nonsense(value)
    assert other != value
    assert type(other) is type(value)
    assert other == nonsense(value)
    if isinstance(value, str) and isinstance(other, str):
        assert len(other) == len(value)
        assert other.rpartition("/")[0] == value.rpartition("/")[0]
        assert other.endswith(".docx") == value.endswith(".docx")
        assert [c.isdigit() for c in other] == [c.isdigit() for c in value]


@pytest.mark.parametrize(
    ("tool", "doc", "why"),
    [
        ("read_doc", "minutes", ""),
        ("read_doc", "nobody", "its result is the same for doc"),
        ("count_words", "offer", ""),
        ("count_words", "nobody", "it fails"),
        ("check_doc", "nobody", "it fails"),
        ("check_doc", "menu", ""),
        ("read_doc", "blank", "it returns nothing"),
    ],
)
def test_a_read_that_tells_nothing_of_its_value_is_no_answer(
    polite: ForeignServer, tool: str, doc: str, why: str
) -> None:
    found = no_answer(Session([polite]), polite.tools[tool], {"doc": doc})
    assert found.startswith(why)
    assert bool(found) == bool(why)


@pytest.mark.parametrize(("page", "tells"), [(0, True), (2, True), (4, False), (77, False)])
def test_a_number_that_is_an_id_has_to_matter(
    polite: ForeignServer, page: int, tells: bool
) -> None:
    found = no_answer(Session([polite]), polite.tools["page"], {"page_id": page})
    assert found == "" if tells else found.startswith("its result is the same for page_id")


def test_a_first_line_and_a_first_record_do_not_echo_a_zero(polite: ForeignServer) -> None:
    assert _parts('{"text": "none"}', 0) == _parts('{"text": "none"}', 10**8)
    assert _parts('{"items": [{"a": 7}]}', 0) == _parts('{"items": [{"a": 7}]}', 10**8)
    assert _parts('{"0": "page 0"}', 0) == _parts('{"11": "page 11"}', 11)


def test_a_clock_shows_no_effect(polite: ForeignServer) -> None:
    session, given = Session([polite]), {"doc": "letter", "text": "Dear Ada"}
    assert has_effect(session, polite.tools["add_doc"], given)
    assert not has_effect(session, polite.tools["pretend"], given)


def test_only_answers_can_be_asked_for(polite: ForeignServer) -> None:
    assert "pretend" not in usable(polite)
    assert {"read_doc", "count_words", "add_doc"} <= set(usable(polite))


def test_edges_are_proven_by_answers(polite: ForeignServer, tmp_path: Path) -> None:
    found = cached(polite, folder=tmp_path)
    assert ("list_docs", "count_words") in found.pairs("explicit")
    for edge in found.edges:
        last = edge.with_source[-1]
        assert "rings no bell" not in last.result
        assert last.tool != "pretend"


def example_of(server: ForeignServer, text: str, step: Step) -> Example:
    """An example with one call."""
    made = Example(
        id="one",
        kind="multi_turn",
        server=server.name,
        server_version=0,
        seed=0,
        digest="",
        system="You keep documents.",
        turns=(Turn(text=text),),
        paths=(Gold(steps=(step,)),),
    )
    return complete(made)


@pytest.mark.parametrize(
    ("text", "step", "why"),
    [
        (
            'Read doc "nobody".',
            Step(turn=0, tool="read_doc", arguments={"doc": "nobody"}, answers=("/text",)),
            "step 0 (read_doc) is no answer: its result is the same for doc",
        ),
        (
            'Count words of doc "nobody".',
            Step(turn=0, tool="count_words", arguments={"doc": "nobody"}, answers=("/message",)),
            "step 0 (count_words) fails",
        ),
        (
            'Check doc "nobody".',
            Step(turn=0, tool="check_doc", arguments={"doc": "nobody"}, answers=("/text",)),
            "step 0 (check_doc) fails",
        ),
        (
            'Pretend doc "letter" with text "Dear Ada".',
            Step(turn=0, tool="pretend", arguments={"doc": "letter", "text": "Dear Ada"}),
            "step 0 (pretend) has no effect that a read shows",
        ),
    ],
)
def test_old_examples_with_refusals_in_disguise_are_refused(
    polite: ForeignServer, text: str, step: Step, why: str
) -> None:
    found = verify(example_of(polite, text, step))
    assert any(problem.startswith(why) for problem in found), found


def test_examples_with_answers_are_kept(polite: ForeignServer) -> None:
    step = Step(turn=0, tool="read_doc", arguments={"doc": "menu"}, answers=("/text",))
    assert verify(example_of(polite, 'Read doc "menu".', step)) == []
    new = {"doc": "letter", "text": "Dear Ada"}
    step = Step(turn=0, tool="add_doc", arguments=new)
    assert verify(example_of(polite, 'Add doc "letter" with text "Dear Ada".', step)) == []


def test_a_server_without_answers_is_said_to_have_none(tmp_path: Path) -> None:
    done = run("synth", "--size", "4", "--out", tmp_path / "out", "--mcp", f"{POLITE} dumb .")
    assert done.returncode == 2
    assert "nothing can be asked of polite: no result is an answer (ponder: its" in done.stderr


def test_a_corpus_has_only_answers(folder: Path, tmp_path: Path) -> None:
    whose = ("--allow-writes", "--fresh-from", folder, "--mcp", f"{POLITE} plain {{fresh}}")
    done = run("synth", "--size", "4", "--mix", "multi_turn", "--out", tmp_path / "out", *whose)
    examples = list(read(tmp_path / "out", Example))
    assert examples, done.stderr
    steps = [step for each in examples for path in each.paths for step in path.steps]
    assert not any(step.tool == "pretend" for step in steps)
    docs = {step.arguments["doc"] for step in steps if "doc" in step.arguments and not step.writes}
    added = {step.arguments["doc"] for step in steps if step.tool == "add_doc"}
    assert docs <= {"minutes", "offer", "menu", "blank", *added}
    assert not any(s.tool == "read_doc" and s.arguments["doc"] == "blank" for s in steps)
    done = run("verify", tmp_path / "out", *whose)
    assert done.returncode == 0, done.stdout
    spoiled = [replace(examples[0], server_version=1)]
    assert verify(spoiled[0])


def test_the_cache_is_keyed_by_what_the_server_answers(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "recipe.txt").write_text("Flour and water.")

    def key(place: Path) -> str:
        with connect(f"{POLITE} plain {place}", Options(start_seconds=300)) as server:
            return graph_key(server, 0)

    assert key(folder) == key(folder), "times and counters are no data"
    assert key(folder) != key(other)


def test_refresh_proves_a_graph_anew(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    target = ("--mcp", f"{POLITE} plain {folder}")
    first = run("graph", *target)
    assert "list_docs" in first.stdout
    (file,) = (tmp_path / "provegym" / "graphs").glob("polite-*.json")
    file.write_bytes(file.read_bytes().replace(b'"list_docs","target"', b'"list_dogs","target"'))
    assert "list_dogs" in run("graph", *target).stdout
    assert run("graph", "--refresh", *target).stdout == first.stdout
    assert "--refresh is for somebody's server" in run("graph", "banking", "--refresh").stderr
    alone = run("synth", "--size", "2", "--out", tmp_path / "out", "--refresh")
    assert "--refresh is for somebody's server" in alone.stderr
