"""Drawing and admitting many worlds in a folder: in parallel, with progress, resumable."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from provegym.admission.admit import METHOD, admit
from provegym.admission.alike import NEAR_COPY, Copies, summary, traits
from provegym.workers import local
from provegym.worlds.files import WorldFile, new_file, read_world, world_files, write_world
from provegym.worlds.grammar import draw_specs
from provegym.worlds.spec import SpecError, WorldSpec

PRELOAD = "provegym.admission.preload"
BATCH = 4
# A worker process is replaced after so many batches, so that memory stays flat.
RECYCLE = 8


class FolderSummary(NamedTuple):
    """What became of the worlds of a folder."""

    worlds: int
    admitted: int
    reasons: Counter[str]
    figures: Counter[str]
    alike: dict[str, float]


def draw_folder(count: int, seed: int, out: Path, tell: Callable[[], None]) -> tuple[int, int]:
    """Draw worlds into a folder; returns how many were written, and how many were near copies.

    A world that is already there is not written again.
    """
    out.mkdir(parents=True, exist_ok=True)
    copies = Copies()
    written = refused = 0
    for spec in draw_specs(seed):
        if written == count:
            break
        found = traits(spec)
        if copies.nearest(found)[0] >= NEAR_COPY:
            refused += 1
            continue
        copies.add(found)
        written += 1
        if not _is_there(out, spec):
            write_world(out, new_file(spec))
        tell()
    return written, refused


def _is_there(folder: Path, spec: WorldSpec) -> bool:
    file = folder / f"{spec.name}.json"
    if not file.exists():
        return False
    try:
        return read_world(file).hash == spec.hash()
    except SpecError:
        return False


def admit_folder(
    folder: Path, workers: int, tell: Callable[[], None], *, trim: bool = False
) -> FolderSummary:
    """Admit the worlds of a folder that were not judged yet, and count all of them.

    With `trim`, worlds that were refused for unused tools are judged again without these.
    """
    files = world_files(folder)
    with closing(local(workers, PRELOAD, RECYCLE)) as pool:
        worlds = []
        for world in pool.map(partial(judge_files, trim=trim), files, BATCH):
            worlds.append(world)
            tell()
    judged = [world for world in worlds if isinstance(world, WorldFile)]
    reasons = Counter("the file cannot be read" for world in worlds if isinstance(world, str))
    figures: Counter[str] = Counter()
    admitted = [world for world in judged if world.admission and world.admission.admitted]
    for world in judged:
        assert world.admission is not None
        reasons.update(world.admission.reasons)
    for world in admitted:
        assert world.admission is not None
        figures.update({name: int(value) for name, value in world.admission.figures.items()})
    alike = summary([traits(world.spec, world.graph) for world in admitted])
    return FolderSummary(len(worlds), len(admitted), reasons, figures, alike)


def judge_files(files: Sequence[Path], *, trim: bool = False) -> Iterator[WorldFile | str]:
    """Admit the worlds of some files, and write what was found into them."""
    for file in files:
        try:
            world = read_world(file)
        except SpecError as problem:
            yield str(problem)
            continue
        known = world.admission
        if known is None or known.method != METHOD or (trim and not known.admitted):
            world = admit(world, trim=trim)
            written = write_world(file.parent, world)
            if written != file and file.suffix == ".json":
                file.unlink()
        yield world
