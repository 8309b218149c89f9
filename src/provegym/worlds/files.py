"""World files: a spec, its hash and its admission in one JSON file, and folders of them.

A corpus names its worlds by name. With the file, anybody can draw the same world again.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from shutil import copyfile
from typing import Any

import msgspec
from msgspec.structs import replace as put

from provegym import servers
from provegym.files import atomic_path, make_folder, write_atomically
from provegym.kernel import AnyServer
from provegym.worlds.build import install
from provegym.worlds.plain import MAX_BYTES
from provegym.worlds.spec import SpecError, SpecPart, WorldSpec, parse

SUFFIXES = (".json", ".toml")
MAX_FILE = 4 * MAX_BYTES
INSTALLED = 48


class Admission(SpecPart, frozen=True, kw_only=True):
    """The result of the admission of a world: why it was refused, and what was measured.

    `method` is the version of the checks. `reasons` are kinds of refusal, `details` sentences.
    """

    method: int
    admitted: bool
    reasons: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    figures: dict[str, int] = msgspec.field(default_factory=dict)


class WorldFile(SpecPart, frozen=True, kw_only=True):
    """A world as it is stored: its spec with a hash, its admission and its dependency graph.

    `seal`, a hash over all of it, is set in files alone. An admission that was changed by hand does
    not count.
    """

    hash: str
    spec: WorldSpec
    admission: Admission | None = None
    graph: dict[str, Any] | None = None
    seal: str = ""

    def sealed(self) -> str:
        """The hash over spec, admission and graph."""
        parts = msgspec.json.encode([self.hash, self.admission, self.graph])
        return sha256(parts).hexdigest()


def new_file(spec: WorldSpec) -> WorldFile:
    """The file of a spec that was not admitted yet."""
    return WorldFile(hash=spec.hash(), spec=spec)


def read_world(file: Path) -> WorldFile:
    """Read a world file, or a plain spec in TOML or JSON."""
    try:
        size = file.stat().st_size  # of a missing file, this says that it is missing
        if not file.is_file():
            raise SpecError(f"{file.name} is not a regular file")
        if size > MAX_FILE:
            raise SpecError(f"{file.name} has more than {MAX_FILE} bytes, too many for a world")
        raw = file.read_bytes()
    except OSError as problem:
        raise SpecError(f"{file} cannot be read: {problem.strerror}") from None
    world = _parsed(raw, file.name)
    if not servers.WORLD_NAME.fullmatch(world.spec.name):
        raise SpecError(f"{file.name}: the name of a world has a-z, 0-9 and _, at most 64 of them")
    return world


def _parsed(raw: bytes, name: str) -> WorldFile:
    if not raw.lstrip().startswith(b'{"hash"'):
        return new_file(parse(raw, name))
    try:
        world = msgspec.json.decode(raw, type=WorldFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise SpecError(f"{name}: {problem}") from None
    if world.hash != world.spec.hash():
        raise SpecError(f"{name}: its spec was changed; admit it again as a plain spec")
    is_sealed = world.admission is None or world.seal == world.sealed()
    return put(world, seal="") if is_sealed else new_file(world.spec)


def write_world(folder: Path, world: WorldFile) -> Path:
    """Write a world file into a folder."""
    file = folder / f"{world.spec.name}.json"
    write_atomically(file, msgspec.json.encode(put(world, seal=world.sealed())))
    return file


def world_files(folder: Path) -> list[Path]:
    """The world files of a folder, by name."""
    if not folder.is_dir():
        raise SpecError(f"there is no folder {folder}")
    return sorted(f for f in folder.iterdir() if f.suffix in SUFFIXES and f.name[:1] != ".")


def admitted(folder: Path) -> Iterator[WorldFile]:
    """The admitted worlds of a folder."""
    for file in world_files(folder):
        world = read_world(file)
        if world.admission is not None and world.admission.admitted:
            yield _named(file, world)


def _named(file: Path, world: WorldFile) -> WorldFile:
    """The world of a file; it is an error if the file has another name."""
    if world.spec.name != file.stem:
        raise SpecError(f"{file} holds the world {world.spec.name!r}; rename it")
    return world


def copy_worlds(names: Iterable[str], folder: Path) -> None:
    """Copy the files of worlds that `servers` knows into a folder, except those that are there.

    Servers that have no such file are left out.
    """
    for name in names:
        file, copy = servers.world_file(name), folder / f"{name}.json"
        if file is not None and not copy.exists():
            make_folder(folder)
            with atomic_path(copy) as part:
                copyfile(file, part)


def install_file(file: Path) -> AnyServer:
    """Install the world of a file; of the worlds installed so, only the last ones are kept."""
    server = install(_named(file, read_world(file)).spec)
    _installed.append(server.name)
    if len(_installed) > INSTALLED:
        servers.forget(_installed.pop(0))
    return server


_installed: list[str] = []
