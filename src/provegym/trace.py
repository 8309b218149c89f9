"""The language of every layer above the worlds: examples, calls and rollouts, as plain frozen data.

An example says what a user asks and which calls are right; a rollout says what a model did and what
it was paid. Both are one line of JSON, and a rollout carries its example, so that it can be read,
shown and scored again without the world.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path as File
from typing import Any, Literal, TypeVar

import msgspec

from provegym.files import atomic_path
from provegym.kernel import Change, Kind

SCHEMA = 1

Json = dict[str, Any]
ExampleKind = Literal["multi_turn", "clarification", "abstention", "irrelevance"]
Ended = Literal["done", "turns", "calls", "tokens", "policy_error", "server_bug"]


class Data(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A value that is written to files; what equals its default is left out."""


class Edge(Data, frozen=True):
    """This step needs an earlier one: for a value it yields, or for the state it leaves."""

    step: int
    kind: Literal["explicit", "implicit"]


class Alternative(Data, frozen=True):
    """Another call proven, on this world, to yield what a step is there for."""

    tool: str
    arguments: Json = {}


class Step(Data, frozen=True):
    """One right call. An argument may be {"$from": [step, pointer], "literal": value}.

    `answers` points to the values in its result that answer the user, where it is the goal itself.
    """

    turn: int
    tool: str
    arguments: Json = {}
    writes: bool = False
    answers: tuple[str, ...] = ()
    needs: tuple[Edge, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


class Path(Data, frozen=True):
    """One road to the goal: its steps, in an order that works."""

    steps: tuple[Step, ...] = ()


class Turn(Data, frozen=True):
    """What the user says, the minutes that pass before, and the slot the reply must ask for."""

    text: str
    minutes: int = 0
    asks: str | None = None


class ToolboxSpec(Data, frozen=True):
    """Which tools an example shows: its server's, less the hidden, plus distractors of others.

    An example without a server shows `schemas` alone: tools with name, description and parameters
    that nobody can run.
    """

    distractors: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    stripped: tuple[str, ...] = ()
    limit: int | None = None
    schemas: tuple[Json, ...] = ()


class Example(Data, frozen=True, tag_field="schema", tag=SCHEMA):
    """A conversation with known right calls, on a world that can be drawn again.

    `outcome` is what the first path changes in the world: every record that differs at its end;
    `drift`, in short, what time alone would have changed. Where nothing can be called there need be
    no world: `server` is then empty.
    """

    id: str
    kind: ExampleKind
    server: str
    server_version: int
    seed: int
    digest: str
    system: str
    turns: tuple[Turn, ...]
    paths: tuple[Path, ...] = (Path(),)
    outcome: tuple[Change, ...] = ()
    drift: tuple[str, ...] = ()
    toolbox: ToolboxSpec = ToolboxSpec()
    knobs: tuple[str, ...] = ()
    provenance: Json = {}


class ToolCall(Data, frozen=True):
    """A call as a model wrote it: a name, and arguments that may or may not be JSON."""

    name: str
    arguments: str
    id: str = ""


class Reply(Data, frozen=True):
    """One message of a policy: words, calls, or both."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens: int = 0


class Checks(Data, frozen=True):
    """The thirds of validity: the tool was shown, the arguments fit its schema, the call ran."""

    shown: bool = False
    fits: bool = False
    ran: bool = False


class Call(Data, frozen=True):
    """One call a model made: where, what, whether it was valid, and what it did to the world.

    `arguments` is None where the model's text could not be read as a call. `digest` is that of the
    world of the tool's own server, afterwards.
    """

    turn: int
    message: int
    tool: str
    arguments: Json | None
    writes: bool = False
    checks: Checks = Checks()
    error: Kind | Literal["malformed"] | None = None
    result: str = ""
    diff: tuple[Change, ...] = ()
    digest: str = ""


class Served(Data, frozen=True):
    """A call and the step of the scored path it serves."""

    call: int
    step: int
    in_order: bool
    equal: float


class Reward(Data, frozen=True):
    """What a rollout is paid, by component, on the path that pays best."""

    total: float
    parts: dict[str, float] = {}
    path: int = 0
    served: tuple[Served, ...] = ()
    greedy: bool = False


class Rollout(Data, frozen=True, tag_field="schema", tag=SCHEMA):
    """What a policy did on an example, message by message and call by call."""

    example: Example
    policy: str
    messages: tuple[Json, ...]
    calls: tuple[Call, ...] = ()
    ended: Ended = "done"
    reason: str = ""
    tokens: int = 0
    outcome: tuple[Change, ...] = ()
    reward: Reward | None = None


def point(value: Any, pointer: str) -> tuple[bool, Any]:
    """Whether a JSON pointer leads to something in a value, and to what."""
    for part in pointer.split("/")[1:]:
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return False, None
    return True, value


class BadFile(Exception):
    """A file that cannot be read; the message names file, line and field."""


T = TypeVar("T", Example, Rollout)
NONE: dict[type[Data], str] = {
    Example: "holds no examples; `provegym synth` makes some",
    Rollout: "holds no rollouts; `provegym rollout` plays some",
}
OTHER: dict[type[Data], tuple[type[Data], str]] = {
    Example: (Rollout, "is a rollout, not an example; `provegym score` takes rollouts"),
    Rollout: (Example, "is an example, not a rollout; `provegym rollout` takes examples"),
}


def read(path: File, kind: type[T]) -> Iterator[T]:
    """The examples or rollouts of a JSONL file, or of every one in a folder."""
    if path.is_dir():
        for part in sorted(path.glob("*.jsonl")):
            yield from read(part, kind)
        return
    decoder = msgspec.json.Decoder(kind)
    try:
        lines = path.open("rb")
    except OSError as problem:
        raise BadFile(f"{path}: {problem.strerror}") from None
    with lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _read_line(decoder, line, f"{path}:{number}")


def read_some(path: File, kind: type[T]) -> Iterator[T]:
    """As `read`, where it is a mistake that there are none."""
    item = None
    for item in read(path, kind):
        yield item
    if item is None:
        raise BadFile(f"{path} {NONE[kind]}")


def _read_line(decoder: "msgspec.json.Decoder[T]", line: bytes, where: str) -> T:
    try:
        return decoder.decode(line)
    except msgspec.DecodeError as problem:
        other, told = OTHER[decoder.type]
        with suppress(msgspec.DecodeError):
            msgspec.json.decode(line, type=other)
            raise BadFile(f"{where} {told}") from None
        hint = f" (this version reads schema {SCHEMA})" if "$.schema" in str(problem) else ""
        raise BadFile(f"{where}: {problem}{hint}") from None


def line(item: Example | Rollout) -> bytes:
    """One item as a line of JSON; it begins with the schema's version."""
    return msgspec.json.encode(item) + b"\n"


def write(path: File, items: Iterable[Example | Rollout]) -> int:
    """Write items one per line, all of them or none; return how many."""
    with atomic_path(path) as part, part.open("wb") as out:
        return sum(1 for item in items if out.write(line(item)))
