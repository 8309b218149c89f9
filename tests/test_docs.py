"""The documents: snippets run, commands exist, links lead somewhere, pictures are up to date."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from provegym.conversation.machine import STATES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# The snippets of these need another framework; tests/adapters runs them.
ADAPTERS = sorted((ROOT / "docs" / "adapters").glob("*.md"))


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_snippets_run(page: Path) -> None:
    for snippet in blocks(page, "python"):
        if not snippet.startswith("@"):
            exec(compile(snippet, page.name, "exec"), {})


def test_the_readme_is_short_and_its_commands_exist() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert text.count("\n") <= 150
    listed = subprocess.run(
        [sys.executable, "-m", "provegym", "--help"], capture_output=True, text=True, check=True
    ).stdout
    known = set(re.findall(r"^  (\w+) ", listed, re.MULTILINE))
    assert set(re.findall(r"^provegym (\w+)", text, re.MULTILINE)) <= known


@pytest.mark.parametrize("page", [*PAGES, *ADAPTERS], ids=lambda page: page.name)
def test_links_to_files_and_sections_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if link.startswith("http"):
            continue
        file, _, section = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        if section:
            assert section in sections(target), link


def sections(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each).lower().replace(" ", "-") for each in headings}


def test_the_picture_of_the_machine_is_what_the_code_draws() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "machine.py"))["draw"]()
    assert drawn == (ROOT / "docs" / "machine.svg").read_text("utf-8"), "run docs/machine.py"
    for name in STATES:
        assert f">{name}</text>" in drawn


def test_the_changelog_has_the_version() -> None:
    from provegym import __version__

    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "## Unreleased" in changelog or f"## {__version__}" in changelog
