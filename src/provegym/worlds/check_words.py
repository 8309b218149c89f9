"""Static checks of the words of a spec, which are handed to the language layer as an asks.toml."""

from collections.abc import Iterable, Iterator
from typing import Any

from provegym.worlds.check import MOST_WORDS, check_texts
from provegym.worlds.reads import name_field
from provegym.worlds.shapes import Shapes
from provegym.worlds.spec import READS, Operation, SpecError, WorldSpec
from provegym.worlds.texts import require_balanced, slots

ARROW, FIRST = " => ", "first "
DEEPEST = 4
TOLD = {"each", "single", "says", "most", "heads", "none"}
LISTS = ("question", "relation", "near")
TEXT_TABLES = ("slots", "fields", "reply", "call")
FLAT = ("never_first", "shared_words")


def words(spec: WorldSpec, shapes: Shapes) -> None:
    """Ways to ask name arguments and fields that there are; tables have the shape of asks.toml."""
    for operation in spec.operations:
        _asks(operation, shapes)
        if operation.did:
            _entry(operation.did, f"{operation.tool}: did", 0)
        if operation.told:
            _told(operation.told, f"{operation.tool}: told")
    for name, table in spec.words.items():
        _table(name, table, f"words.{name}")


def _asks(operation: Operation, shapes: Shapes) -> None:
    where = operation.tool
    names = {argument.name for argument in operation.arguments}
    if unknown := operation.short.keys() - names:
        raise SpecError(f"{where}: `short` leaves out {min(unknown)!r}, which there is not")
    ways = [*operation.asks, *(way for each in operation.short.values() for way in each)]
    check_texts(where, ways)
    is_read = operation.kind in READS
    known = set(_answers(operation, shapes)) if is_read else set()
    for way in ways:
        text, arrow, asked = way.partition(ARROW)
        if unknown := {*slots(text)} - names:
            raise SpecError(
                f"{where}: {way!r} names an argument {min(unknown)!r} that there is not"
            )
        fields = {each.strip() for each in asked.removeprefix(FIRST).split(",")} if arrow else set()
        if is_read and (not fields or "" in fields):
            raise SpecError(f"{where}: {way!r} says after => which field answers it")
        if not is_read and arrow:
            raise SpecError(f"{where}: {way!r} asks for a write, which has no => and fields")
        if unknown := fields - known:
            raise SpecError(f"{where}: {way!r} asks for {min(unknown)!r}, which is not shown")


def _answers(operation: Operation, shapes: Shapes) -> Iterator[str]:
    """The fields of a read's result."""
    if operation.kind == "report":
        for argument in operation.arguments:
            if argument.of and name_field(shapes, argument.of):
                yield f"{argument.of}_name"
        yield from (figure.name for figure in operation.figures)
        return
    yield from _fields(operation.entity, shapes)
    if operation.kind == "search":
        yield "count"
    for join in operation.joins:
        yield join.name
        yield from (f"{join.name}/{name}" for name in _fields(join.entity, shapes))


def _fields(entity: str, shapes: Shapes) -> list[str]:
    return [field.name for field in shapes.entity(entity, entity).fields]


def _entry(entry: Any, where: str, depth: int) -> None:
    """A template, or a table that chooses one by a value: { status = { out = "…" } }."""
    if isinstance(entry, str):
        check_texts(where, [entry])
        return
    if not isinstance(entry, dict) or len(entry) != 1 or depth > DEEPEST:
        raise SpecError(
            f"{where}: it is a text, or a table with one name that chooses by its value"
        )
    ((_, by_value),) = entry.items()
    if not isinstance(by_value, dict) or not by_value:
        raise SpecError(f"{where}: a table chooses by values: {{ status = {{ out = … }} }}")
    for each in by_value.values():
        _entry(each, where, depth + 1)


def _told(told: dict[str, Any], where: str) -> None:
    if unknown := told.keys() - TOLD:
        raise SpecError(f"{where}: it has no {min(unknown)!r}; there are {', '.join(sorted(TOLD))}")
    for name in ("each", "none"):
        if name in told:
            _require_texts([told[name]], where)
    _require_texts(told.get("heads", ()), where)
    if not isinstance(told.get("single", False), bool) or type(told.get("most", 1)) is not int:
        raise SpecError(f"{where}: single is true or false, and most a number")
    says = told.get("says", ())
    if not isinstance(says, list | tuple) or len(says) > MOST_WORDS:
        raise SpecError(f"{where}: says is a list of clauses")
    for clause in says:
        _entry(clause, where, 0)


def _require_texts(texts: Any, where: str) -> None:
    if not isinstance(texts, list | tuple) or not all(isinstance(each, str) for each in texts):
        raise SpecError(f"{where}: a list of texts is needed")
    check_texts(where, texts)


def _table(name: str, table: Any, where: str) -> None:
    """A table of the words of a spec, by its name in asks.toml."""
    if name in FLAT:
        _require_texts(table, where)
        return
    if name == "kin" or not isinstance(table, dict):
        raise SpecError(f"{where}: it is no table of words")
    for key, value in table.items():
        place = f"{where}.{key}"
        if name in TEXT_TABLES:
            _require_texts([value], place)
        elif name == "did":
            _entry(value, place, 0)
        elif name == "told":
            if not isinstance(value, dict):
                raise SpecError(f"{place}: it is a table")
            _told(value, place)
        else:
            _loose(value, place, 0)


def _loose(value: Any, where: str, depth: int) -> None:
    """Texts, numbers, and lists and tables of them; braces in texts come in pairs."""
    if depth > DEEPEST:
        raise SpecError(f"{where}: it is nested too deeply")
    if isinstance(value, str):
        # In [relation], {} stands for the thing that holds the key.
        require_balanced(value.replace("{}", ""), where)
    elif isinstance(value, dict | list | tuple):
        parts: Iterable[Any] = value.values() if isinstance(value, dict) else value
        for part in parts:
            _loose(part, where, depth + 1)
