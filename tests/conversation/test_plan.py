"""Planning backwards: goals that work, the fewest lookups for them, and answers that are there."""

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import msgspec
import pytest

from conversation.talks import Drawn, every_goal, goals
from provegym.conversation.ground import scene
from provegym.conversation.plan import MOST_LOOKUPS, Goal, Planner
from provegym.language.things import noun_of
from provegym.language.values import is_said, leaves, normal, numbers
from provegym.rewards.equality import equal
from provegym.servers import load
from provegym.toolbox import Toolbox
from provegym.trace import Json, point

LEVELS = ("complete", "missing", "minimal")
SMALL = ("payments", "banking", "marketplace", "trading")

Read = tuple[str, Json, Any, int | None]


def toolbox(drawn: Drawn) -> Toolbox:
    """All tools of the goal's server."""
    return Toolbox(drawn.planner.server.tools.values())


def road(drawn: Drawn) -> tuple[Any, ...] | None:
    """The lookups that are planned for a goal."""
    return drawn.planner.lookups(drawn.session, [drawn.goal], toolbox(drawn), ())


def said_values(drawn: Drawn) -> list[Any]:
    """Whatever the user says that is in the world, and every number."""
    text = f"{drawn.goal.said.text} {drawn.goal.said.answer}"
    state = drawn.session.state(drawn.planner.server)
    rows = [row for name in state.tables for row in getattr(state, name)]
    held = {
        leaf for row in rows for leaf in leaves(msgspec.to_builtins(row)) if isinstance(leaf, str)
    }
    return [v for v in held if len(v) > 2 and is_said(v, text)] + list(numbers(text))


def calls_with(drawn: Drawn, values: list[Any]) -> list[tuple[str, Json]]:
    """Every read whose arguments are among some values, with any of its optional ones."""
    found: list[tuple[str, Json]] = []
    for tool in drawn.planner.server.tools.values():
        if tool.writes:
            continue
        parts = {n: p for n, p in tool.input_schema["properties"].items()
                 if n not in ("limit", "offset")}  # fmt: skip
        options = []
        for name in parts:
            fitting = [{name: value} for value in values if not isinstance(value, bool)]
            options.append(fitting if name in tool.input_schema["required"] else [{}, *fitting])
        for chosen in product(*options):
            found.append((tool.name, {n: v for part in chosen for n, v in part.items()}))
    return found


def keys_beside(value: Any, said: set[str]) -> set[str]:
    """The ids and codes in records that hold something that was said."""
    found: set[str] = set()
    if isinstance(value, list):
        return found.union(*(keys_beside(part, said) for part in value))
    if isinstance(value, dict):
        own = [part for part in value.values() if isinstance(part, str | int | float)]
        if any(normal(part) in said for part in own):
            found |= {p for p in own if isinstance(p, str) and " " not in p and not p.isalpha()}
        for part in value.values():
            found |= keys_beside(part, said)
    return found


def tells(value: Any, key: str, marks: set[str]) -> bool:
    """Whether a record in a result holds a key, and what was said of the thing."""
    if isinstance(value, list):
        return any(tells(part, key, marks) for part in value)
    if not isinstance(value, dict):
        return False
    if key in value.values() and marks & {normal(leaf) for leaf in leaves(value)}:
        return True
    return any(tells(part, key, marks) for part in value.values())


def reads(drawn: Drawn, said: list[Any]) -> list[Read]:
    """Every read that works with what is said, and with what those reads show about it."""
    first: list[Read] = []
    for tool, arguments in calls_with(drawn, said):
        outcome = drawn.session.call(tool, arguments)
        if outcome.ok:
            first.append((tool, arguments, outcome.value, None))
    forms, tried = {normal(value) for value in said}, {(t, str(a)) for t, a, _, _ in first}
    second: list[Read] = []
    for number, (_, _, value, _) in enumerate(first):
        for tool, arguments in calls_with(drawn, sorted(keys_beside(value, forms))):
            outcome = drawn.session.call(tool, arguments)
            if outcome.ok and (tool, str(arguments)) not in tried:
                tried.add((tool, str(arguments)))
                second.append((tool, arguments, outcome.value, number))
    return [*first, *second]


def fewest(drawn: Drawn, said: list[Any]) -> int | None:
    """How few reads show every hidden key beside what was said of its thing, tried out."""
    forms = {normal(value) for value in said}
    survey = drawn.planner.voice.survey
    wanted = []
    for key in drawn.goal.unknown:
        thing = drawn.planner.voice.thing(key)
        if normal(key) in forms or thing is None:
            continue
        about = [thing.fields, *(other.fields for other in survey.related.get(thing.key, ()))]
        marks = {normal(v) for fields in about for v in leaves(fields)} & forms
        spoken = " ".join(normal(phrase) for phrase, named in drawn.goal.said.names if named == key)
        wanted.append((key, {mark for mark in marks if mark in spoken} or marks))
    if not wanted:
        return 0
    tried = reads(drawn, said)
    shown = [
        frozenset(n for n, w in enumerate(wanted) if tells(value, *w)) for _, _, value, _ in tried
    ]
    useful = {(shown[n], tried[n][3]) for n in range(len(tried)) if shown[n]}
    for size in range(1, MOST_LOOKUPS + 1):
        for count in range(1, size + 1):
            for chosen in combinations(useful, count):
                before = {after for _, after in chosen if after is not None}
                covers = len(frozenset().union(*(held for held, _ in chosen))) == len(wanted)
                if covers and count + len(before) <= size:
                    return size
    return None


@pytest.mark.parametrize("name", SMALL)
def test_lookups_are_the_fewest(name: str) -> None:
    """Against every read there is, tried with all that was said and all that was shown then."""
    lengths = set()
    for world in range(2):
        for drawn in goals(name, world):
            planned = road(drawn)
            least = fewest(drawn, said_values(drawn))
            if planned is not None:
                assert len(planned) == least, (drawn.goal, planned)
                lengths.add(least)
            elif drawn.goal.unknown:
                most = min(MOST_LOOKUPS, len(drawn.goal.unknown) + 1)
                assert least is None or least > most, (drawn.goal, least)
    assert {0, 1} <= lengths
    assert 2 in lengths or name == "marketplace"


def anew(drawn: Drawn) -> Planner:
    """A planner for the same user, who was shown nothing yet."""
    voice = replace(drawn.planner.voice, shown={}, held={})
    return replace(drawn.planner, voice=voice, results=())


@pytest.mark.parametrize("level", LEVELS)
def test_every_unknown_key_is_looked_up_and_a_known_one_is_not(level: str) -> None:
    planned = 0
    for drawn in every_goal(level):
        found = road(drawn)
        if found is None:
            continue
        text = f"{drawn.goal.said.text} {drawn.goal.said.answer}"
        shown: set[str] = set()
        plan = anew(drawn)
        for read in found:
            assert not drawn.planner.server.tools[read.tool].writes
            outcome = drawn.session.call(read.tool, read.arguments)
            assert outcome.ok
            shown |= set(map(str, leaves(outcome.value)))
            results = (*plan.results, outcome.value)
            plan = replace(plan, voice=plan.voice.see(outcome.value), results=results)
        for leaf in leaves(drawn.goal.arguments):
            if noun_of(drawn.planner.server, leaf):
                assert leaf in shown, (drawn.goal, found)
            elif drawn.planner.voice.thing(str(leaf)):
                assert str(leaf) in shown or is_said(leaf, text)
        again = plan.unknown(drawn.goal.arguments)
        assert not [key for key in again or () if not is_said(key, text)]
        if again is not None:
            goal = drawn.goal._replace(unknown=again)
            assert plan.lookups(drawn.session, [goal], toolbox(drawn), ()) == ()
            planned += bool(found)
    assert planned > 100


def test_nothing_is_looked_up_twice_for_two_goals() -> None:
    """One read that serves both goals is planned once."""
    drawn = next(d for d in goals("banking", 0) if d.goal.tool == "close_account")
    alone = drawn.planner.lookups(drawn.session, [drawn.goal], toolbox(drawn), ())
    both = drawn.planner.lookups(drawn.session, [drawn.goal, drawn.goal], toolbox(drawn), ())
    assert alone
    assert both == alone


def test_among_equal_roads_the_chain_is_liked() -> None:
    drawn = next(d for d in goals("banking", 0) if d.goal.tool == "close_account")
    plain = {read.tool for read in road(drawn) or ()}
    assert plain
    for likes in ((), ("list_accounts",), ("list_cards",)):
        found = drawn.planner.lookups(drawn.session, [drawn.goal], toolbox(drawn), likes)
        assert found is not None
        assert len(found) == 1


@pytest.mark.parametrize("level", LEVELS)
def test_goals_work_and_writes_change_something(level: str) -> None:
    for drawn in every_goal(level):
        before = drawn.session.digest()
        twin = drawn.session.fork()
        assert twin.call(drawn.goal.tool, drawn.goal.arguments).ok
        assert (twin.digest() != before) == drawn.tool.writes
        assert drawn.session.digest() == before


@pytest.mark.parametrize("level", LEVELS)
def test_every_optional_argument_changes_what_comes_of_it(level: str) -> None:
    optional = 0
    for drawn in every_goal(level):
        goal = drawn.goal
        for name in goal.arguments.keys() - set(drawn.tool.input_schema["required"]):
            rest = {n: v for n, v in goal.arguments.items() if n != name}
            with_it, without = drawn.session.fork(), drawn.session.fork()
            one, two = with_it.call(goal.tool, goal.arguments), without.call(goal.tool, rest)
            same = one.text == two.text and not drawn.tool.writes
            changed = drawn.tool.writes and with_it.diff() == without.diff()
            assert not (two.ok and (same or changed)), (goal, name)
            optional += 1
    assert optional > (30 if level == "complete" else 5) or level == "missing"


def test_an_argument_that_changes_nothing_is_dropped() -> None:
    drawn = goals("banking", 0)[0]
    tool = load("banking").tools["list_accounts"]
    outcome = drawn.session.call(tool.name, {"limit": 10})
    assert drawn.planner._telling(drawn.session, tool, {"limit": 10}, outcome) == {}
    outcome = drawn.session.call(tool.name, {"limit": 1})
    assert drawn.planner._telling(drawn.session, tool, {"limit": 1}, outcome) == {"limit": 1}


@pytest.mark.parametrize("level", ["complete", "minimal"])
def test_answers_are_where_their_pointers_lead(level: str) -> None:
    asked = 0
    for drawn in every_goal(level):
        goal = drawn.goal
        assert bool(goal.answers) != drawn.tool.writes
        value = drawn.session.fork().call(goal.tool, goal.arguments).value
        given = list(leaves(goal.arguments))
        for pointer in goal.answers:
            found, told = point(value, pointer)
            assert found
            assert isinstance(told, str | int | float | list)
            if pointer != "/total":
                asked += not any(equal(told, leaf) for leaf in given)
    assert asked > 100


def test_a_key_shown_in_passing_is_neither_known_nor_to_be_looked_up() -> None:
    drawn = next(d for d in goals("banking", 0) if d.goal.tool == "close_account")
    plan = anew(drawn)
    (key,) = drawn.goal.arguments.values()
    assert plan.unknown(drawn.goal.arguments) == (key,)
    seen = {"id": "crd_1", "account_id": key, "status": "active"}
    plan = replace(plan, voice=plan.voice.see(seen))
    assert not plan.voice.is_known(key)
    assert plan.unknown(drawn.goal.arguments) is None
    seen = {"id": key, "name": plan.voice.things[key].names[0]}
    plan = replace(plan, voice=plan.voice.see(seen))
    assert plan.voice.is_known(key)
    assert plan.unknown(drawn.goal.arguments) == ()


def test_what_nothing_leads_to_has_no_road() -> None:
    drawn = next(d for d in goals("banking", 0) if d.goal.tool == "close_account")
    mute = drawn.goal.said._replace(text="Close it.", slots=(), names=())
    goal = Goal(drawn.goal.tool, drawn.goal.arguments, mute, drawn.goal.unknown)
    assert drawn.planner.lookups(drawn.session, [goal], toolbox(drawn), ()) is None


@pytest.mark.parametrize("name", ["banking", "maps"])
def test_drawing_again_draws_the_same(name: str) -> None:
    one, two = (goals.__wrapped__(name, 1, "minimal") for _ in range(2))
    assert [drawn.goal for drawn in one] == [drawn.goal for drawn in two]
    assert scene(name, 1) is scene(name, 1)
