"""The command that compares two files of rollouts, or two runs of a benchmark."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from provegym.cli.base import Json, app, cell, console, print_json, say_next

if TYPE_CHECKING:
    from provegym.evals.compare import Difference


@app.command("compare")
def compare_runs(
    first: Annotated[Path, typer.Argument(help="Rollouts of one model, or a benchmark's folder.")],
    second: Annotated[Path, typer.Argument(help="Those of another, on the same tasks.")],
    most: Annotated[int, typer.Option(help="Most changed tasks to list.", min=0)] = 10,
    as_json: Json = False,
) -> None:
    """Compare two files of rollouts or two benchmark runs, task by task."""
    from provegym.evals import journal
    from provegym.evals.compare import compare

    if journal.is_report(first) and journal.is_report(second):
        rows = journal.compare(first, second)
        print_json(rows) if as_json else _print_rows("share of tasks", rows)
        return
    found = compare(first, second, most)
    if as_json:
        print_json(found)
        return
    _print_rows(f"all ({found['tasks']} tasks)", found["all"])
    for sort in ("kinds", "servers"):
        for metric, rows in found[sort].items():
            _print_rows(f"{metric} by {sort[:-1]}", rows)
    if found["most_changed"]:
        from provegym.trace import label

        table = Table("most changed", "kind", "first", "second", box=None)
        for each in found["most_changed"]:
            table.add_row(
                cell(each.id), label(each.kind), f"{each.first:.3f}", f"{each.second:.3f}"
            )
        console.print(table)
    if found["only_first"] or found["only_second"]:
        console.print(
            f"\nleft out: {found['only_first']} tasks of the first file alone,"
            f" {found['only_second']} of the second"
        )
    say_next("view", first, second)


def _print_rows(title: str, rows: "dict[str, Difference]") -> None:
    from provegym.trace import label

    table = Table(title, "tasks", "first", "second", "difference [95 % interval]", box=None)
    for name, row in rows.items():
        change = row.difference
        told = f"{change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}]"
        cells = (str(change.tasks), f"{row.first:.3f}", f"{row.second:.3f}", told)
        table.add_row(cell(label(name)), *cells)
    console.print(table)
    console.print()
