"""The people in every world: one acting user per seed, the same on all servers, and others."""

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
        """A mail address on a domain that does not exist."""
        return f"{self.handle}@mail.example"


@cache
def _names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    lists = tomllib.loads(files(__package__).joinpath("people.toml").read_text("utf-8"))
    return tuple(lists["given"]), tuple(lists["family"])


def acting_user(seed: Seed) -> Person:
    """Who the assistant acts for in this seed, on whichever server."""
    given, family = _names()
    chance = Random(f"user:{seed.number}")
    return Person(given=chance.choice(given), family=chance.choice(family))


def others(seed: Seed, count: int) -> list[Person]:
    """So many people besides the acting user, no two of them sharing a given or a family name."""
    user = acting_user(seed)
    given, family = ([n for n in names if n not in (user.given, user.family)] for names in _names())
    pairs = zip(seed.random.sample(given, count), seed.random.sample(family, count), strict=True)
    return [Person(given=first, family=last) for first, last in pairs]
