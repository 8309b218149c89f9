"""Drawn worlds on the page: found in folders, listed quickly, shown like servers."""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import msgspec
import pytest

from provegym import servers
from provegym.evals.heldout import drawn as draw_tasks
from provegym.trace import write
from provegym.view import drawn, worlds
from provegym.view.item import show_item
from provegym.view.library import Library
from provegym.view.report import freeze
from provegym.view.sources import Missing
from provegym.view.try_tools import UndoableSession
from view.samples import client, get
from worlds.admitted import boat_hire, write_worlds

NAMES = ("boat_hire_0_1", "boat_hire_0_2", "club")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No world of another test is known, and those of a test are forgotten after it."""
    monkeypatch.setattr(servers, "_folders", [])
    yield
    for name in NAMES:
        servers.forget(name)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A corpus with drawn worlds beside it and an example on one of them."""
    write_worlds(tmp_path / "corpus" / "worlds", *NAMES)
    servers.look_in(tmp_path / "corpus" / "worlds")
    write(tmp_path / "corpus" / "heldout-00000.jsonl", draw_tasks(("club",), 2))
    servers._folders.clear()
    return tmp_path / "corpus"


def test_worlds_of_a_corpus_are_among_the_servers(corpus: Path) -> None:
    asked = client(Library([corpus]).settle())
    assert get(asked, "sources")["worlds"] == 3
    told = get(asked, "servers")
    assert [each["name"] for each in told[-3:]] == list(NAMES)
    others = [name for name in servers.known() if not drawn.is_drawn(name)]
    assert len(told) == 3 + len(others)
    card = told[-1]
    assert (card["title"], card["category"], card["drawn"]) == ("Club", "drawn worlds", True)
    assert (card["tools"], card["reads"], card["writes"]) == (6, 3, 3)
    assert card["verdict"] == "admitted"
    assert told[-3]["title"] == "Boat hire 0-1"
    assert not any(each.get("drawn") for each in told[:-3])


def test_a_folder_of_world_files_is_enough(tmp_path: Path) -> None:
    write_worlds(tmp_path, *NAMES)
    library = Library([tmp_path]).settle()
    assert library.sources == []
    assert drawn.names() == list(NAMES)


def test_a_world_is_shown_like_a_server(corpus: Path) -> None:
    asked = client(Library([corpus]).settle())
    told = get(asked, "server", name="club")
    assert [tool["name"] for tool in told["tools"]][:2] == ["find_members", "find_boats"]
    assert "hire_boat: the [boat name] is [boat status], so it cannot be hired" in told["rules"]
    world = told["world"]
    assert world["admission"]["admitted"]
    admission = boat_hire().admission
    assert admission is not None
    assert world["admission"]["figures"] == admission.figures
    assert msgspec.json.decode(world["spec"])["name"] == "club"
    assert get(asked, "world", server="club")["tables"][0]["name"] == "members"
    graph = get(asked, "graph", server="club")
    assert len(graph["edges"]) == len((boat_hire().graph or {})["edges"])
    assert graph["bare"]
    assert not worlds.show_graph(
        servers.load("banking"), worlds.load_graph(servers.load("banking"))
    )["bare"]


def test_tools_of_a_world_can_be_tried_and_undone(corpus: Path) -> None:
    Library([corpus]).settle()
    session = UndoableSession("club", 0)
    boats = session.call("find_boats", b'{"status": "ready"}')
    members = session.call("find_members", b"{}")
    boat, member = (msgspec.json.decode(each["result"])["items"][0] for each in (boats, members))
    given = {"boat_id": boat["id"], "member_id": member["id"]}
    told = session.call("hire_boat", msgspec.json.encode(given))
    assert told["ok"] == bool(told["diff"])
    assert session.undo()["diff"] == []


def test_an_example_on_a_drawn_world_is_played(corpus: Path) -> None:
    library = Library([corpus]).settle()
    items = [show_item(library.rows(0), at) for at in range(2)]
    assert [item["notes"] for item in items] == [[], []]
    assert all(step["result"] for item in items for step in item["gold"])


def test_a_report_holds_the_worlds_of_its_items(corpus: Path) -> None:
    told = freeze(Library([corpus]).settle())
    assert [each["name"] for each in told.servers if each.get("drawn")] == ["club"]
    assert "club" in told.graphs
    assert told.server["club"]["world"]["spec"]


def test_what_is_no_world_is_told(corpus: Path) -> None:
    """A broken file, one under another name, a spec that cannot be built, and a link out of it."""
    folder = corpus / "worlds"
    (folder / "broken.json").write_text('{"hash": "x", "spec": [}', "utf-8")
    (folder / "renamed.json").write_bytes((folder / "club.json").read_bytes())
    (folder / "hollow.json").write_text(
        '{"hash":"x","spec":{"name":"hollow","about":"","entities":[],"operations":[]}}', "utf-8"
    )
    (folder / "banking.json").write_bytes((folder / "club.json").read_bytes())
    (secret,) = write_worlds(corpus.parent / "secret", "linked")
    (folder / "linked.json").symlink_to(secret)
    asked = client(Library([corpus]).settle())
    cards = {each["name"]: each for each in get(asked, "servers") if each.get("drawn")}
    assert cards.keys() == {*NAMES, "broken", "renamed", "hollow"}
    assert cards["broken"]["verdict"] == cards["renamed"]["verdict"] == "unreadable"
    assert "holds the world 'club'" in cards["renamed"]["summary"]
    for name in ("broken", "renamed", "hollow", "linked"):
        answer = asked.get("/api/server", params={"name": name})
        assert answer.status_code == 404, answer.text
    assert asked.get("/api/server", params={"name": "../../secret"}).status_code == 404
    with pytest.raises(Missing, match="cannot be built"):
        drawn.load("hollow")


def test_worlds_that_are_not_admitted_are_marked(tmp_path: Path) -> None:
    from provegym.worlds.files import Admission, new_file, write_world

    spec = boat_hire().spec
    refused = Admission(method=1, admitted=False, reasons=("too few writes",), details=("1 of 9",))
    write_world(tmp_path, new_file(spec))
    other = msgspec.structs.replace(spec, name="club")
    write_world(tmp_path, msgspec.structs.replace(new_file(other), admission=refused))
    Library([tmp_path]).settle()
    assert [each["verdict"] for each in drawn.list_worlds()] == ["not judged", "refused"]


def test_other_json_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{}", "utf-8")
    Library([tmp_path]).settle()
    assert servers.places().worlds == ()


def test_a_thousand_worlds_are_listed_in_a_moment(tmp_path: Path) -> None:
    (file,) = write_worlds(tmp_path, "club")
    text = file.read_bytes()
    for number in range(1_000):
        name = f"club_{number}"
        renamed = text.replace(b'"name":"club"', f'"name":"{name}"'.encode())
        (tmp_path / f"{name}.json").write_bytes(renamed)
    Library([tmp_path]).settle()
    begun = perf_counter()
    assert len(drawn.list_worlds()) == 1_001
    first, begun = perf_counter() - begun, perf_counter()
    drawn.list_worlds()
    assert first < 3
    assert perf_counter() - begun < 0.5
