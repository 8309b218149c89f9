"""A mutator: makes broken and hostile variants of a text, by bytes and, of JSON, by values."""

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

MARKS = (
    *(b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"\n", b"\r", b"\x00", b"\xff", b"\xc2\xb2"),
    *(b"null", b"true", b"-1", b"1e999", b"-0", b"NaN", b"\\ud800", b"\\u0000", b"\\u001b[2J"),
    *(b"99999999999999999999", b"$from", b"\xe2\x80\xae", b"''", b"[[", b"= ", b'"""'),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, -3, 64, 10**6, 10**12, 2**63, 2**64, -(2**63), 10**30),
    *(0.5, -1.5, 1e300, "", "²", "/items/²", "/items/99999999999", "~", "\x1b[2J\u202e\x9b"),
    *(
        "../../etc/passwd",
        "people",
        "people.Person",
        "__init__",
        "[red]x[/red]",
        "\u2028",
        "é" * 40,
    ),
    *([], [[]], {}, {"": {}}, [1, "a", None], {"$from": [0, "/id"], "literal": 1}),
    *({"$from": [99, "/x"], "literal": 1}, {"$from": [-1, ""], "literal": {}}, {"type": "no"}),
    *("99:99", "2026-99-99", "2026-13-45T99:99:00Z", "0000-00-00T00:00:00+00:00", "[x", "(?P<"),
    *({"[amount_(": 5, "b_+": 7}, {"total": "9999-12-31T23:59:59Z"}, 10**400, "$1e999", "-12,3.4."),
    *({"anyOf": 5}, {"properties": []}, {"type": "object", "properties": {"a": 5}}, "x" * 3000),
    *("2026-13-45 99:99", "9999-12-31 23:59", "0001-01-01 00:00", "not json", '{"error": 5}'),
)
DEEP = 40


def mutants(seeds: list[bytes], count: int, chance: Random) -> Iterator[bytes]:
    """So many variants of some texts: by their bytes, and half of those of JSON by their values."""
    plain = [_decoded(seed) for seed in seeds]
    for _ in range(count):
        at = chance.randrange(len(seeds))
        if plain[at] is None or chance.random() < 0.5:
            yield change_bytes(seeds[at], chance)
        else:
            yield change_values(plain[at], chance)


def _decoded(seed: bytes) -> Any:
    try:
        return json.loads(seed)
    except ValueError:
        return None


def change_bytes(text: bytes, chance: Random) -> bytes:
    """A text with one to three changes: a bit, a byte, a mark, a part left out, twice or moved."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(len(text) + 1)
        size = chance.choice((1, 1, 2, 8, 64))
        kind = chance.randrange(7)
        if kind == 0 and at < len(text):
            flipped = text[at] ^ (1 << chance.randrange(8))
            text = text[:at] + bytes([flipped]) + text[at + 1 :]
        elif kind == 1:
            text = text[:at] + bytes([chance.randrange(256)]) + text[at + 1 :]
        elif kind in (2, 3):
            text = text[:at] + chance.choice(MARKS) + text[at + (kind == 2) :]
        elif kind == 4:
            text = text[:at] + text[at + size :]
        elif kind == 5:
            text = text[: at + size] + text[at:]
        else:
            text = text[:at] if chance.random() < 0.3 else text[at : at + size] + text
    return text


def change_values(value: Any, chance: Random) -> bytes:
    """JSON with one or two values replaced by hostile ones, left out, or repeated."""
    value = json.loads(json.dumps(value))
    for _ in range(chance.choice((1, 1, 2))):
        holder, key = _place(value, chance)
        kind = chance.randrange(8)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.extend([deepcopy(holder[key])] * chance.choice((1, 3, 70)))
        elif kind == 2 and isinstance(holder, dict):
            holder[chance.choice(("", "x", "$from", "²", "turns"))] = deepcopy(holder[key])
        elif kind == 3:
            holder[key] = nested(chance)
        elif kind == 4 and isinstance(holder[key], int | float):
            holder[key] += chance.choice((-1, 1, 10**9))
        elif isinstance(held := holder[key], str) and held[:2] == '{"' and chance.random() < 0.8:
            inner = _decoded(held.encode())  # JSON in JSON, such as the result of a call
            holder[key] = change_values(inner, chance).decode() if inner else held[1:]
        else:
            holder[key] = deepcopy(chance.choice(VALUES))
        if not value:
            break
    return json.dumps(value).encode()


def nested(chance: Random) -> Any:
    """A value that is nested deeply."""
    value: Any = 1
    for _ in range(chance.choice((3, DEEP, DEEP))):
        value = [value] if chance.random() < 0.5 else {"a": value}
    return value


def _place(value: Any, chance: Random) -> tuple[Any, Any]:
    """A random place in JSON: the list or object, and the key in it."""
    holder, key = [value], 0
    while True:
        inner: Any = holder[key]
        if not isinstance(inner, dict | list) or not inner or chance.random() < 0.15:
            return (holder, key) if holder[key] is not value else (value, _key(value, chance))
        holder, key = inner, _key(inner, chance)


def _key(value: Any, chance: Random) -> Any:
    return chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
