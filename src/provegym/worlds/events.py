"""Events of a spec: what the passing of time does, and the proof that it comes to an end.

Each event must end itself: it removes its record, sets a field of its `where` to another value,
takes its time away, or moves it at least a day into the future. No events may start each other in
a circle.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from provegym.kernel import ToolError
from provegym.worlds.conditions import Act, Narrow, named_values, narrowing
from provegym.worlds.effects import references_to, sequence
from provegym.worlds.formula import Compiler, Work, is_formula
from provegym.worlds.shapes import NOW, TEXT, Shapes, Type
from provegym.worlds.spec import Effect, Event, SpecError

DAY = 86_400
# A year of events that come back, over all records of all entities.
MOST_RETURNS = 30_000


class CompiledEvent(NamedTuple):
    """An event: which records it is for, what it does, and how it ends.

    `ends` is the field that it ends by, `values` the values of that field for which it happens;
    for its time field these are empty. `writes` are the fields that it sets, by entity.
    """

    event: Event
    table: str
    narrow: Narrow
    acts: list[Act]
    work: Work
    ends: str
    values: frozenset[Any]
    writes: list["FieldWrite"]


class FieldWrite(NamedTuple):
    """A field that an event sets: to a literal, to nothing, or to a time in so many seconds."""

    entity: str
    field: str
    literal: Any
    nothing: bool
    later: float | None


def compile_events(shapes: Shapes) -> list[CompiledEvent]:
    """The events of a spec; raises SpecError if one of them might never end."""
    compiled = [
        _compile(event, shapes, f"event {number} of {event.entity}")
        for number, event in enumerate(shapes.spec.events, 1)
    ]
    _require_end(compiled)
    full = {entity.name: entity.most for entity in shapes.spec.entities}
    if returns(compiled, full) > MOST_RETURNS:
        raise SpecError("events come back too often: make `most` of their entities smaller")
    return compiled


def returns(events: list[CompiledEvent], sizes: dict[str, int], days: int = 366) -> float:
    """How often events come back in some days, if tables have these sizes."""
    total = 0.0
    for each in events:
        entity, at = each.event.entity, each.event.at
        writes = (
            w for other in events for w in other.writes if (w.entity, w.field) == (entity, at)
        )
        soonest = min((write.later for write in writes if write.later), default=None)
        if soonest is not None:
            total += sizes[entity] * days * DAY / max(soonest, DAY)
    return total


def _compile(event: Event, shapes: Shapes, where: str) -> CompiledEvent:
    if shapes.type(event.entity, event.at, where).kind != "time":
        raise SpecError(f"{where}: {event.at} is not a time")
    scope = {"now": NOW, "me": TEXT}
    compiler = Compiler(shapes, scope, where, forgiving=True)
    narrow = narrowing(compiler, event.entity, event.where)
    inner = compiler.within(row=Type("key", event.entity))
    lets, inner = named_values(inner, event.let)
    acts, after = sequence(inner, event.effects)
    writes = [write for effect in event.effects for write in _writes(after, effect)]
    ends = _end(event, after, writes, where)
    values = _values(event.where[ends]) if ends in event.where else frozenset()
    table = shapes.tables[event.entity]
    return CompiledEvent(event, table, narrow, [*lets, *acts], compiler.work, ends, values, writes)


def _values(value: Any) -> frozenset[Any]:
    return frozenset(value) if isinstance(value, tuple | list) else frozenset((value,))


def _writes(compiler: Compiler, effect: Effect) -> Iterator[FieldWrite]:
    """What an effect sets, with the fields of a record that it adds."""
    shapes, given = compiler.shapes, dict(effect.set)
    entity = effect.add or effect.each
    if effect.change:
        entity = compiler.value(effect.change).type.entity
    if effect.each:
        compiler = compiler.within(row=Type("record", entity))
    if effect.add:
        for field in shapes.entity(entity, compiler.where).fields:
            if field.start is not None:
                given.setdefault(field.name, field.start)
    for name, value in given.items():
        nothing = value == "$nothing"
        literal = None if is_formula(value) else value
        later = None
        if is_formula(value) and shapes.type(entity, name, compiler.where).kind == "time":
            formula = compiler.value(value)
            later = None if formula.type.optional else formula.low
        yield FieldWrite(entity, name, literal, nothing, later)


def _end(event: Event, compiler: Compiler, writes: list[FieldWrite], where: str) -> str:
    """The field that an event ends by."""
    sure = [effect for effect in event.effects if not effect.when]
    if any(effect.remove == "$row" for effect in sure):
        if pointing := references_to(compiler, event.entity):
            raise SpecError(f"{where} cannot remove what a {pointing[0][0]} points to")
        return "id"
    own = {name: value for e in sure if e.change == "$row" for name, value in e.set.items()}
    for name, value in event.where.items():
        if name in own and not is_formula(own[name]):
            again = [w for w in writes if w.entity == event.entity and w.field == name]
            wanted = _values(value)
            if not any(map(is_formula, wanted)) and all(
                write.literal is not None and write.literal not in wanted for write in again
            ):
                return name
    times = [w for w in writes if w.entity == event.entity and w.field == event.at]
    lasting = [write.later for write in times if not write.nothing]
    if event.at in own and all(later is not None and later >= DAY for later in lasting):
        return event.at
    raise SpecError(
        f"{where} would happen again and again: set a field of its `where` to another value,"
        f" or {event.at} to $nothing or to at least a day from now, such as $now + 7d"
    )


def _require_end(events: list[CompiledEvent]) -> None:
    """No events start each other in a circle."""
    starts = {
        at: [to for to, other in enumerate(events) if _starts(each, other)]
        for at, each in enumerate(events)
    }
    while ended := [at for at, others in starts.items() if not {*others} & starts.keys()]:
        for at in ended:
            del starts[at]
    if starts:
        numbers = " and ".join(str(at + 1) for at in starts)
        raise SpecError(f"events {numbers} could start each other again and again")


def _starts(one: CompiledEvent, other: CompiledEvent) -> bool:
    """Whether an event can make another one due at once that has ended."""
    entity, ends = other.event.entity, other.ends
    if any(effect.add == entity for effect in one.event.effects):
        added = {w.field: w for w in one.writes if w.entity == entity}
        write = added.get(ends)
        late = added.get(other.event.at)
        is_later = late is not None and (late.nothing or (late.later or 0) >= DAY)
        if not is_later and (write is None or _may_start(write, other)):
            return True
    if one is other:
        return False
    fields = [write for write in one.writes if write.entity == entity and write.field == ends]
    return any(_may_start(write, other) for write in fields)


def _may_start(write: FieldWrite, other: CompiledEvent) -> bool:
    if write.nothing:
        return False
    if write.field == other.event.at:
        return write.later is None or write.later < DAY
    return write.literal is None or write.literal in other.values


def happening(
    events: list[CompiledEvent],
) -> tuple[Callable[[Any], datetime | None], Callable[[Any], None]]:
    """The methods `next_event` and `happen` of a state with these events."""
    groups: list[list[CompiledEvent]] = []
    for each in events:
        if groups and groups[-1][0].table == each.table:
            groups[-1].append(each)
        else:
            groups.append([each])
    timed: dict[tuple[str, str], list[Narrow]] = {}
    for each in events:
        timed.setdefault((each.table, each.event.at), []).append(each.narrow)
    looks = [(table, attrgetter(at), narrows) for (table, at), narrows in timed.items()]

    def next_event(state: Any) -> datetime | None:
        """The time of the next event."""
        env = {"now": state.now, "me": state.me}
        times = []
        for table, at, narrows in looks:
            rows = [row for row in state.__dict__[table] if at(row) is not None]
            times += [at(row) for narrow in narrows for row in narrow(rows, state, env)]
        return min(times, default=None)

    def happen(state: Any) -> None:
        """Run the events that are due: for each record the first one that is."""
        for group in groups:
            for key, each in _due(group, state):
                _run(each, state, key)

    return next_event, happen


def _due(group: list[CompiledEvent], state: Any) -> list[tuple[str, CompiledEvent]]:
    """The records for which an event of a group is due, in the order of their table."""
    env = {"now": state.now, "me": state.me}
    table, now = state.__dict__[group[0].table], state.now
    found: dict[str, CompiledEvent] = {}
    due: dict[str, list[Any]] = {}
    for each in group:
        name = each.event.at
        if name not in due:
            at = attrgetter(name)
            due[name] = [row for row in table if (time := at(row)) is not None and time <= now]
        for row in each.narrow(due[name], state, env) if due[name] else ():
            found.setdefault(row.id, each)
    if len(found) < 2 or len(group) == 1:
        return list(found.items())
    return [(key, found[key]) for key in table.keys() if key in found]  # noqa: SIM118


def _run(each: CompiledEvent, state: Any, key: str) -> None:
    """Run one event for one record, unless an event before it has changed the record."""
    env = {"now": state.now, "me": state.me, "row": key}
    row = state.__dict__[each.table].get(key)
    if row is None or not each.narrow([row], state, env):
        return
    for act in each.acts:
        try:
            act(state, env)
        except ToolError:
            continue
