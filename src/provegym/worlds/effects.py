"""Effects of a spec, compiled to closures: they add, change and remove records.

What is stored always fits its field: a number that is too large, a text that is too long or a
missing value is refused in a call, and left as it was in an event.
"""

from collections.abc import Callable, Iterable
from typing import Any

from provegym.kernel import Rejected, State, ToolError, money
from provegym.worlds.conditions import Act, all_of, select, table_of
from provegym.worlds.formula import Compiler, Compute, Env, Formula, is_formula
from provegym.worlds.shapes import NOW, TEXT, Type, named
from provegym.worlds.spec import Effect, SpecError, Value

LARGEST = 1_000_000_000
# How many copies may follow from one change, and how often in a row.
MOST_COPIES, DEEPEST_COPY = 6, 4
# The name of the record that an effect changes; no name of a spec starts with _.
CHANGED = "_changed"

Fields = list[tuple[str, Compute]]
Update = Callable[[State, str, dict[str, Any]], None]
Compiled = tuple[Act, dict[str, Type]]


def sequence(compiler: Compiler, effects: Iterable[Effect]) -> tuple[list[Act], Compiler]:
    """Compile effects in their order; a record that one adds is known to the next."""
    acts = []
    for number, effect in enumerate(effects, 1):
        try:
            act, names = _compiled(compiler, effect)
        except SpecError as problem:
            raise SpecError(f"{problem} (effect {number})") from None
        acts.append(act)
        compiler = compiler.within(**names)
    return acts, compiler


def _compiled(compiler: Compiler, effect: Effect) -> Compiled:
    """Compile an effect; also the names that it adds to the scope."""
    kinds = [kind for kind in ("add", "change", "remove", "each") if getattr(effect, kind)]
    if len(kinds) != 1:
        raise compiler.fail("an effect has exactly one of add, change, remove and each")
    if effect.where and kinds != ["each"]:
        raise compiler.fail("only `each` has `where`")
    when = all_of(compiler, effect.when)
    act, names = EFFECTS[kinds[0]](compiler, effect)
    if when is None:
        return act, names
    if names:
        raise compiler.fail("an effect that adds a record has no `when`; use a guard")

    def conditional(state: State, env: Env) -> None:
        if when(state, env):
            act(state, env)

    return conditional, names


def start_value(compiler: Compiler, value: Value, type_: Type) -> Compute:
    """The value that a field starts with; it knows the time and the acting user only."""
    scope = {"now": NOW, "me": TEXT}
    inner = Compiler(compiler.shapes, scope, compiler.where, forgiving=compiler.forgiving)
    return stored(inner, "start", inner.value(value, type_), type_)


def _adds(compiler: Compiler, effect: Effect) -> Compiled:
    entity = compiler.shapes.entity(effect.add, compiler.where)
    if entity.name in compiler.scope:
        raise compiler.fail(f"it adds a {entity.name}, but that name is taken here")
    fields = _computed(compiler, entity.name, effect.set)
    for field in entity.fields:
        if field.name in effect.set or field.kind == "copy":
            continue
        type_ = compiler.shapes.type(entity.name, field.name, compiler.where)
        if field.start is not None:
            fields.append((field.name, start_value(compiler, field.start, type_)))
        elif not field.empty and field.kind != "flag":
            raise compiler.fail(f"{entity.name}.{field.name} is not set and has no start")
    copies = _copies(compiler, entity.name, effect.set)
    table = compiler.shapes.tables[entity.name]

    def act(state: State, env: Env) -> None:
        values = {name: compute(state, env) for name, compute in fields}
        for name, copy in copies:
            values[name] = copy(state, values)
        env[entity.name] = table_of(state, table).add(**values).id

    return act, {entity.name: Type("key", entity.name)}


def _computed(compiler: Compiler, entity: str, given: dict[str, Value]) -> Fields:
    """The values of fields, as they are stored."""
    found: Fields = []
    for name, value in given.items():
        if name == "id":
            raise compiler.fail("the id of a record is never set")
        if compiler.shapes.field(entity, name, compiler.where).kind == "copy":
            raise compiler.fail(f"{entity}.{name} is a copy; change what it is a copy of")
        type_ = compiler.shapes.type(entity, name, compiler.where)
        formula = compiler.value(value, type_)
        found.append((name, stored(compiler, name, formula, type_)))
    return found


def stored(compiler: Compiler, name: str, formula: Formula, type_: Type) -> Compute:
    """The value of a formula as it is stored in a field; refuses what does not fit."""
    compute, given = formula.compute, formula.type
    plain = name.replace("_", " ")
    may_miss = given.optional and not type_.optional
    too_long = type_.kind == "text" and not type_.values and given.longest > type_.longest
    if formula.literal is not None and too_long:
        raise compiler.fail(f"{name} has at most {type_.longest} characters")
    is_sum = type_.kind in ("number", "money") and not formula.plain
    is_money = type_.kind == "money" and (not formula.plain or given.kind == "number")
    if given.kind == "key" and type_.kind == "text":
        too_long = False
    if not (may_miss or too_long or is_sum or is_money):
        return compute
    if formula.literal is not None:
        literal = money(formula.literal) if is_money else formula.literal
        return lambda state, env: literal
    longest = type_.longest
    if is_sum and not (may_miss or too_long or is_money or given.optional):
        return _bounded(compute, plain)

    def value(state: State, env: Env) -> Any:
        found = compute(state, env)
        if found is None:
            if may_miss:
                raise Rejected(f"the {plain} is missing, and it is needed")
            return None
        if too_long and len(found) > longest:
            raise Rejected(f"the {plain} is too long: at most {longest} characters are kept")
        if is_sum and not -LARGEST <= found <= LARGEST:
            raise Rejected(f"the {plain} would be too large")
        return money(found) if is_money else found

    return value


def _bounded(compute: Compute, plain: str) -> Compute:
    """A number that is not too large."""

    def value(state: State, env: Env) -> Any:
        found = compute(state, env)
        if -LARGEST <= found <= LARGEST:
            return found
        raise Rejected(f"the {plain} would be too large")

    return value


def _copies(compiler: Compiler, entity: str, given: Iterable[str]) -> Fields:
    """The copied fields of a record that follow from the references among the given fields."""
    found: Fields = []
    for field in compiler.shapes.entity(entity, compiler.where).fields:
        source, _, rest = field.to.partition(".")
        if field.kind == "copy" and source in given:
            holder = compiler.shapes.type(entity, source, compiler.where)
            inner = Compiler(compiler.shapes, {source: holder}, compiler.where)
            compute = inner.path(f"{source}.{rest}").compute
            if field.start is not None and holder.optional:
                type_ = compiler.shapes.type(entity, field.name, compiler.where)
                compute = _or_start(compute, start_value(compiler, field.start, type_))
            found.append((field.name, compute))
    return found


def _or_start(compute: Compute, start: Compute) -> Compute:
    def value(state: State, env: Env) -> Any:
        found = compute(state, env)
        return start(state, env) if found is None else found

    return value


def updater(
    compiler: Compiler, entity: str, names: Iterable[str], outer: tuple[str, ...] = ()
) -> Update:
    """A function that changes fields of a record, and the copies of these fields elsewhere.

    It runs inside loops over the records of the `outer` entities.
    """
    table = compiler.shapes.tables[entity]
    copies = _copies(compiler, entity, names := list(names))
    followers = compiler.shapes.copies(entity, [*names, *(name for name, _ in copies)])
    if len(outer) > DEEPEST_COPY or len(followers) > MOST_COPIES:
        raise compiler.fail(f"{entity}: too many copies follow from one change")
    further: list[tuple[str, str, str, str, Update]] = []
    for other, source, field, rest in followers:
        compiler.work.add(*outer, other.name)
        follow = updater(compiler, other.name, [field.name], (*outer, other.name))
        other_table = compiler.shapes.tables[other.name]
        further.append((other_table, source, field.name, rest, follow))
    if not copies and not further:
        return lambda state, key, values: _put(state, table, key, values)

    def update(state: State, key: str, values: dict[str, Any]) -> None:
        for name, copy in copies:
            values[name] = copy(state, values)
        before = table_of(state, table)[key]
        _put(state, table, key, values)
        for other_table, source, name, rest, follow in further:
            if rest in values and getattr(before, rest) != values[rest]:
                for row in table_of(state, other_table).where(**{source: key}):
                    follow(state, row.id, {name: values[rest]})

    return update


def _put(state: State, table: str, key: str, values: dict[str, Any]) -> None:
    state.__dict__[table].update(key, **values)


def _target(compiler: Compiler, path: str) -> tuple[str, Formula]:
    """The entity and key of the record at a path."""
    formula = compiler.value(path)
    if formula.type.kind != "key":
        raise compiler.fail(f"{path!r} is {named(formula.type)}, where a record is needed")
    return formula.type.entity, formula


def _values(compiler: Compiler, fields: Fields) -> Callable[[State, Env], dict[str, Any]]:
    """The new values of fields; in an event, a value that cannot be stored is left out."""
    if not compiler.forgiving:
        return lambda state, env: {name: compute(state, env) for name, compute in fields}

    def values(state: State, env: Env) -> dict[str, Any]:
        found = {}
        for name, compute in fields:
            try:
                found[name] = compute(state, env)
            except ToolError:
                continue
        return found

    return values


def _changes(compiler: Compiler, effect: Effect) -> Compiled:
    entity, target = _target(compiler, effect.change)
    if not effect.set:
        raise compiler.fail(f"the change of {effect.change} sets no field")
    _computed(compiler, entity, effect.set)
    # Most formulas read the record that they change, so it is looked up once.
    inner = compiler.within(**{CHANGED: Type("record", entity)})
    own = {name: _of_changed(value, effect.change) for name, value in effect.set.items()}
    values = _values(compiler, _computed(inner, entity, own))
    update, key = updater(compiler, entity, effect.set), target.compute
    table = compiler.shapes.tables[entity]

    def act(state: State, env: Env) -> None:
        found = key(state, env)
        if found is not None:
            env[CHANGED] = state.__dict__[table][found]
            update(state, found, values(state, env))

    return act, {}


def _of_changed(value: Value, path: str) -> Value:
    """A formula in which the path of the changed record is replaced by a short name for it."""
    return value.replace(f"{path}.", f"${CHANGED}.") if is_formula(value) else value


def _removes(compiler: Compiler, effect: Effect) -> Compiled:
    """Remove a record; not while another one points to it."""
    entity, target = _target(compiler, effect.remove)
    table, key = compiler.shapes.tables[entity], target.compute
    if effect.set:
        raise compiler.fail("a removed record has no fields to set")
    pointing = references_to(compiler, entity)
    for other, _ in pointing:
        compiler.work.add(other)
    tables = [(compiler.shapes.tables[other], other, field) for other, field in pointing]

    def act(state: State, env: Env) -> None:
        found = key(state, env)
        if found is None:
            return
        for other, noun, field in tables:
            for row in table_of(state, other):
                if getattr(row, field) == found and row.id != found:
                    plain = noun.replace("_", " ")
                    raise Rejected(f"the {plain} {row.id} still belongs to {found}")
        table_of(state, table).remove(found)

    return act, {}


def references_to(compiler: Compiler, entity: str) -> list[tuple[str, str]]:
    """The entities and fields that point to an entity."""
    return [
        (other.name, field.name)
        for other in compiler.shapes.spec.entities
        for field in other.fields
        if field.kind == "reference" and field.to == entity
    ]


def _each(compiler: Compiler, effect: Effect) -> Compiled:
    rows = select(compiler, effect.each, effect.where)
    if not effect.set:
        raise compiler.fail(f"the change of each {effect.each} sets no field")
    inner = compiler.within(row=Type("record", effect.each))
    values = _values(compiler, _computed(inner, effect.each, effect.set))
    update = updater(compiler, effect.each, effect.set, (effect.each,))

    def act(state: State, env: Env) -> None:
        for row in rows(state, env):
            update(state, row.id, values(state, {**env, "row": row}))

    return act, {}


EFFECTS = {"add": _adds, "change": _changes, "remove": _removes, "each": _each}
