"""Data sources of the page: files of examples or rollouts, and folders of training runs."""

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import time
from typing import Any, Literal

import msgspec

from provegym.hosts.inline import HostError
from provegym.lines import difference, read_sums
from provegym.terminal import readable
from provegym.trace import BadFile, Json
from provegym.view.columns import Columns, LinePlace
from provegym.view.growing_file import FileLine, GrowingFile, Unreadable
from provegym.view.summary import Foreign, RowKind, kind_of, summarise

LINES_AT_ONCE = 40
ROWS_PER_ANSWER = 50_000
MAX_REASON = 120
CHANGED = "this line has changed since it was read"

Kind = Literal["examples", "rollouts", "run", "problem"]
BAD_LINE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Missing(HostError):
    """What was asked for does not exist, or no longer (HTTP 404)."""

    status = 404


class DataSource:
    """One entry of the list of sources: its files, how far they are read, and what is wrong."""

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path
        self.id = -1
        self.problem = ""
        self.done = False
        self.files: list[GrowingFile] = []

    @property
    def kind(self) -> Kind:
        """What it holds; "problem" where nothing of it can be shown."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """How many rows or steps it has so far."""
        raise NotImplementedError

    def advance(self) -> Iterator[None]:
        """Read on to the present end of its files, in small steps: a generator."""
        raise NotImplementedError

    def describe(self) -> Json:
        """What the list of sources says of it."""
        return {
            "id": self.id,
            "name": self.name,
            "path": self.path,
            "kind": self.kind,
            "count": self.count,
            "bytes": sum(file.size for file in self.files),
            "read": sum(file.position for file in self.files),
            "done": self.done,
            "problem": self.problem,
            "modified": max((file.modified for file in self.files), default=0.0),
        }


class Rows(DataSource):
    """A file of examples or rollouts, or the shards of one corpus."""

    def __init__(self, name: str, path: str, run: "RunFolder | None" = None, step: int = 0) -> None:
        super().__init__(name, path)
        self.run, self.step = run, step
        self.columns = Columns()
        self._begin()

    def _begin(self) -> None:
        """Start with new, empty columns; requests that still read the old ones keep them."""
        self.row_kind: RowKind | None = None
        self.columns = Columns(self.columns.generation + 1)
        self.bad = 0
        self.first_bad = self.refused = ""

    @property
    def kind(self) -> Kind:
        """Examples or rollouts, as its first line says."""
        return self.row_kind or "problem"

    @property
    def count(self) -> int:
        """How many rows are known."""
        return self.columns.count

    def describe(self) -> Json:
        """What the list of sources says of it; of rollouts sampled in a run also run and step."""
        more = {} if self.run is None else {"run": self.run.id, "step": self.step}
        return {**super().describe(), **more}

    def advance(self) -> Iterator[None]:
        """Read on to the present end of its files, some lines per step."""
        try:
            self._look_again()
            if not self.refused:
                for number, file in enumerate(self.files):
                    yield from self._read_on(number, file)
                self.problem = self._complaint()
        except Unreadable as problem:
            self.problem = f"{self.name} {problem}"
        except Foreign as problem:
            self.refused = self.problem = f"{self.name} {problem}"
        self.done = True

    def _look_again(self) -> None:
        """Check the files; if one was rewritten or is gone, read those left from the start."""
        left, lost, changed = [], "", False
        for file in self.files:
            try:
                changed = file.is_rewritten() or changed
                left.append(file)
            except Unreadable as problem:
                lost = str(problem)
        if not changed and not lost:
            return
        self._begin()
        self.files = [GrowingFile(file.path, file.root) for file in left or self.files]
        if not left:
            raise Unreadable(lost)
        for file in self.files:
            file.is_rewritten()

    def _read_on(self, number: int, file: GrowingFile) -> Iterator[None]:
        sums = _sums(file)
        while not file.is_at_end:
            self.done = False
            lines = file.lines()
            for start in range(0, len(lines), LINES_AT_ONCE):
                for line in lines[start : start + LINES_AT_ONCE]:
                    self._take(number, line, sums)
                yield
            if not lines:
                self._take_rest(number, file)
                return

    def _take_rest(self, number: int, file: GrowingFile) -> None:
        """Text after the last newline counts as a row if it is complete JSON of the right kind."""
        begins = file.rest.lstrip()[:1]
        if self.row_kind is None and begins not in (b"", b"{"):
            kind_of(file.rest)
        try:
            kind = self.row_kind or kind_of(file.rest)
            row = summarise(file.rest, kind)
        except (*BAD_LINE, Foreign):
            return
        self.row_kind = kind
        self.columns.append(number, file.take_rest(), row)

    def _take(self, number: int, line: FileLine, sums: bytes) -> None:
        if not line.text.strip():
            return
        if self.row_kind is None:
            self.row_kind = kind_of(line.text)
        if damage := difference(sums, line.number, line.text + b"\n"):
            self._note_bad(number, line, damage)
            return
        try:
            row = summarise(line.text, self.row_kind)
        except BAD_LINE as problem:
            self._note_bad(number, line, str(problem))
            return
        self.columns.append(number, line, row)

    def _note_bad(self, number: int, line: FileLine, why: str) -> None:
        self.bad += 1
        where = f"line {line.number} of {readable(self.files[number].path.name)}"
        self.first_bad = self.first_bad or f"{where} ({why[:MAX_REASON]})"

    def _complaint(self) -> str:
        """What is wrong with the files, in words, or nothing."""
        if not any(file.size for file in self.files):
            return f"{self.name} is empty; nothing has been written to it yet"
        told = []
        if self.bad:
            others = f" and {self.bad - 1} more" if self.bad > 1 else ""
            told.append(f"{self.first_bad}{others} cannot be read")
        for file in self.files:
            if file.rest.strip():
                told.append(f"line {file.number + 1} of {readable(file.path.name)} is cut off")
        if self.row_kind is None:
            return "; ".join([f"{self.name} has no whole line yet", *told])
        return "; ".join(told) + "; the rest is shown" if told else ""

    def line(self, at: int) -> bytes:
        """The line of a row, read from its file."""
        place = self._place(at)
        try:
            return self.files[place.shard].read(place.start, place.size)
        except Unreadable as problem:
            raise Missing(f"{self.name} {problem}") from None

    def _place(self, at: int) -> LinePlace:
        columns = self.columns
        if not 0 <= at < columns.count:
            raise Missing(f"{self.name} has no row {at}; it has {columns.count} so far")
        return columns.place(at)

    def where(self, at: int) -> str:
        """The file and line of a row, in words."""
        place = self._place(at)
        return f"line {place.line} of {self.files[place.shard].path.name}"

    def show_columns(self, generation: int, after: int) -> Json:
        """The columns of the next rows after the first so many, or from the start of a new file."""
        columns, kind, done = self.columns, self.kind, self.done
        count = columns.count
        first = after if generation == columns.generation else 0
        return {
            "kind": kind,
            "generation": columns.generation,
            "first": first,
            "total": count,
            "done": done,
            "columns": columns.batch(first, max(first, min(count, first + ROWS_PER_ANSWER))),
        }

    def first_words(self, at: int) -> str:
        """What the list shows of the text of a row."""
        try:
            return summarise(self.line(at), self.row_kind or "examples").text
        except (*BAD_LINE, Missing):
            return CHANGED


def _sums(file: GrowingFile) -> bytes:
    """The checksums of a file; lines that are written later are not compared."""
    try:
        return read_sums(file.path)
    except BadFile as problem:
        raise Unreadable(f"cannot be checked: {problem}") from None


class RunFolder(DataSource):
    """A training run: the metrics of its steps, its recipe and its sampled rollouts."""

    def __init__(self, name: str, path: str, folder: Path, root: Path) -> None:
        super().__init__(name, path)
        self.folder, self.root = folder, root
        self.files = [GrowingFile(folder / "metrics.jsonl", root)]
        self.samples: list[Rows] = []
        self.generation = 0
        self._begin()

    def _begin(self) -> None:
        self.steps: list[msgspec.Raw] = []
        self.seconds: list[float] = []
        self.bad = 0
        self.generation += 1

    @property
    def kind(self) -> Kind:
        """A run, unless the metrics file is not of provegym."""
        return "problem" if self.bad and not self.steps else "run"

    @property
    def count(self) -> int:
        """How many steps are recorded."""
        return len(self.steps)

    def advance(self) -> Iterator[None]:
        """Read the metrics on."""
        file = self.files[0]
        try:
            if file.is_rewritten():
                self._begin()
            while not file.is_at_end:
                lines = file.lines()
                for line in lines:
                    self._take(line.text)
                yield
                if not lines:
                    break
            self.problem = self._complaint()
        except Unreadable as problem:
            self._begin()
            self.problem = f"{self.name} has lost its metrics: metrics.jsonl {problem}"
        self.done = True

    def _take(self, text: bytes) -> None:
        if not text.strip():
            return
        try:
            step = msgspec.json.decode(text, type=dict[str, Any])
            number, seconds = step["step"], step.get("seconds")
        except (*BAD_LINE, KeyError):
            self.bad += 1
            return
        if not isinstance(number, int):
            self.bad += 1
            return
        self.steps.append(msgspec.Raw(text))
        self.seconds.append(float(seconds) if isinstance(seconds, int | float) else 0.0)

    def _complaint(self) -> str:
        if self.kind == "problem":
            return f"{self.name} has a metrics.jsonl, but not of a run of provegym"
        if self.bad:
            return f"{self.bad} lines of metrics.jsonl in {self.name} cannot be read"
        return "" if self.steps else f"{self.name} has recorded no step yet"

    def is_running(self) -> bool:
        """Whether it still writes: its last step is not much older than its steps take."""
        try:
            quiet = time() - self.files[0].path.stat().st_mtime
        except OSError:
            return False
        pace = median(self.seconds[-20:]) if self.seconds else 60.0
        return quiet < 30 + 3 * pace

    def text(self, name: str) -> str:
        """A small file of the folder, or nothing."""
        try:
            return (
                GrowingFile(self.folder / name, self.root)
                .read(0, 1 << 20)
                .decode("utf-8", "replace")
            )
        except Unreadable:
            return ""
