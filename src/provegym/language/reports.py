"""What a reply reports of a read's result: the values that were asked for, in sentences.

The [told] table of a server's asks.toml holds, by read tool, the clauses for one record. The first
clause that fits is always told, the others if one of their fields is asked for. Fields without a
clause are told by their names.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

from provegym.inflection import plural
from provegym.language.spoken import FEW, ID, SIZE_OF, Speech, name_of, sentence
from provegym.language.templates import Entry, choose, chooses_by, fill_slots, kept, slots
from provegym.language.vocabulary import field_name, phrases, told_of
from provegym.trace import Json

MANY, FIRST = 3, 5
# So many values stand for a record that has neither name nor id.
BARE = 2
COUNTS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
PLAIN_START = re.compile(r"(?:the|it|its|you|your|they|a|an|no|there|nobody|nothing)\b")
AND = ", and "


@dataclass(frozen=True)
class ReadReport:
    """A read to report on: its tool, arguments, result, and JSON pointers to the answer.

    Without pointers, the whole result is told.
    """

    tool: str
    arguments: Json
    result: Any
    answers: Sequence[str]
    speech: Speech

    @property
    def own(self) -> Speech:
        """The speech for the fields of a result: ids have names, other values stay as they are."""
        names = {key: name for key, name in self.speech.names.items() if ID.fullmatch(key)}
        return replace(self.speech, names=names)

    @property
    def is_single(self) -> bool:
        """Whether a list with one item is told as this item, without "I found 1"."""
        return bool(told_of(self.tool, self.speech.server).get("single"))

    def tell(self, chance: Random) -> str:
        """The report in one or more sentences."""
        if isinstance(self.result, dict) and isinstance(self.result.get("items"), list):
            return self._items(self.result["items"], self.result.get("total"), chance)
        if isinstance(self.result, dict):
            fields = [_field(pointer) for pointer in self.answers if pointer]
            fields = fields or [*self.result][:FEW]
            return sentence(self._clauses(self.result, fields) or "there is nothing to report")
        return sentence(f"the result is {self.speech.say(self.result) or 'empty'}")

    def _items(self, items: list[Any], total: int | None, chance: Random) -> str:
        """A short list whole, a long one by its number and its first five.

        Only the first item if the question is about it alone: "When is my next meeting?" Only the
        number if that is asked.
        """
        total = len(items) if total is None else total
        words = told_of(self.tool, self.speech.server)
        noun, most = words.get("each", "result"), words.get("most", FEW)
        told_as = {"counted": f"{total} {noun if total == 1 else plural(noun)}"}
        if not items:
            return self._none(words.get("none"), noun, chance)
        if self.answers == ("/total",):
            frames = phrases()["one" if total == 1 else "count"]
            return sentence(chance.choice(frames).format(**told_as))
        asked = [p.split("/") for p in self.answers if re.fullmatch(r"/items/\d+/\w+", p)]
        fields = [field for *_, field in asked]
        pointed = {int(place) for _, _, place, _ in asked}
        if pointed == {0} and (len(items) > 1 or self.is_single) and "/total" not in self.answers:
            return sentence(self._item(items[0], fields))
        is_whole = total <= most and len(items) == total
        places = [] if 0 in pointed else sorted(place for place in pointed if place >= FIRST)
        shown = items if is_whole else [items[at] for at in places] or items[:FIRST]
        told = [self._item(item, fields) for item in shown]
        kind = "some" if is_whole else "among" if places else "many"
        frames = phrases()["one" if total == 1 else kind]
        if is_whole and total > 1:
            frames = words.get("heads", frames)
        head = chance.choice(frames).format(**told_as, shown=COUNTS.get(len(shown), len(shown)))
        if len(told) < MANY and not any(AND in each for each in told):
            return sentence(f"{head}: {AND.join(told)}")
        lines = [sentence(head).rstrip(".") + ":", *(f"- {_capital(each)}" for each in told)]
        return "\n".join([*lines, chance.choice(phrases()["rest"])] if kind == "many" else lines)

    def _none(self, own: str | None, noun: str, chance: Random) -> str:
        """What is said of an empty list: in the tool's own words if they fit the arguments."""
        told = fill_slots(own, self.speech.values(self.arguments)) if own else None
        return sentence(told or chance.choice(phrases()["none"]).format(noun=plural(noun)))

    def _item(self, item: Any, asked: list[str]) -> str:
        if not isinstance(item, dict):
            return self.speech.say(item) or "one without a name"
        told = self._clauses(item, asked) or name_of(item, self.speech.server)
        return told or self._bare(item) or "one more"

    def _bare(self, record: Json) -> str:
        """What stands for a record without a name, as foreign servers have them: id or values."""
        held = record.get("id")
        if isinstance(held, str | int):
            return f"{held}"
        values = self.own.values(record)
        plain = [n for n, v in record.items() if isinstance(v, str | int | float) and n in values]
        return " and ".join(self._plain(name, record, values) for name in plain[:BARE])

    def _clauses(self, record: Json, fields: Iterable[str]) -> str:
        """The clauses for a record: the first, and those for the fields that were asked for."""
        values = self.speech.values(self.arguments) | self.own.values(record)
        facts = {**self.arguments, **_opened(record)}
        missing, told = [*dict.fromkeys(fields)], ""
        clauses: list[str] = []
        known: set[str] = set()
        for entry in told_of(self.tool, self.speech.server).get("says", ()):
            clause = _clause(entry, values, facts)
            if clause is None or (clause.fields and clause.fields <= known):
                continue
            if not clauses or not clause.fields.isdisjoint(missing):
                clauses.append(clause.text)
                known |= clause.fields
                told = " ".join(clauses)
                missing = [n for n in missing if n not in known and not _is_text_in(n, facts, told)]
        plain = [self._plain(name, facts, values) for name in missing if name in values]
        if plain and not clauses and (called := name_of(record, self.speech.server)):
            plain[0] = f"for {called}, {plain[0]}"
        clauses += plain
        return self.speech.place_dates(_joined(clauses), facts) if clauses else ""

    def _plain(self, field: str, record: Json, values: dict[str, str]) -> str:
        """A field without a clause of its own: "the daily limit is 500"."""
        plain, value = field_name(field, self.speech.server), record.get(field)
        if isinstance(value, int) and re.fullmatch(r"\w+[^s]s", plain):
            plain = f"number of {plain}"
        return f"the {plain} {'are' if isinstance(value, list) else 'is'} {values[field]}"


def _capital(clause: str) -> str:
    """A clause with a capital if it begins with a plain word; a file's name stays as it is."""
    return clause[0].upper() + clause[1:] if PLAIN_START.match(clause) else clause


def _field(pointer: str) -> str:
    """The field that a pointer is about: its last one, or the list of records that it enters."""
    names = pointer.split("/")[1:]
    return next((name for name, at in pairwise(names) if at.isdigit()), names[-1])


class Clause(NamedTuple):
    """A clause about a record, and the fields whose values it tells."""

    text: str
    fields: set[str]


def _clause(entry: Entry, values: Mapping[str, str], facts: Json) -> Clause | None:
    """The clause of an entry for a record, or None if the record has no value for it.

    A clause chosen by a number, a yes or no, or a missing value tells this value too.
    """
    template = choose(entry, facts)
    text = fill_slots(template, values) if template is not None else None
    if template is None or text is None:
        return None
    chosen = {name for name in chooses_by(entry) if not _is_text(facts.get(name))}
    told = {slot.removeprefix(SIZE_OF) for slot in slots(kept(template, values))}
    return Clause(text, told | chosen)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_text_in(field: str, facts: Json, told: str) -> bool:
    """Whether a text field is told already, such as the name of an order in its summary."""
    return _is_text(facts.get(field)) and facts[field] in told


def _joined(clauses: Sequence[str]) -> str:
    """Clauses as one sentence: "a", "a, and b", "a, b, and c"."""
    return AND.join([", ".join(clauses[:-1]), clauses[-1]] if clauses[1:] else clauses)


def _opened(record: Json) -> Json:
    """The fields of a record and of the records in its fields."""
    inner = [value for value in record.values() if isinstance(value, dict)]
    return {name: value for fields in (*inner, record) for name, value in fields.items()}
