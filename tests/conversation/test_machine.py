"""The state machine: where each state leads, and what the conversations it plays are like."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import get_args, get_type_hints

import pytest

from conversation.talks import Candidate, candidates
from provegym.conversation import machine
from provegym.conversation.draft import LEVELS, MOST_LENGTH, Cast, Draft
from provegym.conversation.ground import scene
from provegym.conversation.kinds import chain_of
from provegym.conversation.machine import STATES, converse
from provegym.language.personas import PERSONAS
from provegym.language.values import is_said, normal
from provegym.servers import names
from provegym.toolbox import Toolbox
from provegym.trace import literals

ENDS = {"end", "dropped"}
WIDE = 10


def allowed(state: str) -> set[str]:
    """Where a state may lead, by its return type."""
    to, _ = get_args(get_type_hints(STATES[state])["return"])
    return set(get_args(to))


def drafts() -> Iterator[Draft]:
    """Conversations of every sort, three on each server."""
    for name in names():
        write = next(t.name for t in scene(name, 0).server.tools.values() if t.writes)
        casts = (
            Cast(level="missing"),
            Cast(level="minimal", knobs=("irrelevance",)),
            Cast(hidden=(write,), turns=(1, 3)),
        )
        for number, cast in enumerate(casts):
            yield Draft.begin(scene(name, 0), f"{name} {number}", chain_of(name, 2 * number), cast)


def test_each_state_leads_only_where_it_says_and_each_is_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    went: dict[str, Counter[str]] = defaultdict(Counter)

    def watched(name: str, state: machine.State) -> machine.State:
        def go(draft: Draft) -> tuple[str, Draft]:
            to, draft = state(draft)
            went[name][to] += 1
            return to, draft

        return go

    monkeypatch.setattr(machine, "REFUSED", 0.3)
    monkeypatch.setattr(machine, "RECOVERS", 0.5)
    for name, state in list(STATES.items()):
        monkeypatch.setitem(STATES, name, watched(name, state))
    ended = [converse(draft) is not None for draft in drafts()]
    monkeypatch.undo()
    assert len(ended) == 60
    assert went.keys() == STATES.keys()
    for name, to in went.items():
        assert to.keys() <= allowed(name)
    assert sum(to["end"] for to in went.values()) == sum(ended)
    assert sum(to["dropped"] for to in went.values()) == 60 - sum(ended)
    taken = {(name, to) for name, counts in went.items() for to in counts}
    drawn = {(name, to) for name in STATES for to in allowed(name)}
    assert {(a, b) for a, b in drawn - taken if b != "dropped"} == set()


def test_every_state_can_be_reached_and_left() -> None:
    """In the picture that the return types draw."""
    led_to = {to for state in STATES for to in allowed(state)}
    assert led_to - STATES.keys() == ENDS
    assert STATES.keys() - led_to <= {"query"}
    for state in STATES:
        seen = {state}
        while more := {to for s in seen & STATES.keys() for to in allowed(s)} - seen:
            seen |= more
        assert "end" in seen


def multi_turn() -> tuple[Candidate, ...]:
    """Conversations as they are drawn."""
    return candidates("multi_turn")


def test_a_conversation_has_two_or_three_turns_and_ten_messages_at_most() -> None:
    turns = Counter(len(each.example.turns) for each in multi_turn())
    assert turns.keys() == {2, 3}
    assert min(turns.values()) > 0.2 * sum(turns.values())
    for each in multi_turn():
        steps = each.example.paths[0].steps
        assert steps
        assert len(steps) + len(each.example.turns) <= MOST_LENGTH
        assert max(Counter(step.turn for step in steps).values()) <= machine.MOST_PLAN
        assert [step.turn for step in steps] == sorted(step.turn for step in steps)


def test_levels_come_at_their_shares() -> None:
    """Of those that are found: what is left out or sparse is not much harder to find."""
    levels = Counter(each.shape.level for each in multi_turn())
    for level, share in LEVELS.items():
        assert 100 * levels[level] / levels.total() == pytest.approx(100 * share, abs=WIDE)
    first = Counter(each.example.provenance.levels[0] for each in multi_turn())
    assert first["missing"] <= levels["missing"]


def test_every_persona_speaks() -> None:
    spoken = Counter(each.example.provenance.persona for each in multi_turn())
    assert spoken.keys() == set(PERSONAS)


def test_asking_turns_are_followed_by_the_answer() -> None:
    asked = 0
    for each in multi_turn():
        example, said = each.example, each.example.provenance
        for number, turn in enumerate(example.turns):
            assert (turn.asks is not None) == (said.levels[number] == "missing")
            if turn.asks is None:
                continue
            asked += 1
            (answer,) = said.slots[number + 1]
            assert said.levels[number + 1] == "answer"
            assert example.turns[number + 1].minutes == 0
            assert answer in example.turns[number + 1].text
            assert normal(answer) not in normal(turn.text)
            steps = example.paths[0].steps
            assert not [step for step in steps if step.turn == number]
            goal = [step for step in steps if step.turn == number + 1][-1]
            assert goal.writes or Toolbox.of(example).tools[goal.tool].writes
            assert turn.asks in goal.arguments
    assert asked > 20


def test_slots_come_through_every_persona_letter_by_letter() -> None:
    for each in multi_turn():
        example, said = each.example, each.example.provenance
        assert len(said.slots) == len(said.names) == len(said.levels) == len(example.turns)
        for turn, slots, named in zip(example.turns, said.slots, said.names, strict=True):
            for slot in slots:
                assert slot in turn.text
            for name, _ in named:
                assert is_said(name, turn.text)


def test_an_aside_has_no_calls_and_stands_where_the_knob_is_turned() -> None:
    asides = 0
    for each in multi_turn():
        levels = each.example.provenance.levels
        assert levels.count("aside") == ("irrelevance" in each.shape.knobs)
        if "aside" in levels:
            asides += 1
            at = levels.index("aside")
            assert not [step for step in each.example.paths[0].steps if step.turn == at]
    assert asides


def test_time_passes_only_between_turns() -> None:
    assert all(each.example.turns[0].minutes == 0 for each in multi_turn())
    later = Counter(t.minutes for each in multi_turn() for t in each.example.turns[1:])
    assert later.keys() == set(machine.MINUTES)


def test_no_question_is_asked_twice() -> None:
    for each in multi_turn():
        steps = [s for s in each.example.paths[0].steps if s.answers]
        calls = [(step.tool, str(literals(step.arguments))) for step in steps]
        assert len(set(calls)) == len(calls)
