"""Training data: reads or makes a corpus, filters it, and limits the tools that are shown."""

import os
from collections.abc import Callable, Sequence
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from rich.progress import Progress

from provegym import servers
from provegym.corpus.corpus import Corpus
from provegym.corpus.exports import shards
from provegym.corpus.order import Order
from provegym.corpus.split import HELD_OUT
from provegym.pool_watch import PoolWatch
from provegym.toolbox import Toolbox
from provegym.trace import BadFile, Example, read
from provegym.train.recipe import Data

CHUNK = 16
A = TypeVar("A")
B = TypeVar("B")


def load(data: Data, folder: Path, bar: Progress, workers: int = 2) -> list[Example]:
    """The training examples of a corpus. If the recipe names none, it is made in `folder`."""
    source = Path(data.corpus) if data.corpus else folder
    if not data.corpus:
        order = Order(data.size, data.seed, folder, data.servers, workers, split=data.split)
        Corpus(order).make(bar)
    found = (example for path in shards(source, "train") for example in read(path, Example))
    if data.split:
        found = (kept for example in found if (kept := keep_out(example)) is not None)
    chosen = [show(example, data.limit) for example in found if is_wanted(example, data)]
    if not chosen:
        raise BadFile(f"{source} has no example of the servers and kinds that [data] names")
    return chosen[: data.most]


def is_wanted(example: Example, data: Data) -> bool:
    """Whether an example has one of the recipe's servers and kinds."""
    return (not data.servers or example.server in data.servers) and (
        not data.kinds or example.kind in data.kinds
    )


def keep_out(example: Example) -> Example | None:
    """The example without distractors from held-out servers; None if it is about such a server.

    For a request that no tool serves, the provenance names the server that it is about.
    """
    if {example.server, example.provenance.elsewhere} & set(HELD_OUT):
        return None
    apart = {tool for name in HELD_OUT for tool in servers.load(name).tools}
    kept = tuple(tool for tool in example.toolbox.distractors if tool not in apart)
    return msgspec.structs.replace(
        example, toolbox=msgspec.structs.replace(example.toolbox, distractors=kept)
    )


def spread(work: Callable[[A], B], items: Sequence[A]) -> list[B]:
    """A parallel map over forked processes; a plain map if there are few items.

    Forked processes inherit the function and the items, so neither is pickled.
    """
    workers = min(os.cpu_count() or 1, len(items) // CHUNK)
    if workers < 2 or "fork" not in get_all_start_methods():
        return [work(item) for item in items]
    with get_context("fork").Pool(workers, _JOB.extend, [(work, items)]) as pool:
        found = PoolWatch(pool).get(pool.map_async(_do, range(len(items)), CHUNK))
        # Workers that are terminated instead handle SIGTERM as this process does: as Ctrl-C, with
        # a traceback.
        pool.close()
        pool.join()
        return found


_JOB: list[Any] = []


def _do(at: int) -> Any:
    """Apply the function to one item, in a forked process."""
    work, items = _JOB
    return work(items[at])


def show(example: Example, limit: int | None) -> Example:
    """The example with at most `limit` tools shown; needed tools and distractors always are.

    A teacher's failed attempt is removed if its tool is no longer shown.
    """
    if limit is None:
        return example
    spec = msgspec.structs.replace(example.toolbox, limit=limit)
    shorter = msgspec.structs.replace(example, toolbox=spec)
    if attempts := example.provenance.attempts:
        shown = Toolbox.of(shorter).tools
        kept = tuple(attempt for attempt in attempts if attempt.tool in shown)
        provenance = msgspec.structs.replace(example.provenance, attempts=kept)
        shorter = msgspec.structs.replace(shorter, provenance=provenance)
    return shorter
