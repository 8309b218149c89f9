"""Checks of the worlds that a server draws: number of records, ids, differences between seeds."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from random import Random

import msgspec

from provegym.kernel import AnyServer, Record, Session, State
from provegym.kernel.state import ENCODE

LEAST_RECORDS = 120
# The share of equal records in worlds of different seeds, at most.
MOST_EQUAL = 0.1
# The share of worlds in which the same role may have the same id, and the same place in a table.
MOST_SAME_ID, MOST_SAME_PLACE = 0.05, 0.5
SHUFFLED_FROM = 5
LABELS = ("name", "title", "label")


def world(server: AnyServer, seed: int) -> State:
    """The world of a seed; a Bug says why it cannot be drawn."""
    return Session([server], seed).state(server)


def tables(state: State) -> dict[str, list[Record]]:
    """The records of a state by table."""
    return {name: list(getattr(state, name)) for name in state.tables}


def fields(record: type[Record]) -> set[str]:
    """The field names of a record type."""
    return {field.name for field in msgspec.structs.fields(record)}


def few_records(server: AnyServer, seeds: Iterable[int]) -> Iterator[str]:
    """The worlds that have too few records."""
    for seed in seeds:
        if (size := world(server, seed).size()) < LEAST_RECORDS:
            yield f"the world of seed {seed} has {size} records; at least {LEAST_RECORDS} are asked"


def similar_worlds(server: AnyServer, seeds: Sequence[int]) -> Iterator[str]:
    """Pairs of seeds whose worlds share too many records, with and without their ids."""
    prefixes = "|".join(spec.prefix for spec in server.state.tables.values() if spec.prefix)
    ids = re.compile(rf'"(?:{prefixes})_\d+"'.encode())
    exact, anonymous = ([_prints(world(server, seed), p) for seed in seeds] for p in (None, ids))
    chance, places = Random(f"{server.name}:pairs"), range(len(seeds))
    pairs = [*pairwise(places), *(chance.sample(places, 2) for _ in range(len(seeds)))]
    for one, two in pairs:
        for worlds in (exact, anonymous):
            share = (worlds[one] & worlds[two]).total() / max(1, worlds[one].total())
            if share >= MOST_EQUAL:
                yield f"seeds {seeds[one]} and {seeds[two]} have {share:.0%} equal records"
                break


def _prints(drawn: State, ids: re.Pattern[bytes] | None) -> Counter[tuple[str, bytes]]:
    """The records of a world as bytes, with the same mark for every id if a pattern is given."""
    return Counter(
        (table, ids.sub(b"#", ENCODE(row)) if ids else ENCODE(row))
        for table, rows in tables(drawn).items()
        for row in rows
    )


def guessable_ids(server: AnyServer, seeds: Sequence[int]) -> Iterator[str]:
    """The tables in which a model could guess an id: equal in many worlds, or in one order."""
    for table, spec in server.state.tables.items():
        drawn = [list(getattr(world(server, seed), table)) for seed in seeds] if spec.prefix else []
        worlds = [rows for rows in drawn if rows]
        if not worlds:
            continue
        label = next((field for field in LABELS if field in fields(spec.record)), spec.key)
        by_label = [min(rows, key=lambda row: str(getattr(row, label))) for rows in worlds]
        for role in (by_label, [rows[0] for rows in worlds], [rows[-1] for rows in worlds]):
            ids = Counter(getattr(row, spec.key) for row in role)
            if max(ids.values()) > max(1, MOST_SAME_ID * len(seeds)):
                same, count = ids.most_common(1)[0]
                yield f"{table}: {same} is the same kind of record in {count} worlds"
                break
        if label != spec.key and min(map(len, worlds)) >= SHUFFLED_FROM:
            places = Counter(rows.index(row) for rows, row in zip(worlds, by_label, strict=True))
            if max(places.values()) > max(1, MOST_SAME_PLACE * len(worlds)):
                yield f"{table}: its records are not shuffled: the order of ids follows the {label}"


def taken_names(server: AnyServer, others: Iterable[AnyServer]) -> Iterator[str]:
    """The id prefixes and tool names that a server shares within itself or with others."""
    owners: dict[str, list[str]] = defaultdict(list)
    for table, spec in server.state.tables.items():
        if spec.prefix:
            owners[spec.prefix].append(table)
            if not re.fullmatch(r"[a-z]+", spec.prefix):
                yield f"the id prefix {spec.prefix!r} has other signs than lower-case letters"
    for prefix, held in owners.items():
        if len(held) > 1:
            yield f"the tables {' and '.join(held)} share the id prefix {prefix!r}"
    for other in others:
        for spec in other.state.tables.values():
            if spec.prefix in owners:
                yield f"the id prefix {spec.prefix!r} is also used by {other.name}"
        for tool in server.tools.keys() & other.tools.keys():
            yield f"{tool} is also the name of a tool of {other.name}"
