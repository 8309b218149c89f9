"""The card of a corpus: its README, with what a reader and `datasets.load_dataset` need to know."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol

from provegym import __version__, servers
from provegym.corpus.exports import SPLITS
from provegym.corpus.figures import figures
from provegym.trace import BadFile, Example, Json, read

# Whatever is nested is free-form: `datasets` calls that json, and has it from version 4.7 on.
COLUMNS = {
    "schema": "int64",
    "id": "string",
    "kind": "string",
    "server": "string",
    "server_version": "int64",
    "seed": "int64",
    "digest": "string",
    "system": "string",
    **dict.fromkeys(("turns", "paths", "outcome", "drift", "toolbox", "knobs"), "json"),
    "provenance": "json",
}
NOT_ASKED = ("out", "workers")
KEPT = "kept"
FOREIGN = """
> **Real data may be in here.** Part of this corpus was made on a server or from a file that is not
> ProveGym's own: {names}. What such a source returned stands in the examples as it was. Look
> through them before you share this, and mind the source's licence.
"""
LOADING = """
```python
from datasets import load_dataset            # 4.7 or later

corpus = load_dataset("PATH OF THIS FOLDER", split="train")
```

Each row is an example; what equals its default is null. To have it as an object again:

```python
from provegym.corpus.exports import from_row

example = from_row(corpus[0])
```

`provegym verify FOLDER` holds every example to its contract again: the right calls are paid the
maximum, nothing is paid the floor, every value is derivable. `provegym export FOLDER --format
trl|verl|sft|openai --out FILE` writes what trainers read.
"""


class Order(Protocol):
    """What was asked for: any dataclass whose fields are the command's options."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def card(folder: Path, funnel: Mapping[str, int], order: Order) -> str:
    """The README of the corpus in a folder, made by an order, with what became of candidates."""
    found = {split: sorted(folder.glob(f"{split}-*.jsonl")) for split in SPLITS}
    found = {split: shards for split, shards in found.items() if shards}
    if not found:
        raise BadFile(f"{folder} has no shards such as {SPLITS[0]}-00000.jsonl to write a card of")
    parts = ["\n".join(front_matter(list(found))), "# A corpus of verified tool-use conversations"]
    parts.append(INTRODUCTION)
    known = {
        split: figures(example for shard in shards for example in read(shard, Example))
        for split, shards in found.items()
    }
    foreign = sorted({n for f in known.values() for n in f["servers"]} - set(servers.names()))
    if foreign:
        parts.append(FOREIGN.format(names=", ".join(name or "an import" for name in foreign)))
    for split, figure in known.items():
        parts.append("\n".join(describe(split, figure)))
    parts.append("## From candidates to examples\n\n" + "\n".join(funnel_table(funnel)))
    parts.append(f"## Loading and checking\n{LOADING}")
    parts.append(f"## Making it again\n\n```\n{command(order)}\n```\n\n{AGAIN}")
    return "\n\n".join(part.strip() for part in parts) + "\n"


INTRODUCTION = f"""
Conversations between a user and an assistant with tools, made by ProveGym {__version__} on live
worlds that anybody can draw again from their seed. Each example has the user's turns, the right
calls with what depends on what, every other road that is as good, and what they change in the
world. Nothing in it was judged by a model: each example was run and proven.

Licence: Apache-2.0.
"""
AGAIN = f"The same command of version {__version__} gives the same bytes, however many workers."


def front_matter(splits: list[str]) -> Iterator[str]:
    """The YAML that tells `datasets` where the splits are and what the columns hold."""
    yield from ("---", "license: apache-2.0", "language:", "- en", "tags:")
    yield from ("- tool-use", "- function-calling", "- synthetic", "configs:")
    yield from ("- config_name: default", "  data_files:")
    for split in splits:
        yield from (f"  - split: {split}", f'    path: "{split}-*.jsonl"')
    yield from ("dataset_info:", "  config_name: default", "  features:")
    for name, kind in COLUMNS.items():
        yield from (f"  - name: {name}", f"    dtype: {kind}")
    yield "---"


def describe(split: str, known: Json) -> Iterator[str]:
    """The figures of a split, in tables; the goals are those of a training corpus."""
    yield from (f"## {split}: {known['examples']:,} examples", "")
    servers_shown = {name or "none": count for name, count in known["servers"].items()}
    yield from table(("kind", "examples"), known["kinds"].items())
    yield from table(("server", "examples"), servers_shown.items())
    yield from table(("user turns", "examples"), known["turns"].items())
    yield from table(("calls in a turn", "turns"), known["chains"].items())
    knobs = ((name, _percent(k["all"]), _percent(k["talks"])) for name, k in known["knobs"].items())
    yield from table(("knob", "of all", "of multi-turn and clarification"), knobs)
    for title, name in (("information", "levels"), ("persona", "personas")):
        yield from table((title, "share"), ((n, _percent(v)) for n, v in known[name].items()))
    if split == SPLITS[0] and set(known["servers"]) & set(servers.names()):
        yield from table(("figure", "value", "goal", "met"), map(_goal, known["goals"].items()))
    common = known["sequences"].items()
    rows = ((name, " → ".join(s["tools"]), _percent(s["share"])) for name, s in common)
    yield from table(("server", "commonest sequence of calls", "share"), rows)


def _goal(item: tuple[str, Json]) -> tuple[str, ...]:
    name, figure = item
    value = figure["value"]
    told = _percent(value) if "%" in figure["goal"] else f"{value:.3g}"
    whole = f" of {figure['of']:,}" if "of" in figure else ""
    return name, told + whole, figure["goal"], "yes" if figure["met"] else "**no**"


def funnel_table(funnel: Mapping[str, int]) -> Iterator[str]:
    """What became of the candidates: made, dropped by which filter, kept."""
    made = sum(funnel.values())
    dropped = sorted(((n, why) for why, n in funnel.items() if why != KEPT), reverse=True)
    rows = [("made", made, _percent(1.0))]
    rows += [(f"dropped: {why}", count, _percent(count / made)) for count, why in dropped]
    kept = funnel.get(KEPT, 0)
    rows.append((KEPT, kept, _percent(kept / made if made else 0.0)))
    return table(("candidates", "count", "share"), rows)


def command(order: Order) -> str:
    """The command that makes a corpus, from the options it was made with."""
    parts = ["provegym synth"]
    for field in fields(order):
        value = getattr(order, field.name)
        if field.name in NOT_ASKED or (field.default is not MISSING and value == field.default):
            continue
        if field.name == "servers" and (tuple(value) == servers.names() or not _ours(value)):
            continue
        flag = f"--{field.name.replace('_', '-')}"
        if isinstance(value, tuple | list):
            value = ",".join(map(str, value))
        parts.append(flag if value is True else f"{flag} {shlex.quote(str(value))}")
    return " ".join([*parts, "--out FOLDER"])


def _ours(names: Iterable[str]) -> bool:
    return set(names) <= set(servers.names())


def table(head: tuple[str, ...], rows: Any) -> Iterator[str]:
    """A Markdown table and a blank line; nothing where there are no rows."""
    lines = [f"| {' | '.join(map(str, row))} |" for row in rows]
    if lines:
        yield f"| {' | '.join(head)} |"
        yield f"|{'---|' * len(head)}"
        yield from (*lines, "")


def _percent(value: float) -> str:
    return f"{value:.1%}"
