"""Rewriter under other names: descriptions, and the error messages of tools."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from provegym.aliases.bijection import Renaming
from provegym.aliases.ids import Ids
from provegym.kernel.errors import quote, suggest
from provegym.kernel.schema import Json

NAME = re.compile(r"(?<![\w.~/-])[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+(?![\w/])")
STARTS = re.compile(r"\bids start with '(\w+)_'")
ONE_OF, EACH_OF, GOT = " must be one of ", "; each must be one of ", ", got "
# "open, in_review, done": values, if each is one.
LISTED = re.compile(r"(?<![\w.~/-])[a-z_]+(?:, [a-z_]+)+(?![\w/])")
ARGUMENT = re.compile(r"argument '([^']*)'(.*)", re.S)
FIELD = re.compile(r"\bfield '([^']*)'")


class Rewriter:
    """Rewrites sentences of a server in the words of an aliased view."""

    def __init__(
        self, names: Mapping[str, str], arguments: Renaming, enums: Renaming, ids: Ids
    ) -> None:
        self._names = dict(names)
        self._arguments = arguments
        self._enums = enums
        self._ids = ids
        prefixes = "|".join(ids.prefixes) or "(?!)"
        self._example = re.compile(rf"\b({prefixes})_[0-9]+\b")
        self._no_alias = re.compile(rf"no ([a-z ]+) '({prefixes})_[^']*'(?=;|\Z)")

    def say(self, text: str, given: str = "") -> str:
        """A sentence with other names for the tools, arguments, fields, enum values and ids in it.

        Only names with an underscore are names for sure, and lists of enum values. Any other is
        also a word, and stays. So does what is quoted from `given`, the JSON that the model wrote.
        """
        text = self._ids.show(self._named(LISTED.sub(self._values, text), given))
        return self._no_alias.sub(self._unlike, STARTS.sub(self._look_like, text))

    def describe(self, text: str) -> str:
        """A description in other names. Ids in it are examples, and may have leading zeros."""
        text = self._named(text)
        return self._example.sub(lambda found: self._ids.sample(found[1]), text)

    def _named(self, text: str, given: str = "") -> str:
        def other(found: re.Match[str]) -> str:
            name = found[0]
            is_quoted = text[found.start() - 1 : found.end() + 1] == f"'{name}'"
            if is_quoted and f'"{name}"' in given:
                return name
            return self._names.get(name, name)

        return NAME.sub(other, text)

    def _values(self, found: re.Match[str]) -> str:
        """A list of enum values in their other form; any other list stays."""
        values = found[0].split(", ")
        if not all(value in self._enums.shown for value in values):
            return found[0]
        return ", ".join(map(self._enums.show, values))

    def _look_like(self, found: re.Match[str]) -> str:
        if found[1] not in self._ids.prefixes:
            return found[0]
        return f"ids look like '{self._ids.sample(found[1])}'"

    def _unlike(self, found: re.Match[str]) -> str:
        """A text that begins like a plain id is told what ids look like, as any other is."""
        return f"{found[0]}: {found[1]} ids look like '{self._ids.sample(found[2])}'"

    def explain(self, message: str, given: Any, schema: Json) -> str:
        """The message of an invalid call, about the arguments as the model gave them.

        `schema` is the one shown. Messages of this kind come from the kernel alone, so their forms
        are known.
        """
        if not isinstance(given, dict):
            return self.say(message)
        shown = list(schema["properties"])
        if message.startswith("unknown argument "):
            unknown = next((name for name in given if name not in shown), "")
            return f"unknown argument {quote(unknown)}; {suggest(unknown, shown)}"
        if message.startswith("missing required argument"):
            missing = [repr(name) for name in schema["required"] if name not in given]
            return f"missing required argument{'s' * (len(missing) > 1)} {', '.join(missing)}"
        found = ARGUMENT.fullmatch(message)
        return self._explain_one(found[1], found[2], given) if found else self.say(message)

    def _explain_one(self, path: str, rest: str, given: Json) -> str:
        """What is wrong with one argument, at a path such as `files[0].name`."""
        place = re.sub(r"[A-Za-z_]\w*", lambda name: self._arguments.show(name[0]), path)
        value = quote(given.get(re.split(r"\W", place)[0]))
        if rest.startswith(ONE_OF):
            allowed = rest[len(ONE_OF) :].partition("; got ")[0]
            return f"argument {place!r}{ONE_OF}{self._choices(allowed)}; got {value}"
        what, cut, tail = rest.partition(GOT)
        what = FIELD.sub(lambda name: f"field '{self._arguments.show(name[1])}'", what)
        if not cut:
            return f"argument {place!r}{what}"
        _, each, allowed = tail.rpartition(EACH_OF)
        ending = f"{EACH_OF}{self._choices(allowed)}" if each else ""
        return f"argument {place!r}{what}{GOT}{value}{ending}"

    def _choices(self, listed: str) -> str:
        return ", ".join(self._enums.show(value) for value in listed.split(", "))


def legend(values: Sequence[Any], enums: Renaming) -> str:
    """What the codes of an enum mean, or nothing if each value tells it itself."""
    pairs = [(enums.shown[v], v) for v in values if enums.shown.get(v, v) != v]
    told = [f"{code} is {value.replace('_', ' ')}" for code, value in pairs if is_code(code)]
    return f"{', '.join(told)}." if told else ""


def is_code(alias: str) -> bool:
    """Whether the alias of an enum value has no meaning by itself."""
    return re.fullmatch(r"code_[0-9]+", alias) is not None
