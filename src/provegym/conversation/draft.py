"""One conversation while it is made: its live world, its user, its turns and its right calls."""

import re
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace as put

from provegym import trace
from provegym.conversation.ground import Scene
from provegym.conversation.links import links
from provegym.conversation.perturb import perturb
from provegym.conversation.plan import Goal, Planner
from provegym.conversation.recover import Attempt, GiveUp
from provegym.fuzz.pool import snake
from provegym.graph.chains import Chain
from provegym.kernel import Seed, Session, Tool
from provegym.language.personas import PERSONAS, styled
from provegym.language.personas import answer as style_answer
from provegym.language.phrasing import Said, Voice
from provegym.language.things import noun_of, survey
from provegym.language.values import leaves
from provegym.search import Road
from provegym.servers import people
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, Path, Provenance, RelationClaim, Step, Turn

MOST_LENGTH = 10
LEVELS = {"complete": 0.60, "missing": 0.20, "minimal": 0.20}
CARELESS = ("terse", "typos")
FOLLOWS = 0.85
TWO_GOALS = 0.25
AGAIN = 0.12
READS = 0.3
GOALS = 8
AVOIDS = 0.35
TAKING, BARE = 0.75, 0.4
AND_THEN = ("Then", "After that,", "Also,", "And", "Next,", "When that's done,", "And then")
AND_ASKS = ("Also,", "And", "One more thing:", "Besides,", "And besides,")
SAME = (
    "Same for {}.",
    "And {} as well.",
    "Do the same with {}.",
    "{} too, please.",
    "Then do exactly that for {}.",
    "And the same again for {}.",
)


class Cast(NamedTuple):
    """What is decided before a conversation begins."""

    level: str = "complete"
    knobs: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    turns: tuple[int, int] = (2, 3)
    others: tuple[str, ...] = ()
    held_out: bool = False


class Talk:
    """A conversation on one scene, along one chain of tools."""

    def __init__(self, scene: Scene, key: str, chain: Chain, cast: Cast) -> None:
        self.server, self.edges, self.chance = scene.server, scene.edges, Random(key)
        self.session = Session([scene.server], scene.seed)
        self.chain, self.level, self.hidden = chain, cast.level, cast.hidden
        self.persona = self.chance.choice(list(PERSONAS))
        self.voice = Voice(scene.server, scene.survey, self.chance, self.session.now, cast.held_out)
        self.planner = Planner(scene.server, self.voice, scene.pool)
        self.least, self.most = cast.turns
        self.due = {}
        if "irrelevance" in cast.knobs:
            self.due["aside"] = self.chance.randrange(2)
        if cast.hidden:
            self.due["unserved"] = self.chance.randrange(self.least)
        self.wanted = self._goals_of(chain)
        self.avoid = scene.hub if self.chance.random() < AVOIDS else ""
        self.beyond = scene.beyond if self.avoid else frozenset()
        self.minutes = self.start = 0
        self.turns: list[Turn] = []
        self.steps: list[Step] = []
        self.goals: list[Goal] = []
        self.road: Road = ()
        self.refused: GiveUp | None = None
        self.tried: list[Attempt] = []
        self.results: dict[str, tuple[Json, Any]] = {}
        self.slots: list[list[str]] = []
        self.names: list[list[tuple[str, str]]] = []
        self.relations: list[RelationClaim] = []
        self.levels: list[str] = []
        self.derived: dict[str, str] = {}
        self.attempts: list[trace.Attempt] = []
        self.provenance = Provenance()
        self.written = self.is_follow_up = False
        spec = perturb(scene.server, cast.knobs, cast.others, self.chance)
        self.example = Example(
            id=key,
            kind="multi_turn",
            server=scene.server.name,
            server_version=scene.server.version,
            seed=scene.seed,
            digest="",
            system=self._system(scene.seed),
            turns=(Turn(text=""),),
            toolbox=spec,
            knobs=cast.knobs,
        )
        self.hide(cast.hidden)

    def _goals_of(self, chain: Chain) -> list[str]:
        """What of a chain a user would ask for: changes, the end, and some questions on the way."""
        goals = []
        for name in chain.tools[:-1]:
            tool = self.server.tools[name]
            asked = TAKING if tool.input_schema["required"] else BARE
            if tool.writes or self.chance.random() < asked:
                goals.append(name)
        return [*goals, *chain.tools[-1:]]

    def _system(self, seed: int) -> str:
        user = people.acting_user(Seed(seed))
        return (
            f"You act for {user.name}, with the tools given. "
            f"It is {self.session.now:%A, %Y-%m-%d %H:%M} UTC."
        )

    def hide(self, tools: Sequence[str]) -> None:
        """Take tools out of the toolbox, for the whole conversation."""
        spec = self.example.toolbox
        hidden = tuple(dict.fromkeys((*spec.hidden, *tools)))
        stripped = tuple(m for m in spec.stripped if m.partition(".")[0] not in hidden)
        self.example = put(self.example, toolbox=put(spec, hidden=hidden, stripped=stripped))
        self.toolbox = Toolbox.of(self.example)

    def tools(self, *, writes: bool) -> list[Tool]:
        """The server's tools that are shown and write, or only read."""
        shown = self.example.toolbox.hidden
        return [t for t in self.server.tools.values() if t.writes == writes and t.name not in shown]

    def open_turn(self, minutes: int) -> None:
        """Time passes; what there is to speak of is looked at again if it may have changed."""
        self.minutes = minutes
        self.session.advance(minutes)
        self.voice.now = self.session.now
        if self.written or minutes:
            self.voice.survey = survey(self.session)
            self.written = False
        self.level = self._next_level()
        voice = self.voice
        self._before = self.results, voice.shown, voice.held, voice.pronouns, voice.spoken_of

    def _restore(self) -> None:
        """Forget what goals were drawn for this turn before."""
        voice = self.voice
        results, shown, held, pronouns, spoken_of = self._before
        self.results, voice.shown, voice.held = dict(results), dict(shown), dict(held)
        voice.pronouns, voice.spoken_of = dict(pronouns), dict(spoken_of)

    def is_due(self, what: str) -> bool:
        """Whether it is time for something that is to happen once; then it is no longer due."""
        if len(self.turns) < self.due.get(what, MOST_LENGTH):
            return False
        del self.due[what]
        return True

    def has_time(self, more: int) -> bool:
        """Whether so many more user turns may be said."""
        return len(self.turns) + more <= self.most

    def draw_goals(self) -> bool:
        """One goal or two for this turn: along the chain, then on from what was done."""
        level = self.level
        self._restore()
        self.goals, scratch = [], self.session.fork()
        count = 2 if level != "missing" and self.chance.random() < TWO_GOALS else 1
        if level != "missing" and len(self.wanted) > self.most - len(self.turns):
            count = 2
        for _ in range(count):
            goal = self._draw_goal(scratch, level)
            if goal is None:
                break
            self.goals.append(goal)
            self._learn(goal.tool, goal.arguments, scratch)
        if len(self.goals) == 1 and level != "missing" and self.chance.random() < AGAIN:
            self._same_again(scratch)
        return bool(self.goals)

    def look_up(self) -> bool:
        """Plan the lookups the goals need; whether there is a road to all that is not said."""
        road = self.planner.lookups(self.session, self.goals, self.toolbox, self.chain.tools)
        self.road = road or ()
        return road is not None and self.avoid not in {read.tool for read in self.road}

    def _next_level(self) -> str:
        level = self.level
        if self.is_follow_up:
            level = self.chance.choices(list(LEVELS), list(LEVELS.values()))[0]
        return "complete" if level == "missing" and not self.has_time(2) else level

    def _draw_goal(self, session: Session, level: str) -> Goal | None:
        taken = {goal.tool for goal in self.goals}
        for tool in self._candidates():
            if tool.name in taken or (level == "missing" and not tool.writes):
                continue
            shows = [edge.pointer for edge in self.chain.edges if edge.source == tool.name]
            for fixed in links(tool, self.chain, self.edges, self.results, self.voice):
                goal = self.planner.draw(session, tool, level, fixed, shows)
                if goal is not None and not self._was_asked(goal):
                    return goal
        return None

    def _was_asked(self, goal: Goal) -> bool:
        """Whether the same question stands earlier in the conversation."""
        return any(s.tool == goal.tool and s.arguments == goal.arguments for s in self.steps)

    def _candidates(self) -> list[Tool]:
        """Tools for the next goal: the chain's, then those that depend on what was called."""
        while self.wanted:
            name = self.wanted.pop(0)
            if name not in self.beyond:
                return [self.server.tools[name]]
        reads = self.chance.random() < READS
        follows = [e.target for e in self.edges if e.source in self.results]
        self.chance.shuffle(follows)
        rest = [tool.name for tool in self.tools(writes=not reads)]
        self.chance.shuffle(rest)
        names = [*follows, *rest] if self.chance.random() < FOLLOWS else rest
        hidden = self.example.toolbox.hidden
        unique = [n for n in dict.fromkeys(names) if n not in hidden and n not in self.beyond]
        fitting = [n for n in unique if self.server.tools[n].writes != reads or n in rest]
        return [self.server.tools[name] for name in (fitting or unique)[:GOALS]]

    def _same_again(self, session: Session) -> None:
        """A second goal that is the first one again, about another thing of the same kind."""
        goal = self.goals[0]
        tool = self.server.tools[goal.tool]
        for name, value in goal.arguments.items():
            noun = noun_of(self.server, value)
            keys = [k for k in self.voice.survey.named.get(noun or "", ()) if k != value]
            if not keys or not tool.writes:
                continue
            key = self.chance.choice(keys)
            arguments = {**goal.arguments, name: key}
            twin = session.fork()
            names = self.voice.things[key].names if key in self.voice.things else ()
            if names and twin.call(goal.tool, arguments).ok and twin.changes(goal.tool):
                spoken = self.chance.choice(names)
                text = self.chance.choice(SAME).format(spoken)
                derived = {n: w for n, w in goal.said.derived.items() if n != name}
                again = Said(text, (spoken,), derived, ((spoken, key),), again=True)
                unknown = self.planner.unknown(arguments)
                if unknown is not None:
                    self.goals.append(Goal(goal.tool, arguments, again, unknown))
                return

    def say(self, said: Sequence[Said], asks: str | None = None) -> None:
        """The user's turn, in the manner of this persona."""
        self.is_follow_up = True
        slots = [slot for each in said for slot in each.slots]
        text = join(said, self.chance)
        text = styled(text, self.persona, slots, self.chance, later=bool(self.turns))
        if self.persona not in CARELESS:
            text, slots = sentences(text, slots)
        self.turns.append(Turn(text=text, minutes=self.minutes, asks=asks))
        self.slots.append(slots)
        self.names.append([name for each in said for name in each.names])
        for phrase, relation in [by for each in said for by in each.relations]:
            turn = len(self.turns) - 1
            self.relations.append(RelationClaim(turn=turn, phrase=phrase, **relation._asdict()))
        self.levels.append(self.level)

    def answer(self, goal: Goal) -> None:
        """The scripted user's answer to the question that had to be asked."""
        said, tool = goal.said, self.server.tools[goal.tool]
        part = tool.input_schema["properties"][str(said.missing)]
        value = goal.arguments[str(said.missing)]
        kind = "date" if "format" in part else "number"
        if "format" not in part and isinstance(value, str | list):
            names = self.voice.things.keys() & set(map(str, leaves(value)))
            kind = "name" if names or "enum" in part or isinstance(value, list) else "text"
        text, slots = style_answer(said.answer, kind, self.persona, self.chance), [said.answer]
        if self.persona not in CARELESS:
            text, slots = sentences(text, slots)
        self.turns.append(Turn(text=text))
        self.slots.append(slots)
        self.names.append(list(said.answer_names))
        self.levels.append("answer")

    def call(self, tool: str, arguments: Json, answers: tuple[str, ...] = ()) -> None:
        """Make one of the turn's right calls."""
        at = len(self.turns) - 1
        self.steps.append(Step(turn=at, tool=tool, arguments=arguments, answers=answers))
        self._learn(tool, arguments, self.session)
        self.planner.results.append(self.results[tool][1])

    def note_derived(self, goal: Goal) -> None:
        """Keep the user's words for the values of the call that was just made."""
        at = len(self.steps) - 1
        self.derived.update({f"{at}.{name}": words for name, words in goal.said.derived.items()})

    def _learn(self, tool: str, arguments: Json, session: Session) -> None:
        """What a call returns is known, and what it makes or is about can be spoken of."""
        outcome = session.call(tool, arguments)
        value = outcome.value
        self.voice.see(value)
        self.results[tool] = arguments, value
        if not self.server.tools[tool].writes:
            return
        self.written = True
        for change in session.changes(tool):
            noun = snake(self.server.state.tables[change.table])
            if change.before is None and change.key in self.voice.shown:
                self.voice.call_it(change.key, noun, new=True)

    def remember(self) -> None:
        """What the turn was about can be spoken of with a pronoun from now on."""
        for goal in self.goals:
            for leaf in map(str, leaves(goal.arguments)):
                thing = self.voice.things.get(leaf)
                noun = thing.noun if thing else noun_of(self.server, leaf)
                if noun is not None and leaf in self.voice.shown:
                    self.voice.call_it(leaf, noun, new=False)
        self.goals, self.road = [], ()

    def finish(self) -> Example:
        """The example as it was played, not yet completed."""
        provenance = put(
            self.provenance,
            made="offline",
            persona=self.persona,
            slots=tuple(map(tuple, self.slots)),
            names=tuple(map(tuple, self.names)),
            levels=tuple(self.levels),
            derived=self.derived,
            attempts=tuple(self.attempts),
            relations=tuple(self.relations),
        )
        path = Path(steps=tuple(self.steps))
        return put(self.example, turns=tuple(self.turns), paths=(path,), provenance=provenance)


def sentences(text: str, slots: Sequence[str]) -> tuple[str, list[str]]:
    """A text whose sentences begin with a capital, also where a slot begins them, and its slots."""
    said = []
    for slot in slots:
        begins = rf"(?:(?<=^)|(?<=[.!?] )){re.escape(slot)}"
        large = capital(slot)
        said.append(large if re.search(begins, text) else slot)
        text = large.join(re.split(begins, text))
    return capital(text), said


def capital(text: str) -> str:
    """A text as it begins a sentence."""
    return text[:1].upper() + text[1:]


def join(said: Sequence[Said], chance: Random) -> str:
    """Several requests in one breath."""
    text = said[0].text
    for each in said[1:]:
        first = each.text.split()[0]
        keeps = first.startswith(("I'", '"')) or first == "I" or each.text.startswith(each.slots)
        more = each.text if keeps else each.text[0].lower() + each.text[1:]
        joins = AND_ASKS if more.endswith("?") else AND_THEN
        text = f"{text} {each.text}" if each.again else f"{text} {chance.choice(joins)} {more}"
    return text
