"""What a reply reports of a read's result: the values that were asked for, in sentences.

The [told] table of a server's asks.toml holds, by read tool, the clauses for one record. The first
clause that fits is always told, the others if the question asks for one of their fields. Fields
without a clause are told by their names.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from provegym.language.spoken import FEW, ID, SOME, Speech, name_of, sentence
from provegym.language.templates import (
    Entry,
    choose,
    chooses_by,
    fill_slots,
    kept,
    slots,
    templates,
)
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

    @property
    def own(self) -> Speech:
        """The speech for the fields of a result: ids have names, other values stay as they are."""
        names = {key: name for key, name in self.speech.names.items() if ID.fullmatch(key)}
        return replace(self.speech, names=names)

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
        asked = [p.split("/") for p in self.answers if re.fullmatch(r"/items/\d+/\w+", p)]
        places = sorted({int(place) for _, _, place, _ in asked if int(place) >= SOME})
        shown = items[:FEW] if total <= FEW else [items[at] for at in places] or items[:SOME]
        told = [self._item(item, [field for *_, field in asked]) for item in shown]
        counted = f"{total} {noun if total == 1 else plural(noun)}"
        kind = "some" if total <= FEW else "among" if places else "many"
        frames = phrases()["one" if total == 1 else kind]
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
        values = self.speech.values(self.arguments) | self.own.values(record)
        choices = {**self.arguments, **_opened(record)}
        texts = {name for name, value in choices.items() if isinstance(value, str) and value}
        missing = dict.fromkeys(fields)
        told: list[str] = []
        for entry in told_of(self.tool, self.speech.server).get("says", ()):
            template = choose(entry, choices)
            text = fill_slots(template, values) if template is not None else None
            if template is None or text is None:
                continue
            covered = slots(kept(template, values)) | {
                n for n in chooses_by(entry) if n not in texts
            }
            if not told or covered & missing.keys() or self._is_asked(entry):
                told.append(text)
                covered |= {n for n in missing if n in texts and values.get(n, "?") in text}
                missing = {name: None for name in missing if name not in covered}
        told += [self._plain(name, choices, values) for name in missing if name in values]
        return self.speech.place_dates(_joined(told), choices) if told else ""

    def _plain(self, field: str, record: Json, values: dict[str, str]) -> str:
        """A field without a clause of its own: "the daily limit is 500"."""
        verb = "are" if isinstance(record.get(field), list) else "is"
        return f"the {field_name(field, self.speech.server)} {verb} {values[field]}"

    def _is_asked(self, entry: Entry) -> bool:
        """Whether a word of the question begins like a field of a clause, or like a word in it.

        Words that the tool or the first clause have too do not tell the clauses apart.
        """
        words = told_of(self.tool, self.speech.server)
        common = _stems(words["says"][0]) | {part[:STEM] for part in self.tool.split("_")}
        fields = chooses_by(entry).union(*map(slots, templates(entry)))
        cues = [cue for name, cue in words.get("cues", {}).items() if name in fields]
        telling = (_stems(entry) - common) | {c[:STEM] for c in WORD.findall(" ".join(cues))}
        return bool(telling & {word[:STEM] for word in WORD.findall(self.question.casefold())})


def _joined(clauses: Sequence[str]) -> str:
    """Clauses as one sentence: "a", "a, and b", "a, b, and c"."""
    return ", and ".join([", ".join(clauses[:-1]), clauses[-1]] if clauses[1:] else clauses)


def _stems(entry: Entry) -> set[str]:
    """The beginnings of the words and fields in a clause."""
    weak = phrases()["weak"]
    words = {part for name in chooses_by(entry) for part in name.split("_")}
    for template in templates(entry):
        words |= {word for word in re.findall(r"[a-z]+", template.casefold())}
    return {word[:STEM] for word in words if len(word) >= STEM and word not in weak}


def _opened(record: Json) -> Json:
    """The fields of a record and of the records in its fields."""
    inner = [value for value in record.values() if isinstance(value, dict)]
    return {name: value for fields in (*inner, record) for name, value in fields.items()}
