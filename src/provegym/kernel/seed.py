"""Seeds: the number a world is generated from, its start time and its random generator."""

from datetime import UTC, datetime, timedelta
from functools import cached_property
from random import Random

EPOCH = datetime(2026, 1, 5, tzinfo=UTC)


class Seed:
    """The seed of a world: a number, the start time, and the world's only random generator."""

    def __init__(self, number: int, server: str = "") -> None:
        self.number = number
        self.random = Random(f"{server}:{number}")

    @cached_property
    def now(self) -> datetime:
        """The start time: a weekday in office hours, equal on all servers with this seed."""
        chance = Random(f"clock:{self.number}")
        day = EPOCH + timedelta(weeks=chance.randrange(104), days=chance.randrange(5))
        return day + timedelta(hours=chance.randrange(9, 17), minutes=chance.randrange(0, 60, 5))
