"""The sandboxed child process of a benchmark: starts it, reads its JSON lines, and ends it."""

import os
import queue
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from provegym.evals.environments import BenchmarkEnv, BenchmarkError
from provegym.evals.gateway import PATIENCE, Gateway
from provegym.trace import Json

RUNNERS = Path(__file__).with_name("runners")
ENDED = object()
# Memory is limited by address space, and malloc would reserve an arena for every thread.
LITTLE = {"PATH": os.defpath, "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "4"}


class Died(Exception):
    """The process ended before its job was done, or did nothing for too long."""


@dataclass
class Sandbox:
    """A benchmark in its virtual environment, which reaches the model through a gateway."""

    environment: BenchmarkEnv
    gateway: Gateway
    job: Json
    megabytes: int = 4096
    patience: float = PATIENCE
    begun: set[str] = field(default_factory=set)

    def play(self, tasks: Sequence[str]) -> Iterator[Json]:
        """Yield the result of every task, in the order in which tasks end.

        If the process dies, each task that was in progress is played again in a process of its own.
        A task that kills its process again has failed. The other tasks go on.
        """
        left = list(tasks)
        while left:
            self.begun, done = set(), set()
            problem = ""
            try:
                for told in self._attempt(left):
                    done.add(told["id"])
                    yield told
            except Died as death:
                problem = str(death)
            suspects = [name for name in left if name in self.begun - done]
            left = [name for name in left if name not in done]
            if not suspects and left:
                raise BenchmarkError(
                    f"{self.environment.name} ended early: {problem or 'no reason'}"
                )
            for name in suspects if len(tasks) > 1 else ():
                left.remove(name)
                yield from self._alone(name)
            if len(tasks) == 1 and left:
                why = problem or "its process ended without a result"
                yield {"id": left.pop(), "valid": False, "error": why, "result": []}

    def _alone(self, name: str) -> Iterator[Json]:
        other = Sandbox(self.environment, self.gateway, self.job, self.megabytes, self.patience)
        yield from other.play([name])

    def _attempt(self, tasks: Sequence[str]) -> Iterator[Json]:
        """Play tasks in one process, until it ends or dies."""
        job = {**self.job, "tasks": list(tasks), "megabytes": self.megabytes}
        job |= {"url": self.gateway.url, "key": self.gateway.key}
        with TemporaryDirectory(prefix="provegym-") as folder:
            with (Path(folder) / "stderr").open("wb") as errors:
                process = subprocess.Popen(
                    self._command(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    cwd=folder,
                    env={**LITTLE, "HOME": folder, "TMPDIR": folder},
                    start_new_session=True,
                )
            try:
                yield from self._listen(process, job, Path(folder) / "stderr")
            finally:
                process.kill()
                process.wait()
                for pipe in (process.stdin, process.stdout):
                    if pipe:
                        pipe.close()

    def _command(self) -> list[str]:
        python = str(self.environment.python)
        return [python, "-s", "-E", "-B", str(RUNNERS / "main.py"), self.environment.benchmark]

    def _listen(
        self, process: "subprocess.Popen[bytes]", job: Json, errors: Path
    ) -> Iterator[Json]:
        told: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=_read, args=(process, told), daemon=True).start()
        if process.stdin:
            process.stdin.write(msgspec.json.encode(job) + b"\n")
            process.stdin.flush()
        silent = 0.0
        while True:
            self.gateway.check()
            try:
                line = told.get(timeout=0.5)
            except queue.Empty:
                silent += 0.5
                if min(silent, self.gateway.idle) > self.patience:
                    raise Died(f"nothing happened for {self.patience:.0f} s") from None
                continue
            silent = 0.0
            if line is ENDED:
                raise Died(_last_words(errors))
            if "begin" in line:
                self.begun.add(line["begin"])
            elif "id" in line:
                self.gateway.check()  # a task that failed because the model is gone is not done
                yield line
            else:
                return


def _read(process: "subprocess.Popen[bytes]", told: "queue.Queue[Any]") -> None:
    if process.stdout:
        for line in process.stdout:
            if not line.endswith(b"\n"):
                break  # the process was killed in the middle of a line
            told.put(msgspec.json.decode(line))
    told.put(ENDED)


def _last_words(errors: Path) -> str:
    lines = errors.read_text("utf-8", "replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
