"""The Node programs we are driven with, installed by npm into `.conformance/`."""

import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE.parent.parent / ".conformance"
MODULES = FOLDER / "node_modules"
SUITE = MODULES / "@modelcontextprotocol/conformance"
INSPECTOR = MODULES / "@modelcontextprotocol/inspector"
INSTALL_SECONDS = 300
RUN_SECONDS = 60


class Unavailable(Exception):
    """The programs are not installed and could not be installed; the message says why."""


def install() -> None:
    """Install what package.json pins, unless that has been done."""
    wanted = (HERE / "package.json").read_text()
    done = FOLDER / "installed.json"
    if done.exists() and done.read_text() == wanted:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm is not installed")
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "package.json").write_text(wanted)
    options = ["--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    options += ["--fetch-retries=1", "--fetch-retry-mintimeout=1000"]
    command = [npm, "install", *options]
    try:
        result = subprocess.run(
            command, cwd=FOLDER, capture_output=True, text=True, timeout=INSTALL_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"npm did not finish in {INSTALL_SECONDS} s") from None
    if result.returncode:
        raise Unavailable(f"npm could not install the packages: {_first_line(result.stderr)}")
    done.write_text(wanted)


def node(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program on the Node that came with the packages, away from the user's home."""
    binaries = MODULES / "node/bin"
    environment = os.environ | {
        "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(FOLDER / "home"),
        "NO_COLOR": "1",
    }
    return subprocess.run(
        [str(binaries / "node"), str(script), *arguments],
        cwd=FOLDER,
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
    )


def _first_line(report: str) -> str:
    return next((line for line in report.splitlines() if line.strip()), "no reason given")
