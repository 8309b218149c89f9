"""Which other tools could serve a request: found by trying, and only where the change is alike."""

from itertools import permutations

import pytest

from conversation.talks import Drawn, every_goal, goals
from provegym.kernel import Record, Seed, Server, Session, State, Table, table
from provegym.language.values import leaves
from provegym.rewards.outcome import same_outcome
from provegym.servers import load, names
from provegym.toolbox import Toolbox, fits
from provegym.verify.serving import serving

SMALL = ("payments", "team_chat", "video_meeting", "retail_chain", "social_media")


class Pen(Record, frozen=True):
    """Something to write with."""

    id: str
    title: str


class Drawer(State):
    """Pens."""

    pens: Table[Pen] = table(Pen, "pen", look_up="list_pens")


drawer = Server("drawer", Drawer, category="test", about="Pens, and two ways to name them.")


@drawer.seed
def draw(seed: Seed) -> Drawer:
    """Two pens."""
    state = Drawer(seed)
    for title in ("Biro", "Marker"):
        state.pens.add(title=title)
    return state


@drawer.read
def list_pens(state: Drawer, /) -> list[Pen]:
    """List the pens."""
    return list(state.pens)


@drawer.write
def rename_pen(state: Drawer, /, pen_id: str, title: str) -> Pen:
    """Give a pen another name.

    Args:
        pen_id: Which pen.
        title: Its new name.
    """
    return state.pens.update(pen_id, title=title)


@drawer.write
def label_pen(state: Drawer, /, title: str, what: str) -> Pen:
    """Put a name on a pen.

    Args:
        title: The name.
        what: Which pen.
    """
    return state.pens.update(what, title=title)


@drawer.write
def drop_pen(state: Drawer, /, pen_id: str) -> Pen:
    """Throw a pen away.

    Args:
        pen_id: Which pen.
    """
    pen = state.pens[pen_id]
    state.pens.remove(pen_id)
    return pen


def found(drawn: Drawn) -> set[str]:
    """The tools that serve a goal as well."""
    toolbox = Toolbox(drawn.planner.server.tools.values())
    return serving(drawn.session, toolbox, drawn.goal.tool, drawn.goal.arguments)


def tried(drawn: Drawn) -> set[str]:
    """The same, with every order of the goal's values for what another write requires."""
    wanted = drawn.session.fork()
    wanted.call(drawn.goal.tool, drawn.goal.arguments)
    change = wanted.changes(drawn.goal.tool)
    values = [*drawn.goal.arguments.values(), *leaves(drawn.goal.arguments)]
    also = set()
    for other in drawn.planner.server.tools.values():
        required = other.input_schema["required"]
        if not other.writes or other.name == drawn.goal.tool or len(required) > 4:
            continue
        given = {n: v for n, v in drawn.goal.arguments.items()
                 if n in other.input_schema["properties"]}  # fmt: skip
        for chosen in permutations(values, len(required)):
            twin = drawn.session.fork()
            arguments = {**given, **dict(zip(required, chosen, strict=True))}
            works = twin.call(other.name, arguments).ok
            if works and same_outcome(twin.changes(other.name), change):
                also.add(other.name)
                break
    return also


@pytest.mark.parametrize("name", SMALL)
def test_what_serves_is_what_brute_force_finds(name: str) -> None:
    writes = 0
    for drawn in goals(name, 0):
        if drawn.tool.writes:
            assert found(drawn) == tried(drawn)
            writes += 1
    assert writes > 4


def test_on_our_servers_no_tool_does_what_another_does() -> None:
    """So a clarification hides one tool; the day two do the same, this says which."""
    pairs = {(d.goal.tool, also) for d in every_goal() if d.tool.writes for also in found(d)}
    assert pairs == set()


def test_twins_are_found_whatever_their_arguments_are_called_and_ordered() -> None:
    session = Session([drawer], 0)
    toolbox = Toolbox(drawer.tools.values())
    key = session.call("list_pens", {}).value["items"][0]["id"]
    rename = {"pen_id": key, "title": "Quill"}
    assert serving(session, toolbox, "rename_pen", rename) == {"label_pen"}
    assert serving(session, toolbox, "label_pen", {"title": "Quill", "what": key}) == {"rename_pen"}
    assert serving(session, toolbox, "drop_pen", {"pen_id": key}) == set()


def test_what_is_hidden_does_not_serve() -> None:
    session = Session([drawer], 0)
    key = session.call("list_pens", {}).value["items"][0]["id"]
    shown = Toolbox(tool for tool in drawer.tools.values() if tool.name != "label_pen")
    assert serving(session, shown, "rename_pen", {"pen_id": key, "title": "Quill"}) == set()


def test_a_request_that_fails_is_served_by_nothing() -> None:
    server = load("banking")
    session = Session([server], 0)
    toolbox = Toolbox(server.tools.values())
    assert serving(session, toolbox, "close_account", {"account_id": "acc_0"}) == set()


def test_looking_leaves_the_world_alone() -> None:
    for name in names()[:5]:
        for drawn in goals(name, 0):
            if drawn.tool.writes:
                before = drawn.session.digest()
                found(drawn)
                assert drawn.session.digest() == before
                assert fits(drawn.tool.input_schema, drawn.goal.arguments)
