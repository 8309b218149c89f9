"""The data sources in the named folders: found by walking them, read by one background thread."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import NamedTuple

from provegym import servers
from provegym.terminal import readable
from provegym.trace import Json
from provegym.view.drawn import holds_worlds
from provegym.view.growing_file import GrowingFile, is_inside
from provegym.view.sources import DataSource, Missing, Rows, RunFolder

SHARD = re.compile(r"(.+)-\d{5}\.jsonl")
STEP = re.compile(r"step-(\d+)\.jsonl")
METRICS = "metrics.jsonl"
# Of these only the first can be shown; of the others the page says so.
READ = (".jsonl", ".csv", ".tsv", ".parquet", ".gz", ".zst", ".ndjson")
SKIPPED = ("checkpoints", "node_modules", "__pycache__", "site-packages")
DEPTH, MOST_FOLDERS, MOST_SOURCES = 6, 2_000, 2_000
SCAN_EVERY_S, IDLE_S, PAUSE_S = 1.0, 0.2, 0.0005


class FolderEntry(NamedTuple):
    """A file or folder: its path, names, depth, and the folder that its links must not leave."""

    path: Path
    name: str
    label: str
    root: Path
    depth: int = 0

    def inner(self, path: Path) -> "FolderEntry":
        """A file or folder in this folder."""
        last = readable(path.name)
        name, label = f"{self.name}/{last}", f"{self.label}/{last}"
        return FolderEntry(path, name, label, self.root, self.depth + 1)


class Library:
    """The sources, in the order they were found; a source keeps its number."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = list(paths)
        self.sources: list[DataSource] = []
        self._known: dict[str, DataSource] = {}
        self._next_scan = 0.0
        self._stop, self._lock, self._asking = Event(), Lock(), 0
        self._thread = Thread(target=self._watch, name="reader", daemon=True)
        self.scan()

    def __getitem__(self, number: int) -> DataSource:
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
        self.scan()
        for source in self.sources:
            for _ in source.advance():
                pass
        return self

    def await_rows(self, source: DataSource, count: int, seconds: float = 0.4) -> None:
        """Wait a little until a source has so many rows or has been read to its end."""
        until = monotonic() + seconds
        while not source.done and source.count < count and monotonic() < until:
            sleep(0.01)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Pauses the background reading while a request is answered."""
        with self._lock:
            self._asking += 1
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1

    def _watch(self) -> None:
        while not self._stop.is_set():
            if monotonic() > self._next_scan:
                self.scan()
            if not self._read_round():
                self._stop.wait(IDLE_S)

    def _read_round(self) -> bool:
        """Read all sources to their ends, a little of each in turn; whether there was anything."""
        turns = [source.advance() for source in list(self.sources)]
        any_read = False
        while turns and not self._stop.is_set():
            left = []
            for turn in turns:
                for _ in turn:
                    any_read = True
                    left.append(turn)
                    self._pause()
                    break
            turns = left
        return any_read

    def _pause(self) -> None:
        """Let other threads run; while a request is being answered, wait up to a second for it."""
        sleep(PAUSE_S)
        until = monotonic() + 1
        while self._asking and not self._stop.is_set() and monotonic() < until:
            sleep(PAUSE_S)

    def scan(self) -> None:
        """Walk the folders for new files; the longer a walk takes, the later comes the next."""
        begun = monotonic()
        seen: set[Path] = set()
        for path in self.paths:
            root = path.resolve()
            if root.is_dir():
                name = readable(root.name or str(root))
                self._walk(FolderEntry(path, name, readable(str(path)), root), seen, None)
            else:
                self._add(FolderEntry(path, readable(path.name), readable(str(path)), root))
        self._next_scan = monotonic() + max(SCAN_EVERY_S, 20 * (monotonic() - begun))

    def _walk(self, folder: FolderEntry, seen: set[Path], run: RunFolder | None) -> None:
        real = folder.path.resolve()
        if real in seen or len(seen) >= MOST_FOLDERS:
            return
        seen.add(real)
        if real not in servers.places().worlds and holds_worlds(real):
            servers.look_in(real)
        files, folders = _entries(folder)
        if any(file.path.name == METRICS for file in files):
            run = self._add_run(folder)
        for file in files:
            if file.path.name != METRICS:
                self._add(file, run if folder.path.name == "rollouts" else None)
        if folder.depth < DEPTH:
            for inner in folders:
                self._walk(inner, seen, run)

    def _add_run(self, folder: FolderEntry) -> RunFolder:
        known = self._known.get(folder.label)
        if known is None:
            known = RunFolder(folder.name, folder.label, folder.path, folder.root)
            self._keep(folder.label, known)
        assert isinstance(known, RunFolder)
        return known

    def _add(self, file: FolderEntry, run: RunFolder | None = None) -> None:
        """Add a file: as a source of its own, or as a shard of a corpus."""
        shard, step = SHARD.fullmatch(file.path.name), STEP.fullmatch(file.path.name)
        key, name = file.label, file.name
        if shard:
            key, name = (
                text.removesuffix(readable(file.path.name)) + readable(shard[1])
                for text in (key, name)
            )
        known = self._known.get(f"{key}\0rows")
        if known is None:
            sampled = run if step else None
            known = Rows(name, key, sampled, int(step[1]) if step else 0)
            self._keep(f"{key}\0rows", known)
            if sampled is not None:
                sampled.samples.append(known)
        if all(known_file.path != file.path for known_file in known.files):
            known.files = [*known.files, GrowingFile(file.path, file.root)]
            known.done = False

    def _keep(self, key: str, source: DataSource) -> None:
        if len(self.sources) >= MOST_SOURCES:
            self._known[key] = source
            return
        source.id = len(self.sources)
        self._known[key] = source
        self.sources.append(source)


def _entries(folder: FolderEntry) -> tuple[list[FolderEntry], list[FolderEntry]]:
    """The files of known types and the folders in a folder, without links that lead out of it."""
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
            if not entry.name.startswith(".") and entry.name not in SKIPPED:
                folders.append(folder.inner(path))
        elif path.suffix in READ and entry.is_file():
            files.append(folder.inner(path))
    return files, folders
