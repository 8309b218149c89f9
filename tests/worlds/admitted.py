"""A small world that is admitted in a second, under as many names as a test wants."""

from functools import cache
from pathlib import Path

from msgspec.structs import replace

from provegym.admission.admit import admit
from provegym.teacher.world_prompt import example_text
from provegym.worlds.files import WorldFile, new_file, write_world
from provegym.worlds.spec import parse


@cache
def boat_hire() -> WorldFile:
    """The admitted world."""
    return admit(new_file(parse(example_text())))


def write_worlds(folder: Path, *names: str) -> list[Path]:
    """World files with these names; all are the same world."""
    folder.mkdir(parents=True, exist_ok=True)
    found = boat_hire()
    worlds = []
    for name in names:
        spec = replace(found.spec, name=name)
        graph = {**(found.graph or {}), "server": name}
        worlds.append(replace(found, spec=spec, hash=spec.hash(), graph=graph))
    return [write_world(folder, world) for world in worlds]
