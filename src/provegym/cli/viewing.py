"""The commands `view` and `report`: a local web page, and the same page as one HTML file."""

import os
import secrets
import sys
import webbrowser
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Annotated

import typer

from provegym.cli.base import app, fail, need_mcp, say_next
from provegym.terminal import say

if TYPE_CHECKING:
    from provegym.view.library import Library

Folders = Annotated[
    list[Path] | None, typer.Argument(help="Folders or files; the present folder if none.")
]


@app.command("view")
def view_page(
    paths: Folders = None,
    port: Annotated[int, typer.Option(help="A free one if 0.", min=0, max=65_535)] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
) -> None:
    """Show worlds, graphs, examples, rollouts and runs on a local web page."""
    show_page(paths, port, opened=not no_open and has_screen())


def show_page(paths: list[Path] | None, port: int = 0, opened: bool = True, at: str = "") -> None:
    """Serve the page until Ctrl-C, and open a browser at one of its routes."""
    need_mcp()
    from provegym.hosts.http import bind, run
    from provegym.view import drawn
    from provegym.view.app import build_app

    library = _library(paths)
    listener = bind(f"127.0.0.1:{port}")
    port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"
    found = f"{len(library.sources)} files or runs"
    if count := len(drawn.names()):
        found += f", {count:,} drawn worlds"
    say(f"{url}  ({found}; end with Ctrl-C)", flush=True)
    if opened:
        Timer(0.3, webbrowser.open, [url + at]).start()
    library.start()
    try:
        run(build_app(library, port, secrets.token_urlsafe(24)), listener)
    finally:
        library.stop()


@app.command("report")
def write_report(
    paths: Folders = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path(
        "report.html"
    ),
    items: Annotated[
        int, typer.Option(help="Show so many of each file or run at most.", min=1)
    ] = 200,
    force: Annotated[bool, typer.Option("--force", help="Write over a file.")] = False,
) -> None:
    """Write the page with its data as one HTML file that works offline."""
    from provegym.files import check_free, write_atomically
    from provegym.view.report import build_report, freeze

    if out.exists() and not force:
        fail(f"{out} exists; name another with -o, or say --force")
    library = _library(paths).settle()
    if not any(source.count for source in library.sources):
        fail(library.sources[0].problem if library.sources else "nothing to show in this folder")
    data = freeze(library, items)
    page = build_report(data).encode()
    check_free(out)
    write_atomically(out, page)
    say(
        f"{out}: {len(page) / 1e6:.1f} MB, {len(data.items):,} examples and rollouts of"
        f" {len(library.sources)} files or runs; open it in a browser"
    )
    say_next("view", *(paths or ()))


def has_screen() -> bool:
    """Whether a browser can open a window here; a text browser would use the terminal."""
    named = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in named)


def _library(paths: list[Path] | None) -> "Library":
    """The sources in the paths; fail if a named path has none."""
    from provegym.view import drawn
    from provegym.view.library import Library

    for path in paths or ():
        if not path.exists():
            fail(f"no such file or folder: {path}")
    library = Library(paths or [Path()])
    if paths and not library.sources and not drawn.names():
        named = " and ".join(str(path) for path in paths)
        fail(f"nothing to show in {named}: no .jsonl of examples or rollouts, no run, no world")
    return library
