"""The folder of a quickstart: records which steps are done, so that it can resume after a kill."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from provegym import __version__
from provegym.files import write_atomically
from provegym.quickstart.plan import Plan
from provegym.trace import BadFile

STATE = "steps.json"

Figures = dict[str, Any]


class Entry(msgspec.Struct, frozen=True):
    """The record of a step: the hash of its inputs and, if it is done, its results."""

    key: str
    done: bool = False
    seconds: float = 0.0
    told: str = ""
    figures: Figures = {}


@dataclass
class QuickstartFolder:
    """The folder of a quickstart, its plan, and the records of its steps."""

    folder: Path
    plan: Plan
    console: Console
    entries: dict[str, Entry] = field(default_factory=dict)

    @property
    def corpus(self) -> Path:
        """The folder of the corpus."""
        return self.folder / "corpus"

    @property
    def tasks(self) -> Path:
        """The file of the held-out tasks."""
        return self.folder / "tasks.jsonl"

    @property
    def lessons(self) -> Path:
        """The file of the tasks that the short job's GRPO learns from."""
        return self.folder / "lessons.jsonl"

    @property
    def start(self) -> Path:
        """The folder of the adapter that the short job's GRPO starts from."""
        return self.folder / "start"

    def rollouts(self, name: str) -> Path:
        """The file of a model's rollouts."""
        return self.folder / f"{name}.jsonl"

    @property
    def run(self) -> Path:
        """The folder of the GRPO run."""
        return self.folder / "grpo"

    @property
    def log(self) -> Path:
        """The file for the output of libraries."""
        return self.folder / "log.txt"

    def figures(self, name: str) -> Figures:
        """The figures of a step; empty if it is not done."""
        entry = self.entries.get(name)
        return entry.figures if entry and entry.done else {}

    def bar(self) -> Progress:
        """A progress bar for one step; `hushed` redirects the output of libraries."""
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        return Progress(
            *columns,
            console=self.console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not self.console.is_terminal,
        )

    def open(self) -> None:
        """Read the records of an earlier run in this folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        state = self.folder / STATE
        if state.exists():
            try:
                self.entries = msgspec.json.decode(state.read_bytes(), type=dict[str, Entry])
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise BadFile(f"{state} is no quickstart's file; name another --out") from None

    def begin(self, name: str, key: str, files: tuple[str, ...]) -> bool:
        """Whether a step must run. Files of an earlier run with other inputs are removed."""
        held = self.entries.get(name)
        if held and held.key == key:
            return not held.done
        for file in files:
            path = self.folder / file
            if held is None and path.exists():
                raise BadFile(f"{path} is no quickstart's file; name another --out, or move it")
            _remove(path)
        self._write(name, Entry(key))
        return True

    def finish(self, name: str, seconds: float, told: str, figures: Figures) -> None:
        """Record the results of a finished step."""
        entry = Entry(self.entries[name].key, True, seconds, told, figures)
        self._write(name, entry)

    def clear(self, files: tuple[str, ...]) -> None:
        """Forget all steps, and remove their files.

        If it is killed in between, the steps count as begun with other inputs.
        """
        if self.entries:
            self._keep(dict.fromkeys(self.entries, Entry("")))
        for file in files if self.entries else ():
            _remove(self.folder / file)
        self.entries = {}
        _remove(self.folder / STATE)

    def _write(self, name: str, entry: Entry) -> None:
        self._keep({**self.entries, name: entry})

    def _keep(self, entries: dict[str, Entry]) -> None:
        self.entries = entries
        written = msgspec.json.format(msgspec.json.encode(entries))
        write_atomically(self.folder / STATE, written)


def digest(*parts: object) -> str:
    """A short hash of everything that a step's result depends on."""
    text = "\n".join(map(str, (__version__, *parts)))
    return sha256(text.encode()).hexdigest()[:16]


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


Work = Callable[[QuickstartFolder, Progress], tuple[str, Figures]]
