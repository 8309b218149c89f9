"""What can be looked at: files of examples or rollouts, and the folders of runs."""

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import time
from typing import Any, Literal

import msgspec

from provegym.hosts.inline import HostError
from provegym.trace import Json
from provegym.view.columns import Columns, Place
from provegym.view.glance import Foreign, Glance, Sort, glance, sort_of
from provegym.view.query import Query, Selector
from provegym.view.tail import Gone, Line, Tail

BATCH = 40
LONG = 120

Kind = Literal["examples", "rollouts", "run", "problem"]
BAD_LINE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Missing(HostError):
    """There is no such thing to show, or no longer."""

    status = 404


class Source:
    """One thing to look at: its files, read on as they grow, and what is wrong with it."""

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path
        self.id = -1
        self.problem = ""
        self.done = False
        self.tails: list[Tail] = []

    @property
    def kind(self) -> Kind:
        """What it is; a problem where nothing of it can be shown."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """How many rows or steps it has so far."""
        raise NotImplementedError

    def advance(self) -> Iterator[None]:
        """Read on to the present end of its files, a little at a time."""
        raise NotImplementedError

    def describe(self) -> Json:
        """What the list of sources says of it."""
        return {
            "id": self.id,
            "name": self.name,
            "path": self.path,
            "kind": self.kind,
            "count": self.count,
            "bytes": sum(tail.size for tail in self.tails),
            "read": sum(tail.position for tail in self.tails),
            "done": self.done,
            "problem": self.problem,
        }


class Rows(Source):
    """A file of examples or rollouts, or the shards of one corpus."""

    def __init__(self, name: str, path: str, run: "RunFolder | None" = None, step: int = 0) -> None:
        super().__init__(name, path)
        self.run, self.step = run, step
        self._begin()

    def _begin(self) -> None:
        """Forget every row; whoever is reading keeps the columns that were."""
        self.sort: Sort | None = None
        self.columns = Columns()
        self.selector = Selector(self.columns)
        self.bad = 0
        self.first_bad = self.refused = ""

    @property
    def kind(self) -> Kind:
        """Examples or rollouts, as its first line says."""
        return self.sort or "problem"

    @property
    def count(self) -> int:
        """How many rows are known."""
        return self.columns.count

    def describe(self) -> Json:
        """What the list of sources says of it; of a run's sample, whose and when."""
        more = {} if self.run is None else {"run": self.run.id, "step": self.step}
        return {**super().describe(), **more}

    def advance(self) -> Iterator[None]:
        """Read on to the present end of its files, some lines at a time."""
        try:
            self._look_again()
            if not self.refused:
                for number, tail in enumerate(self.tails):
                    yield from self._read_on(number, tail)
                self.problem = self._complaint()
        except Gone as problem:
            self.problem = f"{self.name} {problem}"
        except Foreign as problem:
            self.refused = self.problem = f"{self.name} {problem}"
        self.done = True

    def _look_again(self) -> None:
        """See which files are still what they were; if one is not, begin anew with those left."""
        left, lost, changed = [], "", False
        for tail in self.tails:
            try:
                changed = tail.is_rewritten() or changed
                left.append(tail)
            except Gone as problem:
                lost = str(problem)
        if not changed and not lost:
            return
        self._begin()
        self.tails = [Tail(tail.path, tail.root) for tail in left or self.tails]
        if not left:
            raise Gone(lost)
        for tail in self.tails:
            tail.is_rewritten()

    def _read_on(self, number: int, tail: Tail) -> Iterator[None]:
        while not tail.is_at_end:
            self.done = False
            lines = tail.lines()
            for start in range(0, len(lines), BATCH):
                for line in lines[start : start + BATCH]:
                    self._take(number, line)
                yield
            if not lines:
                self._take_rest(number, tail)
                return

    def _take_rest(self, number: int, tail: Tail) -> None:
        """A last line without an end counts where it is whole JSON; it may also be no JSON ever."""
        begins = tail.rest.lstrip()[:1]
        if self.sort is None and begins not in (b"", b"{"):
            sort_of(tail.rest)
        try:
            sort = self.sort or sort_of(tail.rest)
            row = glance(tail.rest, sort)
        except (*BAD_LINE, Foreign):
            return
        self.sort = sort
        self.columns.append(number, tail.take_rest(), row)

    def _take(self, number: int, line: Line) -> None:
        if not line.text.strip():
            return
        if self.sort is None:
            self.sort = sort_of(line.text)
        try:
            row = glance(line.text, self.sort)
        except BAD_LINE as problem:
            self.bad += 1
            where = f"line {line.number} of {self.tails[number].path.name}"
            self.first_bad = self.first_bad or f"{where} ({str(problem)[:LONG]})"
            return
        self.columns.append(number, line, row)

    def _complaint(self) -> str:
        """What to say of the files as they are."""
        if not any(tail.size for tail in self.tails):
            return f"{self.name} is empty; nothing has been written to it yet"
        told = []
        if self.bad:
            others = f" and {self.bad - 1} more" if self.bad > 1 else ""
            told.append(f"{self.first_bad}{others} cannot be read")
        for tail in self.tails:
            if tail.rest.strip():
                told.append(f"line {tail.number + 1} of {tail.path.name} is cut off")
        if self.sort is None:
            return "; ".join([f"{self.name} has no whole line yet", *told])
        return "; ".join(told) + "; the rest is shown" if told else ""

    def line(self, at: int) -> bytes:
        """One row's line, as it stands in its file."""
        place = self._place(at)
        try:
            return self.tails[place.shard].read(place.start, place.size)
        except Gone as problem:
            raise Missing(f"{self.name} {problem}") from None

    def _place(self, at: int) -> Place:
        columns = self.columns
        if not 0 <= at < columns.count:
            raise Missing(f"{self.name} has no row {at}; it has {columns.count} so far")
        return columns.place(at)

    def where(self, at: int) -> str:
        """A row's file and line, as people say them."""
        place = self._place(at)
        return f"line {place.line} of {self.tails[place.shard].path.name}"

    def rows(self, query: Query, offset: int, limit: int) -> Json:
        """A page of the rows a query asks for."""
        sort, selector, done = self.sort, self.selector, self.done
        count = selector.columns.count
        found = selector.select(query, count)
        page = [self.row(selector.columns, at, sort) for at in found[offset : offset + limit]]
        return {"total": len(found), "of": count, "done": done, "rows": page}

    def row(self, columns: Columns, at: int, sort: Sort | None) -> Json:
        """What the list shows of a row."""
        try:
            seen: Glance | None = glance(self.line(at), sort or "examples")
        except (*BAD_LINE, Missing):
            seen = None
        return {
            "at": at,
            "id": seen.id if seen else "",
            "server": columns.servers[at],
            "kind": columns.kinds[at],
            "turns": columns.turns[at],
            "calls": columns.calls[at],
            "reward": columns.reward(at),
            "success": columns.success(at),
            "errors": columns.errors[at],
            "knobs": columns.knobs[at],
            "policy": columns.policies[at],
            "ended": columns.endings[at],
            "text": seen.text if seen else "this line has changed since it was read",
        }


class RunFolder(Source):
    """A run of training: its metrics, step by step, and what it was started with."""

    def __init__(self, name: str, path: str, folder: Path, root: Path) -> None:
        super().__init__(name, path)
        self.folder, self.root = folder, root
        self.tails = [Tail(folder / "metrics.jsonl", root)]
        self.samples: list[Rows] = []
        self.generation = 0
        self.written = 0.0
        self._begin()

    def _begin(self) -> None:
        self.steps: list[msgspec.Raw] = []
        self.seconds: list[float] = []
        self.bad = 0
        self.generation += 1

    @property
    def kind(self) -> Kind:
        """A run, unless its file of metrics is somebody else's."""
        return "problem" if self.bad and not self.steps else "run"

    @property
    def count(self) -> int:
        """How many steps are recorded."""
        return len(self.steps)

    def advance(self) -> Iterator[None]:
        """Read the metrics on."""
        tail = self.tails[0]
        try:
            if tail.is_rewritten():
                self._begin()
            while not tail.is_at_end:
                lines = tail.lines()
                for line in lines:
                    self._take(line.text)
                self.written = time()
                yield
                if not lines:
                    break
            self.problem = self._complaint()
        except Gone as problem:
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
        """Whether it wrote lately, by the pace of its last steps."""
        try:
            quiet = time() - self.tails[0].path.stat().st_mtime
        except OSError:
            return False
        pace = median(self.seconds[-20:]) if self.seconds else 60.0
        return quiet < 30 + 3 * pace

    def text(self, name: str) -> str:
        """A small file of the folder, or nothing."""
        try:
            return Tail(self.folder / name, self.root).read(0, 1 << 20).decode("utf-8", "replace")
        except Gone:
            return ""
