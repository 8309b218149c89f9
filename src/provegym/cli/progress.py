"""A progress bar in a terminal; where there is none, a plain line on stderr every so often."""

import sys
from time import monotonic
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from provegym.terminal import say

SECONDS = 20.0


class LoggedProgress(Progress):
    """Progress that is a bar in a terminal, and otherwise log lines."""

    def __init__(self, console: Console, every: float = SECONDS) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        super().__init__(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.every = every
        self.told = monotonic()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Note how far a task is."""
        super().update(task_id, **changes)
        self._log(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """Note that a task is further by so much."""
        super().advance(task_id, advance)
        self._log(task_id)

    def _log(self, task_id: TaskID) -> None:
        now = monotonic()
        if not self.disable or now < self.told + self.every:
            return
        self.told = now
        say(describe(self._tasks[task_id]), file=sys.stderr, flush=True)


def describe(task: Task) -> str:
    """One line on a task: "rollouts: 120 of 300, about 2 min left"."""
    if not task.total:
        return f"{task.description}: {task.completed:,.0f}"
    left = task.time_remaining
    soon = "" if left is None else f", about {_duration(left)} left"
    return f"{task.description}: {task.completed:,.0f} of {task.total:,.0f}{soon}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
