"""Shapes of results: nothing is lost on the way to the model, and tables can be read again."""

from decimal import Decimal
from random import Random
from typing import Any

import pytest

from provegym.aliases import ALIAS_STYLES
from provegym.aliases.shapes import is_error, table, unwrap, wrap, wrap_error

ODD_TEXTS = (
    *("", " ", "a", "a | b", "|", "x: y", "1", "-2.50", "007", "1e5", "true", "null", "[x]"),
    *('{"a":1}', '"', "two\nlines", "two\n\nblocks", "[items]", " lead", "trail ", "ümlaut", "\\n"),
)


def value(chance: Random, depth: int) -> Any:
    """A JSON value with whatever a table could trip over."""
    kind = chance.randrange(8 if depth else 5)
    if kind == 5:
        return [value(chance, depth - 1) for _ in range(chance.randrange(4))]
    if kind >= 6:
        names = chance.sample(("id", "name", "rows", "total", "note_text"), chance.randrange(1, 4))
        return {name: value(chance, depth - 1) for name in names}
    return (
        chance.choice(ODD_TEXTS),
        chance.randrange(-9, 9_999),
        Decimal("6000.00"),
        chance.random() < 0.5,
        None,
    )[kind]


@pytest.mark.parametrize("shape", ALIAS_STYLES["results"])
def test_any_result_comes_back(shape: str) -> None:
    chance = Random(shape)
    for _ in range(2_000):
        result = {f"f{at}": value(chance, 3) for at in range(chance.randrange(1, 5))}
        assert unwrap(wrap(result, shape), shape) == result
        assert not is_error(wrap(result, shape))


def test_a_table_reads_like_one() -> None:
    rows = [{"id": "a_1", "name": "One", "sum": Decimal("1.50")}, {"id": "a_2", "sum": 2}]
    assert table({"items": rows, "total": 2, "code": "007"}) == (
        "total: 2\ncode: 007\n\n[items]\nid | name | sum\na_1 | One | 1.50\na_2 |  | 2"
    )


def test_an_error_is_one_in_every_shape() -> None:
    for shape in ALIAS_STYLES["results"]:
        assert is_error(wrap_error("rejected", "no", shape))
    assert not is_error("total: 2")
    assert not is_error('{"status":"ok","data":{}}')
