"""The people of a world: the acting user, who is the same on all servers of a seed, and others."""

import tomllib
from functools import cache
from importlib.resources import files
from random import Random

from provegym.kernel import Record, Seed


class Person(Record, frozen=True):
    """Somebody with a name that no other person of the same world has."""

    given: str
    family: str

    @property
    def name(self) -> str:
        """The full name."""
        return f"{self.given} {self.family}"

    @property
    def handle(self) -> str:
        """A login or user name, e.g. "ines.falk"."""
        return f"{self.given}.{self.family}".lower()

    @property
    def email(self) -> str:
        """An email address on a domain that does not exist."""
        return f"{self.handle}@mail.example"


@cache
def _names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The given names and the family names to draw from (people.toml)."""
    lists = tomllib.loads(files(__package__).joinpath("people.toml").read_text("utf-8"))
    return tuple(lists["given"]), tuple(lists["family"])


def acting_user(seed: Seed) -> Person:
    """The person the assistant acts for in this seed, on every server."""
    given, family = _names()
    chance = Random(f"user:{seed.number}")
    return Person(given=chance.choice(given), family=chance.choice(family))


def others(seed: Seed, count: int) -> list[Person]:
    """So many people besides the acting user, no two of them sharing a given or a family name."""
    user = acting_user(seed)
    given, family = _names()
    free_given = [name for name in given if name not in (user.given, user.family)]
    free_family = [name for name in family if name not in (user.given, user.family)]
    drawn_given = seed.random.sample(free_given, count)
    drawn_family = seed.random.sample(free_family, count)
    pairs = zip(drawn_given, drawn_family, strict=True)
    return [Person(given=first, family=last) for first, last in pairs]
