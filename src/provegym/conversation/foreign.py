"""Conversations on a foreign MCP server, from its schemas and its results alone.

The user asks for tools by name and says every value; texts are in quotes. Goals are calls that
worked when the server was explored, or similar calls. Texts of the server are untrusted data: the
user's words contain names of tools and arguments, but no descriptions.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from random import Random
from typing import Any, Self

from msgspec.structs import replace as put

from provegym import servers
from provegym.conversation.draft import Cast, Draft
from provegym.conversation.goals import plan_turn
from provegym.conversation.ground import Scene, explored, scene
from provegym.conversation.kinds import SHARES, Place, Shape
from provegym.conversation.machine import STATES
from provegym.conversation.perturb import SHARES as KNOB_SHARES
from provegym.conversation.plan import Goal, Planner, borrower
from provegym.fuzz.pool import folded
from provegym.graph.chains import Chain, ChainSampler
from provegym.graph.dependency import cached
from provegym.graph.observe import FILES, Observer
from provegym.graph.slots import filled, spots, taken
from provegym.hosts.foreign_answers import has_effect, no_answer
from provegym.kernel import AnyServer, Seed, Session, Tool
from provegym.language.personas import capital, expand, styled, words
from provegym.language.personas import draw as draw_aside
from provegym.language.phrasing import Phrase, Voice
from provegym.language.questions import MOST_ANSWERS
from provegym.language.spoken import listed
from provegym.language.things import FOREIGN_NOUN
from provegym.language.values import leaves, normal
from provegym.servers import people
from provegym.trace import Example, Json, Path, Turn

WORLD = 0
KINDS = ("multi_turn", "irrelevance")
LEVELS = ("complete", "complete", "complete", "minimal")
TRIES, DRAWS, GOALS = 6, 3, 4
EVERY = 3
REPEATED, FOLLOWS = 0.7, 0.5
LONGEST, MOST_PARTS, MOST_FIELDS = 80, 2, 6
# Texts that the fuzzer makes up. A user would neither say nor search for them.
MADE_UP = re.compile(r"quiet\d+|Quiet Harbour \d+|(?<![^/_@:. -])(?:7\d{3})+$")


@cache
def phrases() -> dict[str, list[str]]:
    """The phrase templates of `foreign.toml`."""
    return tomllib.loads(files(__package__).joinpath("foreign.toml").read_text("utf-8"))


def in_words(name: str) -> str:
    """The name of a tool or an argument in words: createEntities → create entities."""
    return " ".join(re.findall(r"\w+", folded(name).replace("_", " "))) or "that"


def asks_of(server: AnyServer) -> dict[str, Any]:
    """Phrase templates for the tools of a server, made from names alone, as in an asks.toml."""
    ways = {
        name: [_way(tool, frame) for frame in phrases()["frames"]]
        for name, tool in server.tools.items()
    }
    return {"asks": ways, "refer": {FOREIGN_NOUN: phrases()["refer"]}}


def _way(tool: Tool, frame: str) -> str:
    """A phrase template for a tool: the required arguments first, then the optional ones."""
    schema = tool.input_schema
    needed = [f"{{{name}}}" for name in schema["required"]]
    spare = "".join(f"[, {{{n}}}]" for n in schema["properties"] if n not in schema["required"])
    told = f" with {listed(needed)}" if needed else ""
    order = in_words(tool.name)
    order = order if order.partition(" ")[0] in phrases()["verbs"] else f"run {order}"
    way = frame.replace("[ with {}]", told + spare).replace("{order}", order)
    return capital(way)


class ForeignVoice(Voice):
    """A user who says each value with the name of its argument, and quotes texts."""

    def phrase(self, tool: Tool, argument: str, value: Any) -> Phrase | None:
        """A value with the name of its argument, or None if it cannot be said."""
        said = self._said(value)
        parts = value if isinstance(value, list) else [value]
        if said is None or any(isinstance(part, dict) for part in parts):
            return said
        about = in_words(argument)
        return said._replace(
            text=f"{about.removesuffix(' id') if said.names else about} {said.text}"
        )

    def _said(self, value: Any) -> Phrase | None:
        if isinstance(value, str):
            return self._quoted(value)
        if isinstance(value, bool):
            return Phrase("on" if value else "off", derived=True)
        if isinstance(value, int | float):
            return Phrase(f"{value:.15g}")
        if isinstance(value, list):
            parts = [self._said(part) for part in value]
            return _together(parts) if len(parts) <= MOST_PARTS else None
        if isinstance(value, dict):
            told = ((name, self._said(part)) for name, part in value.items())
            parts = [said and said._replace(text=f"{in_words(n)} {said.text}") for n, said in told]
            return _together(parts) if len(parts) <= MOST_FIELDS else None
        return None

    def _quoted(self, value: str) -> Phrase | None:
        thing = self.things.get(value)
        text = self.chance.choice(thing.names) if thing else value
        if not re.search(r"\w", text) or '"' in text or not text.isprintable():
            return None
        if len(text) > LONGEST:
            return None
        return Phrase(f'"{text}"', names=((text, value),) if thing else ())


def _together(parts: list[Phrase | None]) -> Phrase | None:
    told = [part for part in parts if part is not None]
    if not told or len(told) < len(parts):
        return None
    names = tuple(name for part in told for name in part.names)
    return Phrase(listed([p.text for p in told]), any(p.derived for p in told), names)


class ForeignPlanner(Planner):
    """Draws goals from calls that worked during exploration, as a try may restart the server."""

    @property
    def seen(self) -> Observer:
        """The exploration of the server."""
        return explored(self.server)

    def draw(
        self, session: Session, tool: Tool, level: str, fixed: Json, shows: Sequence[str] = ()
    ) -> Goal | None:
        """Draw a goal: a call that works (some read must show the effect of a write), and words."""
        for _ in range(TRIES):
            arguments = self.arguments(tool, fixed, spare=level == "complete")
            answers: tuple[str, ...] = ()
            if not tool.writes:
                if any(map(_is_made_up, leaves(arguments))):
                    continue
                outcome = session.fork().call(tool.name, arguments)
                self.fuzzer.learn(tool, arguments, outcome)
                if not outcome.ok:
                    continue
                arguments = self._telling(session, tool, arguments, outcome)
                if no_answer(session, tool, arguments):
                    continue
                answers = answer_pointers(outcome.value, arguments)
            said = self.put(tool, arguments, level)
            unknown = self.unknown(arguments)
            if said is None or unknown is None:
                continue
            if answers or (tool.writes and has_effect(session, tool, arguments)):
                return Goal(tool.name, arguments, said, unknown, answers)
        return None

    def arguments(self, tool: Tool, fixed: Json, *, spare: bool) -> Json:
        """Arguments that worked before, or arguments drawn from the results of reads."""
        if self.chance.random() < REPEATED:
            given = self.chance.choice(self.seen.worked[tool.name]).arguments
            required = tool.input_schema["required"]
            given = {n: v for n, v in given.items() if v is not None and (spare or n in required)}
        else:
            given = super().arguments(tool, {}, spare=spare)
        given = {name: _shorter(value) for name, value in given.items()}
        return {**(self._named_anew(tool, given) if tool.writes else given), **fixed}

    def _named_anew(self, tool: Tool, given: Json) -> Json:
        """The arguments with natural names for made-up texts, and wherever any text works.

        Otherwise a user would ask to note words of the server, such as the name of a state.
        """
        tried = [spots(each.arguments) for each in self.seen.worked[tool.name]]
        free = {pointer for each in tried for pointer, text in each if _is_made_up(text)}
        for pointer, text in list(spots(given)):
            path = tuple(pointer.split("/")[1:])
            if not isinstance(text, str) or taken(given, path) != text or self.voice.thing(text):
                continue
            if _is_made_up(text) or pointer in free:
                told = self._name_like(text, is_file=FILES.search(pointer) is not None)
                given = filled(given, path, told)
        return given

    def _name_like(self, text: str, *, is_file: bool) -> str:
        name = expand(self.chance.choice(phrases()["names"]), words(), self.chance)
        folder, slash, last = text.rpartition("/")
        if not (slash and is_file):
            return name if " " in text else name.split()[-1]
        _, dot, ending = last.rpartition(".")
        return f"{folder}/{name.replace(' ', '-').lower()}{dot}{ending if dot else ''}"


@lru_cache(maxsize=4)
def usable(server: AnyServer) -> tuple[str, ...]:
    """The tools that can be goals: reads with an answer, and writes whose effect a read shows."""
    seen = explored(server)
    return tuple(tool.name for tool in server.tools.values() if _is_usable(seen, tool))


def _is_usable(seen: Observer, tool: Tool) -> bool:
    worked = seen.worked.get(tool.name, [])
    if tool.writes:
        base = seen.base.session
        return any(has_effect(base, tool, t.arguments) for t in worked[:TRIES])
    return any(
        answer_pointers(t.outcome.value, t.arguments)
        for t in worked
        if not any(map(_is_made_up, leaves(t.arguments)))
    )


def _is_made_up(value: Any) -> bool:
    return isinstance(value, str) and MADE_UP.search(value) is not None


def _shorter(value: Any) -> Any:
    """The value with one element for a list of records, and at most two for any other list.

    Texts that the fuzzer made up are removed from a list that has others. Numbers become whole:
    nobody asks for 6.336 results.
    """
    if isinstance(value, float) and abs(value) >= 1:
        return round(value)
    if isinstance(value, dict):
        return {name: _shorter(part) for name, part in value.items()}
    if not isinstance(value, list):
        return value
    parts = [part for at, part in enumerate(value) if part not in value[:at]]
    parts = [part for part in parts if not _is_made_up(part)] or parts[:1]
    most = 1 if any(isinstance(part, dict) for part in parts) else MOST_PARTS
    return [_shorter(part) for part in parts[:most]]


def answer_pointers(result: Json, arguments: Json) -> tuple[str, ...]:
    """JSON pointers to the top-level parts of a result that hold new values.

    A list is an answer as a whole, so a read that shows only some of it is no other solution.
    """
    given = {normal(leaf) for leaf in leaves(arguments)}
    telling = (
        f"/{name}"
        for name, value in result.items()
        if "/" not in name and any(normal(leaf) not in given for leaf in leaves(value))
    )
    return tuple(telling)[:MOST_ANSWERS]


@dataclass(frozen=True)
class ForeignDraft(Draft):
    """A draft on a foreign server: its tables cannot be read, its clock cannot be set."""

    @classmethod
    def begin(cls, scene: Scene, key: str, chain: Chain, cast: Cast) -> Self:
        """The empty draft of a conversation."""
        draft = super().begin(scene, key, chain, cast)
        voice = ForeignVoice(scene.server, scene.survey, draft.chance, draft.session.now)
        fuzzer = borrower(scene.server, draft.chance, explored(scene.server).pool)
        user = people.acting_user(Seed(scene.seed))
        system = f"You act for {user.name}, with the tools given."
        return replace(
            draft,
            planner=ForeignPlanner(scene.server, voice, fuzzer),
            example=put(draft.example, system=system),
        )

    def next_level(self) -> str:
        """The information level of the next turn. No required value is ever left out."""
        return self.chance.choice(LEVELS) if self.has_asked else self.level

    def candidates(self) -> tuple[list[Tool], Self]:
        """Tools for the next goal: the chain's next, else tools that depend on earlier calls."""
        follows = [edge.target for edge in self.scene.edges if edge.source in self.results]
        rest = list(usable(self.server))
        self.chance.shuffle(rest)
        names = [*follows, *rest] if self.chance.random() < FOLLOWS else rest
        names = [self.wanted[0]] if self.wanted else names
        fitting = [name for name in dict.fromkeys(names) if name in rest]
        tools = [self.server.tools[name] for name in fitting[:GOALS]]
        return tools, replace(self, wanted=self.wanted[1:])

    def learn(self, tool: str, arguments: Json, session: Session) -> Self:
        """Call a tool on a session. The user then knows its result."""
        value = session.call(tool, arguments).value
        results = {**self.results, tool: (arguments, value)}
        has_written = self.has_written or self.server.tools[tool].writes
        seen = self.speak_as(self.voice.see(value))
        return replace(seen, results=results, has_written=has_written)

    def remember(self) -> Self:
        """End the turn. Entities keep their names; there are no pronouns."""
        return replace(self, goals=(), road=())


def converse(draft: Draft) -> Draft | None:
    """Run the state machine to its end, without asides and refusals; None if dropped."""
    at = "query"
    while at not in ("end", "dropped"):
        at, draft = _query(draft) if at == "query" else STATES[at](draft)
    return draft if at == "end" else None


def _query(draft: Draft) -> tuple[str, Draft]:
    found, draft = plan_turn(draft.open_turn(minutes=0), DRAWS)
    return ("turn" if found else "dropped"), draft


def shape(place: Place) -> Shape:
    """Draw the shape of a candidate, with only the knobs that this server allows."""
    server, chance = servers.load(place.server), Random(f"shape {place.key}")
    kind = chance.choices(KINDS, [SHARES[kind] for kind in KINDS])[0]
    parts = [p for tool in server.tools.values() for p in tool.input_schema["properties"].values()]
    can = {"distractors": bool(others(server)), "stripped": any("enum" in part for part in parts)}
    knobs = [name for name in can if chance.random() < KNOB_SHARES[name] and can[name]]
    return Shape(kind, tuple(knobs), chance.choice(LEVELS) if kind == "multi_turn" else "")


def others(server: AnyServer) -> tuple[str, ...]:
    """The servers of ours that share no tool name with this server."""
    return tuple(n for n in servers.names() if not servers.load(n).tools.keys() & server.tools)


def candidate(place: Place, shape: Shape) -> Example | None:
    """Make a candidate, not yet completed and verified; None if no suitable goal was found."""
    server = servers.load(place.server)
    cast = Cast(shape.level, shape.knobs, others=others(server))
    chain = chain_of(server, place.number)
    draft = ForeignDraft.begin(scene(place.server, WORLD), place.key, chain, cast)
    if shape.kind == "irrelevance":
        return _small_talk(draft)
    done = converse(draft)
    return None if done is None else done.example


def _small_talk(draft: Draft) -> Example:
    """An example of small talk, which needs no tool."""
    text = styled(draw_aside("smalltalk", draft.chance), draft.persona, [], draft.chance)
    made = put(draft.example.provenance, slots=((),), levels=("aside",), why="smalltalk")
    turns = (Turn(text=text),)
    return put(draft.example, kind="irrelevance", turns=turns, paths=(Path(),), provenance=made)


@lru_cache(maxsize=4)
def _chains(server: AnyServer) -> tuple[ChainSampler, list[Chain]]:
    return ChainSampler(cached(server), 0), []


def chain_of(server: AnyServer, number: int) -> Chain:
    """The chain a candidate follows: every third time a chain of the graph, else one tool."""
    sampler, drawn = _chains(server)
    if number % EVERY or not sampler.edges:
        return Chain((usable(server)[number % len(usable(server))],), ())
    while len(drawn) <= number // EVERY:
        drawn.append(sampler.draw())
    return drawn[number // EVERY]
