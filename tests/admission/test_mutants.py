"""Mutants of a world: a server without one guard or effect, and the examples that notice it."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from admission.boats import boats
from provegym import servers
from provegym.admission.examples import Maker, cover
from provegym.admission.mutants import Audit, further, mutants, play
from provegym.graph.dependency import build, give
from provegym.kernel import AnyServer, Session
from provegym.trace import Example, Json, literals
from provegym.verify.complete import complete_and_replay
from provegym.verify.contract import problems
from provegym.worlds.build import install

SPEC = boats("boats_of_mutants")


@cache
def server() -> AnyServer:
    """The server of the boat hire, with its graph."""
    made = install(SPEC)
    give(build(made))
    return made


@cache
def examples() -> list[Example]:
    """Examples that use every tool of it."""
    return cover(Maker(server()))


def test_there_is_a_mutant_for_each_guard_and_for_each_effect_that_can_be_left_out() -> None:
    parts = Counter((mutant.tool, mutant.part) for mutant in mutants(SPEC, server()))
    assert parts == {
        ("hire_out_boat", "guard"): 2,
        ("hire_out_boat", "effect"): 1,  # a call that makes a hire has to return it
        ("take_back_boat", "guard"): 1,
        ("take_back_boat", "effect"): 2,
        ("repair_boat", "guard"): 1,
        ("repair_boat", "effect"): 1,
    }


def test_a_mutant_differs_in_one_tool_alone() -> None:
    for mutant in mutants(SPEC, server()):
        plain, tools = server().tools, mutant.server.tools
        assert [name for name, tool in tools.items() if tool != plain[name]] == [mutant.tool]
        assert tools[mutant.tool].input_schema == plain[mutant.tool].input_schema
        assert mutant.server.world(3).digest() == server().world(3).digest()


def test_examples_use_every_tool_and_play_alike_on_the_same_server() -> None:
    used = {step.tool for example in examples() for step in example.paths[0].steps}
    assert used == server().tools.keys()
    for example in examples():
        assert play(example, server()) == play(example, server())


@pytest.mark.parametrize(("name", "number"), [("hire_out_boat", 1), ("take_back_boat", 0)])
def test_an_effect_that_is_missing_changes_what_is_seen(name: str, number: int) -> None:
    mutant = next(
        each
        for each in mutants(SPEC, server())
        if (each.tool, each.part, each.number) == (name, "effect", number)
    )
    maker = Maker(server())
    using = [made for _ in range(6) if (made := maker.make([name], "complete"))]
    seen = [(play(each, server()), play(each, mutant.server)) for each in using]
    # A later call may set the same value, so not every example notices it.
    assert any(plain[-1] != changed[-1] for plain, changed in seen), "the final diff differs"


def test_further_examples_notice_guards_by_calls_that_they_alone_refuse() -> None:
    found = Audit(SPEC, server())
    for example in examples():
        found.look(example)
    missed = len(found.missed)
    made = list(further(Maker(server()), found))
    assert len(found.missed) < missed
    assert not [mutant for mutant in found.missed if mutant.part == "effect"]
    refused = [each for each in made if each.provenance.attempts or each.provenance.infeasible]
    assert refused, "some example has a call that a rule refuses"


def test_a_slip_is_a_wrong_value_that_was_shown_and_that_one_guard_refuses() -> None:
    guard = next(each for each in mutants(SPEC, server()) if each.part == "guard")

    def suits(session: Session, arguments: Json) -> bool:
        return session.on(guard.server).call(guard.tool, arguments).ok

    maker = Maker(server())
    made = [maker.make([guard.tool], "minimal", slips=guard.tool, suits=suits) for _ in range(20)]
    found = [each for each in made if each is not None]
    assert found
    for example in found:
        [slip] = example.provenance.attempts
        goal = example.paths[0].steps[slip.before]
        right = literals(goal.arguments)
        assert goal.tool == slip.tool == guard.tool
        assert len([name for name in right if slip.arguments[name] != right[name]]) == 1
        assert play(example, server()) != play(example, guard.server)
        assert not list(problems(*complete_and_replay(example)))


@pytest.fixture(autouse=True, scope="module")
def _forget() -> Iterator[None]:
    yield
    servers.forget(SPEC.name)
