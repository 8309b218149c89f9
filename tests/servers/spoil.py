"""Arguments that a careless or hostile model might send, most of them wrong in one place."""

import math
from random import Random
from typing import Any

Json = dict[str, Any]

# Moments that a JSON Schema validator and the kernel see differently, on purpose: the kernel reads
# a few spellings more than RFC 3339, and holds no leap second, year 0 or year 10000.
DELIBERATE = (
    "2026-01-01 00:00:00Z",
    "2026-01-01T00:00:00+0100",
    "2026-12-31T23:59:60Z",
    "0000-01-01T00:00:00Z",
    "0000-01-01",
    "0001-01-01T00:00:00+12:00",
    "9999-12-31T23:59:59-12:00",
)

STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 5, 5.0, 5.5, -0.0, 1e308, -1e308, 10**30, 2**63, 0.005),
    *(math.nan, math.inf, -math.inf, "5", "", " ", "null", "NaN", "x" * 201, "x" * 2_001),
    *("é" * 200, "😀" * 200, "😀" * 81, "x" * 70_000, "\ud800", "a\udfff", "\x00", "\u202e"),
    *([], {}, [None], [[]], [1, "a"], {"a": 1}, {"id": "x"}, [True] * 300, ["x"] * 2_000),
    *("2026-01-01", "2026-02-30", "2026-1-1", "20260101", "2026-01-01T00:00:00"),
    *("2026-01-01T00:00:00Z", "2026-01-01T00:00:00+05:30", "2026-01-01T24:00:00Z", "tomorrow"),
    *DELIBERATE,
)


def nest(depth: int) -> Any:
    """Lists within lists."""
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    return value


def show(value: Any, length: int = 200) -> str:
    """A value as text for a report, however strange it is."""
    try:
        return ascii(value)[:length]
    except RecursionError:
        return "something deep"


def spoil(chance: Random, schema: Json, arguments: Json) -> Any:
    """The same arguments with one thing changed, dropped, added, or no object at all."""
    dice = chance.random()
    if dice < 0.04:
        return chance.choice((None, [], "x", 5, True, [arguments], math.nan))
    if dice < 0.12 and arguments:
        dropped = chance.choice(list(arguments))
        return {name: value for name, value in arguments.items() if name != dropped}
    if dice < 0.2:
        names = [*schema["properties"], "session"]
        key = chance.choice(names)
        return {**arguments, chance.choice((key[:-1], f"{key}s", key.upper(), "__class__", "")): 1}
    if dice < 0.24:
        return {**arguments, chance.choice((1, None, True, 2.5, (1, 2))): "x"}
    return _replace(chance, schema, arguments)


def _replace(chance: Random, schema: Json, value: Any) -> Any:
    """Go down a random way and put something strange at its end."""
    if isinstance(value, dict) and schema.get("properties") and chance.random() < 0.9:
        name = chance.choice(list(schema["properties"]))
        part = schema["properties"][name]
        return {**value, name: _replace(chance, part, value.get(name))}
    if isinstance(value, list) and value and "items" in schema and chance.random() < 0.6:
        at = chance.randrange(len(value))
        return [*value[:at], _replace(chance, schema["items"], value[at]), *value[at + 1 :]]
    near = _just_off(schema, value)
    if near and chance.random() < 0.5:
        return chance.choice(near)
    return (
        nest(chance.choice((3, 60, 600, 5_000)))
        if chance.random() < 0.05
        else chance.choice(STRANGE)
    )


def _just_off(schema: Json, value: Any) -> list[Any]:
    """Values at the schema's edges and just beyond them."""
    near: list[Any] = [str(value)]
    for bound in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        if bound in schema:
            edge = schema[bound]
            near += [edge, edge - 1, edge + 1, float(edge), edge + 0.01, edge - 0.01, edge + 0.001]
    if isinstance(value, int | float) and not isinstance(value, bool):
        near += [float(value), value + 0.001, value + 0.5, -value]
    for bound in ("minLength", "maxLength"):
        if bound in schema:
            near += ["y" * max(0, schema[bound] + more) for more in (-1, 0, 1)]
    if isinstance(value, list):
        near += [value * 1_000, [*value, None], value[:-1], dict.fromkeys(map(str, value))]
    if "enum" in schema:
        near += [*schema["enum"], *(str(option).upper() for option in schema["enum"])]
    return near
