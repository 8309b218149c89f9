"""The page frozen into one file: its script, its style and a selection of the data inlined."""

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from provegym import __version__, servers
from provegym.hosts.inline import HostError
from provegym.kernel.state import ENCODE
from provegym.trace import Json
from provegym.view import worlds
from provegym.view.item import show_item
from provegym.view.library import Library
from provegym.view.page import PLACEHOLDER, STATIC
from provegym.view.query import Query
from provegym.view.runs import list_watched, show_run
from provegym.view.sources import Missing, Rows, RunFolder

ITEMS = 200
SCRIPT = re.compile(r'<script\b[^>]*\bsrc="\.?/assets/([^"]+)"[^>]*></script>')
STYLE = re.compile(r'<link\b[^>]*\bhref="\.?/assets/([^"]+\.css)"[^>]*>')
# What would end a script element, and what old parsers of JavaScript took for ends of lines.
ESCAPES = str.maketrans({"<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def freeze(library: Library, items: int = ITEMS) -> Json:
    """What the page asks the server for, in one object; of each source so many items at most."""
    rows, shown = {}, {}
    chosen: set[int] = set()
    sources = [source for source in library.sources if isinstance(source, Rows)]
    for source in sources:
        picked = pick(source, chosen, items)
        chosen.update(source.columns.keys[at] for at in picked)
        rows[source.id] = [source.row(source.columns, at, source.sort) for at in picked]
        for at in picked:
            shown[f"{source.id}:{at}"] = _item(source, at)
    runs = [source for source in library.sources if isinstance(source, RunFolder)]
    used = {row["server"] for page in rows.values() for row in page} & set(servers.names())
    return {
        "frozen": True,
        "version": __version__,
        "most": items,
        "sources": [{**told, "path": told["name"]} for told in library.describe()],
        "rows": rows,
        "items": shown,
        "runs": {run.id: show_run(run, 0) for run in runs},
        "run_examples": {run.id: list_watched(run) for run in runs},
        "servers": worlds.list_servers(),
        "server": {name: worlds.show_server(name) for name in servers.names()},
        "graphs": {name: worlds.show_graph(name) for name in sorted(used)},
    }


def _item(source: Rows, at: int) -> Json:
    """A row in full, or a sentence that says why it cannot be."""
    try:
        return show_item(source, at)
    except Missing as problem:
        return {"error": str(problem)}


def pick(source: Rows, chosen: set[int], most: int) -> list[int]:
    """Which rows go in: those of examples that are in already, then evenly over the rewards.

    So two files over the same examples can be compared in a report.
    """
    known = [at for at, key in enumerate(source.columns.keys[: source.count]) if key in chosen]
    picked = set(spread(known, most))
    rest = [at for at in source.selector.select(Query(sort="-reward")) if at not in picked]
    return sorted(picked | set(spread(rest, most - len(picked))))


def spread(rows: Sequence[int], most: int) -> list[int]:
    """At most so many, from the first to the last, at equal distances."""
    if len(rows) <= most:
        return list(rows)
    if most < 2:
        return list(rows[:most])
    return [rows[number * (len(rows) - 1) // (most - 1)] for number in range(most)]


def embed(data: Json) -> str:
    """Data as JSON that no text in it can end."""
    return ENCODE(data).decode().translate(ESCAPES)


def build_report(data: Json, folder: Path = STATIC) -> str:
    """The page with everything in it, and a policy that lets nothing else run."""
    index = folder / "index.html"
    if not index.is_file():
        raise HostError("the page is not built, so there is nothing to put in a report")
    html = index.read_text("utf-8").replace(PLACEHOLDER, "")
    scripts, styles = (
        [_asset(folder, name) for name in each.findall(html)] for each in (SCRIPT, STYLE)
    )
    if len(scripts) != 1 or len(styles) > 1:
        raise HostError("the page was built in several scripts or styles; a report needs one each")
    script = re.sub(r"</(?=script)", r"<\\/", scripts[0], flags=re.IGNORECASE)
    style = styles[0] if styles else ""
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    held = f'<script type="application/json" id="report">{embed(data)}</script>'
    html = SCRIPT.sub(lambda _: f'{held}<script type="module">{script}</script>', html)
    html = STYLE.sub(lambda _: f"<style>{style}</style>", html)
    return re.sub(r"<head\b[^>]*>", lambda found: found[0] + meta, html, count=1)


def _asset(folder: Path, name: str) -> str:
    return (folder / "assets" / Path(name).name).read_text("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()
