"""Guided fuzzing: draws calls related to another call, from its arguments, result and errors."""

import re
from collections import defaultdict
from collections.abc import Iterator
from random import Random

from provegym.fuzz.pool import Scalars, TableRow, flat, folded, singular
from provegym.graph.observe import Observer, Tried, texts
from provegym.graph.slots import EACH, Json, Slot, filled
from provegym.kernel import Tool
from provegym.language.values import leaves

LONGEST = 60
ABOUT = 4
NEWS = 2
OWN = 0.6
NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])")


class Near:
    """The values related to one call, by argument name."""

    def __init__(self, seen: Observer, tried: Tried) -> None:
        self.seen = seen
        said = tried.outcome.value
        self.about = [t for t in texts(leaves(tried.arguments)) if len(t) <= LONGEST][:ABOUT]
        news = seen.news(tried) if seen.server.foreign else []
        self.news = [text for text in news if len(text) <= LONGEST][:NEWS]
        self.names: Scalars = defaultdict(list)
        self.numbers = [float(number) for number in NUMBER.findall(tried.outcome.text)]
        self._add(flat(tried.arguments))
        if tried.outcome.ok:
            self._add(flat(said))
            known = texts(leaves([tried.arguments, said]))
            for text in known:
                self._add({f"{noun}_id": [text] for noun in seen.nouns_like(text)})
        else:
            known = [*self.about, *_mentioned(said["message"])]
        for row in self._rows(known):
            self._add(seen.pool.around(row, {r.noun: r for r in seen.pool.mentions[row.key]}))

    def _add(self, values: Scalars) -> None:
        for name, some in values.items():
            self.names[name] += [value for value in some if value not in self.names[name]]

    def _rows(self, known: list[str]) -> Iterator[TableRow]:
        """The records whose key is one of these texts, or that hold one of them in a field."""
        by_key, titled = self.seen.pool.by_key, self.seen.titled
        for text in known:
            if text in by_key:
                yield by_key[text]
            yield from titled.get(text, ())[:3]

    def named(self, slot: Slot) -> list[str]:
        """The related texts with the same name as an argument; those of the call come first."""
        return texts(self.names.get(_name(slot), []))

    def meant(self, slot: Slot) -> list[str]:
        """The keys of related records that an argument may refer to."""
        nouns = self.seen.pool.nouns(_name(slot), self.seen.about(slot))
        return texts([key for noun in nouns for key in self.names.get(f"{noun}_id", ())])


def _name(slot: Slot) -> str:
    return folded(singular(slot.path[-2]) if slot.path[-1] == EACH else slot.path[-1])


def _mentioned(message: str) -> list[str]:
    """The words and quoted phrases of a message."""
    return [*re.findall(r"'([^']+)'", message), *re.findall(r"[\w@./:-]*\w", message)]


def draw_near(seen: Observer, tool: Tool, near: Near, count: int) -> Iterator[Json]:
    """Draw calls of a tool that use values related to another call, without repeats."""
    chance = Random(f"{seen.seed} {tool.name} {near.about}")
    templates = [tried.arguments for tried in seen.worked[tool.name]]
    templates = templates or [tried.arguments for tried in seen.refused[tool.name]]
    plans = _plans(seen, tool, near)
    done: list[Json] = []
    for number in range(2 * count):
        arguments = templates[number % len(templates)] if templates else seen.fuzzer.arguments(tool)
        for slot, values in plans[number % len(plans)]:
            value = values[0] if chance.random() < OWN else chance.choice(values)
            arguments = filled(arguments, slot.path, value)
        if number % 2 or number >= len(plans):
            arguments = _varied(tool, arguments, near, chance)
        if arguments not in done and len(done) < count:
            done.append(arguments)
            yield arguments


Plan = list[tuple[Slot, list[str]]]


def _plans(seen: Observer, tool: Tool, near: Near) -> list[Plan]:
    """Which arguments to fill: all with the same name, each that may refer, each with any value."""
    named: Plan = [(s, values) for s in seen.slots[tool.name] if (values := near.named(s))]
    needed = [part for part in named if part[0].required]
    meant: Plan = [(s, values) for s in seen.slots[tool.name] if (values := near.meant(s))]
    fit = {part[0] for part in (*needed, *meant)}
    loose: Plan = [(s, near.about) for s in seen.slots[tool.name] if s.required and s not in fit]
    single = meant + (loose if near.about else [])
    plans = [needed, *([part] for part in single)]
    plans += [[*needed, part] for part in single] if needed else []
    new = [[(s, [text])] for text in near.news for s in seen.slots[tool.name] if s.required]
    return [*new, named, *plans] if len(named) > len(needed) else [*new, *plans]


def _varied(tool: Tool, arguments: Json, near: Near, chance: Random) -> Json:
    """The same call with related numbers and other enum values."""
    varied = dict(arguments)
    for name, part in tool.input_schema["properties"].items():
        if name in varied and isinstance(varied[name], int | float):
            varied[name] = chance.choice([varied[name], *_numbers(near, name, part)])
        elif "enum" in part and (name in varied or chance.random() < 0.3):
            varied[name] = chance.choice([word for word in part["enum"] if word is not None])
    return varied


def _numbers(near: Near, name: str, schema: Json) -> list[float]:
    """The related numbers that fit an argument; those with its name come first."""
    kinds = schema.get("type", ())
    if "integer" not in kinds and "number" not in kinds:
        return []
    values = [*near.names.get(folded(name), ()), *near.numbers]
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    low, high = schema.get("minimum", 0), schema.get("maximum", 1e9)
    whole = "integer" in kinds
    return [int(v) if whole else v for v in numbers if low <= v <= high]
