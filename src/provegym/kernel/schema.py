"""JSON schemas from tool signatures and docstrings, and validation of calls against them.

Each tool has one msgspec struct: the published schema is generated from it, and arguments are
decoded with it. Every string, list and number must have a bound, or the import fails.
"""

import inspect as pyinspect
import re
import types
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from math import isfinite
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, inspect

from provegym.kernel.errors import BadArguments, quote, suggest

T = TypeVar("T")
Json = dict[str, Any]

MAX_STRING = 200
MAX_ARGUMENT_BYTES = 64_000
CENT = Decimal("0.01")
NOT_BLANK = r"\S"

Sensitive = Annotated[T, Meta(extra={"sensitive": True})]
Amount = Annotated[Decimal, Meta(gt=0, le=1_000_000)]
# A name or title on one line. It is never blank; outer and repeated blanks are dropped.
Label = Annotated[
    str, Meta(min_length=1, max_length=80, pattern=NOT_BLANK, extra={"single_line": True})
]
Text = Annotated[str, Meta(max_length=2_000)]
Time = Annotated[datetime, Meta(tz=True)]

PAGING: list[tuple[str, Any, int]] = [
    ("limit", Annotated[int, Meta(ge=1, le=20, description="How many to return.")], 10),
    ("offset", Annotated[int, Meta(ge=0, le=10_000, description="How many to skip.")], 0),
]


class Page(msgspec.Struct, Generic[T], frozen=True, omit_defaults=True):
    """Part of a list: how many there are in all, and where to go on."""

    items: tuple[T, ...]
    total: int
    offset: int = 0
    next_offset: int | None = None

    def cut(self, count: int) -> "Page[T]":
        """The same page with fewer items."""
        return Page(self.items[:count], self.total, self.offset, self.offset + count)


def page(rows: list[T], limit: int, offset: int) -> Page[T]:
    """The rows from `offset` on, at most `limit` of them."""
    end = offset + limit
    return Page(tuple(rows[offset:end]), len(rows), offset, end if end < len(rows) else None)


class Arguments:
    """The arguments of one tool: the published JSON schema, and the decoder that validates them."""

    def __init__(
        self, function: Callable[..., Any], described: dict[str, str], *, paged: bool = False
    ) -> None:
        hints = get_type_hints(function, include_extras=True)
        parameters = list(pyinspect.signature(function).parameters.values())[1:]
        names = [parameter.name for parameter in parameters]
        if unmatched := set(names) ^ set(described):
            raise TypeError(
                f"{function.__name__}: arguments and their descriptions differ: {sorted(unmatched)}"
            )
        self.names = names
        self.sensitive = frozenset(name for name in names if _is_marked(hints[name], "sensitive"))
        self._convert = [
            (at, fix) for at, name in enumerate(names) if (fix := _converter(hints[name]))
        ]
        fields: list[Any] = []
        for parameter in parameters:
            meaning = Meta(description=described[parameter.name])
            wire: Any = Annotated[(_wire(hints[parameter.name]), meaning)]
            fields.append((parameter.name, wire, *_default(parameter.default)))
        if paged:
            fields += PAGING
            names += [name for name, _, _ in PAGING]
        self._struct = msgspec.defstruct(
            f"{function.__name__}_arguments",
            fields,
            forbid_unknown_fields=True,
            frozen=True,
            kw_only=True,
        )
        for field in msgspec.structs.fields(self._struct):
            _require_bounds(f"{function.__name__}({field.name})", inspect.type_info(field.type))
        self._decode = msgspec.json.Decoder(self._struct).decode
        self.schema = _tidy(msgspec.json.schema(self._struct))
        for name in described:
            if Decimal in _members(hints[name]):
                self.schema["properties"][name]["multipleOf"] = 0.01

    def bind(self, arguments: Mapping[str, Any] | str | bytes) -> list[Any]:
        """The values of the tool's parameters in order; raises BadArguments if they do not fit."""
        try:
            raw = arguments if isinstance(arguments, str | bytes) else _to_json(arguments)
            if len(raw) > MAX_ARGUMENT_BYTES:
                raise BadArguments(f"the arguments are longer than {MAX_ARGUMENT_BYTES} bytes")
            bound = self._decode(raw)
        except msgspec.ValidationError as problem:
            bound = self._second_look(raw, str(problem))
        except (msgspec.DecodeError, UnicodeError, RecursionError, TypeError) as problem:
            raise BadArguments(
                f"the arguments are not a JSON object: {quote(str(problem))}"
            ) from None
        values: list[Any] = [getattr(bound, name) for name in self.names]
        for at, fix in self._convert:
            if values[at] is not None:
                values[at] = fix(values[at], self.names[at])
        return values

    def _second_look(self, raw: str | bytes, problem: str) -> Any:
        """Accept 5.0 as an integer, as JSON Schema does; otherwise explain the problem."""
        try:
            loose = msgspec.json.decode(raw)
            whole = _whole_numbers(loose)
        except RecursionError:
            raise BadArguments("the arguments are nested too deeply") from None
        except (msgspec.DecodeError, UnicodeError) as broken:
            raise BadArguments(f"the arguments are not JSON: {quote(str(broken))}") from None
        if whole != loose or repr(whole) != repr(loose):
            try:
                return self._decode(msgspec.json.encode(whole))
            except msgspec.ValidationError as again:
                problem = str(again)
        raise BadArguments(self._explain(problem, loose))

    def _explain(self, problem: str, arguments: Any) -> str:
        """Say in a sentence what msgspec found wrong; the path to it is at the end of `problem`."""
        if problem.startswith("Object contains unknown field"):
            unknown = next((name for name in arguments if name not in self.names), None)
            if unknown is not None:
                return f"unknown argument {quote(unknown)}; {suggest(unknown, self.names)}"
        what, found, path = problem.rpartition(" - at `$.")
        if not found and problem.startswith("Object missing required field"):
            missing = [n for n in self.schema["required"] if n not in arguments]
            return f"missing required {_plural(missing)}"
        if not found:
            return f"the arguments must be a JSON object: {problem}"
        name = path.removesuffix("`")
        part = _part(self.schema, name)
        given = quote(arguments.get(re.split(r"\W", name)[0]))
        if allowed := _choices(part):
            return f"argument {name!r} must be one of {', '.join(allowed)}; got {given}"
        sentence = f"argument {name!r}: {_plain(what)}, got {given}"
        if allowed := _choices(part.get("items", {})):
            return f"{sentence}; each must be one of {', '.join(allowed)}"
        return sentence


def money(value: Decimal | int | str) -> Decimal:
    """An amount of money, rounded half up to the cent; sums and differences are exact."""
    return Decimal(value).quantize(CENT, ROUND_HALF_UP)


def parse_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Split a Google docstring into the tool's description and the meaning of each argument."""
    text = pyinspect.getdoc(function)
    if not text:
        raise TypeError(
            f"{function.__name__} has no docstring; write one: the model reads it as description"
        )
    about, _, listing = text.partition("\nArgs:\n")
    described: dict[str, str] = {}
    name = ""
    for line in listing.splitlines():
        if line.startswith("    ") and not line.startswith("     "):
            name, _, rest = line.strip().partition(":")
            described[name] = rest.strip()
        elif line.strip():
            described[name] = f"{described[name]} {line.strip()}".strip()
    if empty := [name for name, meaning in described.items() if not meaning]:
        raise TypeError(f"{function.__name__}: describe these arguments: {', '.join(empty)}")
    return " ".join(about.split()), described


def output_schema(kind: Any) -> Json:
    """The JSON schema of a tool's result, with money as numbers."""
    return _tidy(msgspec.json.schema(kind))


def _part(schema: Json, path: str) -> Json:
    """The part of a schema at a path such as `windows[0]` or `mark.side`."""
    for step in re.findall(r"\w+", path):
        schema = schema["items"] if step.isdigit() else schema["properties"][step]
    return schema


def _choices(part: Json) -> list[str]:
    """The values of an enum, or of a union of enums."""
    enums = [option.get("enum", ()) for option in (part, *part.get("anyOf", ()))]
    return [str(value) for enum in enums for value in enum if value is not None]


def _members(kind: Any) -> tuple[Any, ...]:
    """The types a hint allows, without their annotations."""
    if get_origin(kind) is Annotated:
        return _members(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(member for part in get_args(kind) for member in _members(part))
    return (kind,)


def _wire(kind: Any) -> Any:
    """The type used for JSON: money becomes a number, strings get the default length limit."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        bounded = any(isinstance(mark, Meta) and mark.max_length is not None for mark in parts[1:])
        inner = parts[0] if parts[0] is str and bounded else _wire(parts[0])
        return Annotated[(inner, *parts[1:])]
    if origin in (Union, types.UnionType):
        return Union[tuple(_wire(part) for part in parts)]  # noqa: UP007
    if origin is list:
        return list[_wire(parts[0])]  # type: ignore[misc]
    if kind is str:
        return Annotated[str, Meta(max_length=MAX_STRING)]
    return float if kind is Decimal else kind


def _default(default: Any) -> tuple[Any, ...]:
    if default is pyinspect.Parameter.empty:
        return ()
    return (float(default),) if isinstance(default, Decimal) else (default,)


def _converter(kind: Any) -> Callable[[Any, str], Any] | None:
    members = _members(kind)
    if Decimal in members:
        return _to_money
    if datetime in members:
        return _to_utc
    if _is_marked(kind, "single_line"):
        return _to_single_line
    each = next((_converter(get_args(m)[0]) for m in members if get_origin(m) is list), None)
    return each and (lambda values, name: [each(value, name) for value in values])


def _to_money(value: float, name: str) -> Decimal:
    amount = money(repr(value))
    if amount != Decimal(repr(value)):
        raise BadArguments(f"argument {name!r}: {value} is not a whole number of cents")
    return amount


def _to_utc(value: datetime, name: str) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise BadArguments(f"argument {name!r}: {value} is too far from now") from None


def _to_single_line(value: str, name: str) -> str:
    return " ".join(value.split())


def _is_marked(kind: Any, mark: str) -> bool:
    """Whether a type hint, or a member of its union, carries a mark in `Meta.extra`."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        metas = (meta for meta in parts[1:] if isinstance(meta, Meta))
        return any((meta.extra or {}).get(mark) for meta in metas) or _is_marked(parts[0], mark)
    return origin in (Union, types.UnionType) and any(_is_marked(part, mark) for part in parts)


def _require_bounds(where: str, kind: inspect.Type) -> None:
    if isinstance(kind, inspect.Metadata):
        return _require_bounds(where, kind.type)
    if isinstance(kind, inspect.UnionType):
        for member in kind.types:
            _require_bounds(where, member)
    elif isinstance(kind, inspect.ListType):
        if kind.max_length is None:
            raise TypeError(f"{where} is a list without max_length")
        _require_bounds(f"{where}[]", kind.item_type)
    elif isinstance(kind, inspect.StructType):
        for field in kind.fields:
            _require_bounds(f"{where}.{field.name}", field.type)
    elif isinstance(kind, inspect.StrType):
        if kind.max_length is None:
            raise TypeError(f"{where} is a string without max_length")
    elif isinstance(kind, inspect.IntType | inspect.FloatType):
        if (kind.ge is None and kind.gt is None) or (kind.le is None and kind.lt is None):
            raise TypeError(f"{where} is a number without bounds")
    elif isinstance(kind, inspect.DateTimeType):
        if not kind.tz:
            raise TypeError(f"{where} is a time without a time zone; use Time")
    elif not isinstance(
        kind, inspect.BoolType | inspect.LiteralType | inspect.NoneType | inspect.DateType
    ):
        raise TypeError(f"{where} has a type that arguments may not have: {kind}")
    return None


def _tidy(schema: Json) -> Json:
    """Simplify a JSON schema: inline references, drop titles, nullable types as lists."""
    defs: Json = schema.pop("$defs", {})

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(part) for part in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            target = defs[node["$ref"].rpartition("/")[2]]
            return walk({**target, **{key: value for key, value in node.items() if key != "$ref"}})
        node = {
            key: walk(value)
            for key, value in node.items()
            if not (key == "title" and isinstance(value, str))
        }
        if node.get("default", "") is None:
            del node["default"]
        if node.get("format") == "decimal":
            node = {**node, "type": "number"}
            del node["format"]
            if "default" in node:
                node["default"] = float(node["default"])
        if isinstance(node.get("enum"), list) and "type" not in node:
            node = {"type": "integer" if isinstance(node["enum"][0], int) else "string", **node}
        return _fold_null(node)

    tidy: Json = walk(schema)
    return tidy


def _fold_null(node: Json) -> Json:
    options = node.get("anyOf")
    if not options or len(options) != 2 or {"type": "null"} not in options:
        return node
    real: Json = next(option for option in options if option != {"type": "null"})
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    folded = {**real, **rest, "type": [real["type"], "null"]}
    return {**folded, "enum": [*real["enum"], None]} if "enum" in real else folded


def _to_json(arguments: Mapping[str, Any]) -> bytes:
    """JSON of the arguments; refuses NaN and infinity, which msgspec would write as null."""
    raw = msgspec.json.encode(arguments)
    if b"null" in raw and not _is_finite(arguments):
        raise BadArguments("the arguments are not JSON: a number is NaN or infinite")
    return raw


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, list | tuple) or all(map(_is_finite, value))


def _whole_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, list):
        return [_whole_numbers(part) for part in value]
    if isinstance(value, dict):
        return {key: _whole_numbers(part) for key, part in value.items()}
    return value


WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "datetime": "an ISO 8601 time with a zone",
    "date": "a date",
}


def _plain(problem: str) -> str:
    """Replace the Python types in a message of msgspec by plain words."""
    problem = problem.split(", got ")[0]
    problem = problem.replace(f"matching regex {NOT_BLANK!r}", "that is not blank")
    for short, words in WORDS.items():
        problem = problem.replace(f"`{short}`", words)
    return problem[:1].lower() + problem[1:].replace("`", "'")


def _plural(names: list[str]) -> str:
    return f"argument{'s' * (len(names) > 1)} {', '.join(repr(name) for name in names)}"
