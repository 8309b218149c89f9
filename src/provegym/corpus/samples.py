"""Reservoir sampling of a corpus, and its examples as conversations in Markdown."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from random import Random
from typing import NamedTuple

import msgspec

from provegym.corpus.transcript import Transcript, transcript
from provegym.trace import Example, Json, in_words

WIDTH = 110
SHOWN = 240
SPECIAL = re.compile(r"([\\`*<\[])")


class Drawn(NamedTuple):
    """Examples drawn from a corpus, in corpus order, and the size of the corpus."""

    examples: list[Example]
    total: int


def sample(examples: Iterable[Example], count: int, seed: int) -> Drawn:
    """Reservoir sampling: `count` random examples in one pass, with `count` in memory."""
    chance, total = Random(f"samples {seed}"), 0
    held: list[tuple[int, Example]] = []
    for total, example in enumerate(examples, 1):
        place = len(held) if total <= count else chance.randrange(total)
        if place < count:
            held[place : place + 1] = [(total, example)]
    held.sort(key=lambda each: each[0])
    return Drawn([example for _, example in held], total)


def tell(example: Example) -> Iterator[str]:
    """An example in Markdown, line by line: its facts, then its messages and calls.

    Calls of one message stand together.
    """
    yield from (f"## {example.id}", "", " · ".join(facts(example)), "")
    yield from (f"*{plain(example.system)}*", "")
    told = transcript(example)
    turns = iter(example.turns)
    calls: list[str] = []
    for at, message in enumerate(told.messages):
        if message["role"] == "user" and (minutes := next(turns).minutes):
            yield from (f"*{minutes} minutes later*", "")
        if message.get("tool_calls"):
            calls += ["", *called(told, at)] if calls else called(told, at)
        elif message["role"] in ("user", "assistant"):
            yield from ("```text", *calls, "```", "") if calls else ()
            calls = []
            yield from (f"**{message['role'].title()}:** {plain(message['content'])}", "")


def facts(example: Example) -> Iterator[str]:
    """Short facts about an example: kind, server, persona, knobs."""
    made = example.provenance
    yield in_words(example.kind)
    yield f"{example.server}, world {example.seed}" if example.server else "no server"
    if made.persona:
        yield f"persona {made.persona}"
    if made.why:
        yield f"why {made.why}"
    if made.levels:
        yield f"information {', '.join(made.levels)}"
    yield f"knobs {', '.join(example.knobs) or 'none'}"
    if hidden := example.toolbox.hidden:
        yield f"hidden {', '.join(f'`{tool}`' for tool in hidden)}"


def called(told: Transcript, at: int) -> Iterator[str]:
    """The calls of a message with their results. A call that fails on purpose is marked."""
    calls = told.messages[at]["tool_calls"]
    results = {m["tool_call_id"]: m["content"] for m in told.messages if m["role"] == "tool"}
    for call in calls:
        function = call["function"]
        mark = "" if told.learn[at] else "  (fails, and is not to be learnt)"
        yield from fold(f"{function['name']}({given(function['arguments'])}){mark}")
        first, *lines = shortened(results[call["id"]]).split("\n")
        yield from fold(f"→ {first}", "  ")
        for each in lines:
            yield from fold(each, " " * 4)


def given(arguments: str) -> str:
    """Arguments as in a call, name by name. Text that is not JSON stays as it is."""
    try:
        held: Json = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments
    return ", ".join(f"{name}: {spaced(msgspec.json.encode(v))}" for name, v in held.items())


def shortened(result: str) -> str:
    """A result, cut after SHOWN characters. Under an alias it may be a table, and stays one."""
    try:
        text = spaced(result.encode())
    except msgspec.DecodeError:
        text = result
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def spaced(text: bytes) -> str:
    """JSON on one line, with spaces at which it can be wrapped."""
    return msgspec.json.format(text, indent=0).decode()


def fold(text: str, first: str = "") -> list[str]:
    """Wrap a long line; the lines after the first are indented."""
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * 6)


def plain(text: str) -> str:
    """The text with Markdown's special characters escaped."""
    return SPECIAL.sub(r"\\\1", text)
