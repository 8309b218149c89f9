"""Mutants of a spec: plain data with a few random changes, most of them wrong or hostile."""

import tomllib
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

LIBRARY = Path(__file__).with_name("library.toml")

VALUES: list[Any] = [
    *("", "x", "id", "$row", "$now", "$me", "$nothing", "$", "=", "$item_id", "$member_id.name"),
    *("$item_id.deposit * 1000000", "=1 +", "=((((((((((((((1))))))))))))))", "=-(-(-1))", "=1d"),
    *("$loan_id.member_id.fees_owed * $loan_id.member_id.fees_owed", "=abs($now)", "=max(1, 2d)"),
    *("$now + 999999d * 999999999", "$now - 999999d", "=999999999 * 999999999 * 999999999"),
    *("{person}", "{brand}", "{", "}", "{{}}", "[", "a] [b", "{nobody}", "a\nb", "\x00", "‮"),
    *("member", "item", "loan", "tag", "note", "branch", "status", "name", "due_at", "item_id"),
    *("search", "get", "report", "create", "update", "remove", "transfer", "reserve", "link"),
    *("number", "money", "date", "time", "enum", "flag", "reference", "copy", "code", "text"),
    *("out", "overdue", "active", "../../etc/passwd", "__class__", "$row.__class__", "lambda: 0"),
    *("class", "limit", "import os", "$item_id.name.upper", "a" * 5_000, "é" * 390, "🙂" * 100),
    *(0, 1, -1, 3, 0.5, 1e7, -1e7, 10**6, 10**9, 10**30, 1e300, float("nan"), float("inf")),
    *(True, False, None, [], {}, [[]], {"a": {}}, ["out"], ["x", "x"], [1, 2], {"days": [5, 1]}),
    *({"status": "out"}, {"of": 1, "is": 1}, {"name": "x"}, [{}], {"quantity": {"none": "x"}}),
]

Place = tuple[Any, Any]


def library() -> dict[str, Any]:
    """The spec of a library of tools, as plain data."""
    return tomllib.loads(LIBRARY.read_text("utf-8"))


def places(data: Any) -> list[Place]:
    """Every place in some data: its container and its key or index."""
    found: list[Place] = []
    left = [data]
    while left:
        node = left.pop()
        keys = node.keys() if isinstance(node, dict) else range(len(node))
        for key in keys:
            found.append((node, key))
            if isinstance(node[key], dict | list):
                left.append(node[key])
    return found


def mutant(chance: Random, base: dict[str, Any]) -> dict[str, Any]:
    """A copy of a spec with one to four random changes."""
    data = deepcopy(base)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        _change(chance, data)
    return data


def _change(chance: Random, data: dict[str, Any]) -> None:
    everywhere = places(data)
    node, key = chance.choice(everywhere)
    dice = chance.random()
    if dice < 0.12:
        del node[key]
    elif dice < 0.45:
        node[key] = deepcopy(chance.choice(VALUES))
    elif dice < 0.7:
        same = [(n, k) for n, k in everywhere if type(n[k]) is type(node[key])]
        other, place = chance.choice(same)
        node[key] = deepcopy(other[place])
    elif dice < 0.8 and isinstance(node, list):
        node.insert(key, deepcopy(node[key]))
    elif dice < 0.9 and isinstance(node[key], str):
        text, value = node[key], str(chance.choice(VALUES))[:60]
        at = chance.randrange(len(text) + 1)
        node[key] = f"{text[:at]}{value}{text[at:]}"
    elif isinstance(node[key], bool):
        node[key] = not node[key]
    elif isinstance(node[key], int | float):
        node[key] = chance.choice((-1, 0, 1, 40, 399, 400, 1_999, 10**6, node[key] * 1_000))
    elif isinstance(node, dict):
        name = chance.choice([k for n, k in everywhere if isinstance(n, dict)])
        node[name] = node[key]
