"""Everything in the folders that were named, found by walking them and read by one thread."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import NamedTuple

from provegym.trace import Json
from provegym.view.sources import Missing, Rows, RunFolder, Source
from provegym.view.tail import Tail, is_inside

SHARD = re.compile(r"(.+)-\d{5}\.jsonl")
STEP = re.compile(r"step-(\d+)\.jsonl")
METRICS = "metrics.jsonl"
# Of these only the first can be shown; of the others the page says so.
READ = (".jsonl", ".csv", ".tsv", ".parquet", ".gz", ".zst", ".ndjson")
PASSED = ("checkpoints", "node_modules", "__pycache__", "site-packages")
DEPTH, MOST_FOLDERS, MOST_SOURCES = 6, 2_000, 2_000
LOOKED_EVERY, IDLE, BREATH = 1.0, 0.2, 0.0005


class Found(NamedTuple):
    """A file or folder: where, under which name, how deep, and in what its links must stay."""

    path: Path
    name: str
    shown: str
    root: Path
    depth: int = 0

    def inner(self, path: Path) -> "Found":
        """Something in this folder."""
        name, shown = f"{self.name}/{path.name}", f"{self.shown}/{path.name}"
        return Found(path, name, shown, self.root, self.depth + 1)


class Library:
    """The sources, in the order they were found; a source keeps its number."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = list(paths)
        self.sources: list[Source] = []
        self._known: dict[str, Source] = {}
        self._look_at = 0.0
        self._stop, self._lock, self._asking = Event(), Lock(), 0
        self._thread = Thread(target=self._watch, name="reader", daemon=True)
        self.look()

    def __getitem__(self, number: int) -> Source:
        if not 0 <= number < len(self.sources):
            raise Missing(f"there is no source {number}; see the list of sources")
        return self.sources[number]

    def rows(self, number: int) -> Rows:
        """A source that has rows."""
        source = self[number]
        if not isinstance(source, Rows):
            raise Missing(f"{source.name} is a run; its sampled rollouts are sources of their own")
        return source

    def run(self, number: int) -> RunFolder:
        """A source that is a run."""
        source = self[number]
        if not isinstance(source, RunFolder):
            raise Missing(f"{source.name} is no run")
        return source

    def describe(self) -> list[Json]:
        """The list of sources."""
        return [source.describe() for source in list(self.sources)]

    def start(self) -> None:
        """Begin to read, in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def settle(self) -> "Library":
        """Read everything there is now, in this thread."""
        self.look()
        for source in self.sources:
            for _ in source.advance():
                pass
        return self

    def await_rows(self, source: Source, count: int, seconds: float = 0.4) -> None:
        """Wait a little until a source has so many rows or has been read to its end."""
        until = monotonic() + seconds
        while not source.done and source.count < count and monotonic() < until:
            sleep(0.01)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Somebody waits for an answer: reading stands back meanwhile."""
        with self._lock:
            self._asking += 1
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1

    def _watch(self) -> None:
        while not self._stop.is_set():
            if monotonic() > self._look_at:
                self.look()
            if not self._read_round():
                self._stop.wait(IDLE)

    def _read_round(self) -> bool:
        """Give each source its turn until all are at their ends; whether there was anything."""
        turns = [source.advance() for source in list(self.sources)]
        any_read = False
        while turns and not self._stop.is_set():
            left = []
            for turn in turns:
                for _ in turn:
                    any_read = True
                    left.append(turn)
                    self._breathe()
                    break
            turns = left
        return any_read

    def _breathe(self) -> None:
        """Let others have the interpreter; while somebody waits for an answer, all of it."""
        sleep(BREATH)
        until = monotonic() + 1
        while self._asking and not self._stop.is_set() and monotonic() < until:
            sleep(BREATH)

    def look(self) -> None:
        """Walk the folders for what is new; a long walk is not taken often."""
        begun = monotonic()
        seen: set[Path] = set()
        for path in self.paths:
            root = path.resolve()
            if root.is_dir():
                self._walk(Found(path, root.name or str(root), str(path), root), seen, None)
            else:
                self._add(Found(path, path.name, str(path), root))
        self._look_at = monotonic() + max(LOOKED_EVERY, 20 * (monotonic() - begun))

    def _walk(self, folder: Found, seen: set[Path], run: RunFolder | None) -> None:
        real = folder.path.resolve()
        if real in seen or len(seen) >= MOST_FOLDERS:
            return
        seen.add(real)
        files, folders = _entries(folder)
        if any(file.path.name == METRICS for file in files):
            run = self._add_run(folder)
        for file in files:
            if file.path.name != METRICS:
                self._add(file, run if folder.path.name == "rollouts" else None)
        if folder.depth < DEPTH:
            for inner in folders:
                self._walk(inner, seen, run)

    def _add_run(self, folder: Found) -> RunFolder:
        known = self._known.get(folder.shown)
        if known is None:
            known = RunFolder(folder.name, folder.shown, folder.path, folder.root)
            self._keep(folder.shown, known)
        assert isinstance(known, RunFolder)
        return known

    def _add(self, file: Found, run: RunFolder | None = None) -> None:
        """A file as a source of its own, or as one more shard of a corpus."""
        shard, step = SHARD.fullmatch(file.path.name), STEP.fullmatch(file.path.name)
        key, name = file.shown, file.name
        if shard:
            key, name = (text.removesuffix(file.path.name) + shard[1] for text in (key, name))
        known = self._known.get(f"{key}\0rows")
        if known is None:
            sampled = run if step else None
            known = Rows(name, key, sampled, int(step[1]) if step else 0)
            self._keep(f"{key}\0rows", known)
            if sampled is not None:
                sampled.samples.append(known)
        if all(tail.path != file.path for tail in known.tails):
            known.tails = [*known.tails, Tail(file.path, file.root)]
            known.done = False

    def _keep(self, key: str, source: Source) -> None:
        if len(self.sources) >= MOST_SOURCES:
            self._known[key] = source
            return
        source.id = len(self.sources)
        self._known[key] = source
        self.sources.append(source)


def _entries(folder: Found) -> tuple[list[Found], list[Found]]:
    """The files worth a look and the folders in a folder; links that lead out are left out."""
    files, folders = [], []
    try:
        with os.scandir(folder.path) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return [], []
    for entry in entries:
        path = folder.path / entry.name
        if entry.is_symlink() and not is_inside(path, folder.root):
            continue
        if entry.is_dir():
            if not entry.name.startswith(".") and entry.name not in PASSED:
                folders.append(folder.inner(path))
        elif path.suffix in READ and entry.is_file():
            files.append(folder.inner(path))
    return files, folders
