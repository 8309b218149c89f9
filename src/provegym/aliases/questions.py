"""Questions to the user: who asks for an argument by its alias asks for the plain one.

Users speak in words, so most words of a reply stay as they are. Only a sentence that asks gets the
plain names of the arguments that it names by their alias, in brackets at its end.
"""

import re
from collections.abc import Mapping

ASKS = re.compile(
    r"\?|\b(?:let me know|tell me|send me|i(?:'ll| will)? (?:just |only |still |also )*need"
    r"|(?:please|kindly) (?:provide|specify|give|confirm|choose|share|send|enter|state|name))\b",
    re.I,
)
SENTENCE = re.compile(r"(?<=[.!?\n])")
END = ".!? \n"
WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
IDS = ("id", "ids")


class Questions:
    """Reads the questions of a model that knows arguments by these names."""

    def __init__(self, shown: Mapping[str, str]) -> None:
        self._plain: dict[str, str] = {}
        phrases = []
        for name, alias in shown.items():
            own, other = _words(name, name), _words(name, alias)
            if other and other != own:
                self._plain["".join(other)] = " ".join(own)
                phrases.append("[ _-]?".join(other))
        any_of = "|".join(sorted(phrases, key=len, reverse=True)) or "(?!)"
        self._pattern = re.compile(rf"\b({any_of})s?\b", re.I)

    def read(self, text: str) -> str:
        """The text, in which each question also has the plain names of what it asks for."""
        parts = SENTENCE.split(text)
        return "".join(self._told(part) if ASKS.search(part) else part for part in parts)

    def _told(self, sentence: str) -> str:
        found = [re.sub("[ _-]", "", each).casefold() for each in self._pattern.findall(sentence)]
        if not found:
            return sentence
        names = ", ".join(dict.fromkeys(self._plain[each] for each in found))
        body = sentence.rstrip(END)
        return f"{body} ({names}){sentence[len(body) :]}"


def _words(name: str, alias: str) -> list[str]:
    """The words of an alias; nobody says the last one of an id."""
    words = [word.casefold() for word in WORDS.findall(alias)]
    return words[:-1] if name.split("_")[-1] in IDS else words
