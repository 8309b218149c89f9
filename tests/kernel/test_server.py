"""What a server may declare; everything else fails when it is imported."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pytest
from msgspec import Meta, Struct

from kernel.shelf import Answer, Shelf
from provegym.kernel import Amount, Bug, Label, Record, Server, Session, State, Time, table


class Loose(Struct):
    """A struct that can be changed."""

    x: int


class Unbounded(Struct, frozen=True):
    """A nested argument with an open end."""

    word: Annotated[str, Meta(description="A word.")]


@dataclass
class Plain:
    """A dataclass that can be changed."""

    x: int


class Keyed(TypedDict):
    """A dict by another name."""

    x: int


class Pair(NamedTuple):
    """A tuple with a list in it."""

    x: list[int]


def declare(
    argument: Any = Label, returns: Any = Answer, name: str = "look", doc: str | None = None
) -> Server[Shelf]:
    """A server with one read tool of this shape."""

    def tool(shelf: Shelf, /, word: Any) -> Any:
        return Answer(repr(word))

    tool.__name__ = name
    tool.__doc__ = "Look it up.\n\nArgs:\n    word: What to look up." if doc is None else doc
    tool.__annotations__ = {"shelf": Shelf, "word": argument, "return": returns}
    server = Server("one", Shelf, category="test", about="One tool.")
    server.seed(lambda seed: Shelf(seed))
    server.read(tool)
    return server


def answer(argument: Any, value: Any) -> str:
    """What a tool with such an argument gets to see of a value."""
    outcome = Session([declare(argument)]).call("look", {"word": value})
    return str(outcome.value.get("text", outcome.error))


@pytest.mark.parametrize(
    "argument",
    [
        *(int, float, Decimal, Annotated[int, Meta(ge=0)], Annotated[float, Meta(lt=5)]),
        *(list[str], Annotated[list[int], Meta(max_length=3)], int | None, Unbounded),
        *(
            dict[str, str],
            set[str],
            tuple[str, ...],
            bytes,
            Any,
            Annotated[list[dict[str, int]], Meta(max_length=2)],
        ),
    ],
    ids=str,
)
def test_an_argument_without_bounds_is_refused(argument: Any) -> None:
    with pytest.raises(TypeError):
        declare(argument)


@pytest.mark.parametrize(
    "argument",
    [str, bool, date, Time, Label, Amount, Literal["a", "b"], str | None, Literal[1, 2] | None],
    ids=str,
)
def test_these_arguments_are_fine(argument: Any) -> None:
    assert declare(argument).tools["look"].input_schema["required"] == ["word"]


def test_a_time_must_carry_a_zone() -> None:
    with pytest.raises(TypeError):
        declare(datetime)


def test_money_and_times_within_lists_arrive_as_they_do_outside() -> None:
    prices = Annotated[list[Amount], Meta(max_length=3)]
    times = Annotated[list[Time], Meta(max_length=3)]
    assert answer(prices, [1.5]) == "[Decimal('1.50')]"
    assert answer(prices, [0.001]) == "invalid_argument"
    assert "timezone.utc" in answer(times, ["2027-01-01T12:00:00+05:00"])


@pytest.mark.parametrize(
    "returns", [None, int, str, dict, list, list[int], list[str], dict[str, int]], ids=str
)
def test_a_tool_returns_a_struct_or_a_list_of_structs(returns: Any) -> None:
    with pytest.raises(TypeError, match="must return a struct or a list of structs"):
        declare(returns=returns)


@pytest.mark.parametrize("name", ["Look", "_look", "look-up", "1st", "é", "x" * 65, ""])
def test_a_tool_name_is_plain(name: str) -> None:
    with pytest.raises(TypeError, match="is not a valid tool name"):
        declare(name=name)


def test_a_tool_name_is_taken_once() -> None:
    server = declare()
    with pytest.raises(TypeError, match="or is already taken"):
        server.read(server.tools["look"].function)


@pytest.mark.parametrize(
    "doc",
    [
        "",
        "Look it up.",
        "Look it up.\n\nArgs:\n    word:",
        "Look it up.\n\nArgs:\n    word: What.\n    other: Not there.",
        "Look it up.\n\nArgs:\n    world: Misspelt.",
    ],
)
def test_every_argument_is_described_and_no_other(doc: str) -> None:
    with pytest.raises(TypeError):
        declare(doc=doc)


@pytest.mark.parametrize(
    "kind",
    [
        *(list[int], dict[str, int], set[int], frozenset[str], bytearray, Any, Loose, Plain),
        *(Keyed, Pair, tuple[list[int], ...], int | list[int], tuple[int, dict[str, int]]),
    ],
    ids=str,
)
def test_a_record_that_could_be_changed_or_has_no_order_is_refused(kind: Any) -> None:
    with pytest.raises(TypeError):
        state_with(kind)


@pytest.mark.parametrize(
    "kind",
    [str, int, Decimal, datetime, date, tuple[str, ...], Answer, Literal["a"], str | None],
    ids=str,
)
def test_a_record_of_scalars_tuples_and_frozen_structs_is_fine(kind: Any) -> None:
    assert state_with(kind).tables["things"].noun == "thing"


def state_with(kind: Any) -> type[State]:
    """A state whose records hold something of this type."""
    fields = {"__annotations__": {"id": str, "x": kind}, "__module__": __name__}
    thing = type(Record)("Thing", (Record,), fields, frozen=True)
    return type("Things", (State,), {"things": table(thing, "thi")})


def test_records_are_frozen_and_nouns_are_read_off_their_names() -> None:
    class MenuItem(Record, frozen=True):
        id: str

    with pytest.raises(AttributeError):
        MenuItem(id="a").id = "b"  # type: ignore[misc]
    assert type("S", (State,), {"t": table(MenuItem, "mi")}).tables["t"].noun == "menu item"


def test_a_server_without_a_seed_says_so() -> None:
    empty = Server("none", Shelf, category="test", about="Nothing.")
    with pytest.raises(Bug, match=r"drawing its world raised TypeError: none has no seed function"):
        Session([empty]).digest()


def test_marks() -> None:
    server = Server("marks", Shelf, category="test", about="Marks.")
    makers: list[Callable[..., Any]] = [
        server.read,
        server.write,
        server.write(destructive=True),
        server.write(idempotent=True),
    ]
    for number, mark in enumerate(makers):

        def tool(shelf: Shelf, /) -> Answer:
            """Do something."""
            return Answer("")

        tool.__name__ = f"tool_{number}"
        mark(tool)
    marks = [(t.writes, t.destructive, t.idempotent) for t in server.tools.values()]
    assert marks == [
        (False, False, True),
        (True, False, False),
        (True, True, False),
        (True, False, True),
    ]
