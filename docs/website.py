"""Hooks of MkDocs: pages and files from outside docs/ become part of the website.

Pages link to each other as they lie in the repository, so that the same links work there and on
the website. README.md, CONTRIBUTING.md, CHANGELOG.md, SECURITY.md and the pages of examples/
become pages. Any
other file that a page links to, such as a program, is copied beside them. A link to a folder
becomes plain text, and a link whose text is the name of a page gets the page's title. A link that
leads nowhere ends the build.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
# Where pages of the repository are on the website, whose own first page is docs/index.md.
PAGES = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "SECURITY.md": "report-weakness.md",
    "examples/README.md": "examples/programs.md",
    "examples/foreign/README.md": "examples/foreign.md",
}
HOMES = {name: source for source, name in PAGES.items()}
SOURCES = "files"
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
PICTURE = re.compile(r"(!\[[^\]]*\])\(([^)\s]+)\)")
BEFORE_LIST = re.compile(r"^((?![-|>#]|\* |\d+\. )\S[^\n]*)\n(?=- )", re.MULTILINE)
IN_ITEM = re.compile(r"^ {3}(?=\S)", re.MULTILINE)
# Intervals, such as [0.10, 0.19], stay on one line.
INTERVAL = re.compile(r"\[([^\s\d]?[\d.]+), ([^\s\d]?[\d.]+)\]")
NAME = re.compile(r"[\w/.-]+\.md")
CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the repository that lie outside docs/."""
    for source, name in PAGES.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turn links within the repository into links within the website."""
    place = page.file.src_uri
    # Where the page lies in the repository: pages of docs/ are not at its root.
    home = HOMES.get(place, f"docs/{place}")

    def moved(link: str) -> str:
        path, mark, section = link.partition("#")
        if not path or "://" in link or link.startswith("mailto:"):
            return link
        target = posixpath.normpath(posixpath.join(posixpath.dirname(home), path))
        if (ROOT / target).is_dir():
            return ""
        found = _added(target, config, files)
        if found is None:
            raise PluginError(f"{home}: there is no {link}")
        return posixpath.relpath(found, posixpath.dirname(place) or ".") + mark + section

    def linked(match: re.Match[str]) -> str:
        text, link = match.groups()
        there = moved(link)
        if NAME.fullmatch(text):
            text = _title(posixpath.join(posixpath.dirname(home), link.partition("#")[0])) or text
        return f"[{text}]({there})" if there else text

    def shown(match: re.Match[str]) -> str:
        return f"{match[1]}({moved(match[2])})"

    parts = CODE.split(markdown)
    for at in range(0, len(parts), 2):
        parts[at] = PICTURE.sub(shown, parts[at])
    # Links may have code in their text, so only blocks of code are kept apart.
    blocks = re.split(r"(^```.*?^```)", "".join(parts), flags=re.MULTILINE | re.DOTALL)
    for at in range(0, len(blocks), 2):
        blocks[at] = LINK.sub(linked, blocks[at])
        # MkDocs wants an empty line before a list, and four blanks in an item; GitHub neither.
        blocks[at] = BEFORE_LIST.sub(r"\1\n\n", blocks[at])
        blocks[at] = IN_ITEM.sub("    ", blocks[at])
        blocks[at] = INTERVAL.sub(r"[\1,&nbsp;\2]", blocks[at])
    return "".join(blocks)


def _added(target: str, config: Any, files: Files) -> str | None:
    """Where a file of the repository is on the website; it is added if it is not there yet."""
    if target in PAGES:
        return PAGES[target]
    inside = target.removeprefix("docs/")
    known = files.get_file_from_path(inside) if inside != target else None
    if known and known.inclusion.is_included():
        return inside
    if not (ROOT / target).is_file():
        return None
    name = f"{SOURCES}/{target}"
    if not files.get_file_from_path(name):
        files.append(File.generated(config, name, content=(ROOT / target).read_bytes()))
    return name


def _title(page: str) -> str:
    """The first heading of a page of the repository."""
    found = re.search(r"^# (.+)$", (ROOT / page).read_text("utf-8"), re.MULTILINE)
    return found[1] if found else ""
