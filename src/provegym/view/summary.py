"""A row of the list: the summary of an example or a rollout, partly decoded from its line.

Only the fields that the list shows, filters by or searches are decoded (msgspec skips the others).
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, cast

import msgspec

from provegym.kernel import Change
from provegym.rewards.success import succeeded
from provegym.trace import SCHEMA, Rollout

MAX_SHOWN, MAX_SEARCHED = 160, 2_000
MAX_NAME, MAX_NAMES = 300, 20
EMPTY, ABSENT = msgspec.Raw(b"[]"), msgspec.Raw(b"")

RowKind = Literal["examples", "rollouts"]


class Brief(msgspec.Struct, frozen=True, gc=False):
    """A part of a line with only those of its fields that a summary needs."""


class BriefTurn(Brief, frozen=True, gc=False):
    """What the user says, and the slot the reply must ask for."""

    text: str = ""
    asks: str | None = None


class BriefStep(Brief, frozen=True, gc=False):
    """A right call: its tool, and whether its result answers the user."""

    tool: str = ""
    answers: tuple[str, ...] = ()


class BriefPath(Brief, frozen=True, gc=False):
    """The steps of one path."""

    steps: tuple[BriefStep, ...] = ()


class BriefExample(Brief, frozen=True, gc=False):
    """An example; `outcome` stays undecoded JSON until it is needed."""

    id: str
    kind: str
    server: str
    turns: tuple[BriefTurn, ...]
    schema: int = SCHEMA
    paths: tuple[BriefPath, ...] = (BriefPath(),)
    knobs: tuple[str, ...] = ()
    outcome: msgspec.Raw = EMPTY


class BriefChecks(Brief, frozen=True, gc=False):
    """Whether a call ran."""

    ran: bool = False


class BriefCall(Brief, frozen=True, gc=False):
    """A call without its arguments, result and diff."""

    turn: int
    tool: str
    writes: bool = False
    checks: BriefChecks = BriefChecks()
    error: str | None = None


class BriefServed(Brief, frozen=True, gc=False):
    """Which call serves which step."""

    call: int
    step: int
    equal: float


class BriefReward(Brief, frozen=True, gc=False):
    """A reward without its components."""

    total: float
    path: int = 0
    served: tuple[BriefServed, ...] = ()


class BriefMessage(Brief, frozen=True, gc=False):
    """A message of the conversation."""

    role: str = ""
    content: Any = None
    tool_calls: list[msgspec.Raw] | None = None


class BriefRollout(Brief, frozen=True, gc=False):
    """A rollout: what `succeeded` reads, and what the list shows."""

    example: BriefExample
    policy: str
    messages: tuple[BriefMessage, ...]
    schema: int = SCHEMA
    calls: tuple[BriefCall, ...] = ()
    ended: str = "done"
    outcome: msgspec.Raw = EMPTY
    reward: BriefReward | None = None


class Summary(NamedTuple):
    """What the list knows of one row. `text` is shown, `searched` is the text a search looks in."""

    id: str
    server: str
    kind: str
    calls: int
    text: str
    searched: str
    knobs: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    policy: str = ""
    ended: str = ""
    reward: float | None = None
    success: bool | None = None


class Probe(msgspec.Struct, frozen=True):
    """The fields by which the kind of a file is recognised."""

    schema: Any = None
    example: msgspec.Raw = ABSENT
    turns: msgspec.Raw = ABSENT
    step: msgspec.Raw = ABSENT


READ_EXAMPLE = msgspec.json.Decoder(BriefExample).decode
READ_ROLLOUT = msgspec.json.Decoder(BriefRollout).decode
READ_CHANGES = msgspec.json.Decoder(tuple[Change, ...]).decode
READ_PROBE = msgspec.json.Decoder(Probe).decode


class Foreign(Exception):
    """A file that holds neither examples nor rollouts; the message says what it seems to be."""


def kind_of(line: bytes) -> RowKind:
    """Whether a file holds examples or rollouts, by its first line; Foreign if neither."""
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


def summarise(line: bytes, kind: RowKind) -> Summary:
    """The summary of a line; msgspec.DecodeError where the line is not of this kind."""
    return _example(READ_EXAMPLE(line)) if kind == "examples" else _rollout(READ_ROLLOUT(line))


def _example(example: BriefExample) -> Summary:
    steps = example.paths[0].steps if example.paths else ()
    said = [example.id, *(turn.text for turn in example.turns), *(step.tool for step in steps)]
    return Summary(
        id=cut(example.id),
        server=cut(example.server),
        kind=cut(example.kind),
        calls=len(steps),
        text=_first_words(example),
        searched="\n".join(said)[:MAX_SEARCHED],
        knobs=_names(example.knobs),
    )


def _rollout(rollout: BriefRollout) -> Summary:
    example, reward = rollout.example, rollout.reward
    said = [example.id, *(turn.text for turn in example.turns)]
    said += [call.tool for call in rollout.calls]
    said += [m.content for m in rollout.messages if m.role == "assistant" and _is_text(m.content)]
    return Summary(
        id=cut(example.id),
        server=cut(example.server),
        kind=cut(example.kind),
        calls=len(rollout.calls),
        text=_first_words(example),
        searched="\n".join(said)[:MAX_SEARCHED],
        knobs=_names(example.knobs),
        errors=_names(sorted({call.error for call in rollout.calls if call.error})),
        policy=cut(rollout.policy),
        ended=cut(rollout.ended),
        reward=reward.total if reward else None,
        success=_success(rollout),
    )


def _is_text(content: Any) -> bool:
    return isinstance(content, str) and content != ""


def _first_words(example: BriefExample) -> str:
    return cut(example.turns[0].text if example.turns else "", MAX_SHOWN)


def cut(text: str, most: int = MAX_NAME) -> str:
    """A text, cut where it is longer than a list can show."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(cut, names[:MAX_NAMES]))


def is_sound(paths: int, steps: int, calls: int, reward: Any) -> bool:
    """Whether a reward refers only to a path, steps and calls that exist."""
    return 0 <= reward.path < max(1, paths) and all(
        0 <= served.call < calls and 0 <= served.step < steps for served in reward.served
    )


def _success(rollout: BriefRollout) -> bool | None:
    """What `succeeded` says of the rollout; None where its reward refers to what does not exist."""
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
    """Two diffs for `succeeded` to compare; where JSON or length decide, two shorter ones.

    Equal JSON is an equal diff; diffs of unequal length are never equal.
    """
    if bytes(one) == bytes(two):
        return (), ()
    first, second = READ_CHANGES(one), READ_CHANGES(two)
    return (first, second) if len(first) == len(second) else ((), (Change("", "", ""),))
