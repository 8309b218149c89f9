"""Failures: what is tried first fails as it is recorded, and giving up has a reason to show."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from random import Random

import pytest

from conversation.talks import Drawn, every_goal, planner
from provegym.conversation.recover import GiveUp, attempts, draw_refused
from provegym.kernel import Session
from provegym.language.values import is_said, leaves
from provegym.rewards.equality import equal
from provegym.servers import load, names
from provegym.toolbox import Toolbox
from provegym.trace import Attempt, point

GIVE_UPS = 4
EARLY, LATE = 0, 1


@cache
def tried() -> tuple[tuple[Drawn, Attempt], ...]:
    """What might be tried before the goals of every server."""
    return tuple(
        (drawn, attempt)
        for drawn in every_goal()
        for attempt in attempts(drawn.planner, drawn.session, drawn.goal, EARLY, LATE)
    )


def test_attempts_fail_as_they_are_recorded_and_leave_no_trace() -> None:
    for drawn, attempt in tried():
        twin = drawn.session.fork()
        assert twin.call(attempt.tool, attempt.arguments).error == attempt.error
        assert twin.digest() == drawn.session.digest()
        assert (attempt.tool, attempt.arguments) != (drawn.goal.tool, drawn.goal.arguments)


def test_something_can_be_tried_on_every_server_in_every_way() -> None:
    by_server = Counter(drawn.planner.server.name for drawn, _ in tried())
    assert by_server.keys() == set(names())
    ways = Counter((a.tool == d.goal.tool, a.before == EARLY) for d, a in tried())
    assert ways.keys() == {(True, True), (True, False), (False, False)}
    assert min(ways.values()) > 10


def test_a_misreading_is_the_users_own_words_for_one_value() -> None:
    for drawn, attempt in tried():
        goal = drawn.goal
        if attempt.tool != goal.tool:
            continue
        assert attempt.arguments.keys() == goal.arguments.keys()
        (wrong,) = [n for n, v in attempt.arguments.items() if v != goal.arguments[n]]
        words, right = str(attempt.arguments[wrong]), str(goal.arguments[wrong])
        own = drawn.planner.voice.things[right].names if right in drawn.planner.voice.things else ()
        assert words in (goal.said.derived.get(wrong), right.replace("_", " "), *own)
        assert words in goal.said.text
        assert (attempt.before == EARLY) == (words in own)


def test_another_tool_nearby_is_a_write_that_a_rule_refuses() -> None:
    for drawn, attempt in tried():
        if attempt.tool != drawn.goal.tool:
            assert attempt.error == "rejected"
            tool = drawn.planner.server.tools[attempt.tool]
            assert tool.writes
            assert attempt.arguments.keys() == set(tool.input_schema["required"])
            assert all(drawn.goal.arguments[n] == v for n, v in attempt.arguments.items())


@cache
def give_ups() -> tuple[tuple[Session, GiveUp], ...]:
    """Requests of every server that cannot be met."""
    return tuple(found for name in names() for found in _give_ups(name))


def _give_ups(name: str) -> Iterator[tuple[Session, GiveUp]]:
    server = load(name)
    toolbox = Toolbox(server.tools.values())
    writes = [tool for tool in server.tools.values() if tool.writes]
    Random(name).shuffle(writes)
    found = 0
    for tool in writes[:10]:
        session = Session([server], 2)
        refused = draw_refused(planner(name, 2, tool.name), session, tool, toolbox)
        if refused is not None and found < GIVE_UPS:
            found += 1
            yield session, refused


def test_a_give_up_is_refused_by_a_rule() -> None:
    assert len({session.servers[0].name for session, _ in give_ups()}) >= 10
    for session, refused in give_ups():
        outcome = session.fork().call(refused.goal.tool, refused.goal.arguments)
        assert outcome.error == "rejected"


def test_a_give_ups_read_shows_what_the_refusal_speaks_of() -> None:
    for session, refused in give_ups():
        goal = refused.goal
        message = session.fork().call(goal.tool, goal.arguments).value["message"]
        read = refused.road[refused.shows]
        result = session.call(read.tool, read.arguments)
        assert result.ok
        assert refused.answers
        for pointer in refused.answers:
            found, value = point(result.value, pointer)
            assert found
            assert is_said(value, message)
            assert not is_said(value, goal.said.text)
            _, record = point(result.value, pointer.rpartition("/")[0])
            beside = [leaf for leaf in leaves(record) if isinstance(leaf, str)]
            assert any(equal(leaf, key) for leaf in beside for key in leaves(goal.arguments))


def test_a_give_up_needs_its_read() -> None:
    """What it is about is not known from what was said."""
    for _, refused in give_ups():
        assert refused.goal.unknown
        assert len(refused.road) == 1
        assert not all(is_said(key, refused.goal.said.text) for key in refused.goal.unknown)


@pytest.mark.parametrize("name", ["banking", "payments"])
def test_a_tool_that_nothing_refuses_gives_nothing(name: str) -> None:
    server = load(name)
    toolbox = Toolbox(server.tools.values())
    read = next(tool for tool in server.tools.values() if not tool.writes)
    session = Session([server], 2)
    assert draw_refused(planner(name, 2), session, read, toolbox) is None
