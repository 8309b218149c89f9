"""The kinds of examples: multi-turn, clarification, abstention, irrelevance, and how each is made.

A candidate is a pure function of seed and number. Its shape (kind, knobs, information level) is
drawn first, which is cheap, so that a corpus can skip shapes it has enough of.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from random import Random
from typing import NamedTuple

from msgspec.structs import replace as put

from provegym import servers
from provegym.conversation.draft import LEVELS, Cast, Draft
from provegym.conversation.ground import Scene, scene
from provegym.conversation.machine import converse
from provegym.conversation.perturb import SHARES as KNOB_SHARES
from provegym.conversation.perturb import strangers
from provegym.graph.chains import Chain, ChainSampler
from provegym.graph.dependency import lasting
from provegym.language.personas import draw as draw_aside
from provegym.language.personas import styled
from provegym.trace import Example, Path, Provenance, Turn

SHARES = {"multi_turn": 10_895, "clarification": 1_500, "abstention": 806, "irrelevance": 316}
ALONE = 0.4
ALONE_EVERY = 6
WHYS = ("no_tool", "hidden", "missing", "knowledge", "beyond")


class Shape(NamedTuple):
    """The kind, knobs and information level of a candidate, fixed before it is made."""

    kind: str
    knobs: tuple[str, ...]
    level: str


class Place(NamedTuple):
    """Where a candidate is drawn: its server, world and number, and the other servers.

    `aliases` is the share of candidates that get other names.
    """

    server: str
    world: int
    seed: int
    number: int
    others: tuple[str, ...]
    held_out: bool = False
    aliases: float = 0.0

    @property
    def key(self) -> str:
        """The candidate's id."""
        return f"{self.server}-{self.seed}-{self.number}{'h' if self.held_out else ''}"


def shape(place: Place) -> Shape:
    """Draw the shape of a candidate, with the paper's shares of kinds, knobs and levels."""
    return next(shapes(place))


_shapes: dict[tuple[str, int, bool], list[Shape]] = {}
_ranks: dict[tuple[str, int, bool], list[int]] = {}
_same: dict[Shape, Shape] = {}


def shapes(place: Place) -> Iterator[Shape]:
    """The shapes of this candidate and of those after it, drawn once for each number."""
    known = _shapes.setdefault((place.server, place.seed, place.held_out), [])
    for number in count(place.number):
        while len(known) <= number:
            drawn = _draw_shape(place._replace(number=len(known)))
            known.append(_same.setdefault(drawn, drawn))
        yield known[number]


def _draw_shape(place: Place) -> Shape:
    chance = Random(f"shape {place.key}")
    kind = chance.choices(list(SHARES), list(SHARES.values()))[0]
    level = chance.choices(list(LEVELS), list(LEVELS.values()))[0]
    knobs = [name for name, share in KNOB_SHARES.items() if chance.random() < share]
    if kind != "multi_turn":
        knobs = [name for name in knobs if name != "irrelevance"]
    return Shape(kind, tuple(knobs), level if kind == "multi_turn" else "")


def rank(place: Place) -> int:
    """How many candidates of the same kind come before this one."""
    ranks = _ranks.setdefault((place.server, place.seed, place.held_out), [0])
    drawn = shapes(place._replace(number=len(ranks) - 1))
    while len(ranks) <= place.number:
        ranks.append(ranks[-1] + (next(drawn).kind == "multi_turn"))
    before = ranks[place.number]
    return before if shape(place).kind == "multi_turn" else place.number - before


def chain_of(name: str, index: int) -> Chain:
    """The chain a candidate follows: the next chain of the graph, or every sixth time one tool."""
    server = servers.load(name)
    alone, at = divmod(index, ALONE_EVERY)
    if at == 0:
        tools = list(server.tools)
        return Chain((tools[alone % len(tools)],), ())
    sampler, drawn = _chains(name)
    while len(drawn) <= index - alone:
        drawn.append(sampler.draw())
    return drawn[index - alone]


@cache
def _chains(name: str) -> tuple[ChainSampler, list[Chain]]:
    """The sampler of a server's chains, and the chains drawn so far."""
    return ChainSampler(lasting(servers.load(name)), 0), []


def multi_turn(place: Place, shape: Shape) -> Example | None:
    """Two or three turns. Their goals work on the world as earlier turns left it."""
    cast = Cast(
        level=shape.level, knobs=shape.knobs, others=_strangers(place), held_out=place.held_out
    )
    chain = chain_of(place.server, rank(place))
    draft = converse(Draft.begin(_scene(place), place.key, chain, cast))
    return draft.example if draft is not None and draft.steps else None


def clarification(place: Place, shape: Shape) -> Example | None:
    """A conversation with a request whose tools are hidden."""
    alone = Random(f"alone {place.key}").random() < ALONE
    return _hidden(place, shape.knobs, "clarification", (1, 1) if alone else (2, 3))


def _hidden(
    place: Place, knobs: tuple[str, ...], kind: str, turns: tuple[int, int]
) -> Example | None:
    """A conversation in which one write is hidden and one turn asks for it."""
    server = servers.load(place.server)
    writes = [tool.name for tool in server.tools.values() if tool.writes]
    hidden = writes[place.number % len(writes)]
    cast = Cast("complete", knobs, (hidden,), turns, _strangers(place), place.held_out)
    chain = chain_of(place.server, place.number + 1)
    if hidden in chain.tools:
        chain = Chain((Random(place.key).choice([t for t in server.tools if t != hidden]),), ())
    draft = converse(Draft.begin(_scene(place), place.key, chain, cast))
    if draft is None:
        return None
    example = draft.note(would_serve=draft.example.toolbox.hidden).example
    return put(example, kind=kind)


def abstention(place: Place, shape: Shape) -> Example | None:
    """A request for which no call is right, for one of five reasons."""
    chance = Random(f"abstention {place.key}")
    why = chance.choice(WHYS)
    if why == "hidden":
        return _hidden(place, shape.knobs, "abstention", (1, 1))
    if why == "missing":
        return _asks_back(place, shape)
    if why == "no_tool":
        return _elsewhere(place, shape, "abstention")
    return _nothing_fits(place, shape, "abstention", draw_aside(why, chance), why)


def _asks_back(place: Place, shape: Shape) -> Example | None:
    """A request without a required argument, and no further turn."""
    server = servers.load(place.server)
    writes = [tool.name for tool in server.tools.values() if tool.writes]
    chain = Chain((writes[place.number % len(writes)],), ())
    cast = Cast("missing", shape.knobs, (), (2, 2), _strangers(place), place.held_out)
    draft = converse(Draft.begin(_scene(place), place.key, chain, cast))
    if draft is None or draft.turns[0].asks is None:
        return None
    made = draft.example.provenance
    provenance = Provenance(
        made=made.made,
        persona=made.persona,
        slots=made.slots[:1],
        names=made.names[:1],
        levels=made.levels[:1],
        why="missing",
    )
    return put(
        draft.example,
        kind="abstention",
        turns=draft.turns[:1],
        paths=(Path(),),
        provenance=provenance,
    )


def _elsewhere(place: Place, shape: Shape, kind: str) -> Example | None:
    """A request for an unrelated server whose tools are not shown."""
    chance = Random(f"elsewhere {place.key}")
    other = chance.choice(_strangers(place))
    writes = [tool.name for tool in servers.load(other).tools.values() if tool.writes]
    chain = Chain((chance.choice(writes),), ())
    cast = Cast(turns=(1, 1), held_out=place.held_out)
    key = f"{place.key} elsewhere"
    draft = converse(Draft.begin(scene(other, place.world), key, chain, cast))
    if draft is None:
        return None
    made = draft.example.provenance
    if made.attempts or made.infeasible:
        return None
    near = strangers(other, place.others)
    others = tuple(name for name in _strangers(place) if name in near)
    asked = Provenance(
        made=made.made,
        persona=made.persona,
        slots=made.slots,
        levels=("aside",),
        why="no_tool",
        elsewhere=other,
    )
    here = _begin_alone(place, shape, others).example
    return put(here, kind=kind, turns=(Turn(text=draft.turns[0].text),), provenance=asked)


def irrelevance(place: Place, shape: Shape) -> Example | None:
    """Small talk, or a request for an unrelated server."""
    chance = Random(f"irrelevance {place.key}")
    if chance.random() < 0.5:
        return _elsewhere(place, shape, "irrelevance")
    text = draw_aside("smalltalk", chance)
    return _nothing_fits(place, shape, "irrelevance", text, "smalltalk")


def _nothing_fits(place: Place, shape: Shape, kind: str, text: str, why: str) -> Example:
    """One turn that no tool here serves, in the style of a persona."""
    draft = _begin_alone(place, shape, _strangers(place))
    text = styled(text, draft.persona, [], draft.chance)
    asked = put(draft.example.provenance, slots=((),), levels=("aside",), why=why)
    return put(draft.example, kind=kind, turns=(Turn(text=text),), provenance=asked)


def _begin_alone(place: Place, shape: Shape, others: tuple[str, ...]) -> Draft:
    """The empty draft of a conversation without calls."""
    chain = Chain((next(iter(servers.load(place.server).tools)),), ())
    return Draft.begin(_scene(place), place.key, chain, Cast(knobs=shape.knobs, others=others))


def _scene(place: Place) -> Scene:
    return scene(place.server, place.world)


def _strangers(place: Place) -> tuple[str, ...]:
    return tuple(strangers(place.server, place.others))


KINDS: dict[str, Callable[[Place, Shape], Example | None]] = {
    make.__name__: make for make in (multi_turn, clarification, abstention, irrelevance)
}


def candidate(place: Place, shape: Shape) -> Example | None:
    """Make a candidate, not yet completed and verified; None if no suitable goal was found."""
    return KINDS[shape.kind](place, shape)
