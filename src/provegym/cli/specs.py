"""The commands `worlds …`: draw worlds from a grammar, make them from schemas, admit them."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from provegym.cli.base import Json, app, check_folder, fail, progress_bar, say_next, stoppable
from provegym.cli.help import Commands
from provegym.cli.plain_words import REFUSED, counted
from provegym.terminal import printable_json, say

if TYPE_CHECKING:
    from provegym.worlds.spec import WorldSpec

worlds = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Worlds that are files: draw them, make them from schemas, check them.",
)
app.add_typer(worlds, name="worlds")

# Larger files are no schema of one service.
MOST_BYTES = 5_000_000
# So many refused files are named.
PROBLEMS = 10
Out = Annotated[Path, typer.Option(help="The folder of world files.")]


@worlds.command()
def draw(
    *,
    count: Annotated[int, typer.Option(help="How many worlds.", min=1)],
    out: Out,
    seed: Annotated[int, typer.Option(help="Which worlds.", min=0)] = 0,
) -> None:
    """Draw worlds from a grammar of 160 domains; the same seed gives the same worlds."""
    from provegym.admission.run import draw_folder

    check_folder(out)
    with stoppable(), progress_bar() as bar:
        task = bar.add_task("worlds", total=count)
        written, copies = draw_folder(count, seed, out, lambda: bar.advance(task))
    near = f"; {copies} near copies were left out" if copies else ""
    say(f"{written} worlds in {out}{near}")
    say_next("worlds", "admit", out)


@worlds.command()
def admit(
    folder: Annotated[Path, typer.Argument(help="The folder of world files or specs.")],
    *,
    trim: Annotated[
        bool, typer.Option("--trim", help="Take out a few tools for which no example is found.")
    ] = False,
    workers: Annotated[int, typer.Option(help="How many processes work.", min=1)] = 2,
    as_json: Json = False,
) -> None:
    """Check each world of a folder, and write into its file whether `synth` may use it."""
    from provegym.admission.run import admit_folder
    from provegym.worlds.files import world_files

    with stoppable(), progress_bar() as bar:
        task = bar.add_task("worlds", total=len(world_files(folder)))
        found = admit_folder(folder, workers, lambda: bar.advance(task), trim=trim)
    if as_json:
        say(printable_json(msgspec.json.encode(found._asdict()).decode()))
        return
    if not found.worlds:
        fail(f"{folder} holds no worlds; `provegym worlds draw` makes some")
    say(f"{found.admitted} of {found.worlds} worlds admitted")
    if found.reasons:
        say("The others were refused because")
        say("\n".join(counted(found.reasons, REFUSED)))
        for problem in found.problems[:PROBLEMS]:
            say(f"  {problem}")
        if len(found.problems) > PROBLEMS:
            say(f"  and {len(found.problems) - PROBLEMS} more; --json names them all")
    if found.admitted:
        each = ", ".join(f"{n / found.admitted:.1f} {what}" for what, n in found.figures.items())
        say(f"An admitted world has on average {each}.")
        alike = ", ".join(f"{what} {score:.2f}" for what, score in found.alike.items())
        if alike:  # one world alone is like no other
            say(f"How alike two of them are, from 0 to 1 (Jaccard): {alike}")
        say_next("synth", "--worlds", folder, "--size", 100, "--out", "corpus")


# The byte order marks of UTF-16.
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
SchemaFile = Annotated[Path, typer.Argument(help="The file.", exists=True, dir_okay=False)]
Name = Annotated[str, typer.Option(help="The name of the world; by default that of the file.")]


@worlds.command("from-sql")
def from_sql(
    file: SchemaFile,
    *,
    out: Out,
    name: Name = "",
    dialect: Annotated[
        str, typer.Option(help="sqlite, postgres or mysql; found out if not given.")
    ] = "",
) -> None:
    """Make a world from CREATE TABLE statements: keys, checks, uniqueness, plain triggers."""
    from provegym.worlds.from_sql import spec_of

    _write(*spec_of(_text(file), name or _name_of(file), dialect), out)


@worlds.command("from-openapi")
def from_openapi(file: SchemaFile, *, out: Out, name: Name = "") -> None:
    """Make a world from an API description: OpenAPI 3 or Swagger 2, JSON or YAML."""
    from provegym.worlds.from_openapi import spec_of

    _write(*spec_of(_text(file), name or _name_of(file)), out)


def _text(file: Path) -> str:
    try:
        if not file.is_file():
            fail(f"{file} is not a regular file")
        if file.stat().st_size > MOST_BYTES:
            fail(f"{file} has more than {MOST_BYTES} bytes; leave parts of it out")
        data = file.read_bytes()
        text = data.decode("utf-16" if data.startswith(UTF_16) else "utf-8")
    except OSError as problem:
        fail(f"{file} cannot be read: {problem}")
    except UnicodeDecodeError as problem:
        fail(f"{file} cannot be read as text, so save it as UTF-8: {problem}")
    if "\0" in text:
        fail(f"{file} holds zero bytes, so it is not plain text; save it as UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _name_of(file: Path) -> str:
    """A name for the world from that of a file."""
    name = re.sub(r"[^a-z0-9]+", "_", file.stem.lower()).strip("_")[:40]
    return name if name[:1].isalpha() else f"world_{name}".strip("_")


def _write(spec: "WorldSpec", notes: list[str], out: Path) -> None:
    """Write a spec into a folder of worlds, and say what was left out."""
    from provegym.files import locked
    from provegym.worlds.build import build
    from provegym.worlds.files import new_file, read_world, write_world

    check_folder(out)
    server = build(spec)
    with locked(out):
        file = out / f"{spec.name}.json"
        if not file.exists():
            write_world(out, new_file(spec))
        elif read_world(file).hash != spec.hash():
            fail(f"{file} holds another world; remove it, or name this one with --name")
    for note in notes:
        say(note)
    writes = sum(tool.writes for tool in server.tools.values())
    say(f"{file}: {len(server.tools)} tools, {writes} of them write.")
    say_next("worlds", "admit", out)
