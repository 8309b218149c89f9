"""The data format of examples and rollouts, as immutable structs.

An example holds the user's turns and the reference calls. A rollout holds a model's messages and
calls, and its reward. Each is one line of JSON. A rollout contains its example, so it can be
shown and scored again without running a server.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from provegym.kernel import Change, Kind

SCHEMA = 1
FROM = "$from"
NESTED = (dict, list)

Json = dict[str, Any]
ExampleKind = Literal["multi_turn", "clarification", "abstention", "irrelevance"]
Ended = Literal["done", "turns", "calls", "tokens", "policy_error", "server_bug"]


class Stored(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Base class of values in files; fields with their default value are left out."""


class Edge(Stored, frozen=True):
    """A dependency on an earlier step: explicit for a value it returns, implicit for its state."""

    step: int
    kind: Literal["explicit", "implicit"]


class Alternative(Stored, frozen=True):
    """Another call that serves a step as well, named one by one."""

    tool: str
    arguments: Json = {}


class Ref(Stored, frozen=True):
    """A value from the result of an earlier step: {"$from": [step, pointer], "literal": value}.

    `source` is the number of that step and a JSON pointer into its result. `literal` is the value
    that stood there when the example was made.
    """

    source: tuple[int, str] = msgspec.field(name=FROM)
    literal: Any


class Fact(Stored, frozen=True):
    """What one record of a result shows: these fields, in a record about these values.

    The values of `about` stand in the record itself or in the records that contain it.
    """

    fields: Json = {}
    about: tuple[str | bool | int | float, ...] = ()


class Evidence(Stored, frozen=True):
    """Why a read is in a path: the facts in its result that later calls or the answer need.

    Any read that shows all `facts` does as well, unless the evidence is `tied` to the call: then
    nothing in the result tells what it is about, and only the same tool with equal arguments does.
    Arguments equal to their `defaults` make no difference.
    """

    facts: tuple[Fact, ...] = ()
    tied: bool = False
    defaults: Json = {}


class Step(Stored, frozen=True):
    """One reference call. Its arguments are JSON; a `Ref` may replace a value at any depth.

    `answers` are JSON pointers to the values in its result that answer the user's question, and
    `values` are those values. A read has `evidence`. `alternatives` are other calls that do as
    well; examples made today have none.
    """

    turn: int
    tool: str
    arguments: Json = {}
    writes: bool = False
    answers: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    evidence: Evidence | None = None
    needs: tuple[Edge, ...] = ()
    alternatives: tuple[Alternative, ...] = ()

    def __post_init__(self) -> None:
        """Turn references that were read from JSON into `Ref` objects; msgspec calls this."""
        for value in self.arguments.values():
            if isinstance(value, NESTED):
                arguments = {name: _with_refs(value) for name, value in self.arguments.items()}
                msgspec.structs.force_setattr(self, "arguments", arguments)
                return


class Path(Stored, frozen=True):
    """One solution: its steps, in an order that works."""

    steps: tuple[Step, ...] = ()


class Turn(Stored, frozen=True):
    """A user message, the minutes that pass before it, and the argument the reply must ask for."""

    text: str
    minutes: int = 0
    asks: str | None = None


class Alias(Stored, frozen=True):
    """Other names and forms for the same world. The names follow from the seed and the tools.

    `tools` is the form of tool names, `words` their vocabulary, `names` the form of arguments and
    of result fields. A name that is opaque has no meaning: descriptions tell it.
    """

    seed: int
    tools: Literal["verb_noun", "nounVerb", "camelCase", "dotted", "opaque"]
    words: Literal["same", "synonyms", "abbreviations"]
    names: Literal["snake_case", "camelCase", "Pascal", "opaque"]
    enums: Literal["same", "upper", "camelCase", "codes"]
    ids: Literal["prefix", "uuid", "code", "number", "slug"]
    results: Literal["bare", "envelope", "nested", "table"]
    descriptions: Literal["full", "terse", "wordy", "none"]


class ToolboxSpec(Stored, frozen=True):
    """The tools of an example: its server's without the hidden ones, plus distractors of others.

    An example without a server has only `schemas`: tools with name, description and parameters
    that cannot be run. With an `alias`, the model sees everything under other names.
    """

    distractors: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    stripped: tuple[str, ...] = ()
    limit: int | None = None
    schemas: tuple[Json, ...] = ()
    alias: Alias | None = None


class Attempt(Stored, frozen=True):
    """A failing call of the teacher: its error, and the step that it comes right before."""

    before: int
    tool: str
    arguments: Json
    error: Kind


class Claim(Stored, frozen=True):
    """A call that a turn asks for, but that the assistant cannot make."""

    turn: int
    tool: str
    arguments: Json


class RelationClaim(Stored, frozen=True):
    """A phrase of a turn names a thing by its relation to another: "the account of my blue card".

    `key` is the thing, `owner` the record that holds this key in `field`. Where the field is a list
    of several, `at` is "first" or "last"; otherwise it is empty.
    """

    turn: int
    phrase: str
    key: str
    owner: str
    field: str
    at: str


class Provenance(Stored, frozen=True):
    """How an example was made, with claims about it that `provegym verify` checks.

    No model sees it in training. Every field may be empty:

    - `made`: "offline", with a model as the teacher "llm" or "rephrased", "imported", "by hand"
    - `persona`: the style in which the user writes
    - `slots`: per turn, the exact phrases that carry values
    - `names`: per turn, the things called by name, as pairs of phrase and key
    - `levels`: per turn, how much is said: "complete", "missing", "minimal", "answer" or "aside"
    - `derived`: the user's words for a value, by step and argument: {"2.since": "last Monday"}
    - `attempts`: calls of the teacher that fail before the reference call
    - `relations`: things named by their relation to another
    - `infeasible`: the call that a rule of the world refuses, so that the assistant gives up
    - `unserved`: the call that only a hidden tool could serve
    - `would_serve`: the hidden tools that could serve it
    - `why`: why there is nothing to call: "no_tool", "missing", "knowledge", "beyond", "smalltalk"
    - `elsewhere`: the server that could serve a request which no tool here serves
    - `model`, `tokens`: the model that was the teacher, and the tokens it wrote for this example
    - `transcript`: the conversation as chat messages, where a teacher or a source gave one
    - `first_turn_of`: the id of the longer example that this one is the first turn of
    """

    made: str = ""
    persona: str = ""
    slots: tuple[tuple[str, ...], ...] = ()
    names: tuple[tuple[tuple[str, str], ...], ...] = ()
    levels: tuple[str, ...] = ()
    derived: dict[str, str] = {}
    attempts: tuple[Attempt, ...] = ()
    relations: tuple[RelationClaim, ...] = ()
    infeasible: Claim | None = None
    unserved: Claim | None = None
    would_serve: tuple[str, ...] = ()
    why: str = ""
    elsewhere: str = ""
    model: str = ""
    tokens: int | None = None
    transcript: tuple[Json, ...] = ()
    first_turn_of: str = ""


class Example(Stored, frozen=True, tag_field="schema", tag=SCHEMA):
    """A conversation with its reference calls, on a world that its seed reproduces.

    `outcome` is the final diff of the first path: every record that differs from the seed. `drift`
    holds hashes of the changes that happen by the passing of time alone. `server` may be empty if
    no tool can be called.

    >>> example = provegym.make("banking").example
    >>> example.kind, example.server
    ('multi_turn', 'banking')
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
    provenance: Provenance = Provenance()


class ToolCall(Stored, frozen=True):
    """A call as a model wrote it: a name, and arguments that may or may not be JSON."""

    name: str
    arguments: str
    id: str = ""


class Reply(Stored, frozen=True):
    """One message of a policy: text, calls, or both.

    `tokens` is how many the model wrote, `prompt_tokens` how many it read, if they are known.

    >>> call = provegym.ToolCall(name="list_accounts", arguments="{}")
    >>> reply = provegym.Reply(text="I will look.", calls=(call,))
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    tokens: int = 0
    prompt_tokens: int = 0


class Checks(Stored, frozen=True):
    """The checks of a call: the tool was shown, the arguments fit its schema, the call ran."""

    shown: bool = False
    fits: bool = False
    ran: bool = False


RAN = Checks(shown=True, fits=True, ran=True)


class Call(Stored, frozen=True):
    """One call of a model: its position, arguments, checks, result and changes.

    `arguments` is None if the model's text could not be parsed as a call. `digest` is the digest of
    the tool's server after the call.
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


class Served(Stored, frozen=True):
    """A call and the step of the scored path it serves."""

    call: int
    step: int
    in_order: bool
    equal: float


class Reward(Stored, frozen=True):
    """The reward of a rollout, by component, on the path with the highest total."""

    total: float
    parts: dict[str, float] = {}
    path: int = 0
    served: tuple[Served, ...] = ()
    greedy: bool = False


class Verdict(Stored, frozen=True):
    """Whether a rollout succeeded, in three parts; success is all of them.

    `state`: the final world is right, and the evidence for each answer was seen. `answer`: the
    replies say what was asked, ask for what is missing, and claim no deed that was not done.
    `ended`: the conversation came to its end.
    """

    state: bool = False
    answer: bool = False
    ended: bool = False

    @property
    def success(self) -> bool:
        """All three."""
        return self.state and self.answer and self.ended


class Rollout(Stored, frozen=True, tag_field="schema", tag=SCHEMA):
    """The messages and calls of a policy on an example, with the final diff and the reward.

    `ended` says how it ended: "done", a limit ("turns", "calls", "tokens"), or an error, which
    `reason` tells and which has no reward. `sample` counts the rollouts of a policy on the same
    example, from 0 on.
    """

    example: Example
    policy: str
    messages: tuple[Json, ...]
    calls: tuple[Call, ...] = ()
    ended: Ended = "done"
    reason: str = ""
    tokens: int = 0
    prompt_tokens: int = 0
    outcome: tuple[Change, ...] = ()
    reward: Reward | None = None
    verdict: Verdict | None = None
    sample: int = 0


def numbered(rollouts: Iterable[Rollout], held: Iterable[Rollout] = ()) -> Iterator[Rollout]:
    """Rollouts with sample numbers that those which are held already do not have."""
    used: dict[str, set[int]] = {}
    for rollout in held:
        used.setdefault(rollout.example.id, set()).add(rollout.sample)
    for rollout in rollouts:
        known = used.setdefault(rollout.example.id, set())
        free = next(number for number in range(len(known) + 1) if number not in known)
        known.add(free)
        yield msgspec.structs.replace(rollout, sample=free)


def _with_refs(value: Any) -> Any:
    """A JSON value with a `Ref` in the place of each reference."""
    if isinstance(value, list):
        return [_with_refs(part) for part in value]
    if not isinstance(value, dict):
        return value
    if FROM not in value:
        return {name: _with_refs(part) for name, part in value.items()}
    try:
        return msgspec.convert(value, Ref)
    except msgspec.ValidationError as problem:
        # msgspec adds the place of the step to a ValueError, and to no other error.
        raise ValueError(f"Malformed reference: {problem}") from None
