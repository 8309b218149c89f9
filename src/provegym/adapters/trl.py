"""The adapter for TRL 1.16: environments for the `environment_factory` of GRPOTrainer.

TRL ends a conversation at the first reply without a call, so it can play examples with one user
turn only; `provegym train` plays all. TRL takes the methods of a class as tools, so there is one
class for every toolbox, and each row of the dataset names its class. TRL builds schemas from
signatures, sorted by name. They lack bounds, formats, patterns and defaults, but calls are still
checked against these. TRL itself answers a call of a tool that is not shown; it counts as an error.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from inspect import Parameter, Signature
from operator import or_
from statistics import fmean
from typing import Any, Literal

import msgspec

from provegym.adapters.episode import check
from provegym.models.dialects import openai
from provegym.players.plan import tool_call
from provegym.rewards import PAPER, Scheme
from provegym.rewards.success import rates, verdict_of
from provegym.rollout import Player, play_replies
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, Rollout, ToolboxSpec
from provegym.verify.first_turn import first_turn as first_turn

check("trl", "1.16")

TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": None,
    "object": dict,
}


class Environment:
    """A world for one rollout at a time, of an example with one user turn.

    Its subclasses have the tools of a toolbox as methods.
    """

    _player: Player

    def reset(self, example: str, **_: Any) -> None:
        """Begin an example, given as JSON in a column of the dataset."""
        self._player = Player(_one_turn(msgspec.json.decode(example, type=Example)))
        self._player.open()
        self._player.hear(0)


def environments(examples: Iterable[Example]) -> dict[str, type[Environment]]:
    """The `environment_factory` for these examples: one class for every toolbox, by name."""
    toolboxes = {_name(example): example for example in examples}
    return {name: _environment(example) for name, example in toolboxes.items()}


def row(example: Example) -> Json:
    """An example as a row of the `train_dataset`."""
    opening = ("system", example.system), ("user", _one_turn(example).turns[0].text)
    return {
        "prompt": [{"role": role, "content": text} for role, text in opening],
        "environment": _name(example),
        "example": msgspec.json.encode(example).decode(),
    }


def reward(
    completions: Sequence[Sequence[Json]],
    example: Sequence[str],
    environments: Sequence[Environment],
    log_metric: Callable[[str, float], None],
    scheme: Scheme = PAPER,
    **_: Any,
) -> list[float | None]:
    """The rewards of these replies, replayed in our own loop; None if a server's bug ended one."""
    rollouts = [
        play_replies(
            msgspec.json.decode(told, type=Example),
            [openai.parse(message) for message in said if message["role"] == "assistant"],
            name="trl",
            scheme=scheme,
        )
        for told, said in zip(example, completions, strict=True)
    ]
    for name, value in _figures(rollouts).items():
        log_metric(f"provegym/{name}", value)
    # TRL never frees environments, and has one for every rollout that runs at the same time.
    for environment in environments:
        del environment._player
    return [each.reward.total if each.reward else None for each in rollouts]


def _figures(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """The means of the components of the reward, and the shares of success and its parts."""
    parts = [each.reward.parts for each in rollouts if each.reward and each.reward.parts]
    means = {name: fmean(each[name] for each in parts) for name in (parts[0] if parts else ())}
    return {**means, **rates([verdict_of(each) for each in rollouts])}


def _one_turn(example: Example) -> Example:
    if len(example.turns) > 1:
        raise ValueError(
            f"{example.id} has {len(example.turns)} user turns, and TRL's environment_factory plays"
            " one: leave it out, or train with `provegym train`"
        )
    return example


def _name(example: Example) -> str:
    """The name of an example's class. Examples with exactly the tools of a server share one."""
    return example.server if example.toolbox == ToolboxSpec() else example.id


def _environment(example: Example) -> type[Environment]:
    toolbox = Toolbox.of(example)
    methods = {
        name: _method(name, description, msgspec.json.encode(schema))
        for name, description, schema in toolbox.shown()
    }
    return type(f"{example.server}Environment", (Environment,), methods)


@cache
def _method(name: str, description: str, schema: bytes) -> Callable[..., str]:
    """A method with the signature and docstring that TRL's schemas are built from."""

    def method(self: Environment, **arguments: Any) -> str:
        asked = tool_call(name, arguments)
        return self._player.shown(asked, self._player.run(asked, 0))

    told = msgspec.json.decode(schema)
    parts = told["properties"]
    described = [f"    {each}: {_describe(part)}" for each, part in parts.items()]
    method.__name__ = name
    method.__doc__ = "\n".join([description, "", *(["Args:", *described] if described else [])])
    method.__annotations__ = {each: _hint(part) for each, part in parts.items()}
    defaults = {
        each: Parameter.empty if each in told.get("required", ()) else part.get("default")
        for each, part in parts.items()
    }
    taken = [
        Parameter(each, Parameter.KEYWORD_ONLY, annotation=hint, default=defaults[each])
        for each, hint in method.__annotations__.items()
    ]
    itself = Parameter("self", Parameter.POSITIONAL_ONLY)
    method.__signature__ = Signature([itself, *taken])  # type: ignore[attr-defined]
    return method


def _hint(schema: Json) -> Any:
    """The type hint that TRL turns back into a schema."""
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if "anyOf" in schema:
        return reduce(or_, map(_hint, schema["anyOf"]))
    if isinstance(schema.get("type"), list):
        return reduce(or_, (_hint({**schema, "type": kind}) for kind in schema["type"]))
    if schema.get("type") == "array":
        return list[_hint(schema.get("items", {}))]  # type: ignore[misc]
    return TYPES.get(schema.get("type", ""), Any)


def _describe(schema: Json) -> str:
    """The description of an argument. The schema of a list's objects is added to it."""
    items = schema.get("items", {})
    shape = f" Each: {msgspec.json.encode(items).decode()}" if "properties" in items else ""
    return f"{schema.get('description', '')}{shape}"
