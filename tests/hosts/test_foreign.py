"""Anybody's MCP server: the same sessions, forks and diffs as ours, and no harm where it fails."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from command import run
from hosts.running import Host
from provegym import servers
from provegym.fuzz import Fuzzer
from provegym.fuzz.pool import Pool
from provegym.graph.dependency import Trial, cached
from provegym.hosts import foreign
from provegym.hosts.foreign import ForeignServer, HostError, NoStart, Options, connect
from provegym.hosts.foreign_pool import STRIKES
from provegym.hosts.foreign_reply import shorten
from provegym.kernel import Lost, Session
from provegym.kernel.session import MAX_RESULT_BYTES
from provegym.players.scripted import SCRIPTS
from provegym.rewards.outcome import same_outcome
from provegym.rollout import play_script
from provegym.toolbox import Toolbox
from provegym.trace import Example, Step, Turn
from provegym.trace import Path as Gold
from provegym.verify.complete import complete

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "foreign"
FIXTURE = f"{sys.executable} {Path(__file__).parent / 'foreign_fixture.py'}"
READS = {"list_boxes", "open_box", "tell", "crash", "hang"}
PATIENCE = 2
FULL = '{"box_40": "spoons", "box_41": "string"}'


def patient(**options: Any) -> Options:
    """Options with which a server may start as slowly as a busy machine makes it."""
    return Options(start_seconds=300, **options)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two boxes to start from."""
    folder = tmp_path_factory.mktemp("shelf")
    (folder / "boxes.json").write_text(FULL)
    return folder


@pytest.fixture(scope="module")
def reader(shelf: Path) -> Iterator[ForeignServer]:
    """The fixture, to be read only."""
    with connect(f"{FIXTURE} {shelf}", patient()) as server:
        yield server


@pytest.fixture(scope="module")
def writer(shelf: Path) -> Iterator[ForeignServer]:
    """The fixture with a fresh copy of the folder at each start."""
    options = patient(allow_writes=True, fresh_from=shelf)
    with connect(f"{FIXTURE} {{fresh}}", options) as server:
        yield server


def labels(session: Session) -> list[str]:
    """What stands on the shelf in a session."""
    return [box["label"] for box in session.call("list_boxes", {}).value["items"]]


def test_without_leave_to_write_only_reads_are_there(reader: ForeignServer) -> None:
    assert reader.tools.keys() == READS
    assert not any(tool.writes for tool in reader.tools.values())
    assert reader.left_out == ["add_box", "break_box", "stamp"]
    assert "--allow-writes" in next(reader.notes())
    assert Session([reader]).call("add_box", {"label": "tea"}).error == "not_found"


def test_a_user_can_vouch_for_a_tool_that_says_nothing_of_itself(shelf: Path) -> None:
    with connect(f"{FIXTURE} {shelf}", patient(reads=("stamp",))) as server:
        assert server.tools.keys() == READS | {"stamp"}
        assert server.left_out == ["add_box", "break_box"]


@pytest.mark.parametrize(
    ("target", "options", "says"),
    [
        ("x", Options(allow_writes=True), "a way to start anew"),
        ("http://x/{fresh}", Options(allow_writes=True), "a way to start anew"),
        ("x", Options(fresh_from=ROOT), "without {fresh}"),
        ("x {fresh}", Options(fresh_from=ROOT / "none"), "no folder"),
        ("", Options(), "empty"),
        ("x 'y", Options(), "cannot be read"),
    ],
)
def test_what_cannot_be_done_safely_is_not_begun(target: str, options: Options, says: str) -> None:
    with pytest.raises(HostError, match=says):
        connect(target, options)


@pytest.mark.parametrize(
    ("target", "options", "says"),
    [
        ("no-such-program --at-all", Options(), "No such file"),
        (f"{sys.executable} -c 'raise SystemExit(\"not today\")'", Options(), "said: not today"),
        (
            f"{sys.executable} -c 'print(1, flush=True); __import__(\"time\").sleep(60)'",
            Options(start_seconds=1),
            "shake hands",
        ),
        ("http://127.0.0.1:9/mcp", Options(), "connection attempts failed"),
        ("x", Options(allow_writes=True, reset="false"), "reset command ended with 1"),
        ("x", Options(allow_writes=True, reset="no-such-program"), "reset command failed"),
    ],
)
def test_a_server_that_does_not_start_is_one_sentence(
    target: str, options: Options, says: str
) -> None:
    with pytest.raises(NoStart, match=says) as problem:
        connect(target, options)
    assert "\n" not in str(problem.value)


def test_results_are_json_whatever_the_server_says(reader: ForeignServer) -> None:
    session = Session([reader])
    assert labels(session) == ["spoons", "string"]
    assert session.call("open_box", {"boxId": "box_41"}).value == {"text": "string"}
    picture = session.call("tell", {"what": "picture"}).value
    assert picture == {"type": "image", "mime_type": "image/png"}
    long = session.call("tell", {"what": "long"})
    assert len(long.text) <= MAX_RESULT_BYTES
    assert "cut: the whole result has" in long.value["note"]
    assert long.value["items"][0]["label"] == "x" * 40


def test_errors_have_kinds(reader: ForeignServer) -> None:
    session = Session([reader])
    assert session.call("open_box", {"boxId": "box_7"}).error == "not_found"
    assert session.call("tell", {"what": "wrong"}).error == "rejected"
    assert session.call("open_box", {"boxId": 7}).error == "invalid_argument"
    assert session.call("open_box", {}).error == "invalid_argument"
    assert session.call("open_box", "[1]").error == "invalid_argument"
    assert session.call("open_box", "{").error == "invalid_argument"


def test_it_sees_next_to_nothing_of_our_environment(
    reader: ForeignServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVEGYM_TOKEN", "secret")
    seen = Session([reader]).call("tell", {"what": "environment"}).value
    ours = {"PATH", "HOME", "LANG"}
    harmless = {"LOGNAME", "SHELL", "TERM", "USER", "LC_CTYPE"}
    assert ours <= seen.keys() <= ours | harmless
    assert seen["HOME"] != os.environ["HOME"]


def test_forks_go_their_own_way(writer: ForeignServer) -> None:
    session = Session([writer])
    assert session.call("add_box", {"label": "tea"}).value == {"text": "made box_42"}
    twin = session.fork()
    twin.call("add_box", {"label": "jam"})
    session.call("add_box", {"label": "nails"})
    assert labels(session) == ["spoons", "string", "tea", "nails"]
    assert labels(twin) == ["spoons", "string", "tea", "jam"]
    assert session.digest() != twin.digest()
    session.reset()
    assert labels(session) == ["spoons", "string"]
    assert session.digest() == Session([writer]).digest()


def test_a_diff_is_the_writes_in_any_order(writer: ForeignServer) -> None:
    one, two = Session([writer]), Session([writer])
    for session, order in ((one, ("tea", "jam")), (two, ("jam", "tea"))):
        for label in order:
            session.call("add_box", {"label": label})
    assert same_outcome(one.diff(), two.diff())
    assert [change.table for change in one.changes("add_box")] == ["add_box"]
    one.call("list_boxes", {})
    assert one.changes("list_boxes") == []
    one.call("add_box", {"label": "tea"})
    assert not same_outcome(one.diff(), two.diff())


def test_a_failed_write_leaves_no_trace(writer: ForeignServer) -> None:
    session = Session([writer])
    before = session.digest()
    assert session.call("break_box", {"boxId": "box_40"}).error == "rejected"
    assert labels(session) == ["spoons", "string"]
    assert session.digest() == before
    assert session.diff() == []


def test_known_answers_are_not_asked_for_again(writer: ForeignServer) -> None:
    Session([writer]).call("add_box", {"label": "once"})
    starts = writer.pool.starts
    for _ in range(5):
        Session([writer]).call("add_box", {"label": "once"})
    assert writer.pool.starts == starts


def test_an_answer_that_differs_when_replayed_is_noted(shelf: Path) -> None:
    options = patient(allow_writes=True, fresh_from=shelf, processes=1)
    with connect(f"{FIXTURE} {{fresh}}", options) as server:
        session = Session([server])
        session.call("stamp", {})
        Session([server]).call("list_boxes", {})
        labels(session)
        assert any("stamp" in note for note in server.notes())


def test_a_fresh_folder_is_always_under_the_same_name(shelf: Path) -> None:
    program = shutil.which("env")
    options = patient(allow_writes=True, fresh_from=shelf)
    with connect(f"{program} BOXES={{fresh}}/in {FIXTURE} {{fresh}}", options) as server:
        seen = Session([server]).call("tell", {"what": "environment"}).value
    assert seen["BOXES"] == "/workspace/in"


def test_a_reset_command_runs_before_each_start(tmp_path: Path, shelf: Path) -> None:
    kept = tmp_path / "boxes.json"
    kept.write_text('{"box_1": "rust"}')
    reset = f"cp {shelf / 'boxes.json'} {kept}"
    options = patient(allow_writes=True, reset=reset)
    with connect(f"{FIXTURE} {tmp_path}", options) as server:
        session = Session([server])
        session.call("add_box", {"label": "tea"})
        assert labels(Session([server])) == ["spoons", "string"]
        assert labels(session) == ["spoons", "string", "tea"]
        assert server.pool.most == 1


def test_a_crash_is_one_sentence_with_its_last_words(reader: ForeignServer) -> None:
    session = Session([reader])
    with pytest.raises(Lost, match="ended while it ran crash"):
        session.call("crash", {})
    said = next(note for note in reader.notes() if "ran crash" in note)
    assert re.search(r"ended while it ran crash; it last said: .*about to \[31mfall over$", said)
    assert labels(session) == ["spoons", "string"]


def test_a_hang_is_cut_short_and_its_children_end(shelf: Path) -> None:
    with connect(f"{FIXTURE} {shelf}", patient(call_seconds=PATIENCE)) as server:
        with pytest.raises(Lost, match="did not answer hang"):
            Session([server]).call("hang", {})
        said = next(note for note in server.notes() if "answer hang" in note)
        assert f"did not answer hang within {PATIENCE} s" in said
        assert labels(Session([server])) == ["spoons", "string"]
    child = int(said.rpartition("child ")[2])
    for _ in range(600):
        if not is_running(child):
            return
        time.sleep(0.1)
    raise AssertionError("the child of a server that hung is still running")


def is_running(process: int) -> bool:
    """Whether a process is there and no zombie."""
    done = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()[:1] not in ("", "Z")


def test_a_tool_that_keeps_crashing_is_left_alone(shelf: Path) -> None:
    with connect(f"{FIXTURE} {shelf}", patient(processes=1)) as server:
        for _ in range(STRIKES):
            with pytest.raises(Lost, match="ended while it ran crash"):
                Session([server]).call("crash", {})
        starts = server.pool.starts
        with pytest.raises(Lost, match=r"crash is not called again: .* ended while"):
            Session([server]).call("crash", {})
        assert server.pool.starts == starts


def test_closing_twice_is_fine(shelf: Path) -> None:
    server = connect(f"{FIXTURE} {shelf}", patient())
    server.close()
    server.close()


def test_a_url_is_a_server_too(host: Host) -> None:
    url = f"{host.url}/s/{host.open(servers=['banking'], seed=7)['session']}/banking/mcp"
    with connect(url, patient()) as server:
        assert server.name == "banking_mcp"
        ours = servers.load("banking")
        assert server.tools.keys() == {t.name for t in ours.tools.values() if not t.writes}
        same = [Session([s], 7).call("list_accounts", {}).value for s in (server, ours)]
    assert same[0] == same[1]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for the graph of the fixture, which is slow to prove: each hang is waited for."""
    return tmp_path_factory.mktemp("cache")


def test_the_graph_of_a_server_that_crashes_and_hangs(shelf: Path, graphs: Path) -> None:
    with connect(f"{FIXTURE} {shelf}", patient(call_seconds=PATIENCE)) as server:
        found = cached(server, folder=graphs / "provegym" / "graphs")
        assert ("list_boxes", "open_box") in found.pairs("explicit")
        notes = " ".join(server.notes())
        assert "ended while it ran crash" in notes
        assert "did not answer hang" in notes
        assert all(replay(server, edge.with_source)[-1] for edge in found.edges)
        assert not any(replay(server, edge.without)[-1] for edge in found.edges)
    (edge,) = [edge for edge in found.edges if edge.target == "open_box"]
    assert (edge.argument, edge.pointer) == ("boxId", "/items/*/id")


def replay(server: ForeignServer, runs: tuple[Trial, ...]) -> list[bool]:
    """Which calls of some evidence work in a new session, held to what was recorded."""
    session = Session([server])
    worked = [session.call(run.tool, run.arguments).ok for run in runs]
    assert worked == [run.ok for run in runs]
    return worked


def test_a_server_found_at_run_time_can_be_loaded(reader: ForeignServer) -> None:
    servers.add(reader)
    assert servers.load(reader.name) is reader
    assert servers.is_known(reader.name)
    assert reader.name not in servers.names()
    box = Toolbox(servers.load(reader.name).tools.values())
    assert labels(box.session(0)) == ["spoons", "string"]
    with pytest.raises(ValueError, match="the name of one of ProveGym's servers"):
        servers.add(servers.load("banking"))


def test_an_example_on_it_is_completed_and_paid(writer: ForeignServer) -> None:
    servers.add(writer)
    steps = (
        Step(turn=0, tool="add_box", arguments={"label": "tea"}),
        Step(turn=1, tool="list_boxes", answers=("/items/2/label",)),
    )
    turns = (Turn(text='Put "tea" into a new box.'), Turn(text="What is there now?"))
    example = complete(
        Example(
            id="shelf",
            kind="multi_turn",
            server=writer.name,
            server_version=0,
            seed=0,
            digest="",
            system="You keep boxes.",
            turns=turns,
            paths=(Gold(steps=steps),),
        )
    )
    assert example.server_version == writer.version
    assert [change.table for change in example.outcome] == ["add_box"]
    paid = {name: play_script(example, SCRIPTS[name]).reward for name in ("oracle", "noop")}
    assert paid["oracle"] is not None
    assert paid["oracle"].total == pytest.approx(1.3)
    assert paid["noop"] is not None
    assert paid["noop"].total == 0


def test_an_invalid_schema_is_noted_once(reader: ForeignServer) -> None:
    (said,) = [note for note in reader.notes() if "schema is invalid" in note]
    assert said.startswith("open_box: the published schema is invalid (")
    assert said.endswith("so only names and JSON types of arguments are checked")


def test_the_fuzzer_draws_from_schemas_that_say_little(reader: ForeignServer) -> None:
    fuzzer = Fuzzer(reader, "little")
    fuzzer.pool = Pool(Session([reader]).now, ())
    schema = {"properties": {"some": {"type": "array", "items": {}}, "count": {"type": "integer"}}}
    for _ in range(50):
        drawn = fuzzer.value("all", {"type": "object", **schema})
        assert all(isinstance(part, str) for part in drawn.get("some", ()))
        assert 0 <= drawn.get("count", 0) <= 1_000


@pytest.mark.parametrize(
    "value",
    [
        {"text": "é" * 9_000},
        {"items": [["x" * 30] * 20] * 40},
        {f"key {n}": n for n in range(2_000)},
        {"deep": {"deeper": {"list": list(range(5_000))}}},
        {"text": '"' * 9_000},
    ],
)
def test_whatever_is_too_long_is_cut(value: dict[str, object]) -> None:
    text = shorten(value)
    assert len(text.encode()) <= MAX_RESULT_BYTES
    assert msgspec.json.decode(text)


def test_the_command_line_warns_of_real_data(
    shelf: Path, graphs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(graphs))
    done = run("graph", "--timeout", str(PATIENCE), "--mcp", f"{FIXTURE} {shelf}")
    assert done.returncode == 0
    assert "list_boxes  boxId = /items/*/id" in done.stdout
    assert foreign.WARNING in done.stderr
    assert "read-only: left out add_box" in done.stderr


@pytest.fixture(scope="module")
def memory() -> Iterator[ForeignServer]:
    """The server of the shipped example, with a fresh copy of its world at each start."""
    path = f"{EXAMPLE / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"
    program = shutil.which("mcp-server-memory", path=path)
    if program is None or shutil.which("node") is None:
        pytest.skip("mcp-server-memory is not installed: npm ci --prefix examples/foreign")
    options = patient(allow_writes=True, fresh_from=EXAMPLE / "world")
    with connect(f"env MEMORY_FILE_PATH={{fresh}}/memory.jsonl {program}", options) as server:
        yield server


@pytest.mark.conformance
def test_the_shipped_example_has_a_world_per_session(memory: ForeignServer) -> None:
    new = {"entities": [{"name": "Ada", "entityType": "person", "observations": []}]}
    note = {"observations": [{"entityName": "Ada", "contents": ["keeps bees"]}]}
    session, other = Session([memory]), Session([memory])
    assert not session.call("add_observations", note).ok
    assert session.call("create_entities", new).ok
    assert session.call("add_observations", note).ok
    assert "keeps bees" in session.call("read_graph", {}).text
    assert "keeps bees" not in other.call("read_graph", {}).text


@pytest.mark.long
@pytest.mark.conformance
def test_the_graph_of_the_shipped_example(memory: ForeignServer) -> None:
    found = cached(memory)
    for edge in found.edges:
        assert replay(memory, edge.with_source)[-1], edge
        assert not replay(memory, edge.without)[-1], edge
    assert {
        ("read_graph", "add_observations"),
        ("search_nodes", "add_observations"),
    } <= found.pairs("explicit")
    assert ("create_entities", "add_observations") in found.pairs("implicit")
    assert not any(target.startswith("delete") for _, target in found.pairs())
