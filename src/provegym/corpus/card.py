"""The dataset card of a corpus: a README for people and for `datasets.load_dataset`."""

import shlex
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol

from provegym import __version__, servers
from provegym.corpus.exports import SPLITS
from provegym.corpus.figures import figures
from provegym.templates import fill
from provegym.trace import KINDS, BadFile, Example, read

# Nested columns have the type `json`, which `datasets` knows from version 4.7 on.
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


class AskedFor(Protocol):
    """A dataclass whose fields are the options of `provegym synth`."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


def card(folder: Path, funnel: Mapping[str, int], order: AskedFor) -> str:
    """The README of a corpus. `funnel` counts the candidates kept and dropped, by reason."""
    shards = {split: sorted(folder.glob(f"{split}-*.jsonl")) for split in SPLITS}
    known = {
        split: figures(example for shard in found for example in read(shard, Example))
        for split, found in shards.items()
        if found
    }
    if not known:
        raise BadFile(
            f"{folder} has no shard such as {SPLITS[0]}-00000.jsonl; name the folder of a corpus"
        )
    ours = set(servers.packaged())
    foreign = sorted({name for split in known.values() for name in split["servers"]} - ours)
    return fill(
        "corpus/card.md.jinja",
        version=__version__,
        columns=COLUMNS,
        splits=known,
        meanings=KINDS,
        ours=ours,
        foreign=[name or "an import" for name in foreign],
        made=sum(funnel.values()),
        dropped=sorted(((n, why) for why, n in funnel.items() if why != KEPT), reverse=True),
        kept=funnel.get(KEPT, 0),
        command=command(order),
    )


def command(order: AskedFor) -> str:
    """The command line that makes this corpus again."""
    parts = ["provegym synth"]
    for field in fields(order):
        value = getattr(order, field.name)
        if field.name in NOT_ASKED or (field.default is not MISSING and value == field.default):
            continue
        packaged = set(servers.packaged())
        if field.name == "servers" and (
            tuple(value) == servers.names() or not set(value) <= packaged
        ):
            continue
        flag = f"--{field.name.replace('_', '-')}"
        if isinstance(value, tuple | list):
            value = ",".join(map(str, value))
        parts.append(flag if value is True else f"{flag} {shlex.quote(str(value))}")
    return " ".join([*parts, "--out FOLDER"])
