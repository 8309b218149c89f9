"""Seeds: the number a world is drawn from, its clock, and its only source of chance."""

from datetime import UTC, datetime, timedelta
from functools import cached_property
from random import Random

EPOCH = datetime(2026, 1, 5, tzinfo=UTC)


class Seed:
    """Where a world comes from: a number, the clock it starts at, and the only source of chance."""

    def __init__(self, number: int, server: str = "") -> None:
        self.number = number
        self.random = Random(f"{server}:{number}")

    @cached_property
    def now(self) -> datetime:
        """A weekday within two years, in office hours; the same for every server of this seed."""
        chance = Random(f"clock:{self.number}")
        day = EPOCH + timedelta(weeks=chance.randrange(104), days=chance.randrange(5))
        return day + timedelta(hours=chance.randrange(9, 17), minutes=chance.randrange(0, 60, 5))
