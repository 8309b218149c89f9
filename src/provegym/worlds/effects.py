"""Effects of a spec, compiled to closures: they add, change and remove records."""

from collections.abc import Callable, Iterable
from typing import Any

from provegym.kernel import Record, State
from provegym.worlds.conditions import Act, compile_test, known, select, table_of
from provegym.worlds.formula import Compiler, Compute, Env, Type, convert, named
from provegym.worlds.spec import Effect, Entity, SpecError, Value


def changed(compiler: Compiler, effect: Effect) -> tuple[Act, dict[str, Type]]:
    """Compile an effect; also the names that it adds to the scope."""
    kinds = [kind for kind in ("add", "change", "remove", "each") if getattr(effect, kind)]
    if len(kinds) != 1:
        raise compiler.fail("an effect has exactly one of add, change, remove and each")
    when = [compile_test(compiler, each) for each in effect.when]
    act, names = EFFECTS[kinds[0]](compiler, effect)
    if not when:
        return act, names
    if names:
        raise compiler.fail("an effect that adds a record has no `when`; use a guard")

    def conditional(state: State, env: Env) -> None:
        if all(each.holds(each.value(state, env), state, env) for each in when):
            act(state, env)

    return conditional, names


def _adds(compiler: Compiler, effect: Effect) -> tuple[Act, dict[str, Type]]:
    entity = compiler.shapes.entity(effect.add, compiler.where)
    given = dict(effect.set)
    for field in entity.fields:
        if field.name in given or field.kind == "copy":
            continue
        if field.start is not None:
            given[field.name] = field.start
        elif not field.empty and field.kind != "flag":
            raise compiler.fail(f"{entity.name}.{field.name} is not set and has no start")
    fields = _computed(compiler, entity.name, given)
    copies = _copies(compiler, entity.name, given)
    table = compiler.shapes.tables[entity.name]

    def act(state: State, env: Env) -> None:
        values = {name: compute(state, env) for name, compute in fields}
        for name, copy in copies:
            values[name] = copy(state, values)
        row: Record = table_of(state, table).add(**values)
        env[entity.name] = row.id  # type: ignore[attr-defined]

    return act, {entity.name: Type("key", entity.name)}


def _computed(
    compiler: Compiler, entity: str, given: dict[str, Value]
) -> list[tuple[str, Compute]]:
    """The values of fields, converted to their types."""
    found = []
    for name, value in given.items():
        if name == "id":
            raise compiler.fail("the id of a record is never set")
        type_ = compiler.shapes.type(entity, name, compiler.where)
        formula = compiler.value(value, type_)
        if formula.literal is not None:
            known(compiler, entity, name, value)
        found.append((name, _converted(formula.compute, type_)))
    return found


def _converted(compute: Compute, type_: Type) -> Compute:
    if type_.kind != "money":
        return compute
    return lambda state, env: convert(compute(state, env), type_)


def _copies(compiler: Compiler, entity: str, given: Iterable[str]) -> list[tuple[str, Compute]]:
    """The copied fields of a record that follow from the references among the given fields."""
    found = []
    for field in compiler.shapes.entity(entity, compiler.where).fields:
        source, _, rest = field.to.partition(".")
        if field.kind == "copy" and field.name not in given and source in given:
            holder = compiler.shapes.type(entity, source, compiler.where)
            inner = Compiler(compiler.shapes, {source: holder}, compiler.where)
            found.append((field.name, inner.path(f"{source}.{rest}").compute))
    return found


Update = Callable[[State, str, dict[str, Any]], None]


def updater(compiler: Compiler, entity: str, names: Iterable[str]) -> Update:
    """A function that changes fields of a record, and the copies of these fields elsewhere."""
    table = compiler.shapes.tables[entity]
    names = list(names)
    copies = _copies(compiler, entity, names)
    names += [name for name, _ in copies]
    followers = [
        (compiler.shapes.tables[other.name], source, field.name, rest)
        for other in compiler.shapes.spec.entities
        for field in other.fields
        for source, _, rest in [field.to.partition(".")]
        if field.kind == "copy" and rest in names and _points(other, source) == entity
    ]
    further = [
        updater(compiler, other.name, [field.name])
        for other in compiler.shapes.spec.entities
        for field in other.fields
        for source, _, rest in [field.to.partition(".")]
        if field.kind == "copy" and rest in names and _points(other, source) == entity
    ]

    def update(state: State, key: str, values: dict[str, Any]) -> None:
        for name, copy in copies:
            values[name] = copy(state, values)
        table_of(state, table).update(key, **values)
        for (other, source, name, rest), follow in zip(followers, further, strict=True):
            for row in list(table_of(state, other)):
                if getattr(row, source) == key:
                    follow(state, row.id, {name: values[rest]})

    return update


def _points(entity: Entity, field: str) -> str:
    """The entity that a reference points to."""
    return next((each.to for each in entity.fields if each.name == field), "")


def _target(compiler: Compiler, path: str) -> tuple[str, Compute]:
    """The entity and key of the record at a path."""
    formula = compiler.value(path)
    if formula.type.kind != "key":
        raise compiler.fail(f"{path!r} is {named(formula.type)}, where a record is needed")
    return formula.type.entity, formula.compute


def _changes(compiler: Compiler, effect: Effect) -> tuple[Act, dict[str, Type]]:
    entity, key = _target(compiler, effect.change)
    fields = _computed(compiler, entity, effect.set)
    update = updater(compiler, entity, effect.set)
    if not fields:
        raise compiler.fail(f"the change of {effect.change} sets no field")

    def act(state: State, env: Env) -> None:
        found = key(state, env)
        if found is not None:
            update(state, found, {name: compute(state, env) for name, compute in fields})

    return act, {}


def _removes(compiler: Compiler, effect: Effect) -> tuple[Act, dict[str, Type]]:
    entity, key = _target(compiler, effect.remove)
    table = compiler.shapes.tables[entity]
    return lambda state, env: table_of(state, table).remove(key(state, env)), {}


def _each(compiler: Compiler, effect: Effect) -> tuple[Act, dict[str, Type]]:
    rows = select(compiler, effect.each, effect.where)
    inner = compiler.within(row=Type("record", effect.each))
    fields = _computed(inner, effect.each, effect.set)
    update = updater(compiler, effect.each, effect.set)

    def act(state: State, env: Env) -> None:
        for row in list(rows(state, env)):
            inside = {**env, "row": row}
            update(state, row.id, {name: compute(state, inside) for name, compute in fields})

    return act, {}


EFFECTS = {"add": _adds, "change": _changes, "remove": _removes, "each": _each}


def sequence(compiler: Compiler, effects: Iterable[Effect]) -> tuple[list[Act], Compiler]:
    """Compile effects in their order; a record that one adds is known to the next."""
    acts = []
    for number, effect in enumerate(effects, 1):
        try:
            act, names = changed(compiler, effect)
        except SpecError as problem:
            raise SpecError(f"{problem} (effect {number})") from None
        acts.append(act)
        compiler = compiler.within(**names)
    return acts, compiler
