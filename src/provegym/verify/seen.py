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
from provegym.language.values import Knowledge, leaves
from provegym.players.scripted import SCRIPTS
from provegym.rollout import play_script
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, Rollout


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
        text = description + msgspec.json.encode(schema).decode()
        tool = view.plain[view.read_tool(name)]
        enums = (*enums_of(tool.input_schema), *enums_of(tool.output_schema))
        for value in dict.fromkeys(value for enum in enums for value in enum):
            code = view.enums.shown.get(value, "")
            if is_code(code) and f"{code} is {value.replace('_', ' ')}" not in text:
                yield f"{name} does not say what {code} means"


def values_are_shown(example: Example, toolbox: Toolbox, view: AliasedView) -> Iterator[str]:
    """Each id that a right call takes was said or shown before, in the form that it is taken."""
    rollout = play_script(example, SCRIPTS["oracle"])
    known = Knowledge()
    for message in rollout.messages:
        if message["role"] in ("user", "tool"):
            known.hear(message["content"])
        for call in message.get("tool_calls") or ():
            for leaf in leaves(msgspec.json.decode(call["function"]["arguments"])):
                if isinstance(leaf, str) and view.ids.decode(leaf) and leaf not in known.text:
                    yield f"{call['function']['name']} takes {leaf}, which nothing has shown"


def paid_alike(example: Example, twin: Example) -> Iterator[str]:
    """Every scripted policy is recorded, paid and judged in the view as in the plain twin."""
    for name, make in SCRIPTS.items():
        own, other = play_script(example, make), play_script(twin, make)
        for part in ("reward", "verdict", "outcome", "ended"):
            if _part(own, part) != _part(other, part):
                yield f"{name}: its {part} differs from that under plain names"
        if [_record(call) for call in own.calls] != [_record(call) for call in other.calls]:
            yield f"{name}: its calls are recorded otherwise than under plain names"


def _part(rollout: Rollout, name: str) -> Any:
    return msgspec.to_builtins(getattr(rollout, name))


def _record(call: Any) -> Json:
    told: Json = msgspec.to_builtins(call)
    return told
