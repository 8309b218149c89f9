"""What an example says of itself: each claim holds, and breaking it is found and named."""

from typing import Any

import pytest
from msgspec.structs import replace as put

from conversation.talks import verified
from provegym import servers
from provegym.kernel import Session
from provegym.language import dates
from provegym.language.things import survey
from provegym.language.values import leaves, normal
from provegym.toolbox import Toolbox
from provegym.trace import Claim, Example, Path, ToolboxSpec, literals
from provegym.verify import verify
from provegym.verify.claims import unserved
from provegym.verify.replay import replay
from verify.test_serving import drawer


def first(kind: str, claim: str) -> Example:
    """A verified example that makes a claim."""
    return next(verified(kind, lambda example: getattr(example.provenance, claim)))


def claiming(example: Example, **claims: Any) -> Example:
    """The example with other claims."""
    return put(example, provenance=put(example.provenance, **claims))


def objects(example: Example, *said: str) -> None:
    """Whether verification objects with these sentences."""
    problems = verify(example)
    for sentence in said:
        assert any(sentence in problem for problem in problems), problems


def named(example: Example) -> tuple[int, str, str]:
    """The first thing an example calls by name: the turn, the name, the key."""
    names = example.provenance.names
    return next((at, *each) for at, some in enumerate(names) for each in some)


def with_name(example: Example, name: str, key: str) -> Example:
    """The example with another first name, or the same for another thing."""
    at = named(example)[0]
    names = list(example.provenance.names)
    names[at] = ((name, key), *names[at][1:])
    return claiming(example, names=tuple(names))


def world_at(example: Example, turn: int) -> Session:
    """The world as a user turn finds it."""
    return replay(example, example.paths[0]).worlds[turn]


def naming() -> Example:
    """An example whose first named thing is not the only one of its kind."""

    def has_others(example: Example) -> bool:
        if not any(example.provenance.names):
            return False
        at, _, key = named(example)
        seen = survey(world_at(example, at), example.server)
        return len(seen.named[seen.things[key].noun]) > 1

    return next(verified("multi_turn", has_others))


def test_a_name_of_somebody_else_is_found() -> None:
    example = naming()
    at, name, key = named(example)
    seen = survey(world_at(example, at), example.server)
    other = next(k for k in seen.named[seen.things[key].noun] if k != key)
    objects(with_name(example, name, other), f"{name!r} is not the name of {other} alone")


def test_a_name_of_nobody_is_found() -> None:
    example = naming()
    at, name, _ = named(example)
    objects(
        with_name(example, name, "xyz_1"), f"turn {at}: {name!r} is not the name of xyz_1 alone"
    )


def test_a_name_that_is_not_said_is_found() -> None:
    example = naming()
    at, _, key = named(example)
    wrong = with_name(example, "Nobody At All", key)
    objects(wrong, f"turn {at} does not say 'Nobody At All'", "is not the name of")


def test_names_are_those_of_the_world_at_that_turn() -> None:
    """A thing that an earlier turn made can be named, in the turns after it and not before."""

    def names_news(example: Example) -> bool:
        start = survey(world_at(example, 0), example.server).things
        names = example.provenance.names
        return any(key not in start for some in names[1:] for _, key in some)

    example = next(verified("multi_turn", names_news), None)
    if example is None:
        pytest.skip("no thing that was just made is called by its name")
    together = tuple(name for some in example.provenance.names for name in some)
    objects(claiming(example, names=(together,)), "is not the name of")


def test_an_attempt_that_succeeds_is_found() -> None:
    example = first("multi_turn", "attempts")
    (tried, *_) = example.provenance.attempts
    step = example.paths[0].steps[tried.before]
    works = put(tried, tool=step.tool, arguments=literals(step.arguments))
    objects(
        claiming(example, attempts=(works,)),
        f"trying {step.tool} ends in success, not in {tried.error}",
    )


def test_an_attempt_that_fails_for_another_reason_is_found() -> None:
    example = first("multi_turn", "attempts")
    (tried, *_) = example.provenance.attempts
    other = "denied" if tried.error != "denied" else "rejected"
    objects(
        claiming(example, attempts=(put(tried, error=other),)),
        f"trying {tried.tool} ends in {tried.error}, not in {other}",
    )


@pytest.mark.parametrize("before", [-1, 99])
def test_an_attempt_before_nothing_is_found(before: int) -> None:
    example = first("multi_turn", "attempts")
    (tried, *_) = example.provenance.attempts
    wrong = claiming(example, attempts=(put(tried, before=before),))
    objects(wrong, f"nothing comes after the attempt at {tried.tool}")


def test_a_feasible_goal_that_is_called_infeasible_is_found() -> None:
    example = next(verified("multi_turn", lambda e: e.turns[0].asks is None))
    played = replay(example, example.paths[0]).played
    goal = next(each for each in played if each.step.writes)
    claim = Claim(turn=goal.step.turn, tool=goal.step.tool, arguments=goal.arguments)
    objects(
        claiming(example, infeasible=claim),
        f"{goal.step.tool} ends in success, so it is not infeasible",
        f"turn {goal.step.turn} is infeasible, and no read of it shows why",
    )


def test_a_give_up_whose_read_shows_nothing_is_found() -> None:
    example = first("multi_turn", "infeasible")
    claim = example.provenance.infeasible
    assert world_at(example, claim.turn).call(claim.tool, claim.arguments).error
    steps = tuple(
        put(step, answers=()) if step.turn == claim.turn else step
        for step in example.paths[0].steps
    )
    objects(
        put(example, paths=(Path(steps=steps),)),
        f"turn {claim.turn} is infeasible, and no read of it shows why",
    )


def test_a_shown_tool_that_serves_as_well_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two tools do the same, hiding one of them is not enough."""
    monkeypatch.setitem(servers._added, drawer.name, drawer)
    key = Session([drawer], 0).call("list_pens", {}).value["items"][0]["id"]
    claim = Claim(turn=0, tool="rename_pen", arguments={"pen_id": key, "title": "Quill"})
    example = claiming(put(hidden_alone(), server=drawer.name, seed=0), unserved=claim)
    for hidden, said in (
        (("rename_pen",), ["label_pen serves turn 0 as well, and is not hidden"]),
        (("rename_pen", "label_pen"), []),
    ):
        shown = put(example, toolbox=ToolboxSpec(hidden=hidden))
        assert list(unserved(shown, replay(shown, shown.paths[0]))) == said


def hidden_alone() -> Example:
    """An abstention for want of one hidden tool."""
    return next(verified("abstention", lambda e: len(e.toolbox.hidden) == 1))


def test_the_very_tool_that_serves_is_found_if_it_is_shown() -> None:
    example = hidden_alone()
    tool = example.provenance.unserved.tool
    shown = put(example, toolbox=put(example.toolbox, hidden=()))
    objects(shown, f"{tool} would serve turn 0 and is not hidden")
    assert tool in Toolbox.of(shown).tools


def test_a_request_that_no_tool_could_serve_is_found() -> None:
    example = hidden_alone()
    claim = example.provenance.unserved
    wrong = claiming(example, unserved=put(claim, arguments={}))
    objects(wrong, f"turn 0 could not be served by {claim.tool} either")


def test_an_unserved_turn_with_right_calls_is_found() -> None:
    example = next(verified("clarification", lambda e: e.paths[0].steps))
    claim, at = example.provenance.unserved, example.paths[0].steps[0].turn
    wrong = claiming(example, unserved=put(claim, turn=at))
    objects(wrong, f"turn {at} is not to be served, and has right calls")


Derived = tuple[Example, str, str]


def derived(is_date: bool) -> Derived:
    """An example with a value that words stand for, where it is taken, and the words."""

    def wanted(example: Example, place: str, words: str) -> bool:
        at, _, name = place.partition(".")
        played = replay(example, example.paths[0]).played[int(at)]
        value = played.arguments[name]
        returned = all(normal(leaf) in played.known.values for leaf in leaves(value))
        plain = returned or (not is_date and played.known.has(value))
        return not (plain or isinstance(value, bool)) and is_date == bool(
            dates.read(words, played.before.now)
        )

    def some(example: Example) -> list[Derived]:
        said = example.provenance.derived.items()
        return [(example, *each) for each in said if wanted(example, *each)]

    return some(next(verified("multi_turn", some)))[0]


def reworded(example: Example, old: str, new: str) -> Example:
    """The example with other words in its turns."""
    turns = tuple(put(turn, text=turn.text.replace(old, new)) for turn in example.turns)
    return put(example, turns=turns)


def test_a_derivation_from_words_that_nobody_said_is_found() -> None:
    example, place, _ = derived(is_date=False)
    words = {**example.provenance.derived, place: "in a blue moon"}
    objects(claiming(example, derived=words), "'in a blue moon', which nobody said")


@pytest.mark.parametrize("is_date", [True, False])
def test_words_that_are_no_longer_said_are_found(is_date: bool) -> None:
    example, _, words = derived(is_date)
    wrong = reworded(example, words, "whenever")
    objects(wrong, f"is said to follow from {words!r}, which nobody said")


def test_a_derived_date_that_means_another_day_is_found() -> None:
    example, place, words = derived(is_date=True)
    at, _, name = place.partition(".")
    value = replay(example, example.paths[0]).played[int(at)].arguments[name]
    said, meant = "12 March 2031", "2031-03-12"
    if "T" in value:
        said, meant = f"{said} at 07:10", f"{meant}T07:10:00Z"
    claims = {**example.provenance.derived, place: said}
    objects(
        claiming(reworded(example, words, said), derived=claims),
        f"step {at}: {name} is {value!r}, but {said!r} means {meant!r}",
    )


def test_a_value_without_its_derivation_is_found() -> None:
    example, place, _ = derived(is_date=False)
    at, _, name = place.partition(".")
    rest = {n: words for n, words in example.provenance.derived.items() if n != place}
    objects(claiming(example, derived=rest), f"step {at}: nothing says that {name} is")


def test_a_conversation_that_never_strays_is_found_if_the_knob_says_so() -> None:
    example = next(verified("multi_turn", lambda e: not e.knobs))
    strayed = put(example, knobs=("irrelevance",))
    objects(strayed, "no turn is beside the point, as the irrelevance knob says")


def test_the_world_at_a_turn_has_the_calls_and_the_time_before_it() -> None:
    def waits(example: Example) -> bool:
        return example.turns[1].minutes > 0

    example = next(verified("multi_turn", waits))
    start, later = world_at(example, 0), world_at(example, 1)
    assert (later.now - start.now).seconds == 60 * example.turns[1].minutes
    last = world_at(example, len(example.turns) - 1)
    for step in example.paths[0].steps:
        if step.turn == len(example.turns) - 1:
            assert last.call(step.tool, literals(step.arguments)).ok
    assert replay(example, example.paths[0]).outcome == tuple(last.diff())


def test_a_relation_that_is_not_said_or_not_so_is_found() -> None:
    example = first("multi_turn", "relations")
    claim = example.provenance.relations[0]
    assert not verify(example)
    silent = put(claim, phrase="the moon of that planet")
    objects(claiming(example, relations=(silent,)), "does not say 'the moon of that planet'")
    for field, other in (("key", "x_1"), ("owner", "x_1"), ("field", "moon_id")):
        wrong = put(claim, **{field: other})
        objects(claiming(example, relations=(wrong,)), "alone")
