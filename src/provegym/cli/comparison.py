"""The command that compares two files of rollouts, or two runs of a benchmark."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from provegym.cli.base import Json, app, cell, console, print_json, say_next

if TYPE_CHECKING:
    from provegym.evals.compare import Difference

# The figures that are shown by kind and by server; --json has all.
BY_GROUP = ("success", "reward")


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
    from provegym.trace import label, score_label

    if journal.is_report(first) and journal.is_report(second):
        rows = journal.compare(first, second)
        print_json(rows) if as_json else _print_rows("share of tasks", rows)
        return
    found = compare(first, second, most)
    if as_json:
        print_json(found)
        return
    overall = {score_label(name): row for name, row in found["all"].items()}
    _print_rows(f"all ({found['tasks']} tasks)", overall)
    for metric in BY_GROUP:
        for sort in ("kinds", "servers"):
            rows = {label(name): row for name, row in found[sort][metric].items()}
            _print_rows(f"{metric} by {sort[:-1]}", rows)
    if found["most_changed"]:
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
    table = Table(title, "tasks", "first", "second", "difference [95 % interval]", box=None)
    for name, row in rows.items():
        change = row.difference
        told = f"{change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}]"
        cells = (str(change.tasks), f"{row.first:.3f}", f"{row.second:.3f}", told)
        table.add_row(cell(name), *cells)
    console.print(table)
    console.print()
