"""Drawn worlds on disk, which the worker processes of one machine share.

The candidates of a round use the worlds of many servers, for distractors. To draw a world takes
20 ms on average, to read it half a millisecond. So the first process that draws a world writes it
to a folder, and the others read it. If a world cannot be read, a process draws it for itself.
"""

import pickle
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from pathlib import Path
from secrets import token_hex
from time import sleep

from provegym import servers
from provegym.conversation.kinds import Place
from provegym.corpus.candidates import Aim, Made, attempt_all
from provegym.kernel import AnyServer
from provegym.kernel.server import WORLDS_KEPT
from provegym.kernel.state import ENCODE, State

# Seconds between two looks for a world that another process draws, and the most of them.
WAIT, WAITS = 0.002, 500


def attempt_on_shared(folder: Path, aims: Sequence[Aim]) -> list[Made]:
    """Make some candidates and check them, on shared worlds."""
    _share(folder)
    return attempt_all(aims)


def draw_shared(folder: Path, place: Place) -> None:
    """Draw the world of a place, for all processes."""
    _share(folder)
    servers.load(place.server).world(place.world)


def folder_of(folder: Path, world: int) -> Path:
    """Where the worlds of one number are."""
    return folder / str(world)


@cache
def _share(folder: Path) -> None:
    """Let the servers of this process look for worlds in a folder before they draw them."""
    for server in servers.load_all():
        server.world = lru_cache(maxsize=WORLDS_KEPT)(partial(read_or_draw, server, folder))


def read_or_draw(server: AnyServer, folder: Path, number: int) -> State:
    """The world of this number: read from the folder, or drawn and written to it.

    Only one process draws a world; the others wait until it is there. They draw it themselves if
    it cannot be shared, or does not come.
    """
    file = folder_of(folder, number) / server.name
    claim = file.with_suffix(".claim")
    for _ in range(WAITS):
        with suppress(OSError):
            world: State = pickle.loads(file.read_bytes())
            return world
        if not claim.exists():
            break
        sleep(WAIT)
    with suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        claim.touch()
    drawn: State = server._world(number)
    with suppress(OSError):
        _write(drawn, file)
    with suppress(OSError):
        claim.unlink()
    return drawn


def _write(drawn: State, file: Path) -> None:
    """Write a world for others, if what they read is the same."""
    pickled = pickle.dumps(drawn)
    # msgspec leaves out a default by identity, which a copy may lose: then the JSON is longer.
    if _json(pickle.loads(pickled)) == _json(drawn):
        part = file.with_name(f"{file.name}.{token_hex(4)}")
        part.write_bytes(pickled)
        part.replace(file)


def _json(world: State) -> bytes:
    """All records of a world, as tools and diffs show them."""
    return ENCODE([list(getattr(world, table)) for table in world.tables])
