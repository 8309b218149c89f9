"""The commands `new-server` and `check-server`: servers of one's own."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from provegym import packages, servers
from provegym.admission.verdict import RuleCheck
from provegym.cli.base import Json, app, console, load, print_json, say_next, stdout_kept
from provegym.kernel import AnyServer
from provegym.packages import BrokenServer
from provegym.terminal import say


@app.command("new-server")
def new_server(
    name: Annotated[str, typer.Argument(help="Its name: lower-case letters, digits and _.")],
    out: Annotated[
        Path | None, typer.Option(help="The folder; else one of that name here.")
    ] = None,
) -> None:
    """Write a small working server as a Python package of its own, to be changed into yours."""
    from provegym.starter import write_project

    folder = out or Path(name)
    written = write_project(name, folder)
    say(f"{len(written)} files in {folder}: a server with six tools, its tests and a README")
    say(f"Try it:    provegym --servers-from {folder} call {name} find_{name}_items")
    say(f"Check it:  provegym --servers-from {folder} check-server {name}")
    say(f"After `pip install -e {folder}` you can leave --servers-from out.")
    say_next("--servers-from", folder, "demo", name)


@app.command("check-server")
def check_servers(
    name: Annotated[
        str, typer.Argument(metavar="SERVER", help="Its name, or the folder of its package.")
    ],
    as_json: Json = False,
) -> None:
    """Check a server rule by rule; say what to do about a broken one, and exit 1 if any is."""
    is_folder = not servers.is_known(name) and Path(name).is_dir()
    names = _in_folder(Path(name)) if is_folder else [name]
    found: dict[str, list[RuleCheck]] = {}
    for each in names:
        with stdout_kept(as_json):
            found[each] = list(_shown(each, _checks(each), quiet=as_json))
    if as_json:
        print_json({"servers": [{"name": name, "rules": found[name]} for name in found]})
    broken = any(not rule.holds for rules in found.values() for rule in rules)
    if names and not broken:
        size = ("--size", 20, "--out", "corpus")
        say_next("synth", "--servers", ",".join(names), *size, as_json=as_json)
    raise typer.Exit(1 if broken else 0)


def _in_folder(folder: Path) -> list[str]:
    """The names of the servers in a folder of packages, which can be loaded from now on."""
    servers.look_in_packages(folder)
    return list(packages.in_folder(folder.resolve()))


def _checks(name: str) -> Iterator[RuleCheck]:
    """Whether the package can be loaded, then every rule of the contract."""
    says = "the package can be loaded"
    try:
        server = load(name)
    except BrokenServer as problem:
        mend = "Mend that first; the other rules are checked then"
        yield RuleCheck("package", False, says, (str(problem),), mend)
        return
    yield RuleCheck("package", True, says)
    yield from contract(server)


def contract(server: AnyServer) -> Iterator[RuleCheck]:
    """Every rule of the contract of a server."""
    from provegym.admission.check import check_server

    return check_server(server)


def _shown(name: str, rules: Iterable[RuleCheck], *, quiet: bool) -> Iterator[RuleCheck]:
    """Print each rule as soon as it is checked, then how many are broken."""
    broken = 0
    for rule in rules:
        broken += not rule.holds
        if not quiet:
            mark = "✓" if rule.holds else "✗"
            console.print(f"{mark} {rule}", markup=False, highlight=False, soft_wrap=True)
        yield rule
    if not quiet:
        count = f"{broken} rule{'s' * (broken > 1)}"
        mend = "; mend what is marked ✗, and check again"
        told = f"{name} breaks {count}{mend}" if broken else f"{name} keeps every rule"
        console.print(told, markup=False, highlight=False, soft_wrap=True)
