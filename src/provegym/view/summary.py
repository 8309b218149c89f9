"""A row of the list: the summary of an example or a rollout, partly decoded from its line.

Only the fields that the list shows, filters by or searches are decoded (msgspec skips the others).
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from provegym.rewards.success import judge
from provegym.trace import SCHEMA, BadFile, Rollout, Verdict
from provegym.trace.bounds import wrong_with

MAX_SHOWN, MAX_SEARCHED = 160, 2_000
MAX_NAME, MAX_NAMES = 300, 20
ABSENT = msgspec.Raw(b"")

RowKind = Literal["examples", "rollouts"]


class Brief(msgspec.Struct, frozen=True, gc=False):
    """A part of a line with only those of its fields that a summary needs."""


class BriefTurn(Brief, frozen=True, gc=False):
    """What the user says."""

    text: str = ""


class BriefStep(Brief, frozen=True, gc=False):
    """The tool of a right call."""

    tool: str = ""


class BriefPath(Brief, frozen=True, gc=False):
    """The steps of one path."""

    steps: tuple[BriefStep, ...] = ()


class BriefExample(Brief, frozen=True, gc=False):
    """An example without its worlds, tools and provenance."""

    id: str
    kind: str
    server: str
    turns: tuple[BriefTurn, ...]
    schema: int = SCHEMA
    paths: tuple[BriefPath, ...] = (BriefPath(),)
    knobs: tuple[str, ...] = ()


class BriefCall(Brief, frozen=True, gc=False):
    """The tool and the error of a call."""

    tool: str
    error: str | None = None


class BriefReward(Brief, frozen=True, gc=False):
    """A reward without its components."""

    total: float


class BriefMessage(Brief, frozen=True, gc=False):
    """A message of the conversation."""

    role: str = ""
    content: Any = None


class BriefRollout(Brief, frozen=True, gc=False):
    """A rollout without the results of its calls and without its diffs."""

    example: BriefExample
    policy: str
    messages: tuple[BriefMessage, ...]
    schema: int = SCHEMA
    calls: tuple[BriefCall, ...] = ()
    ended: str = "done"
    reward: BriefReward | None = None
    verdict: Verdict | None = None


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
    ending: str = ""
    reward: float | None = None
    verdict: Verdict | None = None


class Probe(msgspec.Struct, frozen=True):
    """The fields by which the kind of a file is recognised."""

    schema: Any = None
    example: msgspec.Raw = ABSENT
    turns: msgspec.Raw = ABSENT
    step: msgspec.Raw = ABSENT


READ_EXAMPLE = msgspec.json.Decoder(BriefExample).decode
READ_ROLLOUT = msgspec.json.Decoder(BriefRollout).decode
READ_WHOLE = msgspec.json.Decoder(Rollout).decode
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
    if kind == "examples":
        return _example(READ_EXAMPLE(line))
    rollout = READ_ROLLOUT(line)
    return _rollout(rollout, rollout.verdict or verdict_in(line))


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


def _rollout(rollout: BriefRollout, verdict: Verdict | None) -> Summary:
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
        ending=cut(rollout.ended),
        reward=reward.total if reward else None,
        verdict=verdict,
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


def verdict_in(line: bytes) -> Verdict | None:
    """The verdict on a line without a stored one, as in older files: the whole is judged now."""
    try:
        return judged(READ_WHOLE(line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def judged(rollout: Rollout) -> Verdict | None:
    """The verdict on a rollout: the stored one, else judged now; None where it cannot be judged.

    A rollout cannot be judged if its reward refers to what does not exist, if a message has no
    role, or if its example cannot be read here.
    """
    if rollout.verdict is not None:
        return rollout.verdict
    if wrong_with(rollout):
        return None
    reward, paths = rollout.reward, rollout.example.paths
    if reward is not None:
        steps = len(paths[reward.path].steps) if 0 <= reward.path < len(paths) else 0
        if not is_sound(len(paths), steps, len(rollout.calls), reward):
            return None
    if not all("role" in message for message in rollout.messages):
        return None
    try:
        return judge(rollout)
    except (BadFile, msgspec.DecodeError):
        return None
