"""A report: the page in one HTML file, with its script, its style and a selection of the data."""

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from math import inf
from pathlib import Path
from urllib.parse import quote

import msgspec

from provegym import __version__, servers
from provegym.graph.dependency import Graph
from provegym.hosts.inline import HostError
from provegym.kernel import AnyServer
from provegym.kernel.state import ENCODE
from provegym.trace import Json
from provegym.view import drawn, worlds
from provegym.view.figures import show_figures
from provegym.view.fingerprints import fingerprint
from provegym.view.item import show_item
from provegym.view.library import Library
from provegym.view.page import PLACEHOLDER, STATIC
from provegym.view.runs import list_watched, show_run
from provegym.view.sources import DataSource, Missing, Rows, RunFolder

ITEMS = 200
# Drawn worlds of a report, at most: those of its items.
WORLDS = 40
SCRIPT = re.compile(r'<script\b[^>]*\bsrc="\.?/assets/([^"]+)"[^>]*></script>')
STYLE = re.compile(r'<link\b[^>]*\bhref="\.?/assets/([^"]+\.css)"[^>]*>')
# Characters that could end a script element, or end a line in old JavaScript parsers.
ESCAPES = str.maketrans({"<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class ReportData(msgspec.Struct, frozen=True, kw_only=True):
    """What a report carries: everything that its page may ask for."""

    version: str = __version__
    start: str = ""
    sources: list[Json] = []
    rows: dict[int, Json] = {}
    items: dict[str, Json] = {}
    figures: dict[int, Json] = {}
    runs: dict[int, Json] = {}
    run_examples: dict[int, list[Json]] = {}
    servers: list[Json]
    server: dict[str, Json]
    graphs: dict[str, Json]


def freeze(library: Library, items: int = ITEMS) -> ReportData:
    """The data of a report on a library; of each source at most so many items."""
    rows: dict[int, Json] = {}
    shown: dict[str, Json] = {}
    chosen: set[str] = set()
    files = [source for source in library.sources if isinstance(source, Rows)]
    for source in files:
        picked = pick(source, chosen, items)
        chosen.update(source.columns.ids[at] for at in picked)
        rows[source.id] = show_rows(source, picked)
        shown.update({f"{source.id}:{at}": _item(source, at) for at in picked})
    runs = [source for source in library.sources if isinstance(source, RunFolder)]
    used = {name for each in rows.values() for name in each["columns"]["server"]["values"]}
    shown_worlds = sorted(filter(drawn.is_drawn, used))[:WORLDS]
    ours = [*servers.load_known(), *map(worlds.load, shown_worlds)]
    listed = [each for each in worlds.list_servers() if each["name"] in {s.name for s in ours}]
    return ReportData(
        sources=[_describe(source, rows) for source in library.sources],
        rows=rows,
        items=shown,
        figures={source.id: show_figures(source.columns) for source in files},
        runs={run.id: show_run(run, 0) for run in runs},
        run_examples={run.id: list_watched(run) for run in runs},
        servers=listed,
        server={server.name: worlds.show_server(server) for server in ours},
        graphs={
            server.name: worlds.show_graph(server, worlds.load_graph(server))
            for server in ours
            if server.name in used
        },
    )


def freeze_graph(server: AnyServer, graph: Graph) -> ReportData:
    """The data of a report on one dependency graph and its server, which opens on the graph."""
    return ReportData(
        start=f"#/graph/{quote(server.name)}",
        servers=[worlds.describe(server)],
        server={server.name: worlds.show_server(server)},
        graphs={server.name: worlds.show_graph(server, graph)},
    )


def _describe(source: DataSource, rows: dict[int, Json]) -> Json:
    """A source as the list shows it, without the path on this machine."""
    told = source.describe()
    told["path"] = source.name
    if source.id in rows:
        told["shown"] = len(rows[source.id]["texts"])
    return told


def show_rows(source: Rows, picked: Sequence[int]) -> Json:
    """Some rows of a source: what the server would answer about each of them."""
    columns = source.columns
    return {
        "kind": source.kind,
        "columns": columns.pick(picked),
        "texts": [source.first_words(at) for at in picked],
        "searched": [columns.searched[at].decode() for at in picked],
        "fingerprints": [fingerprint(source, at) for at in picked],
    }


def _item(source: Rows, at: int) -> Json:
    """A row in full, or a sentence that says why it cannot be shown."""
    try:
        return show_item(source, at)
    except Missing as problem:
        return {"error": str(problem)}


def pick(source: Rows, chosen: set[str], most: int) -> list[int]:
    """Which rows go in: those of examples that are in already, then evenly over the rewards.

    So two files over the same examples can be compared in a report.
    """
    columns = source.columns
    known = [at for at in range(columns.count) if columns.ids[at] in chosen]
    picked = set(spread(known, most))
    rest = [at for at in range(columns.count) if at not in picked]
    rest.sort(key=lambda at: _order(columns.rewards[at]))
    return sorted(picked | set(spread(rest, most - len(picked))))


def _order(reward: float | None) -> float:
    """A sort key: the highest reward first, rows without a reward last."""
    return inf if reward is None else -reward


def spread(rows: Sequence[int], most: int) -> list[int]:
    """At most so many of the rows, from the first to the last at equal distances."""
    if len(rows) <= most:
        return list(rows)
    if most < 2:
        return list(rows[:most])
    return [rows[number * (len(rows) - 1) // (most - 1)] for number in range(most)]


def embed(data: object) -> str:
    """Data as JSON for a script element; no text in it can end the element."""
    return ENCODE(data).decode().translate(ESCAPES)


def build_report(data: object, folder: Path = STATIC) -> str:
    """The page with script, style and data inlined, under a policy that allows no others."""
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
