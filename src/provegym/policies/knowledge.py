"""What an assistant can know at some point: what was said, and what calls returned."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from provegym.kernel import Session
from provegym.kernel.state import ENCODE
from provegym.trace import Json

Scalar = str | int | float | bool


def leaves(value: Any) -> Iterator[Scalar]:
    """The scalars of a JSON value."""
    if isinstance(value, dict):
        for part in value.values():
            yield from leaves(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from leaves(part)
    elif value is not None:
        yield value


def normal(value: Scalar) -> str:
    """A scalar as it is compared: text without case and outer blanks, numbers by value."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.10g}"
    return " ".join(value.casefold().split())


def is_said(value: Scalar, text: str) -> bool:
    """Whether a text contains a value as a whole word or phrase."""
    wanted = normal(value)
    if not wanted:
        return True
    if isinstance(value, str):
        return re.search(rf"(?<![\w.-]){re.escape(wanted)}(?![\w-]|\.\d)", normal(text)) is not None
    return any(normal(number) == wanted for number in numbers(text))


def numbers(text: str) -> Iterator[int | float]:
    """The numbers a text names, however they are written: 45.50, 1,250, 45-minute."""
    for number in re.findall(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w])", text):
        value = float(number.replace(",", ""))
        yield int(value) if value.is_integer() else value


class Knowledge:
    """Values known so far, by their normal form."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.text = "\n".join(texts)
        self.values: dict[str, Scalar] = {}

    def hear(self, text: str) -> None:
        """The user says something."""
        self.text = f"{self.text}\n{text}"

    def learn(self, result: str) -> None:
        """A call returns something."""
        for leaf in leaves(msgspec.json.decode(result)):
            self.values.setdefault(normal(leaf), leaf)

    def has(self, value: Any) -> bool:
        """Whether every scalar of a value was said or returned."""
        return all(
            normal(leaf) in self.values or is_said(leaf, self.text) for leaf in leaves(value)
        )

    def copy(self) -> "Knowledge":
        """The same knowledge, to go its own way."""
        twin = Knowledge([self.text])
        twin.values = dict(self.values)
        return twin


def spoken_values(session: Session, text: str) -> list[Scalar]:
    """The values of this world, and the numbers and dates, that a text names."""
    found: dict[str, Scalar] = {}
    folded = normal(text)
    for server in session.servers:
        state = session.state(server)
        for name in state.tables:
            for leaf in leaves(msgspec.json.decode(ENCODE(list(getattr(state, name))))):
                if (
                    isinstance(leaf, str)
                    and len(leaf) > 2
                    and normal(leaf) in folded
                    and is_said(leaf, text)
                ):
                    found.setdefault(normal(leaf), leaf)
    for number in numbers(text):
        found.setdefault(normal(number), number)
    for day in re.findall(r"\d{4}-\d\d-\d\d(?:T[\d:]+Z?)?", text):
        found.setdefault(normal(day), day)
    return list(found.values())


def literal(value: Any) -> Any:
    """A gold value with its literals in the place of references to earlier steps."""
    if isinstance(value, dict):
        if "$from" in value:
            return value["literal"]
        return {name: literal(part) for name, part in value.items()}
    return [literal(part) for part in value] if isinstance(value, list) else value


def literals(arguments: Json) -> Json:
    """Arguments with every reference replaced by its literal."""
    return {name: literal(value) for name, value in arguments.items()}
