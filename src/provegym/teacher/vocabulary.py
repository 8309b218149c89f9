"""The content words of a request, as stems: words that tell its tool from most other tools.

They come from the tool's name, description, schema and asks.toml templates. A word that many
tools share ("please", "today") is not a content word.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from provegym import servers
from provegym.kernel import AnyServer

SHORTEST = 3
LONGEST = 6
SUFFIXES = ("ation", "ment", "ing", "ion", "ed", "er", "al", "ly", "e", "y")
PLACES = ("first", "later", "answer", "closers")
LISTS = ("personas", "smalltalk", "replies", "words")


@cache
def lists() -> dict[str, list[str]]:
    """The word lists of the offline checks (sense.toml)."""
    return tomllib.loads(files(__package__).joinpath("sense.toml").read_text("utf-8"))


def words(text: str) -> list[str]:
    """The words of a text in small letters, without numbers."""
    return re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", straight(text).casefold())


def straight(text: str) -> str:
    """A text with plain apostrophes."""
    return text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def stem(word: str) -> str:
    """A word without its ending: "transfers", "transferred" and "transfer" have one stem."""
    word = word.removesuffix("'s")
    if word.endswith(("ies", "ied")) and len(word) > SHORTEST + 1:
        word = word[:-3] + "y"
    if word.endswith("s") and not word.endswith("ss") and len(word) > SHORTEST:
        word = word[:-1]
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) > SHORTEST:
            word = word.removesuffix(suffix)
            break
    if len(word) > SHORTEST and word[-1] == word[-2]:
        word = word[:-1]
    return word[:LONGEST]


def stems(text: str) -> set[str]:
    """The stems of a text's words, without words that say nothing about a request."""
    return {stem(word) for word in words(text) if len(word) >= SHORTEST} - function_words()


@cache
def function_words() -> frozenset[str]:
    """The stems of "the", "with", "could" and the like."""
    return frozenset(map(stem, lists()["function"]))


@cache
def order_verbs() -> frozenset[str]:
    """The verbs that an imperative begins with, from personas.toml."""
    return frozenset(_table("personas")["orders"]["verbs"])


@cache
def courtesies() -> frozenset[str]:
    """The stems of the courtesies and asides that personas put before and after a request."""
    personas = _table("personas").values()
    framing = [each for persona in personas for place in PLACES for each in persona.get(place, ())]
    return frozenset(stems(" ".join(framing)))


def content_words(server: AnyServer, tool: str) -> frozenset[str]:
    """The content words of a tool."""
    if server.foreign:
        return frozenset(_said_of(server, tool))
    return _content_words(server.name, tool)


@cache
def _content_words(server: str, tool: str) -> frozenset[str]:
    return frozenset(_said_of(servers.load(server), tool))


def spoken_words(server: AnyServer, tool: str) -> set[str]:
    """The stems of a tool's name and of the ways to ask for it, without its description."""
    table = servers.asks(server.name)
    own = [table.get("asks", {}).get(tool, ()), table.get("short", {}).get(tool, {})]
    own += [value for name, value in table.get("say", {}).items() if name.startswith(f"{tool}.")]
    text = " ".join([tool.replace("_", " "), *texts(own)])
    return stems(re.sub(r"\{\w+\}", " ", text))


def _said_of(server: AnyServer, tool: str) -> set[str]:
    """All stems in what is written about a tool."""
    shown = server.tools[tool]
    own = [shown.description]
    for name, part in shown.input_schema["properties"].items():
        own += [name.replace("_", " "), part.get("description", ""), part.get("enum", ())]
    return spoken_words(server, tool) | stems(" ".join(texts(own)))


@cache
def english() -> frozenset[str]:
    """Every stem in the project's own texts for people and models: a small English vocabulary."""
    tables = [*map(_table, LISTS)]
    tables += [servers.asks(server.name) for server in servers.load_all()]
    known = stems(" ".join(texts(tables)))
    for server in servers.load_all():
        known |= {each for tool in server.tools for each in _said_of(server, tool)}
    return frozenset(known) | function_words()


@cache
def _table(name: str) -> dict[str, Any]:
    """A word list of the language package."""
    text = files("provegym.language").joinpath(f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


def texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from texts([*value.keys(), *value.values()])
    elif isinstance(value, Iterable):
        for part in value:
            yield from texts(part)
