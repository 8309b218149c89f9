"""A fuzzer that generates arguments from a tool's JSON schema and from the records of a state.

Most values come from the live world, often from one record and the records linked to it, so that
calls make sense. Argument sets that succeeded are kept and mutated one argument at a time, so that
deep preconditions are met. All randomness comes from one seeded Random.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

from provegym.fuzz.pool import Known, Pool, Scalars, folded, singular, state_rows
from provegym.kernel import AnyServer, Outcome, State, Tool

Json = dict[str, Any]

KEPT = 24
DELTAS = [timedelta(minutes=m) for m in (-1440, -60, 0, 15, 30, 60, 120, 240, 1440)] + [
    timedelta(days=d) for d in (-60, -14, -2, 2, 3, 7, 14, 30, 90, 365)
]
STEPS = [timedelta(minutes=m) for m in (15, 30, 60, 90, 180)] + [
    timedelta(days=d) for d in (1, 2, 3, 7)
]
FAR = ("0001-01-02", "9999-12-30")
LONG, WIDE = 3, 1_000


class Fuzzer:
    """Generates arguments for the tools of one server."""

    def __init__(self, server: AnyServer, key: str) -> None:
        self.chance = Random(f"{server.name}:{key}")
        self.kept: dict[str, list[Json]] = defaultdict(list)
        self.drawn: Counter[str] = Counter()
        self._near: Scalars = {}
        self._last: datetime | None = None
        self._extreme = False
        # A foreign server gets far fewer calls, so none is spent on extreme arguments.
        self._tame = 1.0 if server.foreign else 0.96
        self._made = 0
        self._rows: Known = {}

    def look(self, state: State) -> None:
        """Read the current values of a state."""
        self.pool = Pool(state.now, state_rows(state, self._rows))

    def arguments(self, tool: Tool) -> Json:
        """Arguments that fit the tool's schema."""
        kept, dice = self.kept[tool.name], self.chance.random()
        self._last, self._near, self._extreme = None, {}, dice > self._tame
        if not self._extreme and self.chance.random() < 0.65:
            self._near = self._anchor(tool)
        if kept and dice < 0.4:
            return self._vary(tool.input_schema, self.chance.choice(kept))
        return self._object(tool.input_schema)

    def extremes(self, tool: Tool) -> Json:
        """Arguments with the longest texts, largest numbers and most distant dates allowed."""
        self._near, self._last, self._extreme = {}, None, True
        return self._object(tool.input_schema)

    def learn(self, tool: Tool, arguments: Json, outcome: Outcome) -> None:
        """Keep arguments that succeeded, and some that were rejected, for later mutation."""
        if outcome.ok or (outcome.error == "rejected" and self.chance.random() < 0.3):
            kept = self.kept[tool.name]
            if len(kept) < KEPT:
                kept.append(arguments)
            else:
                kept[self.chance.randrange(KEPT)] = arguments

    def invent(self) -> str:
        """A text that is in no world."""
        return self._new([], 1.0)

    def forget(self) -> None:
        """Drop most kept arguments, because their ids belong to another world."""
        for kept in self.kept.values():
            del kept[3:]

    def _anchor(self, tool: Tool) -> Scalars:
        """The values of a record that an argument may refer to, and of its linked records."""
        named = _names(tool.input_schema)
        nouns = [noun for name, about in named for noun in self.pool.nouns(name, about)]
        keys = self.pool.keys[self.chance.choice(nouns)] if nouns else []
        if not self.pool.by_key:
            return {}
        row = self.pool.by_key[self.chance.choice(keys or list(self.pool.by_key))]
        return self.pool.around(
            row, {r.noun: r for r in self._shuffled(self.pool.mentions[row.key])}
        )

    def _shuffled(self, items: list[Any]) -> list[Any]:
        return self.chance.sample(items, len(items))

    def _vary(self, schema: Json, kept: Json) -> Json:
        name = self.chance.choice(list(schema["properties"]) or [""])
        varied = dict(kept)
        if name in varied and name not in schema["required"] and self.chance.random() < 0.3:
            del varied[name]
        elif name:
            varied[name] = self.value(name, schema["properties"][name])
        return varied

    def _object(self, schema: Json) -> Json:
        drawn: Json = {}
        for name, part in schema["properties"].items():
            if name in schema.get("required", ()) or self.chance.random() < 0.4:
                drawn[name] = self.value(name, part)
        return drawn

    def value(self, name: str, schema: Json) -> Any:
        """A value that fits one part of a schema."""
        name = folded(name)
        if options := schema.get("anyOf"):
            return self.value(name, self.chance.choice(options))
        kinds = schema.get("type", "string")
        kinds = [kinds] if isinstance(kinds, str) else list(kinds)
        if "null" in kinds and (kinds == ["null"] or self.chance.random() < 0.1):
            return None
        kind = next(kind for kind in kinds if kind != "null")
        if "enum" in schema:
            return self.chance.choice([value for value in schema["enum"] if value is not None])
        if kind == "string":
            return self._string(name, schema)
        if kind in ("integer", "number"):
            return self._number(name, schema, whole=kind == "integer")
        if kind == "boolean":
            return self.chance.random() < 0.5
        return self._array(name, schema) if kind == "array" else self._object(schema)

    def _array(self, name: str, schema: Json) -> list[Any]:
        low = schema.get("minItems", 0 if "maxItems" in schema else 1)
        high = schema.get("maxItems", low + LONG)
        size = high if self._extreme else self.chance.randint(low, min(high, max(low, 3)))
        items: list[Any] = []
        for _ in range(size):
            item = self.value(singular(name), schema["items"])
            if self._extreme or item not in items or self.chance.random() < 0.1:
                items.append(item)
        while len(items) < low:
            items.append(self.value(singular(name), schema["items"]))
        return items

    def _string(self, name: str, schema: Json) -> str:
        if "format" in schema:
            return self._moment(name, schema["format"])
        limit: int = schema.get("maxLength", 200)
        if self._extreme and self.chance.random() < 0.5:
            return (self.chance.choice(("a", "*", "é", "a/", "9 ")) * limit)[:limit]
        for _ in range(8):
            text = self._text(name, schema)[:limit].ljust(schema.get("minLength", 0), "x")
            if re.search(schema.get("pattern", ""), text):
                break
        return text

    def _text(self, name: str, schema: Json) -> str:
        """Mostly a live value, else a word of one, an example from the schema, or a new text."""
        about = schema.get("description", "")
        near = [value for value in self._near.get(name, ()) if isinstance(value, str)]
        live, dice = self.pool.live(name, about), self.chance.random()
        if name.endswith("_id") and live:
            dice *= 0.95
        self.drawn["live" if live and dice < 0.88 else "made"] += 1
        if near and dice < 0.65:
            return self.chance.choice(near)
        if live and dice < 0.82:
            return self.chance.choice(live)
        if live and dice < 0.85:
            return self.chance.choice(self.pool.natural or self.pool.words or live)
        if live and dice < 0.88:
            words = self.chance.choice(live).split()
            return self.chance.choice(words) if words else ""
        examples: list[str] = re.findall(r'"([^"]+)"', about)
        if examples and dice < 0.91:
            return self.chance.choice(examples)
        return self._new(live, dice)

    def _new(self, live: list[str], dice: float) -> str:
        self._made += 1
        if live and dice < 0.95:
            return re.sub(r"[^/_@:. -]*$", str(7000 + self._made), self.chance.choice(live))
        return self.chance.choice((f"quiet{self._made}", f"Quiet Harbour {self._made}"))

    def _known(self, name: str) -> list[Any]:
        """The values of fields with this name, near the chosen record or else anywhere."""
        return self._near.get(name) or self.pool.fields.get(name) or []

    def _number(self, name: str, schema: Json, *, whole: bool) -> int | float:
        step = schema.get("multipleOf", 1 if whole else 0.001)
        low, high = _bounds(schema, step)
        same = [value for value in self._known(name) if _is_num(value)]
        draws: list[Callable[[], float]] = [
            lambda: self.chance.choice(same or self.pool.numbers or [low]),
            lambda: self.chance.choice(same or [low + step * self.chance.randrange(8)]),
            lambda: low + self.chance.randrange(1, 8),
            lambda: self.chance.uniform(low, min(high, low + 100)),
            lambda: self.chance.uniform(low, high),
            lambda: self.chance.choice(self.pool.numbers or [high]),
            lambda: self.chance.choice((low, high)),
        ]
        draw = draws[-1] if self._extreme else self.chance.choice(draws)
        value = min(max(draw(), low), high)
        return int(value) if whole else round(value, 2 if step == 0.01 else 3)

    def _moment(self, name: str, kind: str) -> str:
        """A date or time near now, after the previous one, or near a value of some record."""
        if self._extreme and self.chance.random() < 0.5:
            far = self.chance.choice(FAR)
            return far if kind == "date" else f"{far}T00:00:00Z"
        known = [moment for value in self._known(name) if (moment := _parse(value))]
        base, dice = self.pool.now, self.chance.random()
        if self._last and dice < 0.6:
            moment = self._last + self.chance.choice(STEPS)
        elif known and dice < 0.8:
            moment = self.chance.choice(known) + self.chance.choice(DELTAS[1:6])
        else:
            moment = base + self.chance.choice(DELTAS)
            if self.chance.random() < 0.5:
                moment = moment.replace(minute=0, second=0)
        self._last = moment
        return str(moment.date()) if kind == "date" else moment.isoformat().replace("+00:00", "Z")


def _names(schema: Json) -> list[tuple[str, str]]:
    """The name and description of every argument, including nested ones and list elements."""
    found: list[tuple[str, str]] = []
    for name, part in schema.get("properties", {}).items():
        name = folded(singular(name) if "items" in part else name)
        found.append((name, part.get("description", "")))
        found += _names(part) + _names(part.get("items", {}))
    return found


def _bounds(schema: Json, step: float) -> tuple[float, float]:
    """The smallest and largest number a schema allows; foreign schemas may have no bounds."""
    low = schema["minimum"] if "minimum" in schema else schema.get("exclusiveMinimum", -step) + step
    high = schema.get("maximum", schema.get("exclusiveMaximum", low + WIDE + step) - step)
    return low, high


def _is_num(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _parse(value: Any) -> datetime | None:
    if not isinstance(value, str) or not re.match(r"\d{4}-\d\d-\d\d(T|$)", value):
        return None
    if len(value) == 10:
        return datetime.fromisoformat(f"{date.fromisoformat(value)}T09:00:00+00:00")
    return datetime.fromisoformat(value)
