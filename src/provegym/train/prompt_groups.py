"""Transcripts that share a prompt: examples on one world, shown the same tools.

Most tokens of a transcript are its prompt: tools, and who the assistant acts for. Examples on one
world differ there in their tools alone. If they are shown the same, training reads them once for
several transcripts (`sft.share`).
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from provegym import servers
from provegym.toolbox import Toolbox, gold_tools, needed_tools
from provegym.trace import Example, Json

# So many examples of a world are compared at a time, so that the time grows with their number.
NEAR = 256


class PromptGroup(NamedTuple):
    """Examples that share a prompt."""

    examples: tuple[Example, ...]

    def tools(self) -> list[Json]:
        """The tools that all of them are shown: those of the first, and what the others need."""
        also = {name for example in self.examples[1:] for name in _called(example)}
        if also:
            also |= _called(self.examples[0])
        return Toolbox.of(self.examples[0], also).openai()


class _Member(NamedTuple):
    """An example, and the tools that it cannot do without."""

    example: Example
    called: set[str]


def prompt_groups(examples: Iterable[Example], most: int) -> Iterator[PromptGroup]:
    """Groups of at most `most` examples, in the order of their first ones.

    The first example of a group says which distractors and enums all of it is shown. Those that
    need the fewest further tools join it, as long as the `limit` of tools allows. Examples without
    a right call, under an alias or with hidden tools stay alone: their requests and texts belong to
    the tools that they were made with.
    """
    if most == 1:
        yield from (PromptGroup((example,)) for example in examples)
        return
    found: dict[Hashable, list[_Member]] = {}
    for example in examples:
        member = _Member(example, _called(example))
        found.setdefault(_place(member), []).append(member)
    for left in found.values():
        while left:
            yield PromptGroup(tuple(_gather(left, most)))


def _gather(left: list[_Member], most: int) -> Iterator[Example]:
    """Take the first of some examples, and others that fit to it."""
    first, called = left.pop(0)
    yield first
    limit, distractors = first.toolbox.limit, len(first.toolbox.distractors)
    for _ in range(most - 1):
        if not left:
            return
        further = [len(member.called - called) for member in left[:NEAR]]
        fewest = min(further)
        if limit is not None and fewest and len(called) + fewest + distractors > limit:
            return
        chosen = left.pop(further.index(fewest))
        called = called | chosen.called
        yield chosen.example


def _place(member: _Member) -> Hashable:
    """What examples that share a prompt have in common: the world and how it is introduced."""
    example, spec = member.example, member.example.toolbox
    if not servers.is_known(example.server) or not gold_tools(example) or spec.alias or spec.hidden:
        return example.id
    if not servers.load(example.server).tools.keys() >= member.called:
        return example.id
    return example.server, example.seed, example.digest, example.system, spec.limit


def _called(example: Example) -> set[str]:
    """The tools that a transcript calls, or may call."""
    told = example.provenance.transcript
    calls = (call for message in told for call in message.get("tool_calls") or ())
    attempts = {attempt.tool for attempt in example.provenance.attempts}
    return needed_tools(example) | attempts | {call["function"]["name"] for call in calls}
