"""Joins several requests into one user turn: with linking words, each sentence with a capital."""

import re
from collections.abc import Sequence
from random import Random

from provegym.language.personas import capital, is_order
from provegym.language.phrasing import Said

AND_THEN = ("Then", "After that,", "Also,", "And", "Next,", "And then", "And please")
AND_TELLS = ("Also,", "And", "Another thing:")
AND_ASKS = ("Also,", "And", "One more thing:", "And another question:")


def join(said: Sequence[Said], chance: Random) -> str:
    """Several requests in one turn: "Freeze my card. After that, list my accounts."."""
    text = said[0].text
    for each in said[1:]:
        if each.again:
            text = f"{text} {each.text}"
            continue
        more = _after_a_word(each)
        text = f"{text} {chance.choice(_links(more, each.text))} {more}"
    return text


def _links(more: str, text: str) -> Sequence[str]:
    """The linking words before a question, an order or a statement."""
    if more.endswith("?"):
        return AND_ASKS
    return AND_THEN if is_order(text) else AND_TELLS


def _after_a_word(said: Said) -> str:
    """A request in lower case after a linking word, except for "I", quotations and names."""
    first = said.text.split()[0]
    keeps = first.startswith(("I'", '"')) or first == "I" or said.text.startswith(said.slots)
    return said.text if keeps else said.text[0].lower() + said.text[1:]


def sentences(text: str, slots: Sequence[str]) -> tuple[str, list[str]]:
    """Begin each sentence with a capital, also if a slot begins it; return text and slots."""
    said = []
    for slot in slots:
        if not (text.startswith(slot) or any(f"{end} {slot}" in text for end in ".!?")):
            said.append(slot)
            continue
        large = capital(slot)
        said.append(large)
        text = large.join(re.split(rf"(?:(?<=^)|(?<=[.!?] )){re.escape(slot)}", text))
    return capital(text), said
