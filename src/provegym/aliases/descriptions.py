"""Descriptions of tools and arguments: full, terse, wordy, or left out where the name tells."""

import re

from provegym.kernel import Tool
from provegym.kernel.schema import Json

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|;\s+")
EXAMPLE = re.compile(r",? e\.g\.[^;]*?(?=\.?$|;)|\([^)]*\)")
FEW_WORDS = 9
SMALL = {"id", "ids", "the", "a", "of", "to", "in", "on", "and"}


def tool_description(tool: Tool, style: str) -> str:
    """What a tool does, in a style."""
    text = tool.description
    if style == "wordy":
        effect = (
            "Calling it changes the stored data, so call it only when that is wanted."
            if tool.writes
            else "Calling it only reads, and it may be called at any time."
        )
        return f"This tool does the following. {text} {effect}"
    if style == "none" and _tells(tool.name, text):
        return ""
    return text if style == "full" else _first(text)


def argument_description(name: str, schema: Json, style: str, *, required: bool) -> str:
    """What an argument means, in a style."""
    text: str = schema.get("description", "")
    if not text or style == "full":
        return text
    if style == "wordy":
        need = "It must be given." if required else "It may be left out."
        return f"{text} {need}"
    if style == "none" and _tells(name, text) and len(text.split()) <= FEW_WORDS:
        return ""
    return _first(EXAMPLE.sub("", text).strip())


def _first(text: str) -> str:
    """The first sentence or clause of a text, with a full stop."""
    first = SENTENCE_END.split(text)[0].rstrip(" .;,")
    return f"{first}."


def _tells(name: str, text: str) -> bool:
    """Whether a name says what its description says: the text has each of its words."""
    said = {_stem(word) for word in re.findall(r"[a-z]+", text.casefold())}
    return {_stem(word) for word in name.split("_") if word not in SMALL} <= said


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > 3 else word
