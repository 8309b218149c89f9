"""Checks of a text that a model wrote for a planned user turn: lost, added and repeated content."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from provegym import servers
from provegym.kernel import Session
from provegym.language.personas import capital
from provegym.language.values import Scalar, is_said, leaves, normal, numbers, spoken_values
from provegym.teacher import sense
from provegym.teacher.ask import Ask
from provegym.teacher.vocabulary import function_words, stem
from provegym.toolbox import Toolbox
from provegym.trace import Example, literal, literals

MOST_ADDED = 300
FEW_WORDS = 3
INTERNAL = re.compile(r"\b[a-z]+_\d+\b")
PLACEHOLDER = re.compile(r"\[[A-Za-z _']+\]|\{[A-Za-z _']+\}|<[A-Za-z _']+>")
ASSISTANT = re.compile(
    r"(sure|certainly|of course|okay|ok|absolutely|great)?\W*"
    r"(here(.s| is| are)\b|i(.ll| will| can) (help|assist|rewrite|rephrase)|as an ai\b"
    r"|i(.m| am) (an ai|a language model|your assistant)|how (can|may) i (help|assist))"
    r"|\W*((new|next|rephrased|rewritten) )?(user|assistant|person|message|text|output)\W*:",
    re.IGNORECASE,
)


class Objection(NamedTuple):
    """A problem of a text, and the part of the text that has it."""

    kind: str
    part: str = ""


def objections(text: str, ask: Ask) -> Iterator[Objection]:
    """The problems of a text for a user turn; none if it fits."""
    if not text:
        yield Objection("it says nothing")
        return
    if len(text) > MOST_ADDED + 3 * len(ask.plain):
        yield Objection("it is far too long")
    if "```" in text or _is_json(text):
        yield Objection("it is code or JSON, where the person's plain words are wanted")
    if ASSISTANT.match(text):
        yield Objection("it sounds like the assistant, or has a heading; only the person speaks")
    if not text.replace("\n", "").isprintable():
        yield Objection("it has characters that cannot be printed")
    said = references(text, ask)
    yield from _lost(said)
    yield from _added(text, said, ask)
    yield from _repeated(text, ask)
    phrases = [*said, *filter(None, said.values())]
    yield from (Objection(*found) for found in sense.complaints(text, phrases, ask))


def references(text: str, ask: Ask) -> dict[str, str | None]:
    """How a text says each phrase that must be kept; None if it does not.

    A thing may be called by another name that means it alone in this world.
    """
    found: dict[str, str | None] = {}
    for phrase in kept(ask.example, ask.turn):
        forms = [phrase, *ask.other_names(phrase)]
        found[phrase] = next((form for form in forms if holds(text, form)), None)
    return found


def holds(text: str, phrase: str) -> bool:
    """Whether a text has a phrase letter by letter, but for a small or capital first letter."""
    forms = [phrase, capital(phrase)]
    if stem(phrase.split()[0].casefold()) in function_words():
        forms.append(phrase[0].lower() + phrase[1:])
    return any(form in text for form in forms) and is_said(phrase, text)


def _is_json(text: str) -> bool:
    if text[0] not in '{["':
        return False
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _lost(said: Mapping[str, str | None]) -> Iterator[Objection]:
    for phrase, form in said.items():
        if form is None:
            yield Objection("it does not hold this, letter by letter", phrase)


def _added(text: str, said: Mapping[str, str | None], ask: Ask) -> Iterator[Objection]:
    """Content that the plan does not have: tools, ids, numbers, names, gaps, the missing value."""
    plain = " ".join([ask.plain, *filter(None, said.values())])
    for name in Toolbox.of(ask.example).tools:
        # A tool name that is a plain word ("search") may be said.
        if not (name.isalpha() and name.islower()) and is_said(name, text):
            yield Objection("it names a tool, which the person does not know", name)
    for mark in {*INTERNAL.findall(text)} - {*INTERNAL.findall(plain)}:
        yield Objection("it holds an internal code", mark)
    for number in {*numbers(text)} - {*numbers(plain)}:
        yield Objection("it adds a number", f"{number}")
    for name in names(ask.example, text):
        if not is_said(name, plain):
            yield Objection("it adds a name", name)
    for gap in {*PLACEHOLDER.findall(text)} - {*PLACEHOLDER.findall(plain)}:
        yield Objection("it leaves a gap to fill", gap)
    for value in withheld(ask):
        if is_said(value, text):
            yield Objection("it says what the person leaves open in this message", f"{value}")


def _repeated(text: str, ask: Ask) -> Iterator[Objection]:
    if normal(text) in map(normal, ask.said):
        yield Objection("the person has said exactly this before")
    rest = ask.plain
    for phrase in kept(ask.example, ask.turn):
        rest = rest.replace(phrase, "")
    if normal(text) == normal(ask.plain) and len(rest.split()) > FEW_WORDS:
        yield Objection("it is the given wording, not other words")


def kept(example: Example, turn: int) -> list[str]:
    """The phrases of a turn that must be kept letter by letter.

    They are the slots of the plan. A plan without slots keeps the values of the reference calls,
    the words that other values are derived from, the world's names and every word with a digit.
    """
    slots = example.provenance.slots
    if slots:
        return list(slots[turn]) if turn < len(slots) else []
    text = example.turns[turn].text
    steps = [step for path in example.paths for step in path.steps]
    gold = (leaf for step in steps for leaf in leaves(literals(step.arguments)))
    told = (*gold, *example.provenance.derived.values())
    values = [leaf for leaf in told if isinstance(leaf, str) and is_said(leaf, text)]
    values += names(example, text)
    found = [re.search(re.escape(value), text, re.IGNORECASE) for value in values]
    phrases = [match[0] for match in found if match]
    phrases += [word.strip(".,;:!?()\"'") for word in text.split() if re.search(r"\d", word)]
    return [p for p in dict.fromkeys(phrases) if not any(p != q and p in q for q in phrases)]


def withheld(ask: Ask) -> list[Scalar]:
    """The values that a turn must not say, because the next turn gives them as the answer."""
    if ask.asks is None or ask.turn + 1 == len(ask.example.turns):
        return []
    steps = [step for step in ask.example.paths[0].steps if step.turn == ask.turn + 1]
    values = [
        leaf
        for step in steps
        for leaf in leaves(literal(step.arguments.get(ask.asks)))
        if not isinstance(leaf, bool)
    ]
    later = ask._replace(turn=ask.turn + 1)
    phrases = kept(ask.example, later.turn)
    names = [name for phrase in phrases for name in later.other_names(phrase)]
    answer: list[Scalar] = [*phrases, *names, *values]
    return [value for value in dict.fromkeys(answer) if not is_said(value, ask.plain)]


def names(example: Example, text: str) -> list[str]:
    """The proper names of an example's world in a text."""
    if not example.server:
        return []
    found = spoken_values(Session([servers.load(example.server)], example.seed), text)
    return [v for v in found if isinstance(v, str) and v in text and v != v.lower()]
