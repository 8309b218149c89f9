"""Checks of an aliased view: it hides nothing that a model needs, and it changes no reward.

The plain twin of the example passes the whole contract. So it is enough to show that the view is
faithful: what the model is shown translates back to what the plain twin shows, and what it does
is recorded and paid as if it had been done there.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from provegym.aliases import AliasedView
from provegym.aliases.schemas import enums_of
from provegym.aliases.sentences import is_code
from provegym.language.values import leaves
from provegym.players.scripted import SCRIPTS
from provegym.rollout import play_script
from provegym.toolbox import Toolbox
from provegym.trace import Call, Example, Json, Rollout


def faithful(example: Example, twin: Example) -> Iterator[str]:
    """The view can be translated back, and shows every value that a right call takes."""
    toolbox = Toolbox.of(example)
    view = toolbox.view
    assert isinstance(view, AliasedView)
    for shown, own in zip(example.turns, twin.turns, strict=True):
        if view.show_text(own.text) != shown.text:
            yield f"the user's words {shown.text!r} have another id than the results"
    names = [name for name, _, _ in toolbox.shown()]
    if len(set(names)) < len(names):
        yield "two tools have the same name"
    for name, _, schema in toolbox.shown():
        plain = toolbox.schemas[view.read_tool(name)]
        if len(schema["properties"]) < len(plain["properties"]):
            yield f"two arguments of {name} have the same name"
    yield from codes_are_told(toolbox, view)
    yield from values_are_shown(example, toolbox, view)


def codes_are_told(toolbox: Toolbox, view: AliasedView) -> Iterator[str]:
    """Each code of an enum stands beside its meaning, in the schema or description of its tool."""
    for name, description, schema in toolbox.shown():
        text = description + _text(schema)
        tool = view.plain[view.read_tool(name)]
        enums = (*enums_of(tool.input_schema), *enums_of(tool.output_schema))
        for value in dict.fromkeys(value for enum in enums for value in enum):
            code = view.enums.shown.get(value, "")
            if is_code(code) and f"{code} is {value.replace('_', ' ')}" not in text:
                yield f"{name} does not say what {code} means"


def values_are_shown(example: Example, toolbox: Toolbox, view: AliasedView) -> Iterator[str]:
    """The right calls take only what the view has shown, and their results are shown whole.

    A value that keeps its form is known as in the plain twin, since results translate back. An id
    was said or shown in its new form, and an enum value stands in the schema that is shown.
    """
    rollout = play_script(example, SCRIPTS["oracle"])
    schemas = {name: _text(schema) for name, _, schema in toolbox.shown()}
    heard, made = "", iter(rollout.calls)
    asked: dict[str, Call] = {}
    for message in rollout.messages:
        for call in message.get("tool_calls") or ():
            name, own = call["function"]["name"], next(made)
            asked[call["id"]] = own
            given = leaves(msgspec.json.decode(call["function"]["arguments"]))
            for leaf, plain in zip(given, leaves(own.arguments), strict=True):
                if leaf != plain and str(leaf) not in heard and str(leaf) not in schemas[name]:
                    yield f"{name} takes {leaf}, which nothing has shown"
        if message["role"] == "tool":
            own = asked[message["tool_call_id"]]
            back = view.read_result(own.tool, message["content"])
            if own.checks.ran and msgspec.json.decode(back) != msgspec.json.decode(own.result):
                yield f"the result of {own.tool} is not shown whole"
        heard += f"\n{message['content']}" if message["role"] != "assistant" else ""


def _text(value: Json) -> str:
    return msgspec.json.encode(value).decode()


def paid_alike(example: Example, twin: Example) -> Iterator[str]:
    """Every scripted policy is recorded, paid and judged in the view as in the plain twin."""
    for name, make in SCRIPTS.items():
        own, other = play_script(example, make), play_script(twin, make)
        for part in ("reward", "verdict", "outcome", "ended"):
            if _part(own, part) != _part(other, part):
                yield f"{name}: its {part} differs from that under plain names"
        if own.calls != other.calls:
            yield f"{name}: its calls are recorded otherwise than under plain names"


def _part(rollout: Rollout, name: str) -> Any:
    return msgspec.to_builtins(getattr(rollout, name))
