"""Personas: rewrites a user's turn in one of several styles; also short answers and small talk.

Some phrases must not change. Before a persona rewrites a text, each such phrase and each quotation
is replaced by one private-use Unicode character; afterwards they are put back.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

Rule = Callable[[str, str, Random], str]

PERSONAS: dict[str, Rule] = {}
KEPT, ENDED = 0xE000, 0xF000
DEPTH = 3
# How often plain and chatty people turn an imperative or a question into a request.
LED = 0.5
# An answer is closed less often than a request, and only with thanks.
ANSWERED = 0.5
THANKS = re.compile(r"(?i)\b(?:thank|cheers|ta\b|much (?:appreciated|obliged))")
# An article that can be dropped. Before these words it cannot: "a few" does not mean "few".
ARTICLE = r"\b(?:[Tt]he|[Aa]n?) (?!day|week|month|year|hour|few|little|lot|bit|time|\d)"


def persona(rule: Rule) -> Rule:
    """Decorator: registers a persona under the name of its function."""
    PERSONAS[rule.__name__] = rule
    return rule


def styled(
    text: str, persona: str, kept: Sequence[str], chance: Random, place: str = "first"
) -> str:
    """Rewrite a turn in a persona's style; kept phrases and quotations stay unchanged.

    `place` is "first", "later", or "anyway" after a turn in which nothing was done.
    """
    masked, hidden = _mask(text, kept)
    return _unmask(_rule(persona)(masked, place, chance), hidden)


def answer(phrase: str, kind: str, persona: str, chance: Random) -> str:
    """A persona's answer to a question; `kind` is a list of [answers]."""
    frames = _lists("personas")["answers"][kind]
    if (
        persona == "formal" and phrase[:1].islower() and kind != "choice"
    ):  # a full sentence starts with a capital
        frames = [frame for frame in frames if not frame.startswith("{phrase}")]
    text = chance.choice(frames).replace("{phrase}", phrase)
    text = re.sub(r'([.!?]")\.$', r"\1", text)
    masked, hidden = _mask(text, [phrase])
    return _unmask(_rule(persona)(masked, "answer", chance), hidden)


def expand(template: str, lists: Mapping[str, list[str]], chance: Random) -> str:
    """Fill each {slot} of a template from the list of its name; list entries may hold slots too."""
    text = template
    for _ in range(DEPTH):
        text = re.sub(r"\{(\w+)\}", lambda slot: _drawn(slot[1], template, lists, chance), text)
    if re.search(r"\{\w+\}", text):
        raise ValueError(f"{template!r} has slots within slots deeper than {DEPTH}: {text!r}")
    return re.sub(r"\ba (?=[aeio]|um)", "an ", text)


def draw(table: str, chance: Random) -> str:
    """A request that no tool serves: "smalltalk", a "knowledge" question, or one "beyond" them."""
    lists = _lists("smalltalk")[table]
    return expand(chance.choice(lists["frames"]), {**lists, "topic": lists["topics"]}, chance)


@cache
def words() -> dict[str, list[str]]:
    """Word lists for invented values: people, towns, colours, animals, things, months, weekdays."""
    people = tomllib.loads(files("provegym.servers").joinpath("people.toml").read_text("utf-8"))
    return {**_lists("words"), **people, "person": ["{given} {family}"]}


@persona
def plain(text: str, place: str, chance: Random) -> str:
    """The text itself, or as a request, with a short opener and closer."""
    text = _requested(text, "plain", chance, LED if place != "answer" else 0)
    return _framed(text, "plain", place, chance, opens=0.5, closes=0.35)


@persona
def terse(text: str, place: str, chance: Random) -> str:
    """No courtesy, few articles, often neither capitals nor a full stop."""
    for pattern, rest in _lists("personas")["terse"]["cuts"]:
        text = _pattern(pattern).sub(rest, text)
    if chance.random() < 0.4:
        text = re.sub(ARTICLE, lambda found: "" if chance.random() < 0.7 else found[0], text)
    text = _framed(text, "terse", place, chance, opens=0.45, closes=0.0)
    if chance.random() < 0.75:
        text = text.removesuffix(".")
    elif text.endswith("?") and chance.random() < 0.5:
        text = text.removesuffix("?")
    return text.lower() if chance.random() < 0.7 else capital(text)


@persona
def chatty(text: str, place: str, chance: Random) -> str:
    """Small talk around the request, and exclamation marks."""
    text = _requested(text, "chatty", chance, LED if place != "answer" else 0)
    if text.endswith(".") and chance.random() < 0.3:
        text = f"{text[:-1]}!"
    return _framed(text, "chatty", place, chance, opens=0.75, closes=0.6)


@persona
def formal(text: str, place: str, chance: Random) -> str:
    """Full sentences, no contractions, mostly requests instead of imperatives."""
    for short, full in _lists("personas")["formal"]["contractions"]:
        text = _pattern(rf"\b{short}\b").sub(full, text)
    text = _requested(text, "formal", chance, 0.75 if place != "answer" else 0)
    return _framed(text, "formal", place, chance, opens=0.6, closes=0.5)


@persona
def typos(text: str, place: str, chance: Random) -> str:
    """Plain, with one to three typing errors."""
    text = plain(text, place, chance)
    count = chance.randint(1, 3)
    found = list(re.finditer(r"(?<![^\s(])(?:[A-Za-z]{5,}|[A-Za-z]+'[a-z]+)(?![^\s.,;:?!)])", text))
    for word in sorted(chance.sample(found, min(count, len(found))), key=lambda one: -one.start()):
        text = f"{text[: word.start()]}{_slip(word[0], chance)}{text[word.end() :]}"
    if not found or chance.random() < 0.4:
        text = text.lower().removesuffix(".")
    return text


@persona
def non_native(text: str, place: str, chance: Random) -> str:
    """Missing articles and small errors in verbs and word order; the meaning stays clear."""
    if place != "answer" and is_order(text) and chance.random() < 0.5:
        text = f"Please {_small(_unpleading(_order(text)))}"
    else:
        for pattern, slip in _lists("personas")["non_native"]["slips"]:
            if chance.random() < 0.7:
                text = _pattern(pattern).sub(slip, text, count=1)
    text = re.sub(ARTICLE, lambda found: "" if chance.random() < 0.8 else found[0], text)
    text = re.sub(r"(?<=[.!?] )[a-z]", lambda found: found[0].upper(), text)
    return _framed(capital(text), "non_native", place, chance, opens=0.55, closes=0.4)


def _rule(name: str) -> Rule:
    if name not in PERSONAS:
        raise ValueError(f"no persona {name!r}; choose one of {', '.join(PERSONAS)}")
    return PERSONAS[name]


# The patterns of the lists. The cache of `re` is too small for them and the patterns of phrases.
_pattern = cache(re.compile)


@cache
def _lists(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))


def _drawn(slot: str, template: str, lists: Mapping[str, list[str]], chance: Random) -> str:
    if slot not in lists:
        raise ValueError(f"no list to fill {{{slot}}} of {template!r}; there are {sorted(lists)}")
    return chance.choice(lists[slot])


def _mask(text: str, kept: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Replace each kept phrase and quotation by one character; return the text and a table."""
    hidden: dict[str, str] = {}

    def hide(found: re.Match[str]) -> str:
        base = ENDED if re.search(r'[.!?]"$', found[0]) else KEPT
        hidden[chr(base + len(hidden))] = found[0]
        return chr(base + len(hidden) - 1)

    longest = sorted(filter(None, kept), key=len, reverse=True)
    patterns = [*(_whole(phrase, text) for phrase in longest), '"[^"]*"']
    return re.sub("|".join(patterns), hide, text), hidden


def _whole(phrase: str, text: str) -> str:
    """A pattern for a phrase: quoted or as whole words, else also inside other words."""
    words = re.escape(phrase)
    if f'"{phrase}"' in text or _has_words(text, phrase):
        return rf'"{words}"|(?<!\w){words}(?!\w)'
    return words


def _has_words(text: str, phrase: str) -> bool:
    """Whether a text has a phrase as whole words. To compile a pattern for this takes longer."""
    at = text.find(phrase)
    while at >= 0:
        end = at + len(phrase)
        if not (_is_in_word(text[at - 1 : at]) or _is_in_word(text[end : end + 1])):
            return True
        at = text.find(phrase, at + 1)
    return False


def _is_in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _unmask(text: str, hidden: Mapping[str, str]) -> str:
    return re.sub("[\ue000-\uf8ff]", lambda found: hidden[found[0]], text)


def _requested(text: str, name: str, chance: Random, share: float) -> str:
    """Put a persona's lead before an imperative or a question; a statement stays as it is.

    An imperative follows a lead such as "I need you to" or, if it is short, "Could you". A question
    becomes an indirect one after a lead such as "Can you tell me" if its word order is known.
    """
    if chance.random() >= share:
        return text
    lists = _lists("personas")[name]
    if is_order(text):
        order = _small(_unpleading(_order(text)))
        is_short = re.fullmatch(r"[^.,;:!]*\.", order) is not None
        if is_short and chance.random() < 0.5:
            return f"{_fitting(lists['asks'], order, chance)} {order[:-1]}?"
        return f"{_fitting(lists['leads'], order, chance)} {order}"
    clause = _indirect(text)
    if clause is None:
        return text
    lead = _fitting(lists["questions"], clause, chance)
    return f"{lead[:-1]} {clause}{lead[-1]}"


def _indirect(text: str) -> str | None:
    """A direct question as a subordinate clause: "Is it open?" becomes "whether it is open"."""
    for pattern, clause in _lists("personas")["indirect"]["rules"]:
        if found := _pattern(pattern).fullmatch(text):
            words = found.expand(clause)
            return words[0].lower() + words[1:]
    return None


def _framed(
    text: str, name: str, place: str, chance: Random, *, opens: float, closes: float
) -> str:
    """Add a persona's opener and closer, each with its probability."""
    lists = _lists("personas")[name]
    if chance.random() < opens:
        opener = _fitting(lists[place], text, chance)
        text = f"{opener} {capital(text) if opener[-1] in '.!?' else _small(text)}"
    closers = [c for c in lists["closers"] if place != "answer" or THANKS.search(c)]
    if closers and chance.random() < closes * (ANSWERED if place == "answer" else 1):
        text = _closed(text, _fitting(closers, text, chance))
    return text


def _fitting(phrases: Sequence[str], text: str, chance: Random) -> str:
    """A random phrase that does not clash with a text, or any phrase if all of them clash."""
    drawn = chance.sample(phrases, len(phrases))
    return next((phrase for phrase in drawn if not _clash(phrase, text)), drawn[0])


def _clash(phrase: str, text: str) -> bool:
    """Whether a phrase matches one pattern of a pair of [clashes], and the text the other one."""
    return any(
        (_pattern(one).search(phrase) and _pattern(other).search(text))
        or (_pattern(other).search(phrase) and _pattern(one).search(text))
        for one, other in _lists("personas")["clashes"]["pairs"]
    )


def _closed(text: str, closer: str) -> str:
    if closer.startswith(","):
        if text.endswith(".") and not text.endswith("please."):
            return f"{text[:-1]}{closer}"
        closer = capital(closer[2:])
    if text[-1].isalnum() or KEPT <= ord(text[-1]) < ENDED:
        text = f"{text}."
    return f"{text} {closer}"


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def is_order(text: str) -> bool:
    """Whether a text starts with a verb in the imperative."""
    first = re.match(r"[A-Za-z]+(?= )", _order(text))
    if first is None or "?" in text:
        return False
    return first[0].lower() in _lists("personas")["orders"]["verbs"]


def _small(text: str) -> str:
    """The text with its first letter in lower case, except for "I" and abbreviations."""
    return text if re.match(r"I\b|[A-Z]{2}", text) else text[:1].lower() + text[1:]


def _unpleading(text: str) -> str:
    """A text without ", please" at the end of its clauses."""
    return re.sub(r",? please(?=[.,;:!])", "", text)


def _order(text: str) -> str:
    return capital(text.removeprefix("Please "))


def _slip(word: str, chance: Random) -> str:
    """A word with one typing error; the first letter stays right."""
    if "'" in word:
        return word.replace("'", "")
    at = chance.randrange(1, len(word) - 1)
    here, there = word[at], word[at + 1]
    if here == there:
        return word[:at] + word[at + 1 :]
    slips = [there + here, here + here + there]
    if len(word) > 5:  # without one letter, a short word is often another word
        slips.append(there)
    return word[:at] + chance.choice(slips) + word[at + 2 :]
