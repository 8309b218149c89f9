"""docs/api.md: it is what docs/api.py writes, it has every name, and its examples run."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import provegym

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "docs" / "api.py"
EXAMPLES = """
import doctest, sys
from importlib import import_module
import provegym

finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
for place, names in provegym._PLACES.items():
    for name in names if place != "provegym.adapters.verifiers" else ():
        found = vars(import_module(place))[name]
        for test in finder.find(found, name, globs={"provegym": provegym}):
            runner.run(test)
print(runner.tries, runner.failures)
"""


def test_the_page_is_up_to_date() -> None:
    page = runpy.run_path(str(SCRIPT))["page"]()
    assert page == SCRIPT.with_suffix(".md").read_text("utf-8"), "run python docs/api.py"


def test_every_name_is_on_the_page() -> None:
    groups = runpy.run_path(str(SCRIPT))["GROUPS"]
    listed = [name for names in groups.values() for name in names]
    offered = {name for name in provegym.__all__ if name not in provegym._TASKSET}
    assert sorted(listed) == sorted(offered)


def test_the_examples_of_docstrings_run() -> None:
    """In a process of its own, since one of them adds a server."""
    paths = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", EXAMPLES]
    done = subprocess.run(command, cwd=ROOT, env=paths, capture_output=True, text=True, check=True)
    tries, failures = map(int, done.stdout.splitlines()[-1].split())
    assert failures == 0, done.stdout
    assert tries > 30
