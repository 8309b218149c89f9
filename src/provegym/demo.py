"""The demo of a server: prints one multi-step task call by call, and the records it changed.

A server's demo.toml holds the user's request and the calls of a good assistant. An argument can
refer to an earlier result: "$0/items/1/id" is the id of the second item of the first result.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from provegym import servers
from provegym.kernel import Change, Outcome, Session
from provegym.packages import BrokenServer
from provegym.trace import point

WIDTH = 90
MOST_CHANGES = 8
SEED = 7


class DemoStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call of a demo, or minutes that pass; `fails` is the expected kind of error."""

    tool: str = ""
    arguments: dict[str, Any] = {}
    fails: str | None = None
    minutes: int = 0
    why: str = ""


class Demo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The user's request and the steps that fulfil it."""

    ask: str
    steps: list[DemoStep]


Told = list[tuple[DemoStep, dict[str, Any], Outcome | None]]


def load(name: str) -> Demo:
    """Read the demo of a server."""
    file = servers.folder_of(name).joinpath("demo.toml")
    if not file.is_file():
        raise BrokenServer(f"{name} has no demo.toml in its package, so there is nothing to show")
    return msgspec.convert(tomllib.loads(file.read_text("utf-8")), Demo)


def play(demo: Demo, session: Session) -> Told:
    """Run a demo and return each step with its resolved arguments and outcome."""
    told: Told = []
    for step in demo.steps:
        if step.minutes:
            session.advance(step.minutes)
            told.append((step, {}, None))
            continue
        arguments = {name: _resolve(value, told) for name, value in step.arguments.items()}
        told.append((step, arguments, session.call(step.tool, arguments)))
    return told


def tell(
    console: Console, name: str, seed: int, wait: Callable[[], None] | None = None
) -> Counter[str]:
    """Play a server's demo and print it; counts calls, refusals and changed records.

    `wait` is called before each call and each result is printed.
    """
    wait = wait or (lambda: None)
    session, demo = Session([servers.load(name)], seed), load(name)
    told = play(demo, session)
    ask = re.sub(r"\{(.+?)\}", lambda slot: str(_resolve(f"${slot[1]}", told)), demo.ask)
    console.print()
    console.rule(f"[bold]{name}[/bold] · a world of {_records(session)} records")
    console.print(f"[bold cyan]user[/bold cyan]  {escape(ask)}\n")
    for step, arguments, outcome in told:
        wait()
        if step.why:
            console.print(f"      [dim italic]{escape(step.why)}[/dim italic]")
        if outcome is None:
            console.print(f"  [magenta]… {_span(step.minutes)} later[/magenta]")
            continue
        call = f"{step.tool}({', '.join(f'{k}={_short(v, 40)}' for k, v in arguments.items())})"
        console.print(f"  [bold]→[/bold] {escape(call)}", no_wrap=True, overflow="ellipsis")
        wait()
        colour, mark = ("green", "✓") if outcome.ok else ("yellow", "✗")
        said = f"    [{colour}]{mark} {escape(_result(outcome))}[/{colour}]"
        console.print(said, no_wrap=outcome.ok, overflow="ellipsis" if outcome.ok else "fold")
    console.print("\n  [bold]what changed in the world[/bold]")
    for change in _changes(session.diff()):
        console.print(f"    {change}", no_wrap=True, overflow="ellipsis")
    return _count(session, told)


def walk(seed: int) -> Counter[str]:
    """Play every server's demo; counts servers, tools, records, calls, changes and refusals."""
    found: Counter[str] = Counter()
    for server in servers.load_all():
        session = Session([server], seed)
        found.update(_count(session, play(load(server.name), session)))
        found.update(servers=1, tools=len(server.tools), records=_records(session))
    return found


def _count(session: Session, told: Told) -> Counter[str]:
    """Count the calls of a demo, those that were refused, and the records it changed."""
    outcomes = [outcome for _, _, outcome in told if outcome]
    refused = sum(not outcome.ok for outcome in outcomes)
    return Counter(calls=len(outcomes), refused=refused, changed=len(session.diff()))


def fitting_table(*columns: str, last: str) -> Table:
    """A table with one line per row; the last column takes the remaining width."""
    table = Table(box=None, padding=(0, 1), expand=True)
    for column in columns:
        table.add_column(column, no_wrap=True, min_width=len(column))
    table.add_column(last, no_wrap=True, overflow="ellipsis", ratio=1)
    return table


def _resolve(value: Any, told: Told) -> Any:
    if isinstance(value, list):
        return [_resolve(part, told) for part in value]
    if isinstance(value, dict):
        return {name: _resolve(part, told) for name, part in value.items()}
    if not (isinstance(value, str) and re.match(r"\$\d", value)):
        return value
    number, slash, path = value[1:].partition("/")
    outcome = told[int(number)][2]
    return point(outcome.value if outcome else None, slash + path)[1]


def _records(session: Session) -> int:
    return sum(session.state(server).size() for server in session.servers)


def _short(value: Any, width: int) -> str:
    text = msgspec.json.encode(value).decode() if not isinstance(value, str) else f'"{value}"'
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _result(outcome: Outcome) -> str:
    value = outcome.value
    if not outcome.ok:
        return f"{value['error']}: {value['message']}"
    if isinstance(value.get("items"), list) and isinstance(value.get("total"), int):
        names = [_name(item) for item in value["items"][:4]]
        return f"{value['total']} found: {', '.join(names)}{'…' * (value['total'] > 4)}"
    return _short(value, WIDTH)


def _span(minutes: int) -> str:
    """A duration in the largest unit that divides it."""
    for unit, size in (("day", 1440), ("hour", 60), ("minute", 1)):
        if minutes % size == 0:
            return f"{minutes // size} {unit}{'s' * (minutes != size)}"
    return ""


def _name(item: dict[str, Any]) -> str:
    """The name of a listed record."""
    labels = ("name", "label", "title", "subject", "code", "id")
    return str(next((item[label] for label in labels if label in item), "…"))


def _changes(changes: list[Change]) -> Iterator[str]:
    """One line per changed record: added, removed, or its changed fields."""
    for change in changes[:MOST_CHANGES]:
        where = f"{change.table} {change.key}"
        if change.before is None:
            yield f"[green]+ {escape(where)}[/green]  {escape(_fields(change))}"
        elif change.after is None:
            yield f"[red]- {escape(where)}[/red]  {escape(_fields(change))}"
        else:
            before, after = change.before, change.after
            names = dict.fromkeys((*before, *after))
            moved = (f"{n} {_short(before.get(n), 30)} → {_short(after.get(n), 30)}" for n in names)
            yield f"[yellow]~ {escape(where)}[/yellow]  {escape(', '.join(moved))}"
    if len(changes) > MOST_CHANGES:
        yield f"[dim]and {len(changes) - MOST_CHANGES} more[/dim]"


def _fields(change: Change) -> str:
    """The fields of a record, without its key and the parts of its key."""
    record = change.after or change.before or {}
    told = {n: v for n, v in record.items() if not isinstance(v, str) or v not in change.key}
    return ", ".join(f"{name} {_short(value, 30)}" for name, value in told.items())
