"""Ids in other forms: a keyed permutation of the number, written as a uuid, a code or a slug.

An id such as acc_4711 is a table's prefix and a number. The alias is a pure function of both and
of a seed, and so is the way back. Ids that a session creates later have their alias already.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import blake2b
from random import Random
from typing import NamedTuple

from provegym.aliases.bijection import MARK, marked
from provegym.aliases.lexicon import lexicon
from provegym.kernel.state import Spec
from provegym.trace import Alias

BITS = 20
NUMBERS = 1 << BITS
MOST_TABLES = 128
NUMBER = "(?:0|[1-9][0-9]{0,6})"
KEPT, SHORT = 1_024, 200
FIRST_YEAR, YEARS = 2019, 8
# Ids are counted from 1,000 on.
SAMPLE = 417
SMALLEST, CHECKS = 1_000_000_000, 64


class Mixer(NamedTuple):
    """A permutation of the numbers below 2^bits, with its inverse."""

    bits: int
    factors: tuple[int, int]

    def mix(self, number: int) -> int:
        """Another number for a number."""
        mask, half = (1 << self.bits) - 1, (self.bits + 1) // 2
        for factor in self.factors:
            number = number * factor & mask
            number ^= number >> half
        return number

    def unmix(self, number: int) -> int:
        """The number that `mix` was given."""
        mask, half = (1 << self.bits) - 1, (self.bits + 1) // 2
        for factor in reversed(self.factors):
            number ^= number >> half
            number = number * pow(factor, -1, 1 << self.bits) & mask
        return number


def mixer(key: str, bits: int) -> Mixer:
    """The permutation of a key."""
    chance = Random(key)
    odd = [chance.randrange(1 << (bits - 2), 1 << bits) | 1 for _ in range(2)]
    return Mixer(bits, (odd[0], odd[1]))


class IdForm(NamedTuple):
    """A form of ids: its pattern, an alias from table and number, and table and number from it."""

    pattern: str
    write: Callable[[int, int], str]
    read: Callable[[str], tuple[int, int]]


class Ids:
    """A bijection on texts that gives every id of some tables another form."""

    def __init__(self, tables: Iterable[Spec], alias: Alias) -> None:
        specs = {spec.prefix: spec.noun for spec in tables if spec.prefix}
        self.prefixes = list(specs)
        if len(specs) > MOST_TABLES:
            raise ValueError(f"ids of at most {MOST_TABLES} tables have aliases")
        self._at = {prefix: at for at, prefix in enumerate(specs)}
        self.form = FORMS[alias.ids](list(specs), list(specs.values()), alias.seed)
        plain = "|".join(sorted(specs, key=len, reverse=True)) or "(?!)"
        self.pattern = re.compile(
            rf"(?<![\w{MARK}])({MARK}*)((?:{plain})_{NUMBER}|{self.form.pattern})(?!\w)"
        )
        self.encode = lru_cache(maxsize=KEPT)(self._encode)
        self.decode = lru_cache(maxsize=KEPT)(self._decode)
        # The same texts are shown again and again: records of a world, in rollouts of an example.
        self._shown = lru_cache(maxsize=KEPT)(self._show)
        self._read_before = lru_cache(maxsize=KEPT)(self._read)

    def show(self, text: str) -> str:
        """A text with the alias of each id in it."""
        return self._shown(text) if len(text) <= SHORT else self._show(text)

    def read(self, text: str) -> str:
        """A text with the plain id for each alias in it."""
        return self._read_before(text) if len(text) <= SHORT else self._read(text)

    def _show(self, text: str) -> str:
        return self.pattern.sub(lambda found: self._swap(found, self.encode, self.decode), text)

    def _read(self, text: str) -> str:
        return self.pattern.sub(lambda found: self._swap(found, self.decode, self.encode), text)

    def sample(self, prefix: str) -> str:
        """What the ids of a table look like; no record has this one."""
        return self.form.write(self._at[prefix], SAMPLE)

    def _swap(
        self,
        found: re.Match[str],
        out: Callable[[str], str | None],
        back: Callable[[str], str | None],
    ) -> str:
        if not found[1] and (other := out(found[2])) is not None:
            return other
        return marked(found[0], out, back)

    def _encode(self, token: str) -> str | None:
        """The alias of a plain id, or None if it is not one."""
        prefix, _, number = token.rpartition("_")
        at = self._at.get(prefix)
        if at is None or not re.fullmatch(NUMBER, number) or int(number) >= NUMBERS:
            return None
        return self.form.write(at, int(number))

    def _decode(self, token: str) -> str | None:
        """The plain id of an alias, or None if it is not one."""
        if not re.fullmatch(self.form.pattern, token):
            return None
        at, number = self.form.read(token)
        if not 0 <= at < len(self.prefixes) or not 0 <= number < NUMBERS:
            return None
        return f"{self.prefixes[at]}_{number}" if self.form.write(at, number) == token else None


def _mixers(prefixes: list[str], seed: int) -> list[Mixer]:
    return [mixer(f"ids {seed} {prefix}", BITS) for prefix in prefixes]


def _marks(nouns: list[str], taken: Iterable[str], make: Callable[[str, int], str]) -> list[str]:
    """A mark for each kind of record; the first one that is free."""
    used, marks = set(taken), []
    for noun in nouns:
        mark = next(made for at in range(1_000) if (made := make(noun, at)) not in used)
        used.add(mark)
        marks.append(mark)
    return marks


def _word(noun: str, at: int) -> str:
    """A kind of record as one word: "menuitem", then "menuitemb"."""
    return noun.replace(" ", "") + (f"{chr(ord('a') + at % 26)}" * (at // 26 + 1) if at else "")


def _prefix(prefixes: list[str], nouns: list[str], seed: int) -> IdForm:
    """account_48213."""
    mixers = _mixers(prefixes, seed)
    marks = _marks(nouns, prefixes, _word)

    def read(token: str) -> tuple[int, int]:
        mark, _, number = token.rpartition("_")
        at = marks.index(mark)
        return at, mixers[at].unmix(int(number) % NUMBERS)

    return IdForm(
        f"(?:{_any(marks)})_{NUMBER}", lambda at, n: f"{marks[at]}_{mixers[at].mix(n)}", read
    )


def _code(prefixes: list[str], nouns: list[str], seed: int) -> IdForm:
    """ACC-2024-004711."""
    mixers = _mixers(prefixes, seed)

    def letters(noun: str, at: int) -> str:
        plain = noun.replace(" ", "").upper()
        return plain[:3] if not at else f"{plain[:2]}{chr(ord('A') + at % 26)}{'X' * (at // 26)}"

    marks = _marks(nouns, (), letters)

    def write(at: int, number: int) -> str:
        serial, year = divmod(mixers[at].mix(number), YEARS)
        return f"{marks[at]}-{FIRST_YEAR + year}-{serial:06d}"

    def read(token: str) -> tuple[int, int]:
        mark, year, serial = token.split("-")
        at = marks.index(mark)
        mixed = int(serial) * YEARS + int(year) - FIRST_YEAR
        return at, mixers[at].unmix(mixed % NUMBERS)

    return IdForm(f"(?:{_any(marks)})-20[0-9]{{2}}-[0-9]{{6}}", write, read)


def _number(prefixes: list[str], nouns: list[str], seed: int) -> IdForm:
    """4821377051: a number of ten digits, the last ones a checksum."""
    whole = mixer(f"ids {seed}", BITS + 7)

    def write(at: int, number: int) -> str:
        mixed = whole.mix(at * NUMBERS + number)
        return str(SMALLEST + mixed * CHECKS + _digest(seed, mixed)[0] % CHECKS)

    def read(token: str) -> tuple[int, int]:
        mixed = (int(token) - SMALLEST) // CHECKS
        return divmod(whole.unmix(mixed), NUMBERS) if mixed < 1 << whole.bits else (-1, 0)

    return IdForm("[1-9][0-9]{9}", write, read)


def _uuid(prefixes: list[str], nouns: list[str], seed: int) -> IdForm:
    """3f0c9a12-77ab-4c1e-9d20-5b8e6a4f1c33."""
    whole = mixer(f"ids {seed}", 32)

    def write(at: int, number: int) -> str:
        mixed = whole.mix(at * NUMBERS + number)
        rest = _digest(seed, mixed).hex()
        return f"{mixed:08x}-{rest[:4]}-4{rest[4:7]}-a{rest[7:10]}-{rest[10:22]}"

    def read(token: str) -> tuple[int, int]:
        return divmod(whole.unmix(int(token[:8], 16)), NUMBERS)

    hexes = "[0-9a-f]"
    return IdForm(
        f"{hexes}{{8}}-{hexes}{{4}}-4{hexes}{{3}}-a{hexes}{{3}}-{hexes}{{12}}", write, read
    )


def _slug(prefixes: list[str], nouns: list[str], seed: int) -> IdForm:
    """account-amber-falcon-17."""
    mixers = _mixers(prefixes, seed)
    marks = _marks(nouns, (), _word)
    firsts, seconds = lexicon()["slugs"]["firsts"], lexicon()["slugs"]["seconds"]

    def write(at: int, number: int) -> str:
        rest, first = divmod(mixers[at].mix(number), len(firsts))
        last, second = divmod(rest, len(seconds))
        return f"{marks[at]}-{firsts[first]}-{seconds[second]}-{last}"

    def read(token: str) -> tuple[int, int]:
        mark, first, second, last = token.split("-")
        at = marks.index(mark)
        mixed = (int(last) * len(seconds) + seconds.index(second)) * len(firsts)
        return at, mixers[at].unmix((mixed + firsts.index(first)) % NUMBERS)

    parts = "-".join(f"(?:{_any(words)})" for words in (marks, firsts, seconds))
    return IdForm(f"{parts}-(?:0|[1-9][0-9]{{0,3}})", write, read)


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True)) or "(?!)"


@lru_cache(maxsize=4_096)
def _digest(seed: int, number: int) -> bytes:
    return blake2b(f"{seed} {number}".encode(), digest_size=11).digest()


FORMS: dict[str, Callable[[list[str], list[str], int], IdForm]] = {
    "prefix": _prefix,
    "code": _code,
    "number": _number,
    "uuid": _uuid,
    "slug": _slug,
}
