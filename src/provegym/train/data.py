"""The examples of a run: read or made, chosen, and shown as the recipe says."""

from pathlib import Path

import msgspec
from rich.progress import Progress

from provegym.synth.corpus import Corpus, Order
from provegym.synth.export import shards
from provegym.toolbox import Toolbox
from provegym.trace import BadFile, Example, read
from provegym.train.codec import Codec
from provegym.train.recipe import Data


def load(data: Data, folder: Path, bar: Progress, workers: int = 2) -> list[Example]:
    """The training examples of a corpus, which is made in `folder` where the recipe names none."""
    source = Path(data.corpus) if data.corpus else folder
    if not data.corpus:
        order = Order(data.size, data.seed, folder, data.servers, workers, split=data.split)
        Corpus(order).make(bar)
    found = (example for path in shards(source, "train") for example in read(path, Example))
    chosen = [show(example, data.limit) for example in found if is_wanted(example, data)]
    if not chosen:
        raise BadFile(f"{source} has no example of the servers and kinds that [data] names")
    return chosen[: data.most]


def is_wanted(example: Example, data: Data) -> bool:
    """Whether a recipe's servers and kinds have room for an example."""
    return (not data.servers or example.server in data.servers) and (
        not data.kinds or example.kind in data.kinds
    )


def show(example: Example, limit: int | None) -> Example:
    """The example with so many tools shown; those that serve it and distractors always are.

    Attempts that a teacher made in vain go where their tool is no longer shown.
    """
    if limit is None:
        return example
    spec = msgspec.structs.replace(example.toolbox, limit=limit)
    shorter = msgspec.structs.replace(example, toolbox=spec)
    if attempts := example.provenance.get("attempts"):
        shown = Toolbox.of(shorter).tools
        kept = [attempt for attempt in attempts if attempt["tool"] in shown]
        provenance = {**example.provenance, "attempts": kept}
        shorter = msgspec.structs.replace(shorter, provenance=provenance)
    return shorter


def prompt(example: Example, codec: Codec) -> list[int]:
    """The tokens that a rollout of an example starts from."""
    tools = Toolbox.of(example).openai()
    return codec.open(example.system, example.turns[0].text, tools)
