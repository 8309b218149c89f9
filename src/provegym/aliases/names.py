"""Other names for tools, arguments and fields: other words, another order, another case."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from keyword import iskeyword
from random import Random

from provegym.aliases.lexicon import lexicon
from provegym.trace import Alias

MAX_NAME = 64
TRIES = 4
LONG, SHORT = 5, 2
VOWELS = "aeiou"
Tries = Callable[[str], Iterator[str]]


def tool_names(tools: Iterable[tuple[str, str]], alias: Alias) -> dict[str, str]:
    """The alias of each tool, given with its server: all differ, and none is a plain name."""
    known = dict(tools)
    if alias.tools == "opaque":
        return _numbered(known, f"tools {alias.seed}", "tool_{:02d}")

    def tries(name: str) -> Iterator[str]:
        for attempt in range(TRIES):
            yield _tool(name, known[name], alias, attempt)
        yield f"{known[name].partition('_')[0]}_{name}"

    return _distinct(known, tries, keep=False)


def argument_names(names: Iterable[str], fields: Mapping[str, str], alias: Alias) -> dict[str, str]:
    """The alias of each argument: that of the field of the same name, or one without a meaning."""
    if alias.names == "opaque":
        return _numbered(names, f"arguments {alias.seed}", "p{}")
    return {name: fields[name] for name in names}


def field_names(names: Iterable[str], alias: Alias) -> dict[str, str]:
    """The alias of each field of a result. It is never opaque: results have no descriptions."""
    case = _snake if alias.names == "snake_case" else _pascal if alias.names == "Pascal" else _camel

    def tries(name: str) -> Iterator[str]:
        for attempt in range(TRIES):
            yield case(_said(name, alias, attempt))

    return _distinct(names, tries)


def enum_values(values: Iterable[str], alias: Alias) -> dict[str, str]:
    """The alias of each value of an enum."""
    if alias.enums == "codes":
        return _numbered(values, f"enums {alias.seed}", "code_{:02d}")
    if alias.enums == "upper":
        return {value: value.upper() for value in sorted(values)}
    if alias.enums == "camelCase":
        return {value: _camel(value.split("_")) for value in sorted(values)}
    return {value: value for value in sorted(values)}


def _tool(name: str, server: str, alias: Alias, attempt: int) -> str:
    verb, *rest = _said(name, alias, attempt, is_tool=True)
    if alias.tools == "verb_noun":
        return _snake([verb, *rest])
    if alias.tools == "camelCase":
        return _camel([verb, *rest])
    if alias.tools == "nounVerb":
        return _camel([*rest, verb])
    place = "".join(word[:1] for word in server.split("_")) if "_" in server else server
    return ".".join(part for part in (place, _snake(rest), verb) if part)


def _said(name: str, alias: Alias, attempt: int, *, is_tool: bool = False) -> list[str]:
    """The words of a name in another vocabulary; a later attempt takes other synonyms.

    The first word of a tool is a verb, any other word a noun.
    """
    words = [word for word in name.split("_") if word]
    if alias.words == "synonyms":
        said = [_synonym(word, "nouns", alias.seed, attempt) for word in words]
        if is_tool:
            said[0] = _synonym(words[0], "verbs", alias.seed, attempt)
        return [part for each in said for part in each.split("_")]
    if alias.words == "abbreviations":
        return [_short(word, LONG if not attempt else SHORT) for word in words]
    return words


def _synonym(word: str, sort: str, seed: int, attempt: int) -> str:
    known: list[str] = lexicon()[sort].get(word, [])
    if not known:
        return word
    first = Random(f"{sort} {seed} {word}").randrange(len(known))
    return known[(first + attempt) % len(known)]


def _short(word: str, most: int) -> str:
    """An abbreviation: from the lexicon, or a word of more letters without its inner vowels."""
    found: str | None = lexicon()["short"].get(word)
    if found is not None or len(word) <= most:
        return found or word
    return word[0] + "".join(letter for letter in word[1:] if letter not in VOWELS)


def _snake(words: Sequence[str]) -> str:
    return "_".join(words)


def _camel(words: Sequence[str]) -> str:
    return words[0] + "".join(word.capitalize() for word in words[1:])


def _pascal(words: Sequence[str]) -> str:
    return "".join(word.capitalize() for word in words)


def _numbered(names: Iterable[str], key: str, form: str) -> dict[str, str]:
    """Names without a meaning, in an order drawn from a key."""
    order = sorted(names)
    Random(key).shuffle(order)
    return {name: form.format(at) for at, name in enumerate(order, 1)}


def _distinct(names: Iterable[str], tries: Tries, *, keep: bool = True) -> dict[str, str]:
    """The first alias that no other name has or is; a number is added if every one is taken.

    A name may `keep` itself as its alias, where its style does not change it.
    """
    order = sorted(names)
    plain, found, used = set(order), dict[str, str](), set[str]()
    for name in order:
        numbered = (f"{next(tries(name))}{number}" for number in count(2))
        free = (
            each
            for each in chain(tries(name), numbered)
            if each not in used and len(each) <= MAX_NAME and not iskeyword(each)
            if each not in plain or (keep and each == name)
        )
        found[name] = next(free)
        used.add(found[name])
    return found
