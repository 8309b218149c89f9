"""What a goal takes from the calls before it, and how a thing shown in passing is spoken of."""

from random import Random

import pytest

from conversation.talks import verified
from provegym.conversation.links import links
from provegym.graph.chains import Chain
from provegym.graph.dependency import Dependency, Trial, cached
from provegym.graph.slots import pointed
from provegym.kernel import Session
from provegym.language.phrasing import Voice
from provegym.language.things import Relation, noun_of, relations, survey
from provegym.servers import asks, load, names
from provegym.trace import Json

TRACKER = load("issue_tracker")


def voice_on(world: int = 0) -> tuple[Voice, Session]:
    """A user of the issue tracker who was shown nothing yet."""
    session = Session([TRACKER], world)
    return Voice(TRACKER, survey(session), Random(0), session.now), session


def edge(
    kind: str, source: Trial, target: Trial, argument: str = "", pointer: str = ""
) -> Dependency:
    """An edge with its evidence and nothing else."""
    runs = (source, target)
    return Dependency(kind, source.tool, target.tool, 0, runs, (), argument, pointer)  # type: ignore[arg-type]


def run(tool: str, **arguments: object) -> Trial:
    """A call of an edge's evidence."""
    return Trial(tool, arguments, True, "")


def test_a_pointer_with_stars_leads_to_each() -> None:
    value = {"items": [{"id": "a", "on": [{"id": 1}]}, {"id": "b"}, {"id": None}], "id": "c"}
    assert pointed(value, "/id") == ["c"]
    assert pointed(value, "/items/*/id") == ["a", "b"]
    assert pointed(value, "/items/*/on/*/id") == [1]
    assert pointed(value, "/id/*") == []
    assert pointed(value, "/nothing") == []


def test_relations_are_those_that_people_can_tell_apart() -> None:
    many = ["iss_2", "iss_3", "iss_6"]
    two = {"id": "iss_1", "subtasks": many, "project_id": "prj_1", "title": "x"}
    one = {"id": "iss_4", "subtasks": ["iss_5"], "history": [{"sprint_id": "spr_1"}]}
    found = set(relations(TRACKER, (), {"items": [two, one]}))
    assert found == {
        Relation("prj_1", "iss_1", "project_id"),
        Relation("iss_2", "iss_1", "subtasks", "first"),
        Relation("iss_6", "iss_1", "subtasks", "last"),
        Relation("iss_5", "iss_4", "subtasks"),
        Relation("spr_1", "iss_4", "sprint_id"),
    }


def test_what_is_in_a_list_of_many_belongs_to_none() -> None:
    assert list(relations(TRACKER, (), {"items": [{"sprint_id": "spr_1"}, {}]})) == []


def test_a_thing_shown_in_passing_is_spoken_of_by_what_it_is_to_another() -> None:
    voice, session = voice_on()
    issue = session.call("search_issues", {"limit": 1}).value["items"][0]
    voice = voice.see(issue)
    key = issue["project_id"]
    tool = TRACKER.tools["list_sprints"]
    assert not voice.is_known(key)
    phrase = voice.phrase(tool, "project_id", key)
    assert phrase is not None
    assert phrase.text.startswith("the project of ")
    assert phrase.relations == ((phrase.text, Relation(key, issue["id"], "project_id")),)
    voice = voice.see(session.call("list_tracker_projects", {}).value)
    named = voice.phrase(tool, "project_id", key)
    assert named is not None
    assert not named.relations  # now its name was shown with it


def test_a_thing_shown_beside_nothing_that_can_be_spoken_of_is_not_said() -> None:
    voice, session = voice_on()
    issue = session.call("search_issues", {"limit": 1}).value["items"][0]
    voice = voice.see({"project_id": issue["project_id"]})
    assert voice.phrase(TRACKER.tools["list_sprints"], "project_id", issue["project_id"]) is None


def test_a_goal_takes_what_the_chain_hands_on_before_anything_else() -> None:
    voice, _ = voice_on()
    shown: Json = {"id": "iss_1", "parent_id": "iss_2"}
    source = run("watch_issue", issue_id="iss_8")
    target = run("assign_issue", issue_id="iss_9", assignee_id="mem_1")
    by_id = edge("explicit", source, target, "issue_id", "/id")
    by_parent = edge("explicit", source, target, "issue_id", "/parent_id")
    results = {"watch_issue": ({"issue_id": "iss_1"}, shown)}
    tool = TRACKER.tools["assign_issue"]
    for first, other, taken in ((by_id, by_parent, "iss_1"), (by_parent, by_id, "iss_2")):
        chain = Chain(("watch_issue", "assign_issue"), (first,))
        assert next(links(tool, chain, [other, first], results, voice)) == {"issue_id": taken}
    assert list(links(tool, chain, [], {}, voice)) == [{}]


def test_an_implicit_edge_hands_on_what_both_calls_were_proven_with() -> None:
    files = load("filesystem")
    session = Session([files], 0)
    voice = Voice(files, survey(session), Random(0), session.now)
    removed = run("remove_file", path="/a/b/c.txt")
    made = run("create_file", directory_path="/a/b", name="c.txt", content="x")
    lifts = edge("implicit", removed, made)
    results = {"remove_file": ({"path": "/d/e.md"}, {})}
    found = next(links(files.tools["create_file"], Chain((), ()), [lifts], results, voice))
    assert found == {"directory_path": "/d", "name": "e.md"}


@pytest.mark.parametrize("name", names())
def test_words_for_relations_are_for_fields_that_hand_something_on(name: str) -> None:
    """And each has one place for the thing whose they are."""
    fields = {part for edge in cached(load(name)).edges for part in edge.pointer.split("/")}
    for field, way in asks(name).get("relation", {}).items():
        assert way.count("{}") == 1
        assert field in fields, field


def test_conversations_speak_of_things_by_relation() -> None:
    example = next(verified("multi_turn", lambda e: e.provenance.relations))
    claim = example.provenance.relations[0]
    assert claim.phrase in example.turns[claim.turn].text
    assert noun_of(load(example.server), claim.key) or "/" in claim.key
