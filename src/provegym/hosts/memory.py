"""How much memory worlds take: drawn worlds that sessions share, and a meter with a limit.

The figures are estimates: the sizes of the records, without what the allocator adds.
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from provegym.kernel import AnyServer
from provegym.kernel.state import State

# What a session costs besides its worlds: its forks of the tables, and what the protocol keeps.
SESSION_BYTES = 16 * 1024
# What a call that writes adds besides the text it was sent: one record and an entry of the diff.
WRITE_BYTES = 1024
# A table copies its index of records on a session's first write: bytes per record.
INDEX_BYTES = 100

WorldKey = tuple[str, int]


@dataclass(slots=True)
class Meter:
    """Bytes in use, and how many there may be."""

    limit: float
    used: int = 0

    @property
    def full(self) -> bool:
        """Whether nothing more may be taken."""
        return self.used >= self.limit


@dataclass(slots=True)
class DrawnWorld:
    """A server's world of one seed, its bytes, and how many sessions start from it."""

    state: State
    bytes: int
    users: int = 0


class Shelf:
    """Drawn worlds by server and seed, kept while a session uses them."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.draw_one = draw_here
        self._worlds: dict[WorldKey, DrawnWorld] = {}

    def has(self, keys: Iterable[WorldKey]) -> bool:
        """Whether all of these worlds are drawn."""
        return all(key in self._worlds for key in keys)

    def draw(self, servers: Iterable[AnyServer], seed: int) -> dict[WorldKey, DrawnWorld]:
        """The worlds of a seed; the missing ones are drawn, which may be in another thread."""
        keys = {(server.name, seed): server for server in servers}
        return {
            key: self._worlds.get(key) or self.draw_one(server, seed)
            for key, server in keys.items()
        }

    def cost(self, drawn: Mapping[WorldKey, DrawnWorld]) -> int:
        """The bytes that a session on these worlds would add."""
        return sum(world.bytes for key, world in drawn.items() if key not in self._worlds)

    def take(
        self, keys: Iterable[WorldKey], drawn: Mapping[WorldKey, DrawnWorld]
    ) -> dict[str, State]:
        """The worlds of a new session, by server; `drawn` has those that are not kept yet."""
        taken = {}
        for key in keys:
            world = self._worlds.get(key)
            if world is None:
                world = self._worlds[key] = drawn[key]
                self.meter.used += world.bytes
            world.users += 1
            taken[key[0]] = world.state
        return taken

    def leave(self, keys: Iterable[WorldKey]) -> None:
        """A session has ended; a world that nobody uses is dropped."""
        for key in keys:
            world = self._worlds[key]
            world.users -= 1
            if not world.users:
                del self._worlds[key]
                self.meter.used -= world.bytes


def draw_here(server: AnyServer, seed: int) -> DrawnWorld:
    """Draw a world in this process."""
    state = server.world(seed)
    return DrawnWorld(state, weigh(state))


def weigh(state: State) -> int:
    """The bytes of all records of a state; what two of them share counts once."""
    seen: set[int] = set()
    tables = [vars(state)[name] for name in state.tables]
    index = sum(INDEX_BYTES * len(table) for table in tables)
    return index + sum(_size(row, seen) for table in tables for row in table)


def _size(value: Any, seen: set[int]) -> int:
    if id(value) in seen:
        return 0
    seen.add(id(value))
    inner: Iterable[Any] = ()
    if isinstance(value, msgspec.Struct):
        inner = (getattr(value, name) for name in value.__struct_fields__)
    elif isinstance(value, tuple):
        inner = value
    return sys.getsizeof(value) + sum(_size(each, seen) for each in inner)
