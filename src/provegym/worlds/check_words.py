"""Static checks of the words of a spec, which are handed to the language layer as an asks.toml."""

from collections.abc import Callable, Iterator
from typing import Any

from provegym.worlds.check import MOST_WORDS, check_texts
from provegym.worlds.reads import name_field
from provegym.worlds.shapes import Shapes
from provegym.worlds.spec import READS, Operation, SpecError, WorldSpec
from provegym.worlds.texts import slots

ARROW, FIRST = " => ", "first "
DEEPEST = 4
TOLD = {"each", "single", "says", "most", "heads", "none"}
FLAT = ("never_first", "shared_words")
MOST_HOURS = 24


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
    shape = SHAPES.get(name)
    if shape is None or not isinstance(table, dict):
        raise SpecError(f"{where}: it is no table of words; there are {', '.join(SHAPES)}")
    for key, value in table.items():
        shape(value, f"{where}.{key}")


def _text(value: Any, where: str) -> None:
    _require_texts([value], where)


def _relation(value: Any, where: str) -> None:
    """What a thing is to the one that holds its key, for which {} stands."""
    _text(value.replace("{}", "") if isinstance(value, str) else value, where)


def _part(value: Any, where: str) -> None:
    for each in _entries(value, where) if isinstance(value, dict) else [value]:
        _text(each, where)


def _entries(value: Any, where: str) -> list[Any]:
    if not isinstance(value, dict) or not value:
        raise SpecError(f"{where}: a table is needed")
    return list(value.values())


def _lists(value: Any, where: str) -> None:
    """Texts by a value or an argument."""
    for each in _entries(value, where):
        _require_texts(each, where)


def _template(value: Any, where: str) -> None:
    _entry(value, where, 0)


def _clauses(value: Any, where: str) -> None:
    _entries(value, where)
    _told(value, where)


def _made(value: Any, where: str) -> None:
    """Values that users make up, or a span of days."""
    if isinstance(value, dict):
        pairs = _entries(value, where)
        if value.keys() - {"hours"} != {"days"} or not all(map(_is_pair, pairs)):
            raise SpecError(f"{where}: a span has days = [first, last]")
        if not 0 <= value.get("hours", (0, 0))[0] <= value.get("hours", (0, 0))[1] < MOST_HOURS:
            raise SpecError(f"{where}: hours are from 0 to {MOST_HOURS - 1}")
        return
    if not isinstance(value, list | tuple) or not value:
        raise SpecError(f"{where}: a list of values is needed")
    _require_texts([each for each in value if isinstance(each, str)], where)
    if not all(isinstance(each, str | int | float) for each in value):
        raise SpecError(f"{where}: a list of values is needed")


def _is_pair(value: Any) -> bool:
    is_pair = isinstance(value, list | tuple) and len(value) == 2
    return is_pair and all(type(each) is int for each in value) and value[0] <= value[1]


def _near(value: Any, where: str) -> None:
    """Amounts close to a field of another argument's thing."""
    known = isinstance(value, dict) and value.keys() == {"to", "field", "percent"}
    if not known or not _is_pair(value["percent"]):
        raise SpecError(f"{where}: it has to, field and percent = [least, most]")
    _require_texts([value["to"], value["field"]], where)


SHAPES: dict[str, Callable[[Any, str], None]] = {
    "asks": _require_texts,
    "short": _lists,
    "refer": _require_texts,
    "call": _text,
    "relation": _relation,
    "new": _made,
    "near": _near,
    "say": _lists,
    "did": _template,
    "told": _clauses,
    "parts": _part,
    "reply": _text,
    "slots": _text,
    "fields": _text,
    "question": _require_texts,
}
