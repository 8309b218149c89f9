"""Bounds of examples and rollouts: checked once, when a line is read, and trusted afterwards.

A file may come from a stranger. What is in bounds can be shown, played, verified and scored in
bounded time and memory. The limits leave room: our own examples have at most five turns, ten steps
and some hundred characters in a turn.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from provegym.kernel import Change
from provegym.kernel.session import MAX_MINUTES, MAX_YEARS
from provegym.trace.records import (
    FROM,
    NESTED,
    Call,
    Example,
    Json,
    Path,
    Provenance,
    Ref,
    Reward,
    Rollout,
    Step,
)

# Ids, and names of servers, tools and arguments. A foreign server may have long ones.
LONGEST_NAME = 200
# A turn, a system prompt, and a message of a model: 100,000 characters are some 25,000 tokens.
LONGEST_TEXT, LONGEST_MESSAGE = 100_000, 1_000_000
# The reward aligns each path with the calls, which takes paths x steps x calls.
MOST_TURNS, MOST_STEPS, MOST_PATHS, MOST_CALLS, MOST_MESSAGES = 64, 64, 64, 512, 2_000
MOST_STEPS_IN_ALL = 512
MOST_NAMES = 1_000
# JSON in arguments and results; Python's own limit of nested calls is about 1,000.
DEEPEST = 32
# A seed and a version are numbers of 64 bits.
LARGEST = 2**64
HOLDERS = frozenset((Ref, *NESTED))
CHECK_JSON = msgspec.json.Decoder().decode
POINTER = re.compile(r"(?:/[^/]*)*")
TYPES = {"string", "boolean", "null", "array", "object", "number", "integer"}


class CalledFunction(msgspec.Struct):
    """The function of a call in a chat message; its arguments are JSON text."""

    name: str
    arguments: str


class ChatCall(msgspec.Struct):
    """A call in a chat message."""

    id: str
    function: CalledFunction


class ChatMessage(msgspec.Struct):
    """A message of a transcript, as far as it is read here."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str | None = None
    tool_calls: list[ChatCall] | None = None
    tool_call_id: str = ""


class OutOfBounds(Exception):
    """A value is out of bounds; the message says which, and what is allowed."""


def wrong_with(item: Example | Rollout) -> str:
    """What is out of bounds in an example or rollout, in a few words; empty if nothing is."""
    try:
        _in_example(item) if isinstance(item, Example) else _in_rollout(item)
    except OutOfBounds as problem:
        return str(problem)
    return ""


def _in_example(example: Example) -> None:
    turns = len(example.turns)
    _name(example.id, "id")
    if example.server:
        _name(example.server, "server")
    if not (0 <= example.seed < LARGEST and 0 <= example.server_version < LARGEST):
        raise OutOfBounds("seed and server_version are numbers from 0 to 2^64")
    if not 0 < turns <= MOST_TURNS:
        raise OutOfBounds(f"it has {turns} turns; 1 to {MOST_TURNS} are allowed")
    if len(example.system) > LONGEST_TEXT or len(example.digest) > LONGEST_NAME:
        raise OutOfBounds(f"system has at most {LONGEST_TEXT:,} characters, digest {LONGEST_NAME}")
    for turn in example.turns:
        if not 0 <= turn.minutes <= MAX_MINUTES:
            raise OutOfBounds(f"a turn has 0 to {MAX_MINUTES:,} minutes, not {turn.minutes}")
        if len(turn.text) > LONGEST_TEXT or len(turn.asks or "") > LONGEST_NAME:
            raise OutOfBounds(f"the text of a turn has at most {LONGEST_TEXT:,} characters")
    if sum(turn.minutes for turn in example.turns) > MAX_YEARS * MAX_MINUTES:
        raise OutOfBounds(f"its turns take more than {MAX_YEARS} years in all")
    if not 0 < len(example.paths) <= MOST_PATHS:
        raise OutOfBounds(f"it has {len(example.paths)} paths; 1 to {MOST_PATHS} are allowed")
    if len(example.paths) > 1 and not all(path.steps for path in example.paths):
        raise OutOfBounds("a path without steps stands beside others")
    if sum(len(path.steps) for path in example.paths) > MOST_STEPS_IN_ALL:
        raise OutOfBounds(f"its paths have more than {MOST_STEPS_IN_ALL} steps in all")
    for path in example.paths:
        _in_path(path, turns)
    _in_toolbox(example)
    _in_provenance(example.provenance, turns, len(example.paths[0].steps))
    _in_changes(example.outcome, "outcome")


def _in_path(path: Path, turns: int) -> None:
    if len(path.steps) > MOST_STEPS:
        raise OutOfBounds(f"a path has {len(path.steps)} steps; {MOST_STEPS} are allowed")
    for at, step in enumerate(path.steps):
        if not 0 <= step.turn < turns:
            raise OutOfBounds(f"step {at} is in turn {step.turn}, which does not exist")
        _name(step.tool, "tool")
        for edge in step.needs:
            if not 0 <= edge.step < at:
                raise OutOfBounds(f"step {at} needs step {edge.step}, which is not before it")
        _in_arguments(step.arguments, at)
        _in_answers(step)
        for other in step.alternatives:
            _depth(other.arguments, "alternatives")


def _in_arguments(arguments: Json, at: int) -> None:
    """References lead to earlier steps, and nothing is nested too deeply."""
    for value in arguments.values():
        if type(value) in HOLDERS:
            _depth(value, "arguments")
            for ref in _references(value):
                if not 0 <= ref.source[0] < at:
                    raise OutOfBounds(
                        f"step {at} takes a value from step {ref.source[0]}, not before it"
                    )
                if not POINTER.fullmatch(ref.source[1]):
                    raise OutOfBounds(f"step {at}: {FROM} has a JSON pointer, such as /items/0/id")


def _references(value: Any) -> Iterator[Ref]:
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, NESTED):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _references(part)


def _in_answers(step: Step) -> None:
    if step.values and len(step.values) != len(step.answers):
        raise OutOfBounds("a step has a value for each of its answers")
    if step.answers:
        if len(step.answers) > MOST_NAMES or not all(map(POINTER.fullmatch, step.answers)):
            raise OutOfBounds("answers are JSON pointers, such as /items/0/id")
        _depth(list(step.values), "values")
    if step.evidence is not None:
        for fact in step.evidence.facts:
            if fact.fields:
                _depth(fact.fields, "evidence")
        if step.evidence.defaults:
            _depth(step.evidence.defaults, "evidence")


def _in_toolbox(example: Example) -> None:
    toolbox = example.toolbox
    if toolbox.limit is not None and not 0 <= toolbox.limit <= MOST_NAMES:
        raise OutOfBounds(f"toolbox.limit is {toolbox.limit}; 0 to {MOST_NAMES} are allowed")
    for names in (toolbox.distractors, toolbox.hidden, toolbox.stripped, example.knobs):
        if names:
            _names(names, "toolbox")
    if toolbox.schemas:
        if len(toolbox.schemas) > MOST_NAMES:
            raise OutOfBounds(f"a toolbox has at most {MOST_NAMES} schemas")
        for schema in toolbox.schemas:
            _in_tool(schema)


def _in_tool(tool: Json) -> None:
    """A tool without a server: its name, description and parameters."""
    given = (tool.get("name"), tool.get("description"), tool.get("parameters"))
    if not (isinstance(given[0], str) and isinstance(given[1], str) and isinstance(given[2], dict)):
        raise OutOfBounds("a schema of the toolbox has a name, a description and parameters")
    _name(given[0], "name of a schema")
    _depth(given[2], "parameters")
    if not _is_schema(given[2]) or given[2].get("type", "object") != "object":
        raise OutOfBounds(f"the parameters of {given[0]} are no JSON schema of an object")


def _is_schema(schema: Any) -> bool:
    """Whether the parts of a JSON schema that are read here have the right shape."""
    if not isinstance(schema, dict):
        return False
    kinds = schema.get("type", [])
    options = [schema.get("anyOf", []), schema.get("oneOf", [])]
    parts = schema.get("properties", {})
    if not isinstance(parts, dict) or not all(isinstance(each, list) for each in options):
        return False
    kinds = [kinds] if isinstance(kinds, str) else kinds
    required = schema.get("required", [])
    return (
        isinstance(kinds, list)
        and all(isinstance(kind, str) and kind in TYPES for kind in kinds)
        and isinstance(required, list)
        and all(isinstance(name, str) for name in required)
        and isinstance(schema.get("enum", []), list)
        and all(map(_is_schema, (*options[0], *options[1], *parts.values())))
        and ("items" not in schema or _is_schema(schema["items"]))
    )


def _in_provenance(made: Provenance, turns: int, steps: int) -> None:
    if max(len(made.slots), len(made.names), len(made.levels)) > turns:
        raise OutOfBounds("provenance speaks of a turn that does not exist")
    for claim in (made.infeasible, made.unserved):
        if claim is not None:
            _in_turns(claim.turn, turns)
            _depth(claim.arguments, "a claim of provenance")
    for relation in made.relations:
        _in_turns(relation.turn, turns)
    for tried in made.attempts:
        if not 0 <= tried.before < max(1, steps):
            raise OutOfBounds(
                f"provenance.attempts speaks of step {tried.before}, which does not exist"
            )
        _depth(tried.arguments, "provenance.attempts")
    for place in made.derived:
        number = place.partition(".")[0]
        if not (number.isascii() and number.isdigit() and int(number[:9]) < steps):
            raise OutOfBounds("provenance.derived speaks of a step that does not exist")
    _names(made.would_serve, "provenance.would_serve")
    if made.transcript:
        _in_messages(made.transcript, "provenance.transcript")
        _in_transcript(made.transcript, turns)


def _in_transcript(messages: Sequence[Json], turns: int) -> None:
    """Chat messages with a text or calls, and each call has arguments and a result."""
    try:
        said = msgspec.convert(messages, list[ChatMessage])
        calls = [call for message in said for call in message.tool_calls or ()]
        for call in calls:
            msgspec.json.decode(call.function.arguments, type=dict)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as problem:
        raise OutOfBounds(f"provenance.transcript holds no chat messages: {problem}") from None
    if not {call.id for call in calls} <= {message.tool_call_id for message in said}:
        raise OutOfBounds("a call in provenance.transcript has no result")
    if any(message.content is None and not message.tool_calls for message in said):
        raise OutOfBounds("a message of provenance.transcript has neither a text nor a call")
    if sum(message.role == "user" for message in said) > turns:
        raise OutOfBounds("provenance.transcript has more messages of the user than turns")


def _in_turns(turn: int, turns: int) -> None:
    if not 0 <= turn < turns:
        raise OutOfBounds(f"provenance speaks of turn {turn}, which does not exist")


def _in_rollout(rollout: Rollout) -> None:
    _in_example(rollout.example)
    if len(rollout.calls) > MOST_CALLS:
        raise OutOfBounds(f"it has {len(rollout.calls)} calls; {MOST_CALLS} are allowed")
    for call in rollout.calls:
        _in_call(call)
    _in_messages(rollout.messages, "messages")
    if rollout.outcome != rollout.example.outcome:  # what is equal was checked
        _in_changes(rollout.outcome, "outcome")
    if rollout.reward is not None:
        _in_reward(rollout.reward, rollout.example.paths, len(rollout.calls))


def _in_call(call: Call) -> None:
    if call.turn < 0 or call.message < 0:
        raise OutOfBounds("a call is in a turn and a message from 0 on")
    if len(call.result) > LONGEST_MESSAGE or len(call.tool) > LONGEST_MESSAGE:
        raise OutOfBounds(f"the result of a call has at most {LONGEST_MESSAGE:,} characters")
    if call.checks.ran:
        try:
            CHECK_JSON(call.result)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            raise OutOfBounds("the result of a call that ran is JSON") from None
    if call.arguments:
        _depth(call.arguments, "the arguments of a call")
    _in_changes(call.diff, "diff")


def _in_messages(messages: Sequence[Json], where: str) -> None:
    if len(messages) > MOST_MESSAGES:
        raise OutOfBounds(f"{where} has {len(messages)} entries; {MOST_MESSAGES} are allowed")
    for message in messages:
        content = message.get("content")
        if not isinstance(message.get("role"), str):
            raise OutOfBounds(f"each of {where} has a role")
        if isinstance(content, str) and len(content) > LONGEST_MESSAGE:
            raise OutOfBounds(f"a message has at most {LONGEST_MESSAGE:,} characters")


def _in_reward(reward: Reward, paths: Sequence[Path], calls: int) -> None:
    if not 0 <= reward.path < len(paths):
        raise OutOfBounds(f"its reward speaks of path {reward.path}, which does not exist")
    steps = len(paths[reward.path].steps)
    for served in reward.served:
        if not (0 <= served.call < calls and 0 <= served.step < steps):
            raise OutOfBounds("its reward speaks of a call or a step that does not exist")


def _name(text: str, what: str) -> None:
    if not 0 < len(text) <= LONGEST_NAME or not text.isprintable():
        raise OutOfBounds(f"{what} has 1 to {LONGEST_NAME} characters, and no control characters")


def _names(names: Sequence[str], what: str) -> None:
    if len(names) > MOST_NAMES:
        raise OutOfBounds(f"{what} has more than {MOST_NAMES} names")
    for name in names:
        _name(name, f"a name in {what}")


def _in_changes(changes: Sequence[Change], what: str) -> None:
    for change in changes:
        if change.before and _is_deep(change.before, DEEPEST):
            raise _too_deep(what)
        if change.after and _is_deep(change.after, DEEPEST):
            raise _too_deep(what)


def _depth(value: Any, what: str) -> None:
    if value and _is_deep(value, DEEPEST):
        raise _too_deep(what)


def is_too_deep(value: Any) -> bool:
    """Whether JSON is nested so deeply that a file with it would not be read."""
    return _is_deep(value, DEEPEST)


def _too_deep(what: str) -> OutOfBounds:
    return OutOfBounds(f"{what}: nested more than {DEEPEST} levels")


def _is_deep(value: Any, left: int) -> bool:
    """Whether JSON is nested more than so many levels.

    It is asked for every value of a line. `kind is dict` takes a fraction of the time of
    `kind in (dict, list)`, and a generator twice as long as the loop.
    """
    kind = type(value)
    if kind is dict:
        value = value.values()
    elif kind is not list:
        return kind is Ref and _is_deep(value.literal, left)
    for part in value:
        kind = type(part)
        is_nested = kind is dict or kind is list or kind is Ref
        if is_nested and (not left or _is_deep(part, left - 1)):
            return True
    return False
