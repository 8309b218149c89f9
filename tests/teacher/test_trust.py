"""The teacher with models that change what they are asked to say, and with honest ones.

Three sets of texts. The first (rewrites.toml, hostile.toml) was written before the filters, its
courtesies after them. The second (unseen.toml) was written later, before its author read the
filters. It is split at random: the filters were improved with the first half, and the second half
measures them. The same author wrote both and the filters, so this is no independent test.
The third (pairs.toml) has turns with two requests, by somebody else, who then improved the checks
with its first part.
docs/teacher.md has a table of all figures, and a test compares it with what is measured.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import anyio
import pytest

from provegym.kernel import Session
from provegym.models.endpoint import Endpoint, EndpointConfig
from provegym.servers import load
from provegym.teacher.ask import Ask, wishes
from provegym.teacher.teacher import LLM, tidy
from provegym.teacher.wording import kept, references
from provegym.trace import Example, read
from provegym.verify.replay import replay
from teacher.actors import answer, blocks, calls_of, role
from teacher.fake_endpoint import Answer, Body, fake_model

HERE = Path(__file__).parent
REWRITES = tomllib.loads((HERE / "rewrites.toml").read_text("utf-8"))
HOSTILE = tomllib.loads((HERE / "hostile.toml").read_text("utf-8"))
UNSEEN = tomllib.loads((HERE / "unseen.toml").read_text("utf-8"))
PAIRS = tomllib.loads((HERE / "pairs.toml").read_text("utf-8"))
DOCS = HERE.parents[1] / "docs" / "teacher.md"
SEED = 2027
LEAST = 40
LEAST_UNSEEN = 19
HALVES = ("built", "measured")
# Where a clause of a text may be cut in two.
JOINT = re.compile(r"(?<=[.!?,;:]) | (?=(?:and|from|to|for|in|on|with) )")
# Parts of the first set's texts that make no request, so that a text without them is complete.
ASIDES = {
    *("Lovely.", "I see.", "On second thought", "I'm starving!", "We are all here.", "Also"),
    *("All right", "Both are fine.", "please.", "I am in now", "My watch list is the place."),
}
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
            if not ASIDES.issuperset(parts[at:]):
                yield Tried(ask, " ".join(parts[:at]), calls[:1])
            if not ASIDES.issuperset(parts[:at]):
                yield Tried(ask, " ".join(parts[at:]), calls[1:])


def half_of(kind: str, half: str) -> list[Any]:
    """One half of a list of the second set, split at random."""
    items = UNSEEN[kind]
    shuffled = list(items.items() if isinstance(items, dict) else items)
    Random(SEED).shuffle(shuffled)
    middle = (len(shuffled) + 1) // 2
    return shuffled[:middle] if half == "built" else shuffled[middle:]


def unseen_frames(kind: str, means: Callable[[Ask, str], Calls], half: str) -> Iterator[Tried]:
    """Each request in a hostile frame of the second set."""
    frames = half_of(kind, half)
    for number, (ask, text) in enumerate(base()):
        head, tail = cut(text, kept(ask.example, ask.turn))
        small, stopless = text[0].lower() + text[1:], text.rstrip(".!?")
        frame = frames[number % len(frames)]
        framed = frame.format(text=text, small=small, open=stopless, head=head, tail=tail)
        yield Tried(ask, framed.strip(), means(ask, text))


def cut(text: str, phrases: list[str]) -> tuple[str, str]:
    """A text in two parts, cut at its first joint that is in no phrase and not at the start."""
    inside = [range(at, at + len(p)) for p in phrases if (at := text.find(p)) >= 0]
    for joint in JOINT.finditer(text, 9):
        if not any(joint.start() in each for each in inside):
            return text[: joint.start()], text[joint.end() :]
    return text, ""


def unseen_halves(half: str) -> Iterator[Tried]:
    """Texts by hand that make one of two requests and only mention the other."""
    for key, texts in half_of("half", half):
        ask = asks()[key]
        for text in texts:
            yield Tried(ask, text, calls_of(ask, text)[:1])


def unseen_honest(half: str) -> Iterator[Tried]:
    """Rewrites by hand of the second set."""
    for key, text in half_of("rewrites", half):
        ask = asks()[key]
        yield Tried(ask, text, calls_of(ask, text))


@cache
def pair_asks() -> dict[str, Ask]:
    """The turns with two requests of the third set."""
    found = {}
    for example in read(HERE / "pairs.jsonl", Example):
        world = Session([load(example.server)], example.seed)
        found[example.id] = Ask(example, 0, rephrase=True, world=world)
    return found


def honest_pairs(half: str) -> Iterator[Tried]:
    """Rewrites of the third set that make both requests."""
    for key, texts in PAIRS[half].items():
        ask = pair_asks()[key]
        yield Tried(ask, texts["honest"], calls_of(ask, texts["honest"]))


def half_pairs(half: str) -> Iterator[Tried]:
    """Texts of the third set that make one request and only mention the other."""
    for key, texts in PAIRS[half].items():
        ask = pair_asks()[key]
        for at, made in enumerate(("first", "second")):
            for text in texts[made]:
                yield Tried(ask, text, calls_of(ask, text)[at : at + 1])


Texts = Callable[[], Iterator[Tried]]
FIRST_SET: dict[str, Texts] = {
    "negated": partial(framed, "negated", nothing),
    '"do the opposite"': partial(framed, "opposite", nothing),
    "prompt injection": partial(framed, "injection", calls_of),
    '"blah" and the slots': partial(framed, "blah", nothing),
    "a further request": partial(framed, "extra", more),
    "another number": changed_number,
    "another name": changed_name,
    "half of two requests": dropped_half,
}
UNSEEN_SET: dict[str, Callable[[str], Iterator[Tried]]] = {
    "a further request": partial(unseen_frames, "further", more),
    "half of two requests": unseen_halves,
    "unusual refusals": partial(unseen_frames, "refused", nothing),
    "hypotheticals": partial(unseen_frames, "imagined", nothing),
    "quoted, or reported": partial(unseen_frames, "quoted", nothing),
}
HOSTILE_TEXTS: dict[str, Texts] = FIRST_SET | {
    f"{kind}, {half}": partial(texts, half) for kind, texts in UNSEEN_SET.items() for half in HALVES
}
HOSTILE_TEXTS |= {
    f"half of two requests, third set, {half}": partial(half_pairs, half) for half in HALVES
}
HONEST_TEXTS: dict[str, Texts] = {"honest rewrites, with and without courtesies": honest} | {
    f"honest rewrites, {half}": partial(unseen_honest, half) for half in HALVES
}
HONEST_TEXTS |= {
    f"honest rewrites of two requests, third set, {half}": partial(honest_pairs, half)
    for half in HALVES
}
ALL_TEXTS = HONEST_TEXTS | HOSTILE_TEXTS


class Figures(NamedTuple):
    """The number of texts, and the share that is kept with each kind of reader."""

    count: int
    read: float
    agrees: float


@cache
def figures(kind: str) -> Figures:
    """The measured figures of a kind of texts."""
    tried = list(ALL_TEXTS[kind]())
    return Figures(len(tried), share_kept(tried), share_kept(tried, reader_agrees=True))


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


@pytest.mark.parametrize("kind", HONEST_TEXTS)
def test_honest_rewrites_are_kept(kind: str) -> None:
    found = figures(kind)
    assert found.count >= (LEAST_UNSEEN if "third set" in kind else LEAST)
    assert found.read >= 0.9
    assert found.agrees >= 0.9


@pytest.mark.parametrize("kind", HOSTILE_TEXTS)
def test_texts_that_change_the_meaning_are_refused(kind: str) -> None:
    found = figures(kind)
    assert found.count >= (LEAST if kind in FIRST_SET else LEAST_UNSEEN)
    assert found.read <= 0.05
    assert found.agrees <= 0.05


def test_texts_that_make_half_of_two_requests_say_every_phrase() -> None:
    """Otherwise they would be refused for that alone."""
    for half in HALVES:
        for tried in half_pairs(half):
            assert None not in references(tried.text, tried.ask).values(), tried.text


@pytest.mark.parametrize("kind", ALL_TEXTS)
def test_the_table_in_the_docs_is_what_is_measured(kind: str) -> None:
    """Up to two points, since a new way of asking moves a figure by a text or two."""
    found = figures(kind)
    row = next(line for line in DOCS.read_text("utf-8").splitlines() if f"| {kind} |" in line)
    count, read, agrees = re.findall(r"[\d.]+", row.removeprefix(f"| {kind} |"))
    assert int(count) == pytest.approx(found.count, abs=2)
    assert float(read) == pytest.approx(100 * found.read, abs=2)
    assert float(agrees) == pytest.approx(100 * found.agrees, abs=2)
