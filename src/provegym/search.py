"""Breadth-first search over read calls: finds every short set of reads that yields given values.

It calls each read tool with every value that the user said, then with the keys in those results,
up to a fixed number of calls. An example must pay for every solution found here: otherwise a good
agent that takes such a solution would lose reward.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations, product
from typing import Any, NamedTuple

import msgspec

from provegym.kernel import Lost, Session
from provegym.language.things import kinds
from provegym.language.values import InContext, Scalar, in_context, normal
from provegym.rewards.evidence import is_in
from provegym.toolbox import Toolbox
from provegym.trace import Fact, Json

MOST_CALLS = 4_000
MOST_READS = 24
MOST_KEYS = 40
WORLDS = 48


class Read(NamedTuple):
    """A read that was tried: the numbers of the goals it yields, and the read it depends on."""

    tool: str
    arguments: Json
    yields: frozenset[int]
    after: int | None


class Wanted:
    """A goal: a fact that a read's result must show."""

    def __init__(self, fact: Fact) -> None:
        self.fact = fact
        texts = [v for v in (*fact.about[:1], *fact.fields.values()) if isinstance(v, Scalar)]
        # JSON that every result with this fact contains. Only numbers have one form in JSON.
        self.json = max((_json(value) for value in texts[:1]), key=len, default="")


class Seen:
    """The result of a read, decoded on first use."""

    __slots__ = ("_records", "_value", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._value: Any = None
        self._records: list[InContext] = []

    @property
    def value(self) -> Any:
        """The result as data."""
        if self._value is None:
            self._value = msgspec.json.decode(self.text)
        return self._value

    def has(self, want: Wanted) -> bool:
        """Whether the result shows the fact of a goal."""
        if want.json not in self.text:
            return False
        if not self._records:
            self._records = list(in_context(self.value))
        return any(is_in(want.fact, record) for record in self._records)


def _json(value: Scalar) -> str:
    """The JSON of a key or a text; empty for what results may write in another way."""
    return msgspec.json.encode(value).decode() if isinstance(value, str) else ""


# A solution: reads that together yield everything wanted.
Road = tuple[Read, ...]


@dataclass
class Seeker:
    """A breadth-first search over the reads of one toolbox on one world."""

    session: Session
    toolbox: Toolbox
    wanted: list[Wanted]
    calls: int = 0
    tried: set[str] = field(default_factory=set)
    keys: set[Scalar] = field(default_factory=set)
    seen: dict[str, dict[str, Seen | None]] = field(default_factory=dict)

    def reads(self, said: list[Scalar], length: int) -> tuple[list[Read], list[Read]]:
        """All reads with said values; and the useful reads, also those with keys from results."""
        first = list(self._try(said, None))
        useful = [read for read, _ in first if read.yields]
        if length > 1:
            marks = {normal(value) for value in said}
            for number, (_, result) in enumerate(first):
                keys = [key for key in key_leaves(result.value, marks) if key not in self.keys]
                self.keys.update(keys)
                useful += [read for read, _ in self._try(keys, number) if read.yields]
        return [read for read, _ in first], useful

    def roads(self, said: list[Scalar], length: int) -> list[Road]:
        """The sets of at most `length` reads that yield everything wanted, shortest first."""
        first, useful = self.reads(said, length)
        return self._cover(first, useful[:MOST_READS], length)

    def _try(self, known: list[Scalar], after: int | None) -> Iterator[tuple[Read, Seen]]:
        for name, tool in self.toolbox.tools.items():
            if tool.writes or not (known or after is None):
                continue
            nouns = self._nouns(tool.name)
            for arguments in draws(self.toolbox.schemas[name], known, nouns, bare=after is None):
                mark = f"{name}{arguments}"
                if mark in self.tried or self.calls >= MOST_CALLS:
                    continue
                self.tried.add(mark)
                self.calls += 1
                result = self._result(tool.name, arguments, mark)
                if result is not None:
                    found = frozenset(n for n, w in enumerate(self.wanted) if result.has(w))
                    yield Read(name, arguments, found, after), result

    def _nouns(self, tool: str) -> Mapping[str, str]:
        """The nouns of the ids of a tool's server, by prefix."""
        return kinds(self.session.tools[tool][1]).prefixes if tool in self.session.tools else {}

    def _result(self, tool: str, arguments: Json, mark: str) -> Seen | None:
        """The result of a read, or None if it fails; cached for equal worlds."""
        if tool not in self.session.tools:
            return None
        server = self.session.tools[tool][1]
        if server.name not in self.seen:
            self.seen[server.name] = results_on(self.session.state(server).digest())
        seen = self.seen[server.name]
        if mark not in seen:
            try:
                outcome = self.session.call(tool, arguments)
            except Lost:
                return None
            seen[mark] = Seen(outcome.text) if outcome.ok else None
        return seen[mark]

    def _cover(self, first: list[Read], useful: list[Read], length: int) -> list[Road]:
        roads: list[Road] = []
        for size in range(1, length + 1):
            for chosen in combinations(useful, size):
                if len(set().union(*(read.yields for read in chosen))) < len(self.wanted):
                    continue
                before = [first[read.after] for read in chosen if read.after is not None]
                road: Road = tuple(_unique((*before, *chosen)))
                if len(road) <= length and not any(_within(known, road) for known in roads):
                    roads.append(road)
        return roads


@lru_cache(maxsize=WORLDS)
def results_on(digest: str) -> dict[str, Seen | None]:
    """The cached results of reads on the world with this digest."""
    return {}


def draws(
    schema: Json, known: list[Scalar], nouns: Mapping[str, str], *, bare: bool
) -> Iterator[Json]:
    """Arguments from known values: all required ones, with at most one optional argument.

    `nouns` are the kinds of things with ids, by their prefix. An argument that is named after one
    of them takes no other value: it would find nothing.
    """
    properties: Json = schema.get("properties", {})
    required = schema.get("required", [])
    options = {
        name: list(_fitting(part, _of_kind(name, known, nouns)))
        for name, part in properties.items()
    }
    bases = [
        dict(zip(required, values, strict=True))
        for values in product(*(options[name] for name in required))
    ]
    for base in bases:
        if base or bare:
            yield base
        for name, values in options.items():
            if name not in base and name not in ("limit", "offset"):
                yield from ({**base, name: value} for value in values)


def _of_kind(name: str, known: list[Scalar], nouns: Mapping[str, str]) -> list[Scalar]:
    """The known values for an argument: only ids of its kind, if it is named after one."""
    noun = name.removesuffix("_id")
    if noun == name or noun not in nouns.values():
        return known
    return [v for v in known if isinstance(v, str) and nouns.get(v.partition("_")[0]) == noun]


def _fitting(schema: Json, known: list[Scalar]) -> Iterator[Scalar]:
    if "enum" in schema:
        yield from (value for value in schema["enum"] if value is not None)
        return
    kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", [])
    if "boolean" in kinds:
        yield True
    for value in known:
        if isinstance(value, str):
            dated = len(value) > 9 and value[4:5] == "-" and value[7:8] == "-"
            if "string" in kinds and dated == ("format" in schema):
                yield value
        elif not isinstance(value, bool) and ("integer" in kinds or "number" in kinds):
            yield value


def key_leaves(result: Any, marks: set[str]) -> list[Scalar]:
    """The first MOST_KEYS keys in those records of a result that hold a said value."""
    return list(dict.fromkeys(_keys(result, marks)))[:MOST_KEYS]


def _keys(value: Any, marks: set[str]) -> Iterator[Scalar]:
    if isinstance(value, list):
        for part in value:
            yield from _keys(part, marks)
    elif isinstance(value, dict):
        scalars = [part for part in value.values() if isinstance(part, Scalar)]
        if any(normal(part) in marks for part in scalars):
            yield from (part for part in scalars if _is_key(part))
        for part in value.values():
            yield from _keys(part, marks)


def _is_key(leaf: Scalar) -> bool:
    """Whether a value looks like a key: a short string without blanks that is not all letters."""
    return isinstance(leaf, str) and 2 < len(leaf) <= 80 and " " not in leaf and not leaf.isalpha()


def _unique(reads: Iterable[Read]) -> Iterator[Read]:
    seen: list[tuple[str, Json]] = []
    for read in reads:
        if (read.tool, read.arguments) not in seen:
            seen.append((read.tool, read.arguments))
            yield read


def _within(known: Road, road: Road) -> bool:
    have = [(read.tool, read.arguments) for read in road]
    return all((read.tool, read.arguments) in have for read in known)
