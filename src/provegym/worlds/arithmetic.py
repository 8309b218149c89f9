"""Arithmetic of formulas that never raises: a result that is too large becomes the largest one."""

import operator
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

MOST = 10**15
MOST_MONEY = Decimal(MOST)
FIRST, LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
LONGEST = timedelta(days=900_000_000)


def _add_time(moment: Any, span: timedelta) -> Any:
    try:
        return moment + span
    except OverflowError:
        return _end(moment, later=span > timedelta(0))


def _subtract_time(moment: Any, span: timedelta) -> Any:
    try:
        return moment - span
    except OverflowError:
        return _end(moment, later=span < timedelta(0))


def _end(moment: Any, *, later: bool) -> Any:
    """The last time or date there is, or the first."""
    end = LAST if later else FIRST
    return end if isinstance(moment, datetime) else end.date()


def _sum(function: Callable[[Any, Any], timedelta]) -> Callable[[Any, Any], timedelta]:
    def compute(one: Any, two: Any) -> timedelta:
        try:
            return function(one, two)
        except OverflowError:
            return LONGEST if one > timedelta(0) else -LONGEST

    return compute


def _times(one: Any, two: Any) -> timedelta:
    """A number times a duration, in either order."""
    try:
        product: timedelta = one * two
    except OverflowError:
        return -LONGEST if (one < type(one)(0)) != (two < type(two)(0)) else LONGEST
    return product


def _product(one: int, two: int) -> int:
    return max(-MOST, min(MOST, one * two))


def _price(one: Any, two: Any) -> Decimal:
    """A number times an amount of money, in either order; it stays exact to the cent."""
    product: Decimal = one * two
    if -MOST_MONEY < product < MOST_MONEY:
        return product
    return MOST_MONEY if product > 0 else -MOST_MONEY


OPERATIONS: dict[tuple[str, str], Callable[[Any, Any], Any]] = {
    ("+", "number"): operator.add,
    ("-", "number"): operator.sub,
    ("*", "number"): _product,
    ("+", "money"): operator.add,
    ("-", "money"): operator.sub,
    ("*", "money"): _price,
    ("+", "time"): _add_time,
    ("-", "time"): _subtract_time,
    ("+", "date"): _add_time,
    ("-", "date"): _subtract_time,
    ("+", "duration"): _sum(operator.add),
    ("-", "duration"): _sum(operator.sub),
    ("*", "duration"): _times,
}


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "days": operator.attrgetter("days"),
    "date": datetime.date,
    "abs": abs,
}
