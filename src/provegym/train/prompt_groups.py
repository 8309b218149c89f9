"""Transcripts that share a prompt: examples on one world, shown the same tools.

Most tokens of a transcript are its prompt: tools, and who the assistant acts for. Examples on one
world differ there in their tools alone. If they are shown the same, training reads them once for
several transcripts (`sft.share`).
"""

from collections.abc import Hashable, Iterable, Iterator
from math import ceil
from typing import NamedTuple

from provegym import servers
from provegym.toolbox import Toolbox, gold_tools
from provegym.trace import Example, Json


class PromptGroup(NamedTuple):
    """Examples that share a prompt."""

    examples: tuple[Example, ...]

    def tools(self) -> list[Json]:
        """The tools that all of them are shown: those of the first, and what the others need."""
        needed = {name for example in self.examples for name in _needed(example)}
        return Toolbox.of(self.examples[0], needed).openai()


def prompt_groups(examples: Iterable[Example], most: int) -> Iterator[PromptGroup]:
    """Groups of at most `most` examples, of even sizes, in the order of their first ones.

    The first example of a group says which distractors and enums all of it is shown. Its `limit`
    keeps the tools that any of them needs. Examples without a right call, under an alias or with
    hidden tools stay alone: their requests and texts belong to the tools that they were made with.
    """
    found: dict[Hashable, list[Example]] = {}
    for example in examples:
        found.setdefault(_world(example) if most > 1 else example.id, []).append(example)
    for of_one in found.values():
        parts = ceil(len(of_one) / most)
        for part in range(parts):
            yield PromptGroup(tuple(of_one[part::parts]))


def _world(example: Example) -> Hashable:
    """What examples have in common that can share a prompt: the world and how it is introduced."""
    own = example.server and servers.load(example.server).tools
    spec = example.toolbox
    if not own or not gold_tools(example) or spec.alias or spec.hidden:
        return example.id
    if not own.keys() >= _needed(example):
        return example.id
    return example.server, example.seed, example.digest, example.system, spec.limit


def _needed(example: Example) -> set[str]:
    """The tools of all reference calls and of the teacher's failed attempts."""
    return gold_tools(example) | {attempt.tool for attempt in example.provenance.attempts}
