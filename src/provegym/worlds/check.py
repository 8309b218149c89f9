"""Static checks of a spec: names, sizes, fields, and the shape that each kind of operation has.

Each problem is one sentence that names the place. Types of formulas are checked by the compiler.
"""

import re
from collections import Counter
from collections.abc import Iterable

from provegym.worlds.formula import Shapes
from provegym.worlds.spec import (
    READS,
    Argument,
    Effect,
    Entity,
    Field,
    Operation,
    SpecError,
    WorldSpec,
)

NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
TOOL = re.compile(r"[a-z][a-z0-9_]{0,63}")
PREFIX = re.compile(r"[a-z]{2,8}")
RESERVED = {"now", "me", "row", "value", "id", "limit", "offset", "state"}
MOST = {"entities": 12, "fields": 24, "operations": 60, "arguments": 12, "parts": 24}
MOST_RECORDS, MOST_WORDS, MOST_PAST, MOST_DAYS = 400, 400, 400, 1_000
MOST_TEXT = 400
ADDING = ("create", "reserve", "link", "post")


def sizes(spec: WorldSpec) -> None:
    """Names are plain, and nothing is larger than a world may be."""
    if not NAME.fullmatch(spec.name):
        raise SpecError(
            f"{spec.name!r} is no name of a world: use a-z, 0-9 and _, from a letter on"
        )
    _at_most("the spec", "entities", len(spec.entities))
    _at_most("the spec", "operations", len(spec.operations))
    _unique("the spec", (entity.name for entity in spec.entities))
    _unique("the spec", (entity.prefix for entity in spec.entities))
    _unique("the spec", (operation.tool for operation in spec.operations))
    if not spec.entities or not spec.operations:
        raise SpecError("a spec has at least one entity and one operation")
    drawn = sum(entity.count for entity in spec.entities)
    if drawn > MOST_RECORDS:
        raise SpecError(f"a world draws at most {MOST_RECORDS} records, not {drawn}")
    lived = sum(past.times for past in spec.past)
    if lived > MOST_PAST or not 0 <= spec.days <= MOST_DAYS:
        raise SpecError(f"a past has at most {MOST_PAST} calls in {MOST_DAYS} days")
    for name, words in spec.lists.items():
        _texts(f"lists.{name}", words)
    if spec.days < 0 or len(spec.about) > MOST_TEXT or "\n" in spec.about:
        raise SpecError(f"`about` is one line of at most {MOST_TEXT} characters")


def _at_most(where: str, what: str, count: int) -> None:
    if count > MOST[what]:
        raise SpecError(f"{where} has {count} {what}; at most {MOST[what]} are allowed")


def _unique(where: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise SpecError(f"{where} has {name!r} {count} times")


def _texts(where: str, texts: Iterable[str]) -> None:
    found = list(texts)
    if len(found) > MOST_WORDS or any(len(t) > MOST_TEXT or "\n" in t for t in found):
        raise SpecError(
            f"{where}: at most {MOST_WORDS} texts of one line and {MOST_TEXT} characters"
        )


def entities(spec: WorldSpec, shapes: Shapes) -> None:
    """Fields can be drawn, references point to entities that are drawn before."""
    for number, entity in enumerate(spec.entities):
        where = f"entity {entity.name!r}"
        if not NAME.fullmatch(entity.name) or entity.name in RESERVED:
            raise SpecError(f"{where}: a name has a-z, 0-9 and _, and is not a reserved word")
        if not PREFIX.fullmatch(entity.prefix):
            raise SpecError(f"{where}: its prefix {entity.prefix!r} must be 2 to 8 letters a-z")
        if entity.count < 0 or not 1 <= entity.most <= 2_000:
            raise SpecError(f"{where}: count is at least 0, and most from 1 to 2000")
        _at_most(where, "fields", len(entity.fields))
        _unique(where, (field.name for field in entity.fields))
        before = {other.name: other for other in spec.entities[:number]}
        for field in entity.fields:
            _field(spec, shapes, entity, field, before)
        _references(entity, where)


def _references(entity: Entity, where: str) -> None:
    known = {"id", *(field.name for field in entity.fields)}
    _texts(where, entity.refer)
    for way in entity.refer:
        for slot in re.findall(r"\{(\w+)(?::\w+)?\}", way):
            if slot not in known:
                raise SpecError(f"{where}: {way!r} names a field {slot!r} that there is not")


def _field(
    spec: WorldSpec, shapes: Shapes, entity: Entity, field: Field, before: dict[str, Entity]
) -> None:
    where = f"{entity.name}.{field.name}"
    if not NAME.fullmatch(field.name) or field.name in RESERVED:
        raise SpecError(f"{where}: a name has a-z, 0-9 and _, and is not a reserved word")
    _texts(where, (*field.words, *field.values))
    if field.kind == "enum" and (not field.values or len(set(field.values)) < len(field.values)):
        raise SpecError(f"{where}: an enum has values, each once")
    if field.weights and len(field.weights) != len(field.values):
        raise SpecError(
            f"{where}: it has {len(field.values)} values but {len(field.weights)} weights"
        )
    if field.kind == "reference":
        target = shapes.entity(field.to, where)
        if entity.count and (field.to not in before or not target.count) and not field.empty:
            raise SpecError(f"{where}: {field.to!r} must be drawn before {entity.name!r}")
    if field.kind == "copy":
        shapes.type(entity.name, field.name, where)
        names = [each.name for each in entity.fields]
        if names.index(field.to.partition(".")[0]) > names.index(field.name):
            raise SpecError(f"{where}: the reference it copies from must stand before it")
    if field.low is not None and field.high is not None and field.low > field.high:
        raise SpecError(f"{where}: low is above high")
    if any(abs(bound) > 1e7 for bound in (field.low or 0, field.high or 0)):
        raise SpecError(f"{where}: low and high are between -10,000,000 and 10,000,000")
    if field.kind in ("date", "time") and max(abs(field.low or 0), abs(field.high or 0)) > 40_000:
        raise SpecError(f"{where}: a date is at most 40,000 days away")
    if entity.count:
        _drawable(spec, field, where)


def _drawable(spec: WorldSpec, field: Field, where: str) -> None:
    if field.kind in ("name", "code", "text") and not field.words:
        raise SpecError(f"{where}: its words are missing")
    bounded = field.low is not None and field.high is not None
    is_drawn = field.kind in ("number", "money", "date", "time") and not field.empty
    if is_drawn and not bounded and field.start is None:
        raise SpecError(f"{where}: low and high are missing")
    for words in (field.words, *spec.lists.values()):
        for slot in (slot for text in words for slot in re.findall(r"\{(\w+)\}", text)):
            if slot not in ("person", "me") and slot not in spec.lists:
                raise SpecError(f"{where}: there is no word list {slot!r}")


def operations(spec: WorldSpec, shapes: Shapes) -> None:
    """Each operation has the shape of its kind."""
    for operation in spec.operations:
        where = operation.tool
        if not TOOL.fullmatch(where):
            raise SpecError(f"{where!r} is no name of a tool: use a-z, 0-9 and _")
        shapes.entity(operation.entity, where)
        _at_most(where, "arguments", len(operation.arguments))
        _at_most(where, "parts", len(operation.guards) + len(operation.effects))
        _unique(where, (argument.name for argument in operation.arguments))
        _texts(where, (operation.about, *operation.asks))
        if not operation.about.strip():
            raise SpecError(f"{where}: `about` is missing; the model reads it")
        for argument in operation.arguments:
            _argument(operation, argument, shapes)
        _shape(operation, shapes)
        _words(operation)
    for number, event in enumerate(spec.events, 1):
        where = f"event {number} of {event.entity}"
        if shapes.type(event.entity, event.at, where).kind != "time":
            raise SpecError(f"{where}: {event.at} is not a time")
        if not _ends(event.where, event.at, event.effects):
            raise SpecError(
                f"{where} would happen again and again: change a field of `where`, or {event.at}"
            )


def _ends(where: Iterable[str], at: str, effects: Iterable[Effect]) -> bool:
    """Whether an event changes what makes it happen, without a condition."""
    own = [effect for effect in effects if effect.change == "$row" and not effect.when]
    gone = [effect for effect in effects if effect.remove == "$row" and not effect.when]
    return bool(gone) or any({at, *where} & effect.set.keys() for effect in own)


def _argument(operation: Operation, argument: Argument, shapes: Shapes) -> None:
    where = f"{operation.tool}({argument.name})"
    if not NAME.fullmatch(argument.name) or argument.name in RESERVED:
        raise SpecError(f"{where}: a name has a-z, 0-9 and _, and is not a reserved word")
    if not argument.about.strip() or "\n" in argument.about or len(argument.about) > MOST_TEXT:
        raise SpecError(f"{where}: `about` is one line that says what it is")
    if argument.filter and operation.kind != "search":
        raise SpecError(f"{where}: only a search filters")
    if operation.kind == "search" and not argument.filter:
        raise SpecError(f"{where}: an argument of a search filters by a field")
    if argument.kind == "enum" and not argument.values and not argument.filter:
        raise SpecError(f"{where}: an enum has values")
    if argument.filter:
        shapes.field(operation.entity, argument.filter, where)
    if any(abs(bound) > 1e6 for bound in (argument.low or 0, argument.high or 0)):
        raise SpecError(f"{where}: low and high are between -1,000,000 and 1,000,000")
    make = argument.make
    if isinstance(make, dict) and (
        set(make) - {"hours"} != {"days"} or any(len(v) != 2 or v[0] > v[1] for v in make.values())
    ):
        raise SpecError(f"{where}: `make` of a date has days = [first, last]")


def _shape(operation: Operation, shapes: Shapes) -> None:
    """The kind of an operation says what it must have."""
    where, kind, effects = operation.tool, operation.kind, operation.effects
    if kind in READS:
        if effects or operation.guards:
            raise SpecError(f"{where}: a {kind} has no guards and no effects")
        if kind == "get" and [a.of for a in operation.arguments] != [operation.entity]:
            raise SpecError(f"{where}: a get has one argument, the id of a {operation.entity}")
        if kind == "report" and not operation.figures:
            raise SpecError(f"{where}: a report has figures")
        return
    if not effects:
        raise SpecError(f"{where}: a {kind} has at least one effect")
    _written(operation, shapes)


def _written(operation: Operation, shapes: Shapes) -> None:
    where, kind, entity = operation.tool, operation.kind, operation.entity
    effects = operation.effects
    adds = any(effect.add == entity for effect in effects)
    own = {argument.name for argument in operation.arguments if argument.of == entity}
    sets = {
        name for effect in effects if effect.change.removeprefix("$") in own for name in effect.set
    }
    kinds = {shapes.field(entity, name, where).kind for name in sets}
    problem = ""
    if kind in ADDING and not adds:
        problem = f"adds a {entity}"
    elif kind == "reserve" and not operation.guards:
        problem = "has a guard: what cannot run out needs no reserving"
    elif kind == "remove" and not any(e.remove.removeprefix("$") in own for e in effects):
        problem = f"removes the {entity} of an argument"
    elif kind in ("transition", "cancel") and "enum" not in kinds:
        problem = f"sets an enum field of the {entity} of an argument"
    elif kind == "assign" and "reference" not in kinds:
        problem = f"sets a reference of the {entity} of an argument"
    elif kind == "update" and not sets:
        problem = f"sets a field of the {entity} of an argument"
    elif kind == "transfer" and sum(bool(e.change) for e in effects) < 2:
        problem = "changes two records"
    if problem:
        raise SpecError(f"{where}: a {kind} {problem}")


def _words(operation: Operation) -> None:
    """The slots of the ways to ask are arguments."""
    names = {argument.name for argument in operation.arguments}
    ways = [*operation.asks, *(way for each in operation.short.values() for way in each)]
    for way in ways:
        if unknown := set(re.findall(r"\{(\w+)\}", way.partition(" => ")[0])) - names:
            raise SpecError(
                f"{operation.tool}: {way!r} names an argument {min(unknown)!r} that there is not"
            )
    if unknown := operation.short.keys() - names:
        raise SpecError(
            f"{operation.tool}: `short` leaves out {min(unknown)!r}, which there is not"
        )


def past(spec: WorldSpec) -> None:
    """The past calls operations that there are, and that write."""
    tools = {operation.tool: operation for operation in spec.operations}
    for each in spec.past:
        operation = tools.get(each.tool)
        if operation is None or operation.kind in READS or each.times < 0:
            raise SpecError(f"past: {each.tool!r} is not a tool that writes")
        names = {argument.name for argument in operation.arguments}
        if unknown := each.given.keys() - names:
            raise SpecError(f"past: {each.tool} has no argument {min(unknown)!r}")
