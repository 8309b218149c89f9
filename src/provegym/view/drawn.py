"""Drawn worlds on the page: the world files in the named folders, listed from a partial decode.

A folder may hold a thousand of them. Only the fields that a card shows are decoded, once per
version of a file.
"""

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import msgspec

from provegym import servers
from provegym.kernel import AnyServer
from provegym.kernel.errors import suggest
from provegym.trace import Json
from provegym.view.growing_file import is_inside
from provegym.view.sources import Missing
from provegym.worlds.files import MAX_FILE, Admission, WorldFile, read_world
from provegym.worlds.spec import READS, SpecError

# How a world file begins, and how many files of a folder are looked at for it.
HEAD, LOOKED_AT = b'{"hash"', 3
MOST_WORLDS = 5_000
SLOT = re.compile(r"\{([^{}:]+)(:[^{}]*)?\}")
GROUP = "drawn worlds"


class BriefOperation(msgspec.Struct, frozen=True):
    """A tool of a world, as far as a card shows it."""

    kind: str = ""
    hidden: bool = False


class BriefSpec(msgspec.Struct, frozen=True):
    """A spec, as far as a card shows it."""

    name: str
    about: str = ""
    version: int = 1
    source: str = ""
    operations: tuple[BriefOperation, ...] = ()


class BriefWorld(msgspec.Struct, frozen=True):
    """A world file, as far as a card shows it."""

    spec: BriefSpec
    admission: Admission | None = None


def holds_worlds(folder: Path) -> bool:
    """Whether a folder holds world files, by the first bytes of a few of its files."""
    try:
        with os.scandir(folder) as listing:
            named = sorted(entry.name for entry in listing if entry.name.endswith(".json"))
        return any(_head(folder / name) == HEAD for name in named[:LOOKED_AT])
    except OSError:
        return False


def _head(file: Path) -> bytes:
    if not file.is_file() or not is_inside(file, file.parent.resolve()):
        return b""
    with file.open("rb") as opened:
        return opened.read(len(HEAD))


def names() -> list[str]:
    """The names of the drawn worlds in the folders, in order."""
    return [file.stem for file in _files()]


def _files() -> Iterator[Path]:
    """The world files, each name once; links that lead out of their folder are left out."""
    seen: set[str] = set()
    for folder in servers.folders():
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            name, suffix = os.path.splitext(entry.name)
            known = name in seen or name in servers.names()
            if suffix != ".json" or known or not servers.WORLD_NAME.fullmatch(name):
                continue
            if entry.is_symlink() and not is_inside(Path(entry.path), folder):
                continue
            if entry.is_file() and len(seen) < MOST_WORLDS:
                seen.add(name)
                yield Path(entry.path)


def list_worlds() -> list[Json]:
    """Every drawn world in brief."""
    return [card(file) for file in _files()]


def card(file: Path) -> Json:
    """A drawn world in brief."""
    try:
        noted = file.stat()
        return _card(file, noted.st_mtime_ns, noted.st_size)
    except OSError as problem:
        return _unreadable(file, str(problem.strerror))


@lru_cache(maxsize=MOST_WORLDS)
def _card(file: Path, _: int, size: int) -> Json:
    if size > MAX_FILE:
        return _unreadable(file, "it is too large")
    try:
        world = msgspec.json.decode(file.read_bytes(), type=BriefWorld)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        return _unreadable(file, str(problem)[:200])
    if world.spec.name != file.stem:
        return _unreadable(file, f"it holds the world {world.spec.name[:60]!r}")
    kinds = [each.kind for each in world.spec.operations if not each.hidden]
    reads = sum(kind in READS for kind in kinds)
    return {
        **_bare(file, world.spec.about),
        "tools": len(kinds),
        "reads": reads,
        "writes": len(kinds) - reads,
        "version": world.spec.version,
        "source": world.spec.source,
        "verdict": verdict(world.admission),
    }


def _bare(file: Path, summary: str) -> Json:
    name = file.stem
    about = {"name": name, "title": title(name), "category": GROUP, "summary": summary}
    bare = {**about, "drawn": True, "source": "", "verdict": ""}
    return {**bare, "tools": 0, "reads": 0, "writes": 0, "version": 0}


def title(name: str) -> str:
    """The name of a drawn world as a title: "theatre_0_5" is "Theatre 0-5", by seed and number."""
    return re.sub(r"(\d) (\d+)$", r"\1-\2", name.replace("_", " ")).capitalize()


def _unreadable(file: Path, reason: str) -> Json:
    return {**_bare(file, f"cannot be read: {reason}"), "verdict": "unreadable"}


def verdict(admission: Admission | None) -> str:
    """Whether a world is admitted, in a word."""
    if admission is None:
        return "not judged"
    return "admitted" if admission.admitted else "refused"


def is_drawn(name: str) -> bool:
    """Whether a name is that of a drawn world in the folders."""
    file = None if name in servers.names() else servers.world_file(name)
    return file is not None and is_inside(file, file.parent)


def load(name: str) -> AnyServer:
    """The server of a drawn world; Missing says why it cannot be built."""
    if not is_drawn(name):
        raise Missing(f"no server {name[:60]!r}; {suggest(name[:60], list(servers.names()))}")
    try:
        return servers.load(name)
    except SpecError as problem:
        raise Missing(f"the world {name} cannot be built: {problem}") from None


def read(name: str) -> WorldFile:
    """The world file of a drawn world."""
    file = servers.world_file(name)
    if file is None:
        raise Missing(f"no world {name[:60]!r}")
    try:
        return read_world(file)
    except SpecError as problem:
        raise Missing(str(problem)) from None


def show_world_file(name: str) -> Json:
    """What a world file says besides the server: its spec, where it comes from, its admission."""
    world = read(name)
    spec = msgspec.json.format(msgspec.json.encode(world.spec), indent=2).decode()
    judged = msgspec.to_builtins(world.admission)
    return {"hash": world.hash, "source": world.spec.source, "spec": spec, "admission": judged}


def rules(name: str) -> list[str]:
    """The rules of a drawn world: what each tool says where it refuses.

    A value that differs from call to call stands in brackets: [box office name].
    """
    return [
        f"{operation.tool}: {SLOT.sub(_spoken, guard.says)}"
        for operation in read(name).spec.operations
        for guard in operation.guards
        if not operation.hidden
    ]


def _spoken(slot: re.Match[str]) -> str:
    parts = [part.removesuffix("_id") for part in slot[1].split(".")]
    return f"[{' '.join(parts).replace('_', ' ')}]"
