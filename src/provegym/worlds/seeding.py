"""Draws a world from a spec and a seed: first its records, then its past.

The past is lived: operations are called at random times before the start of the world, with random
arguments. A call that a rule refuses changes nothing, so every drawn world obeys the rules.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, cast

from provegym.kernel import Seed, State, ToolError, money
from provegym.servers import people
from provegym.worlds.effects import start_value
from provegym.worlds.formula import Compiler, Compute
from provegym.worlds.shapes import LONGEST, NOW, TEXT, Shapes
from provegym.worlds.spec import Argument, Entity, Field, Past, Scalar

BRACED = re.compile(r"\{(\w+)\}")
TRIES = 60
# How many tries an operation of the past has, per time it shall work.
PATIENCE = 6
FEW_PEOPLE = 60
HOURS = (9, 18)
MINUTES = (0, 15, 30, 45)


Functions = Mapping[str, Callable[..., Any]]


def draw(shapes: Shapes, functions: Functions, state: State, seed: Seed) -> State:
    """Fill a new state with a world; `functions` are the operations by their name."""
    return WorldDrawer(shapes, functions, state, seed).draw()


class WorldDrawer:
    """Draws one world."""

    def __init__(self, shapes: Shapes, functions: Functions, state: Any, seed: Seed) -> None:
        self.spec = shapes.spec
        self.functions = functions
        self.state = state
        self.shapes = shapes
        self.starts: dict[tuple[str, str], Compute] = {}
        self.chance: Random = seed.random
        self.start: datetime = seed.now
        state.me = people.acting_user(seed).name
        self.people = [person.name for person in people.others(seed, FEW_PEOPLE)]
        self.free = list(self.people)

    def draw(self) -> State:
        """Draw the records of each entity, then let the past happen."""
        state = self.state
        state.now = self._day(self.spec.days)
        for entity in self.spec.entities:
            self._draw_records(entity)
        calls = [past for past in self.spec.past for _ in range(past.times)]
        moments = [(self._past_moment(), past) for past in calls]
        for moment, past in sorted(moments, key=lambda each: each[0]):
            self._wait_until(moment)
            self._live(past)
        self._wait_until(self.start)
        return cast("State", state)

    def _day(self, days_ago: int) -> datetime:
        """The midnight that many days before the day on which the world starts."""
        day = self.start - timedelta(days=days_ago)
        return day.replace(hour=0, minute=0, second=0, microsecond=0)

    def _past_moment(self) -> datetime:
        """A moment in office hours, on one of the days of the past."""
        days = self.spec.days
        if not days:
            return self.start
        day = self._day(self.chance.randint(1, days))
        return day.replace(hour=self.chance.randrange(*HOURS), minute=self.chance.choice(MINUTES))

    def _wait_until(self, moment: datetime) -> None:
        self.state.pass_time(max(0, int((moment - self.state.now).total_seconds()) // 60))

    def _draw_records(self, entity: Entity) -> None:
        table = getattr(self.state, self.shapes.tables[entity.name])
        taken: dict[str, set[Any]] = {}
        chosen = {
            field.name: set(self.chance.sample(range(entity.count), field.exactly))
            for field in entity.fields
            if field.exactly is not None
        }
        for number in range(entity.count):
            values: dict[str, Any] = {}
            for field in entity.fields:
                if field.name in chosen:
                    values[field.name] = number in chosen[field.name]
                else:
                    values[field.name] = self._field(entity, field, values, taken)
            table.add(**values)

    def _field(
        self, entity: Entity, field: Field, values: dict[str, Any], taken: dict[str, set[Any]]
    ) -> Any:
        if field.kind == "copy":
            return self._copied(entity, field, values)
        if field.empty and self.chance.random() >= field.share:
            return None
        if field.kind in ("name", "code") and field.words:
            return self._unique(field, taken.setdefault(field.name, set()))
        found = self._value(field)
        return self._start(entity, field) if found is None else found

    def _start(self, entity: Entity, field: Field) -> Any:
        """The start of a field, or None if it has none."""
        if field.start is None:
            return None
        place = entity.name, field.name
        if place not in self.starts:
            type_ = self.shapes.type(*place, entity.name)
            compiler = Compiler(self.shapes, {"now": NOW, "me": TEXT}, entity.name)
            self.starts[place] = start_value(compiler, field.start, type_)
        return self.starts[place](self.state, {"now": self.start, "me": self.state.me})

    def _copied(self, entity: Entity, field: Field, values: dict[str, Any]) -> Any:
        source, _, rest = field.to.partition(".")
        key = values[source]
        if key is None:
            return self._start(entity, field)
        target = self.shapes.field(entity.name, source, entity.name).to
        return getattr(getattr(self.state, self.shapes.tables[target])[key], rest)

    def _unique(self, field: Field, taken: set[Any]) -> str:
        """A text that no other record has; if words run out, it gets a number."""
        plain = field.kind == "name" and not any("{" in word for word in field.words)
        left = tuple(word for word in field.words if word not in taken) if plain else ()
        for _ in range(TRIES):
            text = self._text(left or field.words, field.kind == "code", unique=True)
            if text not in taken:
                break
        number, first = 1, text
        while text in taken:
            number += 1
            text = f"{first[: LONGEST['name'] - 4]} {number}"
        taken.add(text)
        return text

    def _text(self, words: tuple[str, ...], is_code: bool, *, unique: bool = False) -> str:
        text = self.chance.choice(words)
        for _ in range(8):
            if "{" not in text:
                break
            text = BRACED.sub(lambda slot: self._word(slot[1], unique), text)
        if is_code:
            text = re.sub("#", lambda _: str(self.chance.randrange(10)), text)
            text = re.sub("@", lambda _: self.chance.choice("ABCDEFGHJKLMNPRSTUVWXYZ"), text)
        return text

    def _word(self, name: str, unique: bool) -> str:
        if name == "me":
            return str(self.state.me)
        if name == "person":
            if unique and self.free:
                return self.free.pop(self.chance.randrange(len(self.free)))
            return self.chance.choice(self.people)
        return self.chance.choice(self.spec.lists[name])

    def _value(self, field: Field) -> Any:
        """A random value of a field, or None if it cannot be drawn."""
        chance = self.chance
        if field.kind in ("text", "name", "code"):
            return self._text(field.words, False) if field.words else None
        if field.kind == "enum":
            return chance.choices(field.values, field.weights or None)[0]
        if field.kind == "flag":
            return chance.random() < field.share
        if field.kind == "reference":
            keys = list(getattr(self.state, self.shapes.tables[field.to]).keys())
            return chance.choice(keys) if keys else None
        if field.low is None or field.high is None:
            return None
        if field.kind in ("date", "time"):
            return self._moment(field.low, field.high, is_date=field.kind == "date")
        return self._number(field.low, field.high, field.step, is_money=field.kind == "money")

    def _number(self, low: float, high: float, step: float | None, *, is_money: bool) -> Any:
        size = step or (0.5 if is_money else 1)
        number = low + size * self.chance.randint(0, int((high - low) / size + 1e-9))
        return money(str(round(number, 2))) if is_money else int(number)

    def _moment(self, low: float, high: float, *, is_date: bool) -> Any:
        day = self.start + timedelta(days=self.chance.uniform(low, high))
        if is_date:
            return day.date()
        hour, minute = self.chance.randrange(*HOURS), self.chance.choice(MINUTES)
        return day.replace(hour=hour, minute=minute, second=0, microsecond=0)

    def _live(self, past: Past) -> None:
        """Call an operation of the past until it works, at most a few times."""
        function = self.functions[past.tool]
        operation = self.spec.operation(past.tool)
        for _ in range(PATIENCE):
            values = [self._argument(a, past.given.get(a.name, ())) for a in operation.arguments]
            self.state.undo.clear()
            try:
                function(self.state, *values)
            except ToolError:
                self.state.rollback()
                continue
            return

    def _argument(self, argument: Argument, given: tuple[Scalar, ...]) -> Any:
        chance = self.chance
        if argument.of:
            keys = list(getattr(self.state, self.shapes.tables[argument.of]).keys())
            return chance.choice(keys) if keys else ""
        if given:
            return self._converted(argument, chance.choice(given))
        if argument.default is not None and not argument.make and chance.random() < 0.5:
            return self._converted(argument, argument.default)
        if argument.optional and chance.random() < 0.5:
            return None
        if argument.kind == "enum":
            return chance.choice(argument.values)
        if argument.kind == "flag":
            return chance.random() < 0.5
        if isinstance(argument.make, dict):
            low, high = argument.make["days"]
            return self._soon(low, high, is_date=argument.kind == "date")
        if argument.make:
            value = chance.choice(argument.make)
            text = self._text((value,), False) if isinstance(value, str) else value
            return self._converted(argument, text)
        least = argument.low if argument.low is not None else 1
        most = argument.high if argument.high is not None else 20
        if argument.kind in ("date", "time"):
            return self._soon(1, 14, is_date=argument.kind == "date")
        if argument.kind in ("number", "money"):
            return self._number(
                least, min(most, least + 60), None, is_money=argument.kind == "money"
            )
        return self._text(("note",), False)

    def _soon(self, low: int, high: int, *, is_date: bool) -> Any:
        """A moment some days after the current time of the past."""
        gone = (self.start - self.state.now).total_seconds() / 86_400
        return self._moment(low - gone, high - gone, is_date=is_date)

    def _converted(self, argument: Argument, value: Scalar) -> Any:
        if argument.kind == "money" and isinstance(value, int | float):
            return money(Decimal(str(value)))
        return value
