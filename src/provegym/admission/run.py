"""Drawing and admitting many worlds in a folder: in parallel, with progress, resumable."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from provegym.admission.admit import METHOD, admit
from provegym.admission.alike import NEAR_COPY, Copies, Traits, summary, traits
from provegym.files import locked
from provegym.workers import Processes
from provegym.worlds.files import Admission, new_file, read_world, world_files, write_world
from provegym.worlds.grammar import draw_specs
from provegym.worlds.spec import SpecError, WorldSpec

PRELOAD = "provegym.admission.preload"
BATCH = 4
# A worker process is replaced after so many batches, so that memory stays flat.
RECYCLE = 3


class FolderSummary(NamedTuple):
    """What became of the worlds of a folder. `problems` names each refused file, and why."""

    worlds: int
    admitted: int
    reasons: Counter[str]
    figures: Counter[str]
    alike: dict[str, float]
    problems: list[str]


def draw_folder(count: int, seed: int, out: Path, tell: Callable[[], None]) -> tuple[int, int]:
    """Draw worlds into a folder; returns how many were written, and how many were near copies.

    A world that is already there is not written again.
    """
    with locked(out):
        return _draw_folder(count, seed, out, tell)


def _draw_folder(count: int, seed: int, out: Path, tell: Callable[[], None]) -> tuple[int, int]:
    copies = Copies()
    written = refused = 0
    for spec in draw_specs(seed):
        if written == count:
            break
        found = traits(spec)
        if copies.nearest(found)[0] >= NEAR_COPY or copies.same_shape(found):
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
    world_files(folder)  # which says so if there is no such folder
    with locked(folder):
        return _admit_folder(folder, workers, tell, trim)


def _admit_folder(
    folder: Path, workers: int, tell: Callable[[], None], trim: bool
) -> FolderSummary:
    files, reasons, problems = _distinct(folder)
    count = len(files) + reasons.total()
    figures: Counter[str] = Counter()
    admitted: list[Traits] = []
    # A single worker is a process of its own too, so that memory stays flat.
    with closing(Processes(workers, PRELOAD, RECYCLE)) as pool:
        for admission, found in pool.map(partial(judge_files, trim=trim), files, BATCH):
            tell()
            reasons.update(admission.reasons)
            problems += [f"{found.name}: {detail}" for detail in admission.details]
            if admission.admitted:
                admitted.append(found)
                figures.update(admission.figures)
    return FolderSummary(count, len(admitted), reasons, figures, summary(admitted), problems)


def _distinct(folder: Path) -> tuple[list[Path], Counter[str], list[str]]:
    """One file for each world of a folder, and why other files are not judged, with sentences.

    A world can have two files: a spec in TOML, and the world file that was made of it. The world
    file is used unless the spec was changed since.
    """
    found: dict[str, tuple[Path, str]] = {}
    reasons: Counter[str] = Counter()
    problems: list[str] = []
    for file in sorted(world_files(folder), key=lambda file: (file.suffix != ".json", file)):
        try:
            world = read_world(file)
        except SpecError as problem:
            reasons["the file holds no world"] += 1
            problems.append(f"{file.name}: {str(problem).removeprefix(f'{file.name}: ')}")
            continue
        first, known = found.setdefault(world.spec.name, (file, world.hash))
        if known == world.hash:
            continue
        if file.suffix == first.suffix:
            reasons["another world has its name"] += 1
        elif file.stat().st_mtime_ns > first.stat().st_mtime_ns:
            found[world.spec.name] = file, world.hash
    return sorted(file for file, _ in found.values()), reasons, problems


def judge_files(files: Sequence[Path], *, trim: bool = False) -> Iterator[tuple[Admission, Traits]]:
    """Admit the worlds of some files, and write what was found into them."""
    for file in files:
        world = read_world(file)
        admission = world.admission
        is_judged = admission is not None and admission.method == METHOD
        if admission is None or not is_judged or (trim and not admission.admitted):
            world, admission = admit(world, trim=trim)
            written = write_world(file.parent, world)
            if written != file and file.suffix == ".json":
                file.unlink()
        yield admission, traits(world.spec, world.graph)
