"""The commands `worlds …`: draw worlds from a grammar, make them from schemas, admit them."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from provegym.cli.base import Json, app, check_folder, fail, progress_bar, say_next, stoppable
from provegym.cli.help import Commands

worlds = typer.Typer(
    cls=Commands, rich_markup_mode=None, help="Worlds that are data: draw, import, admit."
)
app.add_typer(worlds, name="worlds")

Out = Annotated[Path, typer.Option(help="The folder of world files.")]


@worlds.command()
def draw(
    *,
    count: Annotated[int, typer.Option(help="How many worlds.", min=1)],
    out: Out,
    seed: Annotated[int, typer.Option(help="Which worlds.", min=0)] = 0,
) -> None:
    """Draw worlds from a grammar of domains and patterns; the same seed, the same worlds."""
    from provegym.admission.run import draw_folder

    check_folder(out)
    with progress_bar() as bar:
        task = bar.add_task("worlds", total=count)
        written, copies = draw_folder(count, seed, out, lambda: bar.advance(task))
    near = f"; {copies} near copies were left out" if copies else ""
    print(f"{written} worlds in {out}{near}")
    say_next("worlds", "admit", out)


@worlds.command()
def admit(
    folder: Annotated[Path, typer.Argument(help="The folder of world files or specs.")],
    *,
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 2,
    as_json: Json = False,
) -> None:
    """Prove each world of a folder, and write into its file whether it is admitted."""
    from provegym.admission.run import admit_folder
    from provegym.worlds.files import world_files

    with stoppable(), progress_bar() as bar:
        task = bar.add_task("worlds", total=len(world_files(folder)))
        found = admit_folder(folder, workers, lambda: bar.advance(task))
    if as_json:
        print(msgspec.json.encode(found._asdict()).decode())
        return
    if not found.worlds:
        fail(f"{folder} holds no worlds; `provegym worlds draw` makes some")
    print(f"{found.admitted} of {found.worlds} worlds admitted")
    for reason, count in found.reasons.most_common():
        print(f"  {count} refused: {reason}")
    if found.admitted:
        each = ", ".join(f"{n / found.admitted:.1f} {what}" for what, n in found.figures.items())
        print(f"An admitted world has on average {each}.")
        alike = ", ".join(f"{what} {score:.2f}" for what, score in found.alike.items())
        print(f"How alike two worlds are (Jaccard): {alike}")
        say_next("synth", "--worlds", folder, "--size", 100, "--out", "corpus")
