"""One-to-one renaming of strings: every string has one other name, and the way back finds it.

A string that already looks like somebody else's other name would be mistaken for it. It is marked
with a tilde, once more in each direction that could mistake it, so that nothing is ever mixed up.
"""

from collections.abc import Callable, Mapping

MARK = "~"


class Renaming:
    """A bijection on all strings, given by plain names and their aliases."""

    __slots__ = ("plain", "shown")

    def __init__(self, pairs: Mapping[str, str]) -> None:
        self.shown = dict(pairs)
        self.plain = {alias: name for name, alias in self.shown.items()}
        if len(self.plain) != len(self.shown):
            raise ValueError("two names have the same alias")

    def show(self, text: str) -> str:
        """The alias of a plain string."""
        found = self.shown.get(text)
        return found if found is not None else marked(text, self.shown.get, self.plain.get)

    def read(self, text: str) -> str:
        """The plain string of an alias."""
        found = self.plain.get(text)
        return found if found is not None else marked(text, self.plain.get, self.shown.get)


Find = Callable[[str], str | None]


def marked(text: str, out: Find, back: Find) -> str:
    """A string that has no other name, with a mark more or less if it looks like one that has.

    `out` finds the other name of a string, `back` tells whether a string is such a name.
    """
    base = text.lstrip(MARK)
    leaves, arrives = out(base) is not None, back(base) is not None
    if leaves == arrives:
        return text
    if arrives:
        return MARK + text
    return text[1:] if text != base else text
