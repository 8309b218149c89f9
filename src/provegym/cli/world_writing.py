"""The command `worlds write`: a model writes worlds, which are admitted like any others."""

from collections import Counter
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from provegym.cli.base import (
    Json,
    check_folder,
    fail,
    option_groups,
    print_json,
    progress_bar,
    say_next,
)
from provegym.cli.endpoints import EndpointLimits
from provegym.cli.specs import Out, worlds
from provegym.terminal import say

if TYPE_CHECKING:
    from provegym.teacher.world_writer import RefusedSpec, WorldsOrder, WrittenWorld

SHOWN = 120


@worlds.command()
@option_groups
def write(
    *,
    teacher: Annotated[str, typer.Option(help="The URL of an OpenAI-compatible endpoint.")],
    about: Annotated[str, typer.Option(help='What a world is about, as in "a ferry company".')],
    out: Out,
    model: Annotated[str, typer.Option(help="The model's name at the endpoint.")] = "default",
    count: Annotated[int, typer.Option(help="How many worlds.", min=1)] = 1,
    tries: Annotated[int, typer.Option(help="Specs for each world, at most.", min=1)] = 4,
    concurrency: Annotated[int, typer.Option(help="Worlds at a time.", min=1)] = 1,
    limits: EndpointLimits,
    as_json: Json = False,
) -> None:
    """Let a model write worlds: it proposes specs, and sees why one is refused."""
    import asyncio

    from provegym.teacher.world_writer import WorldsOrder

    check_folder(out)
    if not about.strip() or len(about) > 1_000:
        fail('--about says in a few words what a world is about, as in "a ferry company"')
    asked = (teacher, model, about, count, tries, concurrency)
    order = WorldsOrder(out, *asked, **limits.reply_limits)
    written = asyncio.run(_write(order))
    files = [each.file for each in written if each.file is not None]
    refused = [one for each in written for one in each.refused]
    if as_json:
        print_json(
            {"written": list(map(str, files)), "refused": [one._asdict() for one in refused]}
        )
    else:
        _print_result(files, refused, count)
    if len(files) < count:
        fail(
            f"{count - len(files)} of {count} worlds were not written; say the topic otherwise, ask"
            " a larger model, or give it more --tries"
        )


async def _write(order: "WorldsOrder") -> "list[WrittenWorld]":
    """Write the worlds; each refusal and each world is shown at once."""
    from provegym.teacher.world_writer import WorldWriter

    written: list[WrittenWorld] = []
    with progress_bar() as bar:
        task = bar.add_task("worlds", total=order.count)

        def tell(refused: "RefusedSpec") -> None:
            _show(bar, f"refused: {refused.reason}: {refused.detail}")

        async with aclosing(WorldWriter(order, tell).write_all()) as results:
            async for each in results:
                written.append(each)
                bar.advance(task)
                if each.file is not None:
                    _show(bar, f"written: {each.file}")
    return written


def _show(bar: Any, text: str) -> None:
    bar.console.print(text, markup=False, highlight=False, soft_wrap=True)


def _print_result(files: list[Path], refused: "list[RefusedSpec]", count: int) -> None:
    """How many worlds were written, and why specs were refused."""
    told = f"; {len(refused)} specs were refused on the way" if refused else ""
    say(f"{len(files)} of {count} worlds written{told}")
    details = {one.reason: one.detail for one in refused}
    for reason, times in Counter(one.reason for one in refused).most_common():
        say(f"  {times} refused: {reason}, such as: {details[reason][:SHOWN]}")
    if files:
        size = ("--size", 100, "--out", "corpus")
        say_next("synth", "--worlds", files[0].parent, *size)
