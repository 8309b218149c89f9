"""Template-based text generation: turns a tool call into a user's request, from asks.toml.

Some phrases differ from their value: "next Friday" for a date, or another word for an enum. They
are recorded with the value, so that the contract can check that the value follows from the phrase.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any, NamedTuple

from provegym.kernel import AnyServer, Tool
from provegym.language import dates
from provegym.language.personas import expand, words
from provegym.language.questions import GENERAL, AskedFields, Way, read_way
from provegym.language.spoken import listed
from provegym.language.templates import fit, vary
from provegym.language.things import Relation, Survey, Thing, fill, noun_of, relations
from provegym.language.values import in_context, leaves, normal
from provegym.servers import asks
from provegym.trace import Json

RELATED = 0.04
OWNED = 0.7
QUOTED = 0.15
# Arguments that take the address of somebody whom people call by name.
REACHED = ("to", "cc", "recipients", "attendees", "invitees", "guests", "handle", "iban", "phone")
PRONOUN = 0.85
QUARTERS = (0, 15, 30, 45)
ISO = re.compile(r"\d{4}-\d\d-\d\d(T.*)?")
ONE = re.compile(r"(?<![\w.,-])1 (piece|share|pack|night|star|minute|day|hour)s\b")


class Phrase(NamedTuple):
    """A value in words; `derived` if the words differ from it; the things that the words name."""

    text: str
    derived: bool = False
    names: tuple[tuple[str, str], ...] = ()
    relations: tuple[tuple[str, Relation], ...] = ()


class Said(NamedTuple):
    """A request in words: `slots` are the phrases of its values, `derived` those that differ.

    `names` pairs the names of things with their keys. `relations` are the things that it describes
    by another thing ("the project of that issue"). `missing` is the argument left out, if any.
    `asked` are the fields that a question asks for.
    """

    text: str
    slots: tuple[str, ...]
    derived: dict[str, str]
    names: tuple[tuple[str, str], ...] = ()
    missing: str | None = None
    answer: str = ""
    answer_names: tuple[tuple[str, str], ...] = ()
    again: bool = False
    relations: tuple[tuple[str, Relation], ...] = ()
    asked: AskedFields = GENERAL


@dataclass(frozen=True)
class Voice:
    """The user of one conversation: writes requests about the things of one world.

    `shown` is what calls returned so far: each value, with the values of each record that holds it.
    `held` lists, by key, the things that hold this key in a field. `pronouns` are phrases such as
    "that account" for things already mentioned, `spoken_of` their kinds, `made` the new ones.
    `fresh` are values that calls of this turn make up, such as a booking code: the user cannot know
    them yet. A voice is immutable: methods that learn something return a new voice.
    """

    server: AnyServer
    survey: Survey
    chance: Random
    now: datetime
    held_out: bool = False
    spoken_of: Mapping[str, str] = field(default_factory=dict)
    pronouns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shown: Mapping[str, tuple[frozenset[str], ...]] = field(default_factory=dict)
    held: Mapping[str, tuple[Relation, ...]] = field(default_factory=dict)
    made: frozenset[str] = frozenset()
    fresh: frozenset[str] = frozenset()

    @property
    def table(self) -> Mapping[str, Any]:
        """The phrases for this server's tools: its asks.toml."""
        return asks(self.server.name)

    @property
    def things(self) -> dict[str, Thing]:
        """The things of this world, by key."""
        return self.survey.things

    def thing(self, value: str) -> Thing | None:
        """The thing with this key, or the only thing that has this value, such as an address."""
        return self.things.get(value) or self.survey.owners.get(value)

    def see(self, result: Json) -> "Voice":
        """The user after a call returned this result: updates `shown` and `held`."""
        shown = dict(self.shown)
        for record, about in in_context(result):
            for value in record.values():
                for leaf in map(str, leaves(value) if not isinstance(value, dict) else ()):
                    if about not in shown.get(leaf, ()):
                        shown[leaf] = (*shown.get(leaf, ()), about)
        held = dict(self.held)
        for relation in relations(self.server, self.things, result):
            held[relation.key] = (*held.get(relation.key, ()), relation)
        return replace(self, shown=shown, held=held)

    def wait_for(self, values: Iterable[str]) -> "Voice":
        """The user before hearing of these values: they cannot be said in this turn."""
        return replace(self, fresh=self.fresh | set(values))

    def is_known(self, key: str) -> bool:
        """Whether a result showed this key in a record that also tells a name of its thing."""
        if key not in self.shown:
            return False
        thing = self.thing(key)
        if thing is None or key in self.pronouns:
            return key in self.pronouns or not noun_of(self.server, key)
        return bool(self.known_names(thing, key))

    def known_names(self, thing: Thing, value: str) -> list[str]:
        """The names of a thing that results so far link to a value of it, such as its key."""
        return thing.known_names(self.shown.get(value, ()))

    def relation(self, key: str) -> Relation | None:
        """How to describe a thing whose key was shown, but not its name, by a thing with a name."""
        if key not in self.shown or self.is_known(key):
            return None
        owners = [each for each in self.held.get(key, ()) if self.is_known(each.owner)]
        owners.sort(key=lambda each: each.owner not in self.pronouns)
        return owners[0] if owners else None

    def call_it(self, key: str, noun: str, *, new: bool) -> "Voice":
        """The user after mentioning a thing: says "that account" while no other account fits."""
        heard, word = self.speak_of(key, noun), self._word(key, noun)
        rivals, pronouns = self._rivals(key, noun), dict(heard.pronouns)
        if new and not rivals & self.made:
            pronouns[key] = (f"the new {word}", *((f"that {word}",) if not rivals else ()))
        elif not rivals and key not in pronouns:
            pronouns[key] = (f"that {word}", f"the same {word}")
        return replace(heard, pronouns=pronouns, made=self.made | {key} if new else self.made)

    def speak_of(self, key: str, noun: str) -> "Voice":
        """The user after mentioning a thing: "that account" means no other account now."""
        rivals = self._rivals(key, noun)
        pronouns = {k: words for k, words in self.pronouns.items() if k not in rivals}
        return replace(self, pronouns=pronouns, spoken_of={**self.spoken_of, key: noun})

    def _rivals(self, key: str, noun: str) -> set[str]:
        return {k for k, n in self.spoken_of.items() if n == noun and k != key}

    def mention(self, arguments: Json) -> "Voice":
        """The user after a request: from now on, "that card" can only mean a card in it."""
        given = {leaf for leaf in leaves(arguments) if isinstance(leaf, str)}
        nouns = {
            self.things[k].noun if k in self.things else noun_of(self.server, k) for k in given
        }
        pronouns = {
            key: words
            for key, words in self.pronouns.items()
            if key in given or self.spoken_of.get(key) not in nouns
        }
        return replace(self, pronouns=pronouns)

    def _word(self, key: str, noun: str) -> str:
        """The word for a kind of thing: from the server's asks.toml, or its noun."""
        fields = self.things[key].fields if key in self.things else {}
        way = self.table.get("call", {}).get(noun, noun.replace("_", " "))
        return fill(way, fields) or noun.replace("_", " ")

    def ask(self, tool: Tool, arguments: Json) -> Said | None:
        """A random request for a tool that says every argument, or None if no template fits."""
        said = self._phrases(tool, arguments)
        ways: list[str] = self.table.get("asks", {}).get(tool.name, [])
        ways = ways[-1:] if self.held_out else ways[:-1]
        if said is None or not ways:
            return None
        texts = {name: phrase.text for name, phrase in said.items()}
        way = self._worded(ways, texts)
        if way is None:
            return None
        derived = {name: phrase.text for name, phrase in said.items() if phrase.derived}
        text = placed(way.words, derived)
        by = tuple(relation for phrase in said.values() for relation in phrase.relations)
        slots = tuple(texts.values())
        return Said(text, slots, derived, _names(said), relations=by, asked=way.asked)

    def ask_short(self, tool: Tool, arguments: Json) -> Said | None:
        """A request that leaves out one required argument, and the answer when asked for it."""
        short: dict[str, list[str]] = self.table.get("short", {}).get(tool.name, {})
        # If a thing of its kind was just mentioned, "that draft" would mean that one.
        left_out = [n for n in short if n in arguments and not self._is_near(arguments[n])]
        said = self._phrases(tool, arguments) if left_out else None
        if said is None or any(phrase.relations for phrase in said.values()):
            return None
        missing = self.chance.choice(left_out)
        answer = said.pop(missing)
        texts = {name: phrase.text for name, phrase in said.items()}
        way = self._worded(short[missing], texts)
        if way is None or normal(answer.text) in normal(way.words):
            return None
        derived = {name: phrase.text for name, phrase in said.items() if phrase.derived}
        if answer.derived:
            derived[missing] = answer.text
        return Said(
            text=placed(way.words, derived),
            slots=tuple(texts.values()),
            derived=derived,
            names=_names(said),
            missing=missing,
            answer=answer.text,
            answer_names=answer.names,
            asked=way.asked,
        )

    def _is_near(self, value: Any) -> bool:
        """Whether a value, or another thing of its kind, was just mentioned."""
        if not isinstance(value, str):
            return False
        noun = self.things[value].noun if value in self.things else noun_of(self.server, value)
        return value in self.pronouns or noun in {self.spoken_of.get(key) for key in self.pronouns}

    def _worded(self, ways: Sequence[str], values: Mapping[str, str]) -> Way | None:
        """A random way to ask that fits the values, filled, or None if none fits."""
        for way in map(read_way, self.chance.sample(ways, len(ways))):
            text = fit(vary(way.words, self.chance), values)
            if text is not None:
                return Way(ONE.sub(r"1 \1", text), way.asked)
        return None

    def _phrases(self, tool: Tool, arguments: Json) -> dict[str, Phrase] | None:
        said = {name: self.phrase(tool, name, value) for name, value in arguments.items()}
        if None in said.values():
            return None
        given = set(map(str, leaves(arguments)))
        found = {name: phrase for name, phrase in said.items() if phrase is not None}
        by = [relation for phrase in found.values() for _, relation in phrase.relations]
        # "Move that file to the folder of that file" says nothing.
        return None if any(relation.owner in given for relation in by) else found

    def phrase(self, tool: Tool, argument: str, value: Any) -> Phrase | None:
        """An argument's value in words, or None if people would not say it."""
        if isinstance(value, str) and value in self.fresh and value not in self.pronouns:
            return None
        spoken = self._entry("say", tool, argument)
        if spoken is not None and (known := spoken.get(str(value).lower())):
            return Phrase(self.chance.choice(known), derived=True)
        if isinstance(value, list):
            return self._several(tool, argument, value, listed)
        if isinstance(value, dict):
            return self._several(tool, argument, list(value.values()), " at ".join)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        if isinstance(value, str):
            return self._text(tool, argument, value)
        if value == int(value):
            return Phrase(str(int(value)))
        return Phrase(f"{value:.2f}" if round(value, 2) == value else str(value))

    def _several(
        self, tool: Tool, argument: str, values: list[Any], join: Callable[[list[str]], str]
    ) -> Phrase | None:
        parts = [self.phrase(tool, argument, value) for value in values]
        told = [part for part in parts if part is not None]
        if not told or len(told) < len(parts):
            return None
        names = tuple(name for part in told for name in part.names)
        by = tuple(relation for part in told for relation in part.relations)
        derived = any(part.derived for part in told)
        return Phrase(join([part.text for part in told]), derived, names, by)

    def _text(self, tool: Tool, argument: str, value: str) -> Phrase | None:
        if value in self.things or noun_of(self.server, value):
            return self._name(value)
        if argument in REACHED and value in self.survey.owners and self.chance.random() < OWNED:
            owner = self.survey.owners[value]
            names = self.known_names(owner, value) if value in self.shown else owner.names
            if names:
                name = self.chance.choice(names)
                return Phrase(name, names=((name, owner.key),))
        part = tool.input_schema["properties"][argument]
        if "format" in part and ISO.fullmatch(value):
            words = dates.say(value, self.now, self.chance)
            return Phrase(words, derived=words != value)
        if "enum" in part:
            return Phrase(value.replace("_", " "))
        return Phrase(value) if value.strip() and "\n" not in value else None

    def _name(self, key: str, *, alone: bool = False) -> Phrase | None:
        """A phrase that refers to a thing: a pronoun, a name, or another thing related to it.

        A key that people chose themselves, such as a path, can also be said literally. With
        `alone`, no other thing is used to describe it.
        """
        pronouns, thing = self.pronouns.get(key, ()), self.things.get(key)
        if pronouns and (thing is None or self.chance.random() < PRONOUN):
            return Phrase(self.chance.choice(pronouns))
        is_id = noun_of(self.server, key)
        if not alone and (relation := self.relation(key)):
            return self._by_relation(relation)
        if key in self.shown and not self.is_known(key):
            return None if is_id else Phrase(key)
        if thing is None or (not is_id and self.chance.random() < QUOTED):
            return None if is_id else Phrase(key)
        others = self.survey.related.get(key) if is_id and self.chance.random() < RELATED else None
        others = [other for other in others or () if thing and other.noun != thing.noun]
        if others and not alone:
            other = self.chance.choice(others)
            name = self.chance.choice(other.names)
            return Phrase(self._of(key, other, name), names=((name, other.key),))
        names = self.known_names(thing, key) if key in self.shown else list(thing.names)
        if not names:
            return Phrase(self.chance.choice(pronouns))
        name = self.chance.choice(names)
        return Phrase(name, names=((name, key),))

    def _by_relation(self, relation: Relation) -> Phrase | None:
        """Describe a thing by the thing that holds its key: "the project of that issue"."""
        owner = self._name(relation.owner, alone=True)
        if owner is None:
            return None
        stem = relation.field.removesuffix("s").removesuffix("_id")
        word = self._word(relation.key, stem)
        if word in owner.text.split():  # "the listing of that listing"
            return None
        way = self.table.get("relation", {}).get(relation.field, f"the {{at}} {word} of {{}}")
        at = f"{relation.at} " if relation.at else ""
        if at and "{at} " not in way:
            return None
        text = way.replace("{at} ", at).replace("{}", owner.text)
        return Phrase(text, names=owner.names, relations=((text, relation),))

    def _of(self, key: str, other: Thing, name: str) -> str:
        """A thing described by the name of the other thing that holds its key."""
        held = next(field for field, value in other.fields.items() if value == key)
        plain = f"the {self._word(key, self.things[key].noun)} of {{}}"
        way: str = self.table.get("relation", {}).get(held, plain)
        return way.replace("{at} ", "").replace("{}", name)

    def make_up(self, tool: Tool, argument: str) -> Any:
        """An invented value for an argument, or None if its values come from the world."""
        entry = self._entry("new", tool, argument)
        if isinstance(entry, dict):
            return self._moment(entry, tool.input_schema["properties"][argument])
        if not entry:
            return None
        value = self.chance.choice(entry)
        if not isinstance(value, str):
            return value
        own = self.table["new"].items()
        lists = {name: list(map(str, values)) for name, values in own if name[0] == "_"}
        return expand(value, {**words(), **lists}, self.chance)

    def _moment(self, bounds: Json, part: Json) -> str:
        day = self.now + timedelta(days=self.chance.randint(*bounds["days"]))
        if part.get("format") == "date":
            return f"{day:%Y-%m-%d}"
        hour = self.chance.randint(*bounds.get("hours", (8, 20)))
        moment = day.replace(hour=hour, minute=self.chance.choice(QUARTERS), second=0)
        return f"{moment:%Y-%m-%dT%H:%M:%SZ}"

    def _entry(self, table: str, tool: Tool, argument: str) -> Any:
        entries = self.table.get(table, {})
        return entries.get(f"{tool.name}.{argument}", entries.get(argument))


def placed(text: str, derived: Mapping[str, str]) -> str:
    """Correct "on" and "at" before the dates and times in a text."""
    for phrase in derived.values():
        if phrase in text:
            text = dates.placed(text, phrase)
    return text


def _names(said: Mapping[str, Phrase]) -> tuple[tuple[str, str], ...]:
    return tuple(name for phrase in said.values() for name in phrase.names)
