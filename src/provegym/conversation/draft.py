"""An immutable draft of a conversation: its example so far, its live world and its plan.

Each operation returns another draft, and the world is forked (copy-on-write) before a call. So a
failed try is undone by keeping the old draft. All drafts of a conversation share two mutable
objects, so that no draw is repeated: the random generator, and the fuzzer, which learns which
arguments work.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, NamedTuple, Self

from msgspec.structs import replace as put

from provegym.conversation.ground import Scene
from provegym.conversation.perturb import perturb
from provegym.conversation.plan import Goal, Planner, borrower
from provegym.conversation.recover import GiveUp, Suits
from provegym.fuzz.pool import snake
from provegym.graph.chains import Chain
from provegym.kernel import AnyServer, Seed, Session, Tool
from provegym.language.personas import PERSONAS, styled
from provegym.language.personas import answer as style_answer
from provegym.language.phrasing import Said, Voice
from provegym.language.sentences import join, sentences
from provegym.language.things import noun_of, survey
from provegym.language.values import leaves, made_up
from provegym.search import Road
from provegym.servers import people
from provegym.toolbox import Toolbox
from provegym.trace import Attempt, Example, Json, Path, Provenance, RelationClaim, Step, Turn

MOST_LENGTH = 10
LEVELS = {"complete": 0.60, "missing": 0.20, "minimal": 0.20}
CARELESS = ("terse", "typos")
FOLLOWS = 0.85
READS = 0.3
GOALS = 8
AVOIDS = 0.35
TAKING, BARE = 0.75, 0.4
CODE = re.compile(r"[A-Z0-9-]{4,}")


class Cast(NamedTuple):
    """The settings of a conversation, fixed before it begins.

    `refuses` is a tool whose rules shall refuse the first request, with arguments that `suits`.
    `slips` is a tool that is first called with a wrong value, which a rule refuses, if it `suits`.
    """

    level: str = "complete"
    knobs: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    turns: tuple[int, int] = (2, 3)
    others: tuple[str, ...] = ()
    held_out: bool = False
    refuses: str = ""
    slips: str = ""
    suits: Suits | None = None


@dataclass(frozen=True)
class Draft:
    """An unfinished conversation on one scene, along one chain of tools.

    `wanted` are the tools of the chain that the user has yet to ask for. `avoid` is a lookup that
    this conversation does not use. `due` maps events that happen once to their earliest turn.
    `results` holds the last call of each tool: its arguments and its result. The last five fields
    are the plan of the current turn.
    """

    scene: Scene
    chain: Chain
    cast: Cast
    example: Example
    toolbox: Toolbox
    session: Session
    planner: Planner
    wanted: tuple[str, ...]
    avoid: str
    due: Mapping[str, int]
    level: str
    results: Mapping[str, tuple[Json, Any]] = field(default_factory=dict)
    has_written: bool = False
    minutes: int = 0
    goals: tuple[Goal, ...] = ()
    road: Road = ()
    refused: GiveUp | None = None
    tried: tuple[Attempt, ...] = ()

    @classmethod
    def begin(cls, scene: Scene, key: str, chain: Chain, cast: Cast) -> Self:
        """The empty draft of a conversation. The key seeds its random generator."""
        chance = Random(key)
        session = Session([scene.server], scene.seed)
        persona = chance.choice(list(PERSONAS))
        voice = Voice(scene.server, scene.survey, chance, session.now, cast.held_out)
        planner = Planner(scene.server, voice, borrower(scene.server, chance, scene.pool))
        due = _due(cast, chance)
        wanted = _asked_for(scene.server, chain, chance)
        avoid = scene.hub if chance.random() < AVOIDS else ""
        example = Example(
            id=key,
            kind="multi_turn",
            server=scene.server.name,
            server_version=scene.server.version,
            seed=scene.seed,
            digest="",
            system=_system(scene.seed, session),
            turns=(),
            paths=(Path(),),
            toolbox=perturb(scene.server, cast.knobs, cast.others, chance),
            knobs=cast.knobs,
            provenance=Provenance(made="offline", persona=persona),
        )
        draft = cls(
            scene=scene,
            chain=chain,
            cast=cast,
            example=example,
            toolbox=Toolbox.of(example),
            session=session,
            planner=planner,
            wanted=wanted,
            avoid=avoid,
            due=due,
            level=cast.level,
        )
        return draft.hide(cast.hidden) if cast.hidden else draft

    @property
    def server(self) -> AnyServer:
        """The server whose tools the user asks for."""
        return self.scene.server

    @property
    def voice(self) -> Voice:
        """What the user knows and how they speak."""
        return self.planner.voice

    @property
    def chance(self) -> Random:
        """The conversation's random generator."""
        return self.planner.chance

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The user's turns so far."""
        return self.example.turns

    @property
    def steps(self) -> tuple[Step, ...]:
        """The reference calls so far."""
        return self.example.paths[0].steps

    @property
    def persona(self) -> str:
        """The style in which the user speaks."""
        return self.example.provenance.persona

    @property
    def has_asked(self) -> bool:
        """Whether the user has asked for something before; small talk does not count."""
        return any(level != "aside" for level in self.example.provenance.levels)

    def has_time(self, more: int) -> bool:
        """Whether `more` user turns are still allowed."""
        return len(self.turns) + more <= self.cast.turns[1]

    def is_due(self, what: str) -> bool:
        """Whether an event that happens once may happen now."""
        return len(self.turns) >= self.due.get(what, MOST_LENGTH)

    def tools(self, *, writes: bool) -> list[Tool]:
        """The server's writes, or its reads, without the hidden ones."""
        hidden = self.example.toolbox.hidden
        return [
            t for t in self.server.tools.values() if t.writes == writes and t.name not in hidden
        ]

    def without_due(self, what: str) -> Self:
        """The draft after an event that happens once."""
        return replace(self, due={name: turn for name, turn in self.due.items() if name != what})

    def hide(self, tools: Sequence[str]) -> Self:
        """Take tools out of the toolbox, for the whole conversation."""
        spec = self.example.toolbox
        hidden = tuple(dict.fromkeys((*spec.hidden, *tools)))
        stripped = tuple(m for m in spec.stripped if m.partition(".")[0] not in hidden)
        example = put(self.example, toolbox=put(spec, hidden=hidden, stripped=stripped))
        return replace(self, example=example, toolbox=Toolbox.of(example))

    def speak_as(self, voice: Voice) -> Self:
        """The draft with another voice: a user with other knowledge."""
        return replace(self, planner=replace(self.planner, voice=voice))

    def note(self, **changes: Any) -> Self:
        """The draft with more in its provenance."""
        provenance = put(self.example.provenance, **changes)
        return replace(self, example=put(self.example, provenance=provenance))

    def open_turn(self, minutes: int) -> Self:
        """Begin a turn: time passes, and the entities are surveyed again if they may differ."""
        session = self.session.fork()
        session.advance(minutes)
        voice = replace(self.voice, now=session.now, fresh=frozenset())
        if self.has_written or minutes:
            voice = replace(voice, survey=survey(session))
        opened = replace(self, session=session, minutes=minutes, has_written=False)
        return replace(opened.speak_as(voice), level=self.next_level())

    def next_level(self) -> str:
        """The information level of the next turn: from the cast at first, then random."""
        level = self.level
        if self.has_asked:
            level = self.chance.choices(list(LEVELS), list(LEVELS.values()))[0]
        return "complete" if level == "missing" and not self.has_time(2) else level

    def candidates(self) -> tuple[list[Tool], Self]:
        """Tools for the next goal: the chain's next, else tools that depend on earlier calls.

        A tool of the chain is tried once: the returned draft no longer wants it.
        """
        beyond = self.scene.beyond if self.avoid else frozenset()
        for at, name in enumerate(self.wanted):
            if name not in beyond:
                return [self.server.tools[name]], replace(self, wanted=self.wanted[at + 1 :])
        reads = self.chance.random() < READS
        follows = [edge.target for edge in self.scene.edges if edge.source in self.results]
        self.chance.shuffle(follows)
        rest = [tool.name for tool in self.tools(writes=not reads)]
        self.chance.shuffle(rest)
        names = [*follows, *rest] if self.chance.random() < FOLLOWS else rest
        hidden = self.example.toolbox.hidden
        unique = [n for n in dict.fromkeys(names) if n not in hidden and n not in beyond]
        fitting = [n for n in unique if self.server.tools[n].writes != reads or n in rest]
        tools = [self.server.tools[name] for name in (fitting or unique)[:GOALS]]
        return tools, replace(self, wanted=())

    def learn(self, tool: str, arguments: Json, session: Session) -> Self:
        """Call a tool on a session. The user then knows its result and the records it made."""
        value = session.call(tool, arguments).value
        voice = self.voice.see(value)
        writes = self.server.tools[tool].writes
        if writes:
            changes = session.changes(tool)
            voice = voice.wait_for(made_up(arguments, changes))
            for change in changes:
                noun = snake(self.server.state.tables[change.table])
                if change.before is None and change.key in voice.shown:
                    voice = voice.call_it(change.key, noun, new=True)
        results = {**self.results, tool: (arguments, value)}
        has_written = self.has_written or writes
        return replace(self.speak_as(voice), results=results, has_written=has_written)

    def call(self, tool: str, arguments: Json, answers: tuple[str, ...] = ()) -> Self:
        """Make a reference call of this turn."""
        step = Step(turn=len(self.turns) - 1, tool=tool, arguments=arguments, answers=answers)
        session = self.session.fork()
        made = replace(self.learn(tool, arguments, session), session=session)
        example = put(made.example, paths=(Path(steps=(*self.steps, step)),))
        results = (*made.planner.results, made.results[tool])
        return replace(made, example=example, planner=replace(made.planner, results=results))

    def say(self, said: Sequence[Said], asks: str | None = None) -> Self:
        """Add the user's turn, in the style of the persona."""
        slots = [slot for each in said for slot in each.slots]
        text = join(said, self.chance)
        text = styled(text, self.persona, slots, self.chance, self._place())
        if self.persona not in CARELESS:
            text, slots = sentences(text, slots)
        relations = tuple(
            RelationClaim(turn=len(self.turns), phrase=phrase, **relation._asdict())
            for each in said
            for phrase, relation in each.relations
        )
        names = [name for each in said for name in each.names]
        turn = Turn(text=text, minutes=self.minutes, asks=asks)
        made = self.add_turn(turn, self.level, slots, names)
        return made.note(relations=(*made.example.provenance.relations, *relations))

    def _place(self) -> str:
        """Where the next turn stands: first, later, or after a turn in which nothing was done."""
        if not self.turns:
            return "first"
        made, last = self.example.provenance, len(self.turns) - 1
        given_up = [claim.turn for claim in (made.unserved, made.infeasible) if claim]
        return "anyway" if last in given_up or made.levels[-1] == "aside" else "later"

    def answer(self, goal: Goal) -> Self:
        """Add the user's answer to the assistant's question."""
        said = goal.said
        kind = self._kind_of_answer(goal)
        text, slots = style_answer(said.answer, kind, self.persona, self.chance), [said.answer]
        if self.persona not in CARELESS:
            text, slots = sentences(text, slots)
        return self.add_turn(Turn(text=text), "answer", slots, said.answer_names)

    def _kind_of_answer(self, goal: Goal) -> str:
        """Whether the missing value is a name, a number, a date, a choice or a text."""
        missing = str(goal.said.missing)
        part = self.server.tools[goal.tool].input_schema["properties"][missing]
        value = goal.arguments[missing]
        if "format" in part:
            return "date"
        if not isinstance(value, str | list):
            return "number"
        names = self.voice.things.keys() & set(map(str, leaves(value)))
        names |= {leaf for leaf in map(str, leaves(value)) if CODE.fullmatch(leaf)}
        if "enum" in part:
            return "choice"
        if names or isinstance(value, list):
            return "name"
        return "called" if missing in ("name", "title", "new_name", "label") else "text"

    def add_turn(
        self,
        turn: Turn,
        level: str,
        slots: Sequence[str] = (),
        names: Sequence[tuple[str, str]] = (),
    ) -> Self:
        """Add a user turn, with its slots and names in the provenance."""
        made = self.example.provenance
        noted = self.note(
            slots=(*made.slots, tuple(slots)),
            names=(*made.names, tuple(names)),
            levels=(*made.levels, level),
        )
        return replace(noted, example=put(noted.example, turns=(*self.turns, turn)))

    def remember(self) -> Self:
        """End the turn. From now on the user may refer to its entities with a pronoun."""
        draft = self
        for goal in self.goals:
            draft = draft.refer_to(goal)
        return replace(draft, goals=(), road=())

    def refer_to(self, goal: Goal) -> Self:
        """From now on the user may refer to the entities of a goal with a pronoun."""
        voice = self.voice
        for leaf in map(str, leaves(goal.arguments)):
            thing = voice.things.get(leaf)
            noun = thing.noun if thing else noun_of(self.server, leaf)
            if noun is not None and leaf in voice.shown:
                voice = voice.call_it(leaf, noun, new=False)
            elif thing is not None:
                voice = voice.speak_of(leaf, thing.noun)
        return self.speak_as(voice)


def _due(cast: Cast, chance: Random) -> dict[str, int]:
    """The events that happen once, with their earliest turn."""
    due = {}
    if "irrelevance" in cast.knobs:
        due["aside"] = chance.randrange(2)
    if cast.hidden:
        due["unserved"] = chance.randrange(cast.turns[0])
    if cast.refuses:
        due["refusal"] = 0
    return due


def _asked_for(server: AnyServer, chain: Chain, chance: Random) -> tuple[str, ...]:
    """The tools of a chain that a user asks for: its writes, its last tool, and some reads."""
    goals = []
    for name in chain.tools[:-1]:
        tool = server.tools[name]
        asked = TAKING if tool.input_schema["required"] else BARE
        if tool.writes or chance.random() < asked:
            goals.append(name)
    return (*goals, *chain.tools[-1:])


def _system(seed: int, session: Session) -> str:
    user = people.acting_user(Seed(seed))
    now = f"{session.now:%A, %Y-%m-%d %H:%M} UTC"
    return f"You act for {user.name}, with the tools given. It is {now}."
