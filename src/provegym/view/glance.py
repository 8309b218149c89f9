"""What the list shows of an example or a rollout, read from its line without decoding the rest."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast

import msgspec

from provegym.kernel import Change
from provegym.rewards.success import succeeded
from provegym.trace import SCHEMA, Rollout

SHOWN, SEARCHED = 160, 2_000
NAMED, SEVERAL = 300, 20
EMPTY, ABSENT = msgspec.Raw(b"[]"), msgspec.Raw(b"")

Sort = Literal["examples", "rollouts"]


class Part(msgspec.Struct, frozen=True, gc=False):
    """A piece of a line: the fields the list needs, and no others."""


class Turn(Part, frozen=True, gc=False):
    """A user's words."""

    text: str = ""
    asks: str | None = None


class Step(Part, frozen=True, gc=False):
    """A right call, as far as it answers."""

    tool: str = ""
    answers: tuple[str, ...] = ()


class Path(Part, frozen=True, gc=False):
    """A road."""

    steps: tuple[Step, ...] = ()


class Example(Part, frozen=True, gc=False):
    """An example in brief; `outcome` stays JSON until it is needed."""

    id: str
    kind: str
    server: str
    turns: tuple[Turn, ...]
    schema: int = SCHEMA
    paths: tuple[Path, ...] = (Path(),)
    knobs: tuple[str, ...] = ()
    outcome: msgspec.Raw = EMPTY


class Checks(Part, frozen=True, gc=False):
    """Whether a call ran."""

    ran: bool = False


class Call(Part, frozen=True, gc=False):
    """A call in brief."""

    turn: int
    tool: str
    writes: bool = False
    checks: Checks = Checks()
    error: str | None = None


class Served(Part, frozen=True, gc=False):
    """Which call serves which step."""

    call: int
    step: int
    equal: float


class Reward(Part, frozen=True, gc=False):
    """What was paid."""

    total: float
    path: int = 0
    served: tuple[Served, ...] = ()


class Message(Part, frozen=True, gc=False):
    """What somebody said; tool results are passed over."""

    role: str = ""
    content: Any = None
    tool_calls: list[msgspec.Raw] | None = None


class Played(Part, frozen=True, gc=False):
    """A rollout in brief: every field that `succeeded` reads, and what the list shows."""

    example: Example
    policy: str
    messages: tuple[Message, ...]
    schema: int = SCHEMA
    calls: tuple[Call, ...] = ()
    ended: str = "done"
    outcome: msgspec.Raw = EMPTY
    reward: Reward | None = None


class Glance(NamedTuple):
    """One row's facts; `words` is what text is searched in."""

    id: str
    server: str
    kind: str
    turns: int
    calls: int
    text: str
    words: str
    knobs: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    policy: str = ""
    ended: str = ""
    reward: float | None = None
    success: bool | None = None


class Probe(msgspec.Struct, frozen=True):
    """What tells a file's kind apart."""

    schema: Any = None
    example: msgspec.Raw = ABSENT
    turns: msgspec.Raw = ABSENT
    step: msgspec.Raw = ABSENT


READ_EXAMPLE = msgspec.json.Decoder(Example).decode
READ_ROLLOUT = msgspec.json.Decoder(Played).decode
READ_CHANGES = msgspec.json.Decoder(tuple[Change, ...]).decode
READ_PROBE = msgspec.json.Decoder(Probe).decode


class Foreign(Exception):
    """A file of another kind; the message says what it seems to be."""


def sort_of(line: bytes) -> Sort:
    """Whether a first line is an example or a rollout; Foreign says what else it seems to be."""
    if line.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
        raise Foreign("is compressed; unpack it first")
    if b"\x00" in line[:4096]:
        raise Foreign("is binary, not JSON lines of examples or rollouts")
    try:
        probe = READ_PROBE(line)
    except msgspec.ValidationError:
        raise Foreign("holds JSON, but neither examples nor rollouts of provegym") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Foreign(
            "is not JSON lines; provegym reads what `synth`, `rollout` and `train` write"
        ) from None
    if bytes(probe.step):
        raise Foreign("is the record of a run; name the folder of the run instead")
    if not bytes(probe.example) and not bytes(probe.turns):
        raise Foreign("holds JSON, but neither examples nor rollouts of provegym")
    if probe.schema != SCHEMA:
        raise Foreign(f"has schema {probe.schema!r:.20}; this version reads schema {SCHEMA}")
    return "rollouts" if bytes(probe.example) else "examples"


def glance(line: bytes, sort: Sort) -> Glance:
    """A row's facts; msgspec.DecodeError where the line is not of this sort."""
    return _example(READ_EXAMPLE(line)) if sort == "examples" else _rollout(READ_ROLLOUT(line))


def _example(example: Example) -> Glance:
    steps = example.paths[0].steps if example.paths else ()
    said = [example.id, *(turn.text for turn in example.turns), *(step.tool for step in steps)]
    return Glance(
        cut(example.id),
        cut(example.server),
        cut(example.kind),
        len(example.turns),
        len(steps),
        _first_words(example),
        "\n".join(said)[:SEARCHED],
        _names(example.knobs),
    )


def _rollout(rollout: Played) -> Glance:
    example, reward = rollout.example, rollout.reward
    said = [example.id, *(turn.text for turn in example.turns)]
    said += [call.tool for call in rollout.calls]
    said += [m.content for m in rollout.messages if m.role == "assistant" and _is_text(m.content)]
    return Glance(
        cut(example.id),
        cut(example.server),
        cut(example.kind),
        len(example.turns),
        len(rollout.calls),
        _first_words(example),
        "\n".join(said)[:SEARCHED],
        _names(example.knobs),
        _names(sorted({call.error for call in rollout.calls if call.error})),
        cut(rollout.policy),
        cut(rollout.ended),
        reward.total if reward else None,
        _success(rollout),
    )


def _is_text(content: Any) -> bool:
    return isinstance(content, str) and content != ""


def _first_words(example: Example) -> str:
    return cut(example.turns[0].text if example.turns else "", SHOWN)


def cut(text: str, most: int = NAMED) -> str:
    """A text as long as a list can bear."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(cut, names[:SEVERAL]))


def is_sound(paths: int, steps: int, calls: int, reward: Any) -> bool:
    """Whether a reward speaks of a path, steps and calls that are there."""
    return 0 <= reward.path < max(1, paths) and all(
        0 <= served.call < calls and 0 <= served.step < steps for served in reward.served
    )


def _success(rollout: Played) -> bool | None:
    """What `succeeded` says of it."""
    example, reward = rollout.example, rollout.reward
    if reward is not None:
        inside = 0 <= reward.path < len(example.paths)
        steps = len(example.paths[reward.path].steps) if inside else 0
        if not is_sound(len(example.paths), steps, len(rollout.calls), reward):
            return None
    wanted, outcome = _diffs(example.outcome, rollout.outcome)
    messages: Any = ()
    if any(turn.asks is not None for turn in example.turns):
        messages = tuple(msgspec.structs.asdict(message) for message in rollout.messages)
    replace = msgspec.structs.replace
    judged = replace(
        rollout, messages=messages, outcome=outcome, example=replace(example, outcome=wanted)
    )
    return succeeded(cast("Rollout", judged))


Diff = tuple[Change, ...]


def _diffs(one: msgspec.Raw, two: msgspec.Raw) -> tuple[Diff, Diff]:
    """Two diffs to be compared, or shorter ones that compare alike.

    The same JSON is the same diff; diffs of unequal length differ, whatever they hold.
    """
    if bytes(one) == bytes(two):
        return (), ()
    first, second = READ_CHANGES(one), READ_CHANGES(two)
    return (first, second) if len(first) == len(second) else ((), (Change("", "", ""),))
