"""The teacher with models that change what they are asked to say, and with honest ones.

The rewrites and the hostile frames were written before the filters, the courtesies after them.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from provegym.models.endpoint import Endpoint, EndpointConfig
from provegym.servers import load
from provegym.teacher.ask import Ask, wishes
from provegym.teacher.teacher import LLM, tidy
from provegym.teacher.wording import kept
from provegym.trace import Example, read
from provegym.verify.replay import replay
from teacher.actors import answer, blocks, calls_of, role
from teacher.fake_endpoint import Answer, Body, fake_model

HERE = Path(__file__).parent
REWRITES = tomllib.loads((HERE / "rewrites.toml").read_text("utf-8"))
HOSTILE = tomllib.loads((HERE / "hostile.toml").read_text("utf-8"))
LEAST = 40
Calls = list[dict[str, Any]]


class Tried(NamedTuple):
    """A text for a turn, and the calls that somebody would read in it."""

    ask: Ask
    text: str
    means: Calls


@cache
def asks() -> dict[str, Ask]:
    """Every turn of the examples made by hand, as a request for its text."""
    found = {}
    for example in read(HERE.parent / "data", Example):
        worlds = replay(example, example.paths[0]).worlds
        for turn in range(len(example.turns)):
            said = tuple(each.text for each in example.turns[:turn])
            found[f"{example.id}#{turn}"] = Ask(example, turn, said, True, (), worlds[turn])
    return found


def honest() -> Iterator[Tried]:
    """Rewrites by hand, as they are and with courtesies."""
    frames = REWRITES["courtesies"]
    for number, (key, text) in enumerate(REWRITES["rewrites"].items()):
        ask = asks()[key]
        polite = frames[number % len(frames)].format(text=text)
        for each in (text, polite):
            yield Tried(ask, each, calls_of(ask, each))


def base() -> Iterator[tuple[Ask, str]]:
    """Each request in a rewrite by hand if there is one, else in its planned words."""
    for key, ask in asks().items():
        if not ask.is_answer and wishes(ask):
            yield ask, REWRITES["rewrites"].get(key, ask.plain)


def framed(mode: str, means: Callable[[Ask, str], Calls]) -> Iterator[Tried]:
    """Texts in the hostile frames of a mode."""
    for number, (ask, text) in enumerate(base()):
        frame = HOSTILE[mode][number % len(HOSTILE[mode])]
        slots = " ".join(kept(ask.example, ask.turn))
        yield Tried(ask, frame.format(text=text, slots=slots), means(ask, text))


def nothing(ask: Ask, text: str) -> Calls:
    """What somebody reads in a refusal: no call."""
    return []


def more(ask: Ask, text: str) -> Calls:
    """The calls of the plan and another one."""
    return [*calls_of(ask, text), {"tool": next(iter(load(ask.example.server).tools))}]


def changed_number() -> Iterator[Tried]:
    """One number is larger than planned."""
    for ask, text in base():
        if found := re.search(r"(?<![\w.:-])\d+(?![\w.:-])", text):
            other = str(int(found[0]) * 3 + 1)
            changed = text[: found.start()] + other + text[found.end() :]
            calls = json.dumps(calls_of(ask, text)).replace(found[0], other)
            yield Tried(ask, changed, json.loads(calls))


def changed_name() -> Iterator[Tried]:
    """One name is another of the same world, of the same kind where there is one."""
    for ask, text in base():
        names = [p for p in kept(ask.example, ask.turn) if p in text and p[0].isupper()]
        things = ask.survey.things.values()
        others = [t.names[0] for t in things if t.names[0][0].isupper() and t.names[0] not in text]
        if names and others:
            means = calls_of(ask, text)
            other = others[len(text) % len(others)]
            for call in means:
                call["arguments"] = dict.fromkeys(call["arguments"], other)
            yield Tried(ask, text.replace(names[0], other), means)


def dropped_half() -> Iterator[Tried]:
    """One of two requests is left out."""
    for ask, text in base():
        calls = calls_of(ask, text)
        if len(calls) < 2:
            continue
        parts = re.split(r"(?<=[.!?]) |, and |; and | and |, ", text)
        for at in range(1, len(parts)):
            yield Tried(ask, " ".join(parts[:at]), calls[:1])
            yield Tried(ask, " ".join(parts[at:]), calls[1:])


MODES: dict[str, Callable[[], Iterator[Tried]]] = {
    "negated": partial(framed, "negated", nothing),
    "opposite": partial(framed, "opposite", nothing),
    "injection": partial(framed, "injection", calls_of),
    "blah": partial(framed, "blah", nothing),
    "extra": partial(framed, "extra", more),
    "number": changed_number,
    "name": changed_name,
    "dropped": dropped_half,
}
OFFLINE = ("negated", "opposite", "injection", "blah", "number", "name")


def share_kept(tried: list[Tried], *, reader_agrees: bool = False) -> float:
    """The share of texts that a teacher keeps whose model writes exactly these.

    The reader finds what a text means, or claims that every text means the plan.
    """
    now: list[Tried] = []

    def model(body: Body) -> Answer:
        if role(body) == "writer":
            return now[0].text
        assert blocks(body)[-1] == tidy(now[0].text)
        return answer(calls_of(now[0].ask, now[0].text) if reader_agrees else now[0].means)

    async def count(url: str) -> int:
        teacher = LLM(Endpoint(EndpointConfig(url=url, model="fake")), tries=1)
        kept = 0
        for each in tried:
            now[:] = [each]
            kept += await teacher.words(each.ask) is not None
        await teacher.endpoint.aclose()
        return kept

    with fake_model(model) as server:
        return anyio.run(count, server.url) / len(tried)


def test_honest_rewrites_are_kept() -> None:
    tried = list(honest())
    assert len(tried) >= LEAST
    assert share_kept(tried) >= 0.9


@pytest.mark.parametrize("mode", MODES)
def test_texts_that_change_the_meaning_are_refused(mode: str) -> None:
    tried = list(MODES[mode]())
    assert len(tried) >= LEAST
    assert share_kept(tried) <= 0.05


@pytest.mark.parametrize("mode", OFFLINE)
def test_a_reader_that_agrees_with_everything_is_not_needed_against(mode: str) -> None:
    assert share_kept(list(MODES[mode]()), reader_agrees=True) <= 0.05
