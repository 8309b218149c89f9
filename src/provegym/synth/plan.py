"""Planning backwards: a goal that works on the live world, then the fewest lookups it needs (§3.2).

The user voices goals, never lookups. What the goal takes and the user does not say must be found by
reads; the seeker gives the shortest roads, and completion and the contract do the rest.
"""

import re
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from provegym.fuzz import Fuzzer
from provegym.kernel import AnyServer, Session, Tool
from provegym.policies.knowledge import Scalar, leaves, normal, spoken_values
from provegym.policies.seeker import Read, Seeker, yields_value
from provegym.servers import asks
from provegym.synth.ground import Thing, noun_of, survey
from provegym.toolbox import Toolbox
from provegym.trace import Json

TRIES = 40
MOST_LOOKUPS = 3
MOST_ANSWERS = 2


class Goal(NamedTuple):
    """A call that works now, how the user asks for it, and what answers if it is a question."""

    tool: str
    arguments: Json
    text: str
    answers: tuple[str, ...] = ()


@dataclass
class Planner:
    """Draws goals on one session and plans what an assistant must look up for them."""

    server: AnyServer
    session: Session
    chance: Random

    def __post_init__(self) -> None:
        self.things = survey(self.session)
        self.fuzzer = Fuzzer(self.server, f"plan {self.chance.random()}")
        self.fuzzer.look(self.session.state(self.server))
        self.known: set[str] = set()
        self.fresh: list[str] = []

    def know(self, values: set[str], made: dict[str, str]) -> None:
        """Take in what earlier turns returned, and how to speak of what they made."""
        self.known = values
        for key, noun in made.items():
            fields = self.things[key].fields if key in self.things else {}
            self.things[key] = Thing(noun, key, fields, (f"that {noun.replace('_', ' ')}",))
            self.fresh.append(key)

    def draw_goal(self, tool: Tool) -> Goal | None:
        """Arguments for which a tool succeeds, and changes the world if it writes, and words."""
        for _ in range(TRIES):
            arguments = self._linked(tool, self._trimmed(tool, self.fuzzer.arguments(tool)))
            twin = self.session.fork()
            outcome = twin.call(tool.name, arguments)
            self.fuzzer.learn(tool, arguments, outcome)
            if not outcome.ok or (tool.writes and not twin.changes(tool.name)):
                continue
            answers = () if tool.writes else answer_pointers(outcome.value, arguments)
            text = self.voice(tool, arguments)
            if text is not None and (tool.writes or answers):
                return Goal(tool.name, arguments, text, answers)
        return None

    def _trimmed(self, tool: Tool, arguments: Json) -> Json:
        """Mostly the required arguments alone: people say no more than they must."""
        required = tool.input_schema["required"]
        return {n: v for n, v in arguments.items() if n in required or self.chance.random() < 0.3}

    def _linked(self, tool: Tool, arguments: Json) -> Json:
        """Often about what an earlier turn made, where the tool takes such a thing."""
        for key in self.fresh:
            argument = f"{noun_of(self.server, key)}_id"
            if argument in arguments and self.chance.random() < 0.8:
                arguments = {**arguments, argument: key}
        return arguments

    def voice(self, tool: Tool, arguments: Json) -> str | None:
        """One of the ways people ask for a tool, with things called by their own names."""
        values: dict[str, str] = {}
        for name, value in arguments.items():
            spoken = self._spoken(value)
            if spoken is None:
                return None
            values[name] = spoken
        ways = asks(self.server.name)["asks"][tool.name][:-1]
        fitting = [text for way in ways if (text := fit(way, values)) is not None]
        return self.chance.choice(fitting) if fitting else None

    def _spoken(self, value: object) -> str | None:
        if isinstance(value, list):
            parts = [self._spoken(part) for part in value]
            return None if None in parts or not parts else " and ".join(map(str, parts))
        if noun_of(self.server, value):
            thing = self.things.get(str(value))
            return self.chance.choice(thing.names) if thing else None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        return str(value) if str(value).strip() else None

    def lookups(self, goal: Goal, toolbox: Toolbox) -> tuple[Read, ...] | None:
        """The shortest road of reads to what the goal takes and the user does not say."""
        said = spoken_values(self.session, goal.text)
        forms = {normal(value) for value in said}
        hidden = [
            self.things[str(leaf)]
            for leaf in leaves(goal.arguments)
            if noun_of(self.server, leaf) and normal(leaf) not in forms and leaf not in self.known
        ]
        if not hidden:
            return ()
        wanted = [yields_value(thing.key, _marks(thing, forms)) for thing in hidden]
        seeker = Seeker(self.session.fork(), toolbox, wanted)
        roads = seeker.roads(said, min(MOST_LOOKUPS, len(hidden) + 1))
        return min(roads, key=_plainness, default=None)


def _marks(thing: Thing, said: set[str]) -> list[Scalar]:
    return [leaf for leaf in leaves(thing.fields) if normal(leaf) in said]


def _plainness(road: tuple[Read, ...]) -> tuple[int, int]:
    """Short roads first, and among them those that ask for things by name."""
    return len(road), -sum(bool(read.arguments) for read in road)


def answer_pointers(result: Json, arguments: Json) -> tuple[str, ...]:
    """Where a result says something of its own: plain fields that were not asked with."""
    given = {normal(leaf) for leaf in leaves(arguments)}
    told = [
        f"/{name}"
        for name, value in result.items()
        if isinstance(value, str | int | float)
        and not isinstance(value, bool)
        and normal(value) not in given
        and name not in ("total", "offset", "next_offset", "id")
        and not name.endswith("_id")
    ]
    return tuple(told[:MOST_ANSWERS])


def fit(way: str, values: dict[str, str]) -> str | None:
    """A way of asking with its slots filled: all that have a value, and no other."""
    kept = re.sub(r"\[([^\]]*)\]", lambda part: _optional(part[1], values), way)
    slots = set(re.findall(r"\{(\w+)\}", kept))
    if slots != set(values):
        return None
    return re.sub(r"\{(\w+)\}", lambda slot: values[slot[1]], kept)


def _optional(part: str, values: dict[str, str]) -> str:
    return part if set(re.findall(r"\{(\w+)\}", part)) <= values.keys() else ""
