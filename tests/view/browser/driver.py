"""Starts the page's server and a browser on it, and brings back what the scenarios found."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

HERE = Path(__file__).parent
SCENARIOS = HERE / "scenarios"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
INSTALL_SECONDS, RUN_SECONDS = 120, 240


class Unavailable(Exception):
    """There is no browser to be driven here; the message says why."""


class Found(msgspec.Struct, frozen=True):
    """What a scenario came to."""

    name: str
    ok: bool
    seconds: float
    problem: str = ""


def prepare() -> Path:
    """The browser, once everything that drives it is there."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise Unavailable("no chromium is installed")
    install(HERE, "playwright-core")
    return Path(browser)


def install(folder: Path, package: str) -> None:
    """Install the locked npm packages of a folder, unless the one that is needed is there."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is not installed")
    if (folder / "node_modules" / package).exists():
        return
    command = ["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"npm did not finish in {INSTALL_SECONDS} s") from None
    if done.returncode:
        raise Unavailable(f"npm could not install {package}: {done.stderr[:200]}")


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a page over a folder, as long as it is needed."""
    command = [sys.executable, "-m", "provegym", "view", "--no-open", "--port", "0", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[0]
        finally:
            server.terminate()


def freeze(folder: Path, out: Path) -> None:
    """A report of a folder, and beside it graph.html, the page of a graph alone."""
    provegym = [sys.executable, "-m", "provegym"]
    command = [*provegym, "report", str(folder), "-o", str(out)]
    subprocess.run(command, check=True, capture_output=True, timeout=RUN_SECONDS)
    command = [*provegym, "graph", "payments", "--html"]
    done = subprocess.run(command, check=True, capture_output=True, timeout=RUN_SECONDS)
    out.with_name("graph.html").write_bytes(done.stdout)


def node(script: str, browser: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one of our scripts; the browser writes into its own folders only."""
    environment = os.environ | {"BROWSER": str(browser), "NO_COLOR": "1"}
    return subprocess.run(
        ["node", str(HERE / script), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
    )


def play(browser: Path, url: str, folder: Path, report: Path, names: Sequence[str]) -> list[Found]:
    """Play scenarios one after the other in one browser."""
    done = node("run.mjs", browser, url, str(folder), str(report), *names)
    if done.returncode:
        raise RuntimeError(f"the browser could not be driven: {done.stderr[-2_000:]}")
    return [msgspec.json.decode(text, type=Found) for text in done.stdout.splitlines()]
