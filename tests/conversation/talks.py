"""Goals and candidates that several tests look at, each drawn once."""

from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import NamedTuple

from provegym.conversation.ground import scene
from provegym.conversation.kinds import Place, Shape, candidate, shape
from provegym.conversation.plan import Goal, Planner, borrower
from provegym.kernel import Session, Tool
from provegym.language.phrasing import Voice
from provegym.servers import load, names
from provegym.trace import Example
from provegym.verify.complete import complete_and_replay
from provegym.verify.contract import verify

WORLDS = 2


class Drawn(NamedTuple):
    """A goal, with the world it was drawn on and whoever drew it."""

    goal: Goal
    session: Session
    planner: Planner

    @property
    def tool(self) -> Tool:
        """The goal's tool."""
        return self.planner.server.tools[self.goal.tool]


def planner(name: str, world: int, key: str = "", *, held_out: bool = False) -> Planner:
    """A planner for a new conversation on one world."""
    setting = scene(name, world)
    now = Session([setting.server], world).now
    chance = Random(f"{name} {world} {key}")
    voice = Voice(setting.server, setting.survey, chance, now, held_out)
    return Planner(setting.server, voice, borrower(setting.server, chance, setting.pool))


@cache
def goals(name: str, world: int, level: str = "complete") -> tuple[Drawn, ...]:
    """A goal for every tool of a server that has one on a world."""
    return tuple(_goals(name, world, level))


def _goals(name: str, world: int, level: str) -> Iterator[Drawn]:
    for tool in load(name).tools.values():
        plan, session = planner(name, world, f"{tool.name} {level}"), Session([load(name)], world)
        goal = plan.draw(session, tool, level, {})
        if goal is not None:
            yield Drawn(goal, session, plan)


def every_goal(level: str = "complete") -> Iterator[Drawn]:
    """The goals of every server on a few worlds."""
    for name in names():
        for world in range(WORLDS):
            yield from goals(name, world, level)


class Candidate(NamedTuple):
    """A candidate, with the place and shape it was drawn for."""

    place: Place
    shape: Shape
    example: Example


def place(name: str, number: int, *, held_out: bool = False) -> Place:
    """A place to draw a candidate at, on one of a few worlds."""
    world = number % WORLDS + (900 if held_out else 0)
    return Place(name, world, 5, number, names(), held_out)


@cache
def candidates(kind: str, per_server: int = 6) -> tuple[Candidate, ...]:
    """Candidates of one kind on every server, as they are drawn."""
    return tuple(_candidates(kind, per_server))


def _candidates(kind: str, per_server: int) -> Iterator[Candidate]:
    for name in names():
        number = wanted = 0
        while wanted < per_server:
            spot = place(name, number)
            sort = shape(spot)
            number += 1
            if sort.kind == kind:
                wanted += 1
                example = candidate(spot, sort)
                if example is not None:
                    yield Candidate(spot, sort, example)


def verified(kind: str, wanted: Callable[[Example], object]) -> Iterator[Example]:
    """The candidates of a kind that are wanted and keep the contract, completed."""
    for each in candidates(kind):
        if wanted(each.example):
            example, gold = complete_and_replay(each.example)
            if not verify(example, gold):
                yield example
