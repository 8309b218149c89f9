"""Whether a foreign server's result is an answer: it must depend on the values of the call.

A server may say "not found" in words that nobody can list. So a value of the call is replaced by a
nonsense value of the same shape. If the result stays the same, apart from the value itself, it says
nothing about that value: it is no answer. A write has an effect if some read shows a change. What
differs between two equal calls, such as a time, a random id or a counter, is left out everywhere.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

import msgspec

from provegym.hosts.foreign_volatile import without_chance
from provegym.kernel import AnyServer, Lost, Session, Tool
from provegym.language.values import leaves

if TYPE_CHECKING:
    from provegym.hosts.foreign import ForeignServer

Json = dict[str, Any]
Place = tuple[str | int, ...]
Parts = dict[str, str]

PROBES, LOOKS = 8, 32
LETTERS, DIGITS = "qzxjvwkfy", "73948265"
# Shorter values are found in a result only as whole words.
WORD = 4
IS_ID = re.compile(r"(?:^|_)ids?$|[a-z]Ids?$|(?:^|_)(?:number|index|key|no)$")
LOST = "the server crashed or hung"


def no_answer(session: Session, tool: Tool, arguments: Json) -> str:
    """Why the result of a read is no answer, in a session; empty if it is one."""
    try:
        outcome = session.fork().call(tool.name, arguments)
        if not outcome.ok:
            return f"it fails: {outcome.value['message']}"
        if not any(leaf not in ("", None) for leaf in leaves(outcome.value)):
            return "it returns nothing"
        for place, value in _probes(tool, arguments):
            other = nonsense(value)
            twin = session.fork().call(tool.name, replaced(arguments, place, other))
            if twin.ok and _is_same(session, tool.name, arguments, (value, other, twin.text)):
                return f"its result is the same for {_name(place)} {other!r}"
    except Lost:
        return LOST
    return ""


def _is_same(
    session: Session, tool: str, arguments: Json, probe: tuple[str | int, str | int, str]
) -> bool:
    """Whether a result equals that of a nonsense value, apart from the value and from chance."""
    value, other, twin = probe
    one, two = _parts(session.fork().call(tool, arguments).text, value), _parts(twin, other)
    if one == two:
        return True
    again = _parts(_server(session, tool).ask_again(session, tool, arguments), value)
    moving = _moving(one, again)
    return _steady(one, moving) == _steady(two, moving)


def has_effect(session: Session, tool: Tool, arguments: Json) -> bool:
    """Whether a write succeeds and a read then shows something else than before."""
    twin = session.fork()
    try:
        if not twin.call(tool.name, arguments).ok:
            return False
        return any(_shows(session, twin, *look) for look in looks(session, arguments))
    except Lost:
        return False


def _shows(session: Session, twin: Session, read: str, arguments: Json) -> bool:
    """Whether a read shows a difference between two worlds, apart from chance."""
    try:
        before, after = session.fork().call(read, arguments), twin.fork().call(read, arguments)
        one, two = _parts(before.text), _parts(after.text)
        if one == two or not after.ok:
            return before.ok and not after.ok
        again = _parts(_server(twin, read).ask_again(twin, read, arguments))
    except Lost:
        return False
    moving = _moving(two, again)
    return _steady(one, moving) != _steady(two, moving)


def looks(session: Session, arguments: Json) -> list[tuple[str, Json]]:
    """Reads that may show the effect of a write: without arguments, or with some of its own."""
    texts = list(dict.fromkeys(leaf for leaf in leaves(arguments) if _is_key(leaf)))
    found: list[tuple[str, Json]] = []
    for tool, _ in session.tools.values():
        required = tool.input_schema["required"]
        if tool.writes:
            continue
        if all(name in arguments for name in required):
            found.append((tool.name, {name: arguments[name] for name in required}))
        if len(required) == 1:
            found += [(tool.name, {required[0]: text}) for text in texts]
            listed = [(tool.name, {required[0]: [text]}) for text in texts]
            found += listed if _is_list(tool, required[0]) else []
    unique = {msgspec.json.encode(look): look for look in found}
    return list(unique.values())[:LOOKS]


@lru_cache(maxsize=64)
def first_answers(server: AnyServer) -> str:
    """A hash of what the reads without arguments return at the start, apart from chance."""
    session, total = Session([server]), blake2b(digest_size=12)
    reads = [t for t in server.tools.values() if not (t.writes or t.input_schema["required"])]
    for tool in reads:
        try:
            parts = _parts(session.call(tool.name, {}).text)
            again = _parts(_server(session, tool.name).ask_again(session, tool.name, {}))
            told: Any = sorted(_steady(parts, _moving(parts, again)).items())
        except Lost:
            told = LOST
        total.update(msgspec.json.encode((tool.name, told)))
    return total.hexdigest()


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, str | int) and not isinstance(leaf, bool)


def _is_list(tool: Tool, name: str) -> bool:
    return bool(tool.input_schema["properties"][name].get("type") == "array")


def _server(session: Session, tool: str) -> "ForeignServer":
    return cast("ForeignServer", session.tools[tool][1])


def _probes(tool: Tool, arguments: Json) -> Iterator[tuple[Place, str | int]]:
    """The values of a call that have to matter: texts, and numbers that are ids."""
    found = list(_values(arguments, tool.input_schema, ()))
    yield from found[:PROBES]


def _values(value: Any, schema: Any, place: Place) -> Iterator[tuple[Place, str | int]]:
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        for name, part in value.items():
            yield from _values(part, parts.get(name), (*place, name))
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield from _values(part, schema.get("items"), (*place, at))
    elif isinstance(value, str):
        if value and not {"enum", "const"} & schema.keys():
            yield place, value
    elif isinstance(value, int) and not isinstance(value, bool) and IS_ID.search(_name(place)):
        yield place, value


def _name(place: Place) -> str:
    """The name of the argument that a place belongs to."""
    return next(str(part) for part in reversed(place) if isinstance(part, str))


def replaced(value: Any, place: Place, other: str | int) -> Any:
    """The same arguments with another value at one place."""
    if not place:
        return other
    at, rest = place[0], place[1:]
    if isinstance(value, list):
        return [replaced(part, rest, other) if n == at else part for n, part in enumerate(value)]
    return {name: replaced(v, rest, other) if name == at else v for name, v in value.items()}


def nonsense(value: str | int) -> str | int:
    """A value of the same shape that nothing is called: of a path, only the last part changes."""
    if isinstance(value, int):
        return 10**8 + value * 7 + 3
    folder, slash, name = value.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if not re.search(r"\w", stem):
        stem, dot, ending = name, "", ""
    chance = blake2b(value.encode(), digest_size=64).digest()
    made = "".join(_like(c, chance[n % 64] + n // 64) for n, c in enumerate(stem))
    return f"{folder}{slash}{made}{dot}{ending}"


def _like(character: str, chance: int) -> str:
    """Another character of the same kind."""
    if character.isdigit():
        return DIGITS[chance % len(DIGITS)]
    if not character.isalpha():
        return character
    letter = LETTERS[chance % len(LETTERS)]
    return letter.upper() if character.isupper() else letter


def _moving(parts: Parts, again: Parts) -> set[str]:
    """The places of a result that differ when the same call is repeated."""
    return {place for place in parts.keys() | again.keys() if parts.get(place) != again.get(place)}


def _steady(parts: Parts, moving: set[str]) -> Parts:
    """The parts of a result without those that move."""
    return {place: part for place, part in parts.items() if place not in moving}


def _parts(text: str, value: str | int = "") -> Parts:
    """Every scalar of a result by its place; of a text, every line.

    Echoes of a value, and what chance makes, are replaced by marks.
    """
    try:
        result = msgspec.json.decode(text)
    except msgspec.DecodeError:
        result = text
    echo = _echo(value)
    return {place: _masked(part, echo) for place, part in _flat(result, "", echo)}


def _masked(part: Any, echo: "re.Pattern[str]") -> str:
    return without_chance(echo.sub("⟨it⟩", str(part)))


def _echo(value: str | int) -> "re.Pattern[str]":
    """A pattern that finds a value in a result, or the last part of a path, with any case."""
    whole = str(value)
    name = whole.rstrip("/").rpartition("/")[2]
    forms = sorted({whole, name, name.rpartition(".")[0]} - {""}, key=len, reverse=True)
    ways = [_whole_word(form) if len(form) < WORD else re.escape(form) for form in forms]
    return re.compile("|".join(ways) or r"(?!)", re.IGNORECASE)


def _whole_word(form: str) -> str:
    return rf"(?<!\w){re.escape(form)}(?!\w)"


def _flat(value: Any, place: str, echo: "re.Pattern[str]") -> Iterator[tuple[str, Any]]:
    """The scalars of a result with their places. A name may echo a value, a number may not."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _flat(part, f"{place}/{echo.sub('⟨it⟩', name)}", echo)
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield from _flat(part, f"{place}/{at}", echo)
    elif isinstance(value, str):
        for number, line in enumerate(value.splitlines()):
            yield f"{place}:{number}", line
    else:
        yield place, value
