"""How much of a real service a schema holds: our servers, rebuilt from schemas and compared.

`python docs/truth.py measure` rebuilds the servers, compares them call by call with the real ones
and writes docs/truth.json; `python docs/truth.py` writes the tables of docs/truth.md from it.
"""

import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from provegym import servers
from provegym.bench.agreement import ToolTally, compare
from provegym.bench.rebuilding import rebuild_from_openapi, rebuild_from_sql
from provegym.worlds import SpecError

HERE = Path(__file__).parent
FIGURES, PAGE = HERE / "truth.json", HERE / "truth.md"
SCHEMAS = HERE.parent / "tests" / "worlds" / "data" / "schemas"
CALLS, SEEDS = 60, 4
KINDS = ("ok", "not_found", "rejected", "denied", "invalid_argument")
OTHERS = ("absent", "bug")
SHOWN = 230
Found = dict[str, Any]
# Disagreements to quote: the source, the server, the tool, how it differs, and why.
QUOTED = (
    ("openapi", "banking", "open_account", "rejected ok", "No schema says that a name is unique."),
    ("openapi", "banking", "close_account", "denied ok", "No schema says who may do it."),
    ("openapi", "banking", "close_account", "rejected ok", "A rule of the domain, on money."),
    ("openapi", "crm", "list_sales_deals", "ok invalid_argument", "The importer mixes schemas up."),
    (
        "openapi",
        "banking",
        "dispute_transaction",
        "ok invalid_argument",
        "A verb becomes a record.",
    ),
    ("openapi", "retail_chain", "reserve_store_item", "result", "One call, two tables."),
    (
        "sql",
        "banking",
        "remove_payee",
        "ok rejected",
        "A foreign key is stricter than the service.",
    ),
    (
        "sql",
        "retail_chain",
        "request_store_transfer",
        "ok invalid_argument",
        "The rest is derived.",
    ),
    ("sql", "payments", "set_invoice_status", "change", "A status has further effects."),
    ("sql", "issue_tracker", "create_issue", "rejected ok", "Unique, but among open issues only."),
)


def measure() -> Found:
    """Rebuild and compare all servers; of the examples only the quoted ones are kept."""
    matching = tomllib.loads((SCHEMAS / "matching.toml").read_text("utf-8"))
    found: Found = {"calls": CALLS, "seeds": SEEDS, "openapi": {}, "sql": {}}
    for name in servers.names():
        print(name, file=sys.stderr)
        found["openapi"][name] = measure_one("openapi", name, matching)
        if name in matching:
            found["sql"][name] = measure_one("sql", name, matching)
    return found


def measure_one(source: str, name: str, matching: Found) -> Found:
    """The tallies of one server, or why no world could be made of its schema."""
    real = servers.load(name)
    try:
        if source == "openapi":
            rebuilt = rebuild_from_openapi(real)
        else:
            text = (SCHEMAS / f"{name}.sql").read_text("utf-8")
            rebuilt = rebuild_from_sql(real, text, matching[name])
    except SpecError as problem:
        return {"refused": str(problem), "tools": len(real.tools)}
    tallies = compare(rebuilt, CALLS, SEEDS)
    wanted = {(tool, how) for s, n, tool, how, _ in QUOTED if (s, n) == (source, name)}
    for each in tallies:
        each.examples = {h: e for h, e in each.examples.items() if (each.tool, h) in wanted}
    return {"tallies": msgspec.to_builtins(tallies)}


def tallies_of(entry: Found) -> list[ToolTally]:
    """The tallies of a server's entry; none if its world was refused."""
    return msgspec.convert(entry.get("tallies", []), list[ToolTally])


def share(part: int, whole: int) -> str:
    """A share in per cent."""
    return f"{100 * part / whole:.0f} %" if whole else "-"


class Sums:
    """Sums over tools."""

    def __init__(self, tallies: Iterable[ToolTally]) -> None:
        self.tools = list(tallies)
        writes = [each for each in self.tools if each.writes]
        self.calls = sum(each.calls for each in self.tools)
        self.same = sum(each.same for each in self.tools)
        self.guessed = sum(each.guessed for each in self.tools)
        self.succeeded = sum(each.succeeded for each in self.tools)
        self.result = sum(each.result for each in self.tools)
        self.order = sum(each.order for each in self.tools)
        self.written = sum(each.succeeded for each in writes)
        self.change = sum(each.change for each in writes)
        self.whole = sum(each.whole for each in writes)

    def cells(self) -> list[str]:
        """Agreement of outcome, the guesser's, result and change."""
        return [
            share(self.same, self.calls),
            share(self.guessed, self.calls),
            share(self.result, self.succeeded),
            share(self.change, self.written),
            share(self.whole, self.written),
        ]


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


HEAD = ("same outcome", "best guess", "same result", "same change", "whole change")


def per_server(entries: Found) -> str:
    """One row per server, and one over all of them."""
    rows: list[list[object]] = []
    every: list[ToolTally] = []
    for name, entry in entries.items():
        tallies = tallies_of(entry)
        if not tallies:
            rows.append([name, entry["tools"], "refused", *["-"] * 8])
            continue
        every += tallies
        rows.append([name, *counts(tallies), *Sums(tallies).cells()])
    rows.append(["**all**", *counts(every), *Sums(every).cells()])
    return table(("server", "tools", "rebuilt", "stray", "absent", "calls", *HEAD), rows)


def counts(tallies: list[ToolTally]) -> list[int]:
    """How many tools there are, are rebuilt, are stray and are absent; and the calls."""
    stray = sum(each.stray for each in tallies)
    absent = sum(not each.rebuilt for each in tallies)
    calls = sum(each.calls for each in tallies)
    return [len(tallies), len(tallies) - stray - absent, stray, absent, calls]


def overall(found: Found) -> str:
    """Means over all tools, over those that were rebuilt, over reads and over writes."""
    choices: list[tuple[str, Callable[[ToolTally], bool]]] = [
        ("all tools", lambda each: True),
        ("rebuilt tools", lambda each: bool(each.rebuilt) and not each.stray),
        ("rebuilt reads", lambda each: bool(each.rebuilt) and not each.stray and not each.writes),
        ("rebuilt writes", lambda each: bool(each.rebuilt) and not each.stray and each.writes),
    ]
    rows = []
    for source, title in (("openapi", "OpenAPI"), ("sql", "SQL")):
        every = [each for entry in found[source].values() for each in tallies_of(entry)]
        for name, chosen in choices:
            sums = Sums(filter(chosen, every))
            rows.append([title, name, len(sums.tools), sums.calls, *sums.cells()])
    return table(("schema", "which", "tools", "calls", *HEAD), rows)


def outcomes(found: Found) -> str:
    """Real outcomes against rebuilt ones, over the tools that were rebuilt."""
    tables = []
    for source, title in (("openapi", "OpenAPI"), ("sql", "SQL")):
        pairs: Counter[str] = Counter()
        for entry in found[source].values():
            for each in tallies_of(entry):
                if each.rebuilt and not each.stray:
                    pairs.update(each.ends)
        columns = [*KINDS, *(kind for kind in OTHERS if any(p.endswith(kind) for p in pairs))]
        rows = [
            [f"**{real}**", *(pairs[f"{real} {kind}"] for kind in columns)]
            for real in KINDS
            if any(pairs[f"{real} {kind}"] for kind in columns)
        ]
        tables.append(table((f"{title}: real \\ rebuilt", *columns), rows))
    return "\n\n".join(tables)


def figures(found: Found) -> str:
    """Figures that the text below the tables speaks of."""
    lines = []
    for source, title in (("openapi", "OpenAPI"), ("sql", "SQL")):
        entries = found[source].values()
        kept = [t for e in entries for t in tallies_of(e) if t.rebuilt and not t.stray]
        pairs: Counter[str] = Counter()
        for each in kept:
            pairs.update(each.ends)
        parts = []
        for kind, word in (
            ("not_found", "unknown ids"),
            ("rejected", "calls against a rule"),
            ("denied", "calls without permission"),
        ):
            whole = sum(n for pair, n in pairs.items() if pair.startswith(f"{kind} "))
            refused = whole - pairs[f"{kind} ok"] - pairs[f"{kind} absent"]
            parts.append(
                f"{word}: {share(pairs[f'{kind} {kind}'], whole)} refused for the same kind"
                f" of reason, {share(refused, whole)} refused at all"
            )
        reads = Sums(t for t in kept if not t.writes)
        better = sum(t.same > t.guessed for t in kept if t.writes)
        writes = sum(t.writes for t in kept)
        lines.append(f"- {title}, rebuilt tools: " + "; ".join(parts) + ".")
        lines.append(
            f"- {title}: {better} of {writes} rebuilt writes do better than the best guess;"
            f" of {reads.succeeded} lists and records, {share(reads.result, reads.succeeded)} are"
            f" equal and {share(reads.order, reads.succeeded)} differ in order only."
        )
    refused = [f"{n} ({e['refused']})" for n, e in found["openapi"].items() if "refused" in e]
    if refused:
        lines.append(f"- No world could be made of: {'; '.join(refused)}.")
    return "\n".join(lines)


def quotes(found: Found) -> str:
    """The quoted disagreements."""
    lines = []
    for number, (source, server, tool, how, why) in enumerate(QUOTED, 1):
        tallies = tallies_of(found[source][server])
        example = next((t.examples.get(how) for t in tallies if t.tool == tool), None)
        if example is None:
            raise SystemExit(f"there is no example of {tool} ({how}); choose another one")
        call = json.dumps(example["arguments"])
        lines.append(
            f"{number}. **{why}** {server} from {source}: `{tool}({_short(call)})`\n"
            f"   - real: `{_short(example['real'])}`\n"
            f"   - rebuilt, `{example['tool']}`: `{_short(example['rebuilt'])}`"
        )
    return "\n".join(lines)


def _short(text: str) -> str:
    text = text.replace("`", "'")
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def per_tool(found: Found) -> str:
    """A table per server with one row per tool."""
    parts = []
    for source, title in (("openapi", "OpenAPI"), ("sql", "SQL")):
        for name, entry in found[source].items():
            tallies = tallies_of(entry)
            if not tallies:
                continue
            rows = [
                [each.tool, _stands(each), each.calls, ok_share(each), *Sums([each]).cells()]
                for each in tallies
            ]
            head = ("tool", "rebuilt as", "calls", "succeed", *HEAD)
            parts.append(f"### {name} from {title}\n\n{table(head, rows)}")
    return "\n\n".join(parts)


def ok_share(each: ToolTally) -> str:
    """The share of a tool's calls that succeed on the real server."""
    return share(each.succeeded, each.calls)


def _stands(each: ToolTally) -> str:
    names = ", ".join(each.rebuilt)
    return f"{names} (stray)" if each.stray else names or "absent"


def filled(text: str, found: Found) -> str:
    """The page with its generated parts written anew."""
    made = {
        "overall": overall(found),
        "figures": figures(found),
        "outcomes": outcomes(found),
        "openapi": per_server(found["openapi"]),
        "sql": per_server(found["sql"]),
        "quotes": quotes(found),
        "tools": per_tool(found),
    }
    for name, part in made.items():
        block = f"<!-- begin {name} -->\n{part}\n<!-- end {name} -->"
        pattern = rf"<!-- begin {name} -->.*?<!-- end {name} -->"
        text, count = re.subn(pattern, lambda _, block=block: block, text, flags=re.DOTALL)
        assert count == 1, name
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        FIGURES.write_text(json.dumps(measure()) + "\n", "utf-8")
    PAGE.write_text(
        filled(PAGE.read_text("utf-8"), json.loads(FIGURES.read_text("utf-8"))), "utf-8"
    )
