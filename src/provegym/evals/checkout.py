"""The original τ²-bench, run from a git checkout by its own command line, `tau2 run`.

The original needs Python 3.12 and its lock file, so the user makes the checkout and runs `uv sync`
in it. This module starts the command and reads the results file that it writes.
"""

import hashlib
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile
from time import monotonic, sleep
from typing import IO, Any

import msgspec

from provegym.evals.environments import BenchmarkEnv, BenchmarkError
from provegym.evals.gateway import PATIENCE, Gateway
from provegym.evals.tau2 import DOMAINS, Tau2, TauScript
from provegym.trace import Json

PAUSE = 1.0


@dataclass(frozen=True)
class Own(BenchmarkEnv):
    """The virtual environment that `uv sync` makes inside a checkout."""

    checkout: Path = Path()

    @property
    def python(self) -> Path:
        """The Python interpreter of the checkout."""
        return self.checkout / ".venv" / "bin" / "python"

    def is_ready(self) -> bool:
        """Whether the checkout has the data and the `tau2` command."""
        data, command = self.checkout / "data" / "tau2", self.python.with_name("tau2")
        return data.is_dir() and command.exists()

    def need(self) -> None:
        """Raise if the checkout cannot run; the message says what to do."""
        if not self.is_ready():
            raise BenchmarkError(
                f"{self.checkout} cannot run tau2-bench: it has no data/tau2 or no .venv/bin/tau2;"
                " name a checkout of the repository, and run `uv sync` in it"
            )
        self.folder.mkdir(parents=True, exist_ok=True)

    def versions(self) -> dict[str, str]:
        """The version of the benchmark and the git commit of the checkout."""
        found = super().versions()
        if (self.checkout / ".git").exists():
            command = ["git", "-C", str(self.checkout), "rev-parse", "HEAD"]
            told = subprocess.run(command, capture_output=True, text=True, check=True)
            found["commit"] = told.stdout.strip()
        return found


class Original(Tau2):
    """τ²-bench as a checkout of its repository has it."""

    environment: Own
    notes: tuple[str, ...] = (
        "τ²-bench from a checkout of its repository, one trial per task (pass^1); the model that"
        " plays the user moves the score.",
    )

    def __init__(self, checkout: Path) -> None:
        # Scores of doing nothing are kept under this name; another commit may have other tasks.
        mark = hashlib.sha256()
        for file in sorted(checkout.glob("data/tau2/domains/*/tasks.json")):
            mark.update(file.read_bytes())
        name = f"tau2-{mark.hexdigest()[:12]}"
        self.environment = Own(name, "tau2", (), checkout.resolve())

    @cached_property
    def data(self) -> Path:
        """The folder of its domains."""
        self.environment.need()
        return self.environment.checkout / "data" / "tau2" / "domains"

    def play(self, gateway: Gateway, tasks: Sequence[str], at_once: int) -> Iterator[Json]:
        """Play tasks domain by domain; a script plays them one at a time, in order."""
        if isinstance(gateway.answer, TauScript):
            gateway.answer.expected, at_once = list(tasks), 1
        for domain in DOMAINS:
            names = [task.partition("/")[2] for task in tasks if task.startswith(f"{domain}/")]
            if names:
                yield from self._domain(gateway, domain, names, at_once)

    def command(
        self, gateway: Gateway, domain: str, names: Sequence[str], at_once: int
    ) -> list[str]:
        """The `tau2 run` command for some tasks of a domain, without `--save-to`."""
        where = {"api_base": gateway.url, "api_key": gateway.key, "temperature": 0.0}
        told = msgspec.json.encode(where).decode()
        return [
            *(str(self.environment.python.with_name("tau2")), "run", "--domain", domain),
            *("--agent-llm", "openai/agent", "--agent-llm-args", told),
            *("--user-llm", "openai/user", "--user-llm-args", told),
            *("--num-trials", "1", "--max-concurrency", str(at_once), "--log-level", "ERROR"),
            *("--task-ids", *names),
        ]

    def _domain(
        self, gateway: Gateway, domain: str, names: Sequence[str], at_once: int
    ) -> Iterator[Json]:
        run = f"provegym-{token_hex(6)}"
        command = [*self.command(gateway, domain, names, at_once), "--save-to", run]
        saved = self.environment.checkout / "data" / "simulations" / run
        done = 0
        with TemporaryFile() as errors:
            process = self._start(command, errors)
            try:
                for told in self._follow(process, gateway, saved):
                    done += 1
                    yield {**told, "id": f"{domain}/{told['id']}"}
            finally:
                process.kill()
                process.wait()
            if done < len(names):
                raise BenchmarkError(f"tau2 ended early: {_last_words(errors)}")

    def _start(self, command: Sequence[str], errors: IO[bytes]) -> "subprocess.Popen[bytes]":
        folder = self.environment.checkout
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={"PATH": os.defpath, "HOME": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        )

    def _follow(
        self, process: "subprocess.Popen[bytes]", gateway: Gateway, saved: Path
    ) -> Iterator[Json]:
        """Yield new results while the process runs; it rewrites its file after every task."""
        heard, known = monotonic(), set[str]()
        while True:
            ended = process.poll() is not None
            gateway.check()
            for told in read(saved):
                if told["id"] not in known:
                    known.add(told["id"])
                    heard = monotonic()
                    yield told
            if ended:
                return
            if min(monotonic() - heard, gateway.idle) > PATIENCE:
                raise BenchmarkError(f"tau2 did nothing for {PATIENCE:.0f} s")
            sleep(PAUSE)


def read(saved: Path) -> Iterator[Json]:
    """The verdict of each simulation; older versions write one file beside the folder."""
    for file in (saved / "results.json", saved.with_suffix(".json")):
        try:
            told = msgspec.json.decode(file.read_bytes())
        except (OSError, msgspec.DecodeError):
            continue  # not written yet, or half written
        yield from (verdict(each) for each in told["simulations"])


def verdict(simulation: Json) -> Json:
    """A simulation in the JSON form that the other benchmarks' processes write."""
    paid: dict[str, Any] = simulation.get("reward_info") or {}
    valid = float(paid.get("reward") or 0) >= 1
    return {
        "id": str(simulation["task_id"]),
        "valid": valid,
        "error": "" if valid else str(simulation.get("termination_reason") or ""),
        "result": simulation.get("messages") or [],
        "seconds": round(float(simulation.get("duration") or 0), 3),
    }


def _last_words(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
