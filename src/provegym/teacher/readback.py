"""Back-translation: a model reads a text back into calls, which must be those of the plan.

The reader sees the tools, the conversation so far and the text, and not the plan. It does not see
ids either, so it gives a thing by the words that the user says for it.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import Any, NamedTuple

import msgspec

from provegym.language.things import noun_of
from provegym.language.values import is_said, normal
from provegym.rewards.equality import equal
from provegym.teacher.ask import Ask, Wish, wishes
from provegym.toolbox import Toolbox
from provegym.trace import Json, Reply

UNREADABLE = "the model did not read it back as a list of calls"
OTHER_CALLS = "read back, it asks for something else"
OTHER_VALUES = "read back, it gives other values"
MOST_CALLS = 5
ARTICLES = ("the ", "my ", "our ", "a ", "an ", "that ", "this ")


class ReadCall(NamedTuple):
    """A call that the reader found in a text."""

    tool: str
    arguments: Json


def parse(reply: Reply) -> list[ReadCall] | None:
    """The calls of a reader's answer, a JSON list or tool calls; None if it is neither."""
    try:
        if reply.calls:
            return [
                ReadCall(c.name, _object(msgspec.json.decode(c.arguments))) for c in reply.calls
            ]
        start, end = reply.text.find("["), reply.text.rfind("]")
        items = msgspec.json.decode(reply.text[start : end + 1] if start >= 0 else "")
        return [_call(item) for item in items]
    except (msgspec.DecodeError, RecursionError, TypeError):
        return None


def _call(item: Any) -> ReadCall:
    told = _object(item)
    name = told.get("tool", told.get("name"))
    if not isinstance(name, str):
        raise TypeError
    return ReadCall(name, _object(told.get("arguments", {})))


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise TypeError
    return value


def disagreement(calls: Sequence[ReadCall], text: str, ask: Ask) -> str:
    """How the calls that were read in a text differ from the plan's; empty if they agree."""
    found = OTHER_CALLS
    for path in range(len(ask.example.paths)):
        wanted = wishes(ask, path)
        if len(wanted) != len(calls) or len(calls) > MOST_CALLS:
            continue
        for order in permutations(calls):
            pairs = list(zip(wanted, order, strict=True))
            if all(_serves(call, wish, text, ask) for wish, call in pairs):
                return ""
            if all(call.tool in wish.tools for wish, call in pairs):
                found = OTHER_VALUES
    return found


def _serves(call: ReadCall, wish: Wish, text: str, ask: Ask) -> bool:
    given = _without_defaults(call, ask)
    for other in wish.alternatives:
        if call.tool == other.tool and equal(other.arguments, given):
            return True
    if call.tool not in wish.tools or wish.missing in given:
        return False
    if wish.arguments is None:
        return all(is_said(value, text) for value in given.values() if isinstance(value, str | int))
    return given.keys() == wish.arguments.keys() and all(
        _agrees(value, given[name], wish.derived.get(name, ""), text, ask)
        for name, value in wish.arguments.items()
    )


def _without_defaults(call: ReadCall, ask: Ask) -> Json:
    """The arguments without null and without defaults that are written out."""
    schema = Toolbox.of(ask.example).schemas.get(call.tool, {})
    defaults = {n: part.get("default") for n, part in schema.get("properties", {}).items()}
    return {
        name: value
        for name, value in call.arguments.items()
        if value is not None and not equal(defaults.get(name), value)
    }


def _agrees(gold: Any, given: Any, derived: str, text: str, ask: Ask) -> bool:
    """Whether a value that was read is the plan's: equal, its words, or a name of its thing."""
    if isinstance(given, str) and derived and bare(given) == bare(derived):
        return True
    if isinstance(gold, list):
        return (
            isinstance(given, list)
            and len(given) == len(gold)
            and all(any(_agrees(part, each, "", text, ask) for each in given) for part in gold)
        )
    if isinstance(gold, dict):
        return (
            isinstance(given, dict)
            and given.keys() == gold.keys()
            and all(_agrees(part, given[name], "", text, ask) for name, part in gold.items())
        )
    if equal(gold, given):
        return True
    if not isinstance(given, str | int | float):
        return False
    return bare(gold) == bare(given) or (isinstance(gold, str) and _names(given, gold, text, ask))


def _names(given: Any, key: str, text: str, ask: Ask) -> bool:
    """Whether a phrase of the user stands for a thing: by its name, or by words like "it".

    Words that are part of another thing's name, and not of this one's, stand for that other thing.
    """
    things, owner = ask.survey.things, ask.survey.owners.get(key)
    thing = things.get(key) or owner
    said, own = bare(given), [bare(name) for name in thing.names] if thing else []
    if said in own:
        return True
    if thing is None and not noun_of(ask.survey.server, key):
        return False
    others = [bare(name) for each in things.values() if each != thing for name in each.names]
    is_others = any(is_said(said, name) for name in others)
    is_own = any(is_said(said, name) for name in own)
    return (is_own or not is_others) and is_said(str(given), "\n".join((*ask.said, text)))


def bare(value: Any) -> str:
    """A value in small letters, without an article and without punctuation at its ends."""
    words = normal(value).strip(" .,;:!?\"'“”")
    article = next((each for each in ARTICLES if words.startswith(each)), "")
    return words.removeprefix(article)
