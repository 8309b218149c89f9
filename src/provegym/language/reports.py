"""What a reply reports of a read's result: the values that were asked for, in sentences.

The [told] table of a server's asks.toml holds, by read tool, the clauses for one record. The first
clause that fits is always told, the others if the question asks for one of their fields. Fields
without a clause are told by their names.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from provegym.language.dates import placed
from provegym.language.phrasing import listed
from provegym.language.spoken import FEW, SOME, TIME, Speech, name_of, sentence
from provegym.language.templates import Entry, choose, chooses_by, fill_slots, kept, slots
from provegym.language.vocabulary import field_name, phrases, plural, told_of
from provegym.trace import Json, point

STEM = 4
PAIR = 2
MANY = 3
WORD = re.compile(r"[a-z]{4,}")


@dataclass(frozen=True)
class Report:
    """A read to report on: its tool, arguments, result, pointers to the answer, and the question.

    Without pointers, the whole result is told.
    """

    tool: str
    arguments: Json
    result: Any
    answers: Sequence[str]
    question: str
    speech: Speech

    def tell(self, chance: Random) -> str:
        """The report in one or more sentences."""
        if isinstance(self.result, dict) and isinstance(self.result.get("items"), list):
            return self._items(self.result["items"], self.result.get("total"), chance)
        if isinstance(self.result, dict):
            fields = [pointer.rpartition("/")[2] for pointer in self.answers]
            fields = [field for field in fields if field] or [*self.result][:FEW]
            return sentence(self._clauses(self.result, fields) or "there is nothing to report")
        return sentence(f"the result is {self.speech.say(self.result) or 'empty'}")

    def _items(self, items: list[Any], total: int | None, chance: Random) -> str:
        """A short list whole, a long one by its number and its first three."""
        total = len(items) if total is None else total
        noun = told_of(self.tool, self.speech.server).get("each", "result")
        if not items:
            return sentence(chance.choice(phrases()["none"]).format(noun=plural(noun)))
        asked = {p.rpartition("/")[2] for p in self.answers if p.startswith("/items/")}
        shown = items[:FEW] if total <= FEW else items[:SOME]
        told = [self._item(item, sorted(asked)) for item in shown]
        counted = f"{total} {noun if total == 1 else plural(noun)}"
        frames = phrases()["one" if total == 1 else "some" if total <= FEW else "many"]
        head = chance.choice(frames).format(counted=counted, noun=plural(noun))
        if len(told) < MANY:
            return sentence(f"{head}: {', and '.join(told)}")
        return "\n".join([sentence(head).rstrip(".") + ":", *(f"- {each}" for each in told)])

    def _item(self, item: Any, asked: list[str]) -> str:
        if not isinstance(item, dict):
            return self.speech.say(item) or "one without a name"
        return self._clauses(item, asked) or name_of(item, self.speech.server) or "one more"

    def _clauses(self, record: Json, fields: Iterable[str]) -> str:
        """The clauses for a record: the first, and those for the fields that were asked for."""
        values = self.speech.values(self.arguments, record)
        choices = {**self.arguments, **_opened(record)}
        missing = dict.fromkeys(fields)
        told: list[str] = []
        for entry in told_of(self.tool, self.speech.server).get("says", ()):
            template = choose(entry, choices)
            text = fill_slots(template, values) if template is not None else None
            if template is None or text is None:
                continue
            covered = slots(kept(template, values)) | chooses_by(entry)
            if not told or covered & missing.keys() or self._is_asked(entry, template):
                told.append(text)
                missing = {name: None for name in missing if name not in covered}
        told += [self._plain(name, choices, values) for name in missing if name in values]
        return self._with_places(listed(told), record) if told else ""

    def _plain(self, field: str, record: Json, values: dict[str, str]) -> str:
        """A field without a clause of its own: "the daily limit is 500"."""
        verb = "are" if isinstance(record.get(field), list) else "is"
        return f"the {field_name(field, self.speech.server)} {verb} {values[field]}"

    def _is_asked(self, entry: Entry, template: str) -> bool:
        """Whether a word of the question begins like a field of a clause, or a word in it."""
        begins = {word[:STEM] for word in WORD.findall(self.question.casefold())}
        fields = {part for name in slots(template) | chooses_by(entry) for part in name.split("_")}
        words = fields | set(WORD.findall(re.sub(r"\{\w+\}", "", template).casefold()))
        weak = phrases()["weak"]
        return any(word[:STEM] in begins and word not in weak for word in words if len(word) > MANY)

    def _with_places(self, text: str, record: Json) -> str:
        """The text with "on" and "at" as its dates need them: "on 6 March", but "tomorrow"."""
        for value in _opened(record).values():
            if isinstance(value, str) and (TIME.fullmatch(value) or value[:4].isdigit()):
                text = placed(text, self.speech.say(value) or value)
        return text


def _opened(record: Json) -> Json:
    """The fields of a record and of the records in its fields."""
    inner = [value for value in record.values() if isinstance(value, dict)]
    return {name: value for fields in (*inner, record) for name, value in fields.items()}
