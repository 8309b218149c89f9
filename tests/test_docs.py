"""The documents: snippets run, commands exist, links lead somewhere, pictures are up to date."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from provegym import cli
from provegym.conversation.machine import STATES

ROOT = Path(__file__).parents[1]
READERS = sorted((ROOT / "docs" / "readers").glob("*.md"))
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *READERS,
]
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


def commands(page: Path) -> list[list[str]]:
    """The words of the `provegym` commands in a page's blocks of shell commands."""
    text = "\n".join(blocks(page, "bash")).replace("\\\n", " ")
    found = [shlex.split(line, comments=True) for line in text.splitlines() if "provegym" in line]
    started = [words[words.index("provegym") + 1 :] for words in found if "provegym" in words]
    return [_without_place(words) for words in started if words]


def _without_place(words: list[str]) -> list[str]:
    return words[2:] if words[0] == "--servers-from" else words


@pytest.mark.parametrize("page", [ROOT / "docs/install.md", *READERS], ids=lambda page: page.name)
def test_commands_and_their_options_exist(page: Path) -> None:
    root = typer.main.get_command(cli.app)
    for words in commands(page):
        found, rest = root, list(words)
        while isinstance(found, typer.core.TyperGroup):
            assert rest[0] in found.commands, words
            found = found.commands[rest.pop(0)]
        known = {name for option in found.params for name in (*option.opts, *option.secondary_opts)}
        assert {word for word in rest if word.startswith("-")} <= known, words


def test_every_page_is_in_the_index_and_on_the_website() -> None:
    index = (ROOT / "docs" / "index.md").read_text("utf-8")
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    for page in (*PAGES[2:], *ADAPTERS):
        name = str(page.relative_to(ROOT / "docs"))
        assert name == "index.md" or f"]({name})" in index, name
        assert name in nav, name


def test_the_glossary_is_in_order_and_has_the_kinds() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    words = [word.lower() for word in re.findall(r"^\| \*\*(.+?)\*\*", text, re.MULTILINE)]
    assert words == sorted(words)
    assert {"clarification", "abstention", "irrelevance"} <= set(words)


@pytest.mark.long
def test_the_website_builds_with_every_link_checked(tmp_path: Path) -> None:
    made = subprocess.run(
        ["make", "-s", ".envs/website"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"MkDocs cannot be installed: {made.stderr[-300:]}")
    built = subprocess.run(
        [".envs/website/bin/mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert built.returncode == 0, built.stdout + built.stderr
    pages = {page.relative_to(tmp_path).as_posix() for page in tmp_path.rglob("*.html")}
    assert {"index.html", "overview.html", "readers/train.html", "contributing.html"} <= pages
    # Nothing is loaded from elsewhere, and no list is left as text.
    for page in pages:
        text = (tmp_path / page).read_text("utf-8")
        assert not re.search(r"<(script|link|img)[^>]+(src|href)=\"?https?:", text), page
        assert not re.search(r"<p>[^<]*\n- ", text), page


def test_the_citation_has_the_version() -> None:
    from provegym import __version__

    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_picture_of_the_machine_is_what_the_code_draws() -> None:
    drawn = runpy.run_path(str(ROOT / "docs" / "machine.py"))["draw"]()
    assert drawn == (ROOT / "docs" / "machine.svg").read_text("utf-8"), "run docs/machine.py"
    for name in STATES:
        assert f">{name}</text>" in drawn


def test_the_changelog_has_the_version() -> None:
    from provegym import __version__

    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "## Unreleased" in changelog or f"## {__version__}" in changelog
