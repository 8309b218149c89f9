"""Backward planning (§3.2): draws goals that work on the live world, then the fewest lookups.

The user asks for goals, never for lookups. A value that a goal needs and the user does not say must
come from a read. A search finds the shortest sequence of reads (a road).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import NamedTuple

from provegym.fuzz import Fuzzer
from provegym.fuzz.pool import Pool, records
from provegym.graph.slots import pointed
from provegym.kernel import AnyServer, Outcome, Seed, Session, Tool
from provegym.language.identity import Made, is_understood, marks_of
from provegym.language.phrasing import Said, Voice
from provegym.language.questions import answer_pointers
from provegym.language.things import kinds, noun_of
from provegym.language.values import leaves, normal, spoken_values
from provegym.search import Read, Road, Seeker, Wanted, key_leaves
from provegym.servers.people import acting_user
from provegym.toolbox import Toolbox
from provegym.trace import Fact, Json

TRIES, LINKED_TRIES = 40, 12
MOST_LOOKUPS = 3
OPTIONAL = 0.35


class Borrower(Fuzzer):
    """A fuzzer that takes texts from the world and makes up as few as possible."""

    def arguments(self, tool: Tool) -> Json:
        """Arguments that fit the tool's schema, none of them extreme."""
        drawn = super().arguments(tool)
        return drawn if not self._extreme else self.arguments(tool)

    def _text(self, name: str, schema: Json) -> str:
        near = [value for value in self._near.get(name, ()) if isinstance(value, str)]
        live = self.pool.live(name, schema.get("description", ""))
        if near and (self.chance.random() < 0.7 or not live):
            return self.chance.choice(near)
        return self.chance.choice(live) if live else super()._text(name, schema)


class Goal(NamedTuple):
    """A call that works now, the user's words for it, and JSON pointers to its answer, if a read.

    `unknown` are the keys among its arguments that no earlier result has shown.
    """

    tool: str
    arguments: Json
    said: Said
    unknown: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


def borrower(server: AnyServer, chance: Random, pool: Pool) -> Borrower:
    """A fuzzer for one conversation that draws from the records of its world."""
    fuzzer = Borrower(server, f"plan {chance.random()}")
    fuzzer.pool = pool
    return fuzzer


@dataclass(frozen=True)
class Planner:
    """Draws goals for one conversation and plans the lookups that they need.

    `results` holds the arguments and results of the calls so far. The fuzzer learns from every call
    that it tries.
    """

    server: AnyServer
    voice: Voice
    fuzzer: Borrower
    results: tuple[Made, ...] = ()

    @property
    def chance(self) -> Random:
        """The conversation's random generator."""
        return self.voice.chance

    def draw(
        self, session: Session, tool: Tool, level: str, fixed: Json, shows: Sequence[str] = ()
    ) -> Goal | None:
        """Draw a goal: a call that succeeds (and changes the world if it writes), and its words.

        In the first half of the tries, the result must hold values at the pointers `shows`, which a
        later goal needs.
        """
        user = acting_user(Seed(session.seed)).name
        tries = LINKED_TRIES if fixed else TRIES
        for number in range(tries):
            spare = level == "complete" or number > tries // 4
            arguments = self.arguments(tool, fixed, spare=spare)
            if user in leaves(arguments):  # nobody speaks of themselves by name
                continue
            twin = session.fork()
            outcome = twin.call(tool.name, arguments)
            self.fuzzer.learn(tool, arguments, outcome)
            if not outcome.ok or (tool.writes and not twin.changes(tool.name)):
                continue
            if number < tries // 2 and not all(pointed(outcome.value, each) for each in shows):
                continue
            arguments = self._telling(session, tool, arguments, outcome)
            said = self.put(tool, arguments, level)
            if said is None:
                continue
            question = said.text.casefold()
            answers = answer_pointers(outcome.value, arguments, question, said.asked)
            answers = () if tool.writes else answers
            if arguments.keys() <= fixed.keys() and outcome.value.get("items") == []:
                answers = ("/total",)
            unknown = self.unknown(arguments)
            if unknown is not None and (tool.writes or answers):
                return Goal(tool.name, arguments, said, unknown, answers)
        return None

    def unknown(self, arguments: Json) -> tuple[str, ...] | None:
        """The keys among arguments that no result has shown so far.

        None if a key was shown only as a field of another record, and no phrase such as "its owner"
        names it. Such a key is not known to the user, and a lookup for it would not be necessary.
        """
        voice = self.voice
        keys = [v for v in leaves(arguments) if isinstance(v, str) and not voice.is_known(v)]
        keys = [k for k in keys if voice.thing(k) or noun_of(self.server, k)]
        hidden = [k for k in keys if k not in voice.shown]
        passing = [k for k in keys if k in voice.shown and noun_of(self.server, k)]
        return None if any(voice.relation(k) is None for k in passing) else tuple(hidden)

    def put(self, tool: Tool, arguments: Json, level: str) -> Said | None:
        """The words of a request, at an information level."""
        if level == "missing":
            return self.voice.ask_short(tool, arguments)
        return self.voice.ask(tool, arguments)

    def arguments(self, tool: Tool, fixed: Json, *, spare: bool) -> Json:
        """Arguments as a user would give them: free texts are made up, others are from the world.

        With `spare`, some optional arguments are given too; at least one if none is required.
        """
        required = tool.input_schema["required"]
        drawn = self.fuzzer.arguments(tool)
        optional = [n for n in drawn if n not in (*required, "limit", "offset") and spare]
        said = {n for n in optional if self.chance.random() < OPTIONAL}
        if optional and not said and not required:
            said = {self.chance.choice(optional)}
        given: Json = {}
        for name, value in drawn.items():
            if value is not None and (name in required or name in said):
                made = self.voice.make_up(tool, name)
                given[name] = made if made is not None else self._named(value)
        given |= fixed
        return {**given, **self._near(tool, given), **fixed}

    def _near(self, tool: Tool, given: Json) -> Json:
        """Amounts close to a field of another argument's thing, as [near] of asks.toml says.

        A limit is a few percent away from the price of the stock. Amounts are round.
        """
        found: Json = {}
        for name in given:
            entry = self.voice.table.get("near", {}).get(f"{tool.name}.{name}")
            thing = self.voice.thing(str(given.get(entry["to"]))) if entry else None
            value = thing.fields.get(entry["field"]) if entry and thing else None
            if entry and isinstance(value, int | float | Decimal):
                amount = float(value) * (1 + self.chance.randint(*entry["percent"]) / 100)
                found[name] = max(1, round(amount / 5) * 5 if amount > 100 else round(amount))
        return found

    def _named(self, value: object) -> object:
        """The value, or another entity of its kind that has a name."""
        noun = noun_of(self.server, value)
        if noun is None or value in self.voice.things or value in self.voice.shown:
            return value
        keys = self.voice.survey.named.get(noun)
        return self.chance.choice(keys) if keys else value

    def _telling(self, session: Session, tool: Tool, arguments: Json, outcome: Outcome) -> Json:
        """The arguments without the optional ones that have no effect."""
        for name in [n for n in arguments if n not in tool.input_schema["required"]]:
            rest = {n: v for n, v in arguments.items() if n != name}
            one, two = session.fork(), session.fork()
            other = one.call(tool.name, rest)
            same = other.ok and other.text == outcome.text
            if tool.writes and other.ok:
                two.call(tool.name, arguments)
                same = one.changes(tool.name) == two.changes(tool.name)
            if same:
                arguments = rest
        return arguments

    def lookups(
        self, session: Session, goals: Iterable[Goal], toolbox: Toolbox, likes: tuple[str, ...]
    ) -> Road | None:
        """The shortest sequence of reads that yields the values which the user does not say."""
        goals = list(goals)
        text = " ".join(f"{goal.said.text} {goal.said.answer}" for goal in goals)
        said = spoken_values(session, text)
        forms = {normal(value) for value in said}
        hidden = {
            key: list(self._marks(key, goal))
            for goal in goals
            for key in goal.unknown
            if normal(key) not in forms
        }
        if not hidden:
            return ()
        if not all(hidden.values()):
            return None
        wanted = [Wanted(Fact(about=(key,))) for key in hidden]
        known = said + [key for _, result in self.results for key in key_leaves(result, forms)]
        plain: list[Road] = []
        # One read is enough most of the time. The search for more reads takes much longer.
        for length in (1, min(MOST_LOOKUPS, len(hidden) + 1)):
            if not plain:
                roads = Seeker(session.fork(), toolbox, wanted).roads(known, length)
                plain = [r for r in roads if all(_is_plain(read, toolbox, forms) for read in r)]
                plain = [road for road in plain if self._tells(session, road, hidden)]
        shortest = [road for road in plain if len(road) == len(plain[0])]
        ranked = [(*self._oddity(session, road, hidden), road) for road in shortest]
        ranked.sort(key=lambda each: (*each[:2], -sum(read.tool in likes for read in each[2])))
        return ranked[0][2] if ranked else None

    def _marks(self, key: str, goal: Goal) -> Iterator[frozenset[str]]:
        """For each name by which a goal speaks of a key: the values that make up the name."""
        named = (*goal.said.names, *goal.said.answer_names)
        return marks_of(key, named, self.voice.survey)

    def _tells(
        self, session: Session, road: Road, hidden: Mapping[str, list[frozenset[str]]]
    ) -> bool:
        """Whether a road, after the calls so far, tells what each hidden key stands for."""
        reads = [(read.arguments, session.call(read.tool, read.arguments).value) for read in road]
        made = (*self.results, *reads)
        return all(
            any(is_understood(self.server, made, key, each) for each in marks)
            for key, marks in hidden.items()
        )

    def _oddity(self, session: Session, road: Road, hidden: Collection[str]) -> tuple[int, int]:
        """Sort key: how many reads do not return a hidden record, then how few have arguments."""
        keys = {"id", *kinds(self.server).chosen}
        strange = 0
        for read in road:
            result = session.call(read.tool, read.arguments).value
            held = {str(r[f]) for _, r in records(result, "") for f in keys if f in r}
            strange += not held & set(hidden)
        return strange, -sum(bool(read.arguments) for read in road)


def _is_plain(read: Read, toolbox: Toolbox, said: set[str]) -> bool:
    """Whether a read has no boolean argument and no enum value that the user did not say."""
    parts = toolbox.schemas[read.tool]["properties"]
    return all(
        not isinstance(value, bool) and ("enum" not in parts[name] or normal(value) in said)
        for name, value in read.arguments.items()
    )
