"""Answers to what needs no tool: small talk, knowledge questions, and requests beyond any tool.

The answers stand beside the questions in smalltalk.toml. A persona may have changed a question's
words, so the question is found by fuzzy matching: the frame and topic with most words in common.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from importlib.resources import files
from random import Random
from typing import Any, NamedTuple

from provegym.language.spoken import sentence, to_you

SLOT = re.compile(r"\{(\w+)\}")
IGNORED = {"a", "an", "the", "please"}
ALIKE, SHORT = 0.75, 4
TOPIC, FRAME = 0.7, 0.55
NUMBERS = {"three": 3, "four": 4, "six": 6, "seven": 7, "eight": 8, "nine": 9, "eleven": 11}
NUMBERS |= {"twelve": 12, "twenty-one": 21, "thirty-six": 36, "forty-eight": 48, "sixty": 60}
NUMBERS |= {"fifty-three": 53, "seventy-two": 72, "eighty-four": 84, "ninety-seven": 97}
NUMBERS |= {"a hundred": 100}


class Asked(NamedTuple):
    """A question that was recognised: its table, its frame and the phrases in its slots."""

    table: str
    frame: str
    phrases: tuple[str, ...]


@cache
def tables() -> dict[str, Any]:
    """The questions and answers, by table: smalltalk, knowledge and beyond."""
    return tomllib.loads(files(__package__).joinpath("smalltalk.toml").read_text("utf-8"))


def answer(text: str, helps: str, chance: Random) -> str | None:
    """The answer to a question; `helps` says what the assistant can do. None if it is unknown."""
    asked = recognise(text)
    if asked is None:
        return None
    if asked.table == "knowledge":
        return sentence(_fact(asked))
    lists = tables()[asked.table]
    topic = to_you(asked.phrases[0])
    if asked.table == "beyond":
        return sentence(chance.choice(lists["answers"]).format(topic=topic, helps=helps))
    told = sentence(lists["answers"][asked.frame].format(topic=topic))
    return f"{told} {chance.choice(lists['closers']).format(helps=helps)}"


class HeardText:
    """The words of a text; remembers which words it contains."""

    def __init__(self, text: str) -> None:
        self.words = _words(text)
        self.known: dict[str, bool] = {}

    def has(self, word: str) -> bool:
        """Whether the text contains a word; typing errors are forgiven."""
        if word not in self.known:
            self.known[word] = any(_is_like(word, other) for other in self.words)
        return self.known[word]

    def share(self, words: Sequence[str]) -> float:
        """The share of words that the text contains, by letters."""
        letters = [len(word) for word in words]
        found = [count for word, count in zip(words, letters, strict=True) if self.has(word)]
        return sum(found) / max(sum(letters), 1)


def recognise(text: str) -> Asked | None:
    """The question that a text asks, whatever the persona made of it."""
    heard = HeardText(text)
    best, best_score = None, (FRAME, 0.0)
    for asked, words in _candidates(heard):
        share = heard.share(words)
        score = (share, share * len("".join(words)))
        if score > best_score:
            best, best_score = asked, score
    return best


def _candidates(heard: HeardText) -> Iterator[tuple[Asked, list[str]]]:
    """Every frame, with the best phrases for its slots, and all their words."""
    for table, lists in tables().items():
        found = {"topic": _closest(lists["topics"], heard)}
        for slot in ("country", "word", "few", "many"):
            found[slot] = _closest(lists.get(slot, ()), heard)
        for frame in lists["frames"]:
            named = SLOT.findall(frame)
            if all(len(found[slot]) >= named.count(slot) for slot in named):
                phrases = [found[slot][named[:at].count(slot)] for at, slot in enumerate(named)]
                words = [word for part in (SLOT.sub("", frame), *phrases) for word in _words(part)]
                yield Asked(table, frame, tuple(phrases)), words


def _closest(phrases: Sequence[str], heard: HeardText) -> list[str]:
    """The phrases that a text contains, those with most letters first; numbers by their place."""
    if phrases and phrases[0] in NUMBERS:
        return [each for word in heard.words for each in phrases if _is_like(each, word)]
    shares = {phrase: heard.share(_words(phrase)) for phrase in phrases}
    fitting = [phrase for phrase, share in shares.items() if share >= TOPIC]
    return sorted(fitting, key=lambda phrase: -shares[phrase] * len(phrase))


@lru_cache(maxsize=50_000)
def _is_like(one: str, two: str) -> bool:
    """Whether two words are the same but for a typing error; the first letter is always right."""
    if one[:1] != two[:1] or abs(len(one) - len(two)) > 1 or len(one) < SHORT:
        return one == two
    return SequenceMatcher(None, one, two).ratio() >= ALIKE


@lru_cache(maxsize=2_000)
def _words(text: str) -> tuple[str, ...]:
    text = re.sub(r"\b(?:a )?hundred\b", "a_hundred", text.casefold().replace("'", ""))
    words = re.findall(r"[a-z]+(?:[-_][a-z]+)*", text)
    return tuple(word.replace("_", " ") for word in words if word not in IGNORED)


def _fact(asked: Asked) -> str:
    """The answer to a knowledge question."""
    lists = tables()["knowledge"]
    first = asked.phrases[0]
    if "{topic}" in asked.frame:
        return str(lists["explains"][first])
    if first in NUMBERS:
        return _reckoned(asked.frame, asked.phrases, lists["answers"])
    facts: Mapping[str, str] = lists["facts"][first]
    return str(lists["answers"][asked.frame].format(name=first, **facts))


def _reckoned(frame: str, phrases: Sequence[str], answers: Mapping[str, str]) -> str:
    """The answer to a sum."""
    one = NUMBERS[phrases[0]]
    two = NUMBERS[phrases[-1]]
    half = f"{one // 2}" if one % 2 == 0 else f"{one / 2}"
    prime = "a prime number" if all(one % part for part in range(2, one)) else "not a prime number"
    return answers[frame].format(
        one=phrases[0],
        two=phrases[-1],
        product=one * two,
        sum=one + two,
        rest=two - one,
        half=half,
        prime=prime,
    )
