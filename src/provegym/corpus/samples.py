"""Some examples of a corpus, drawn at random and told as conversations, for people to read."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from random import Random
from typing import NamedTuple

import msgspec

from provegym.corpus.transcript import Transcript, transcript
from provegym.trace import Example, Json

WIDTH = 110
SHOWN = 240
SPECIAL = re.compile(r"([\\`*<\[])")


class Drawn(NamedTuple):
    """Examples drawn from a corpus, in its order, and how many it has in all."""

    examples: list[Example]
    total: int


def sample(examples: Iterable[Example], count: int, seed: int) -> Drawn:
    """So many examples, each as likely as any other; no more than these are held at a time."""
    chance, total = Random(f"samples {seed}"), 0
    held: list[tuple[int, Example]] = []
    for total, example in enumerate(examples, 1):
        place = len(held) if total <= count else chance.randrange(total)
        if place < count:
            held[place : place + 1] = [(total, example)]
    held.sort(key=lambda each: each[0])
    return Drawn([example for _, example in held], total)


def tell(example: Example) -> Iterator[str]:
    """An example in Markdown, line by line: what it is, then what is said and called.

    Calls that go out together stand together.
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
    """What an example is, in a few words each."""
    made = example.provenance
    yield example.kind
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
    """The calls of a message with what they came to; what fails on purpose is marked."""
    calls = told.messages[at]["tool_calls"]
    results = {m["tool_call_id"]: m["content"] for m in told.messages if m["role"] == "tool"}
    for call in calls:
        function = call["function"]
        mark = "" if told.learn[at] else "  (fails, and is not to be learnt)"
        yield from fold(f"{function['name']}({given(function['arguments'])}){mark}")
        yield from fold(f"→ {shortened(results[call['id']])}", "  ")


def given(arguments: str) -> str:
    """Arguments as in a call, name by name; those that a model garbled as they are."""
    try:
        held: Json = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return arguments
    return ", ".join(f"{name}: {spaced(msgspec.json.encode(v))}" for name, v in held.items())


def shortened(result: str) -> str:
    """A result, or its beginning."""
    text = spaced(result.encode())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def spaced(text: bytes) -> str:
    """JSON on one line, with blanks at which it can be folded."""
    return msgspec.json.format(text, indent=0).decode()


def fold(text: str, first: str = "") -> list[str]:
    """A long line as several, further in after the first."""
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent=" " * 6)


def plain(text: str) -> str:
    """Words that Markdown shows as they are."""
    return SPECIAL.sub(r"\\\1", text)
