"""Runs the data layer of the page, which is TypeScript, in Node."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from view.browser.driver import RUN_SECONDS, install

HERE = Path(__file__).parent
FRONTEND = HERE.parents[1] / "frontend"


def bundle(out: Path) -> Path:
    """The script that asks, and the page's modules it needs, as one file of JavaScript."""
    install(FRONTEND, "rolldown")
    rolldown = FRONTEND / "node_modules" / ".bin" / "rolldown"
    options = ["--format", "esm", "--platform", "node", "-o", out]
    command = [rolldown, HERE / "answers.mjs", *options]
    subprocess.run(command, check=True, capture_output=True, cwd=FRONTEND, timeout=RUN_SECONDS)
    return out


def ask_both(
    script: Path, url: str, report: dict[str, Any], questions: Sequence[Sequence[object]]
) -> list[dict[str, Any]]:
    """What the live page and the report answer: for each question {"live": …, "report": …}.

    Without a URL there is no live page: it answers each question with an error.
    """
    given = msgspec.json.encode({"url": url, "report": report, "questions": questions})
    done = subprocess.run(["node", script], input=given, capture_output=True, timeout=RUN_SECONDS)
    assert done.returncode == 0, done.stderr.decode()
    return [msgspec.json.decode(text) for text in done.stdout.splitlines()]
