"""The toolbox of an example: the tools the model sees; prompt, execution and reward all use it.

It is built from the example's spec: the tools of its server without the hidden ones, plus
distractors of other servers, shuffled with the example's id as seed. Some enums are removed from
the schemas. The model cannot call a tool that is not in the toolbox.

`tools` and `schemas` have plain names. The `view` has the names that the model sees: under an alias
they differ, and its calls are translated back.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Protocol

from msgspec.structs import replace as put

from provegym import servers
from provegym.aliases import AliasedView, PlainView, View, draw, tools_of, view_of
from provegym.kernel import Session, Tool
from provegym.trace import Alias, BadFile, Example, Json

PLAIN = PlainView()
ALIAS_KNOB = "alias"
MAX_NAME = 64
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
JSON_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    ),
}


class ToolLike(Protocol):
    """The interface of a tool in a toolbox."""

    @property
    def name(self) -> str:
        """Its name on its own server."""

    @property
    def server(self) -> str:
        """The name of its server."""

    @property
    def description(self) -> str:
        """What it does."""

    @property
    def input_schema(self) -> Json:
        """The JSON schema of its arguments."""

    @property
    def writes(self) -> bool:
        """Whether it may change the state."""


@dataclass(frozen=True)
class Shown:
    """A tool that has only a schema; it cannot be run, so a call to it fails with not_found."""

    name: str
    description: str
    input_schema: Json
    server: str = ""
    writes: bool = False


class Toolbox:
    """Tools by their plain names, and the view in which the model sees them."""

    def __init__(
        self, tools: Iterable[ToolLike], stripped: Iterable[str] = (), view: View = PLAIN
    ) -> None:
        self.tools = expose(list(tools))
        self.view = view
        self._cut: dict[str, set[str]] = {}
        for mark in stripped:
            tool_name, _, argument = mark.partition(".")
            self._cut.setdefault(tool_name, set()).add(argument)
        self.schemas = {
            name: strip_enums(tool.input_schema, self._cut.get(tool.name, set()))
            for name, tool in self.tools.items()
        }

    @classmethod
    def of(cls, example: Example) -> "Toolbox":
        """The toolbox of an example. A limit keeps the tools that it needs."""
        spec = example.toolbox
        if not example.server:
            return cls(
                Shown(each["name"], each["description"], each["parameters"])
                for each in spec.schemas
            )
        if not servers.is_known(example.server):
            raise BadFile(
                f"{example.id}: there is no server {example.server!r}; if it is your own, say where"
                " its package is with --servers-from FOLDER; if it is a foreign one, connect it"
                " with --mcp, if the command has it"
            )
        missing = [name for name in spec.distractors if name not in all_tools()]
        if missing:
            raise BadFile(f"{example.id}: its distractor {missing[0]!r} is not a known tool")
        own = [t for t in servers.load(example.server).tools.values() if t.name not in spec.hidden]
        others = [all_tools()[name] for name in spec.distractors]
        if spec.limit is not None:
            kept = needed_tools(example)
            needed = [tool for tool in own if tool.name in kept]
            rest = [tool for tool in own if tool.name not in kept]
            own = needed + rest[: max(0, spec.limit - len(needed) - len(others))]
        tools = [*own, *others]
        Random(f"toolbox:{plain_id(example)}").shuffle(tools)
        return cls(tools, spec.stripped, _view(example, tools))

    def session(self, seed: int) -> Session:
        """A new session over all servers that have a tool in this toolbox.

        A world that is data may have a tool with the name of another server's tool. The one that is
        shown is called: in a session, the tools of later servers hide those of earlier ones.
        """
        live = [tool for tool in self.tools.values() if tool.server]
        opened = [servers.load(name) for name in dict.fromkeys(tool.server for tool in live)]
        session = Session(opened, seed)
        known = session.tools
        hidden = {t.server for t in live if t.name in known and known[t.name][1].name != t.server}
        if hidden:
            session = Session(sorted(opened, key=lambda server: server.name in hidden), seed)
        return session

    def fits(self, name: str, arguments: Json) -> bool:
        """Whether arguments fit the shown schema: required keys, JSON types, no undeclared key."""
        return fits(self.schemas[name], arguments)

    def openai(self) -> list[Json]:
        """The tools as OpenAI function schemas."""
        return [
            {
                "type": "function",
                "function": {"name": name, "description": description, "parameters": schema},
            }
            for name, description, schema in self.shown()
        ]

    def mcp(self) -> list[Json]:
        """The tools as an MCP tool list."""
        return [
            {"name": name, "description": description, "inputSchema": schema}
            for name, description, schema in self.shown()
        ]

    def shown(self) -> list[tuple[str, str, Json]]:
        """The name, description and schema of each tool, as the model sees them."""
        view = self.view
        if isinstance(view, PlainView):
            return [(name, t.description, self.schemas[name]) for name, t in self.tools.items()]
        rename = view.arguments.keys.show
        return [
            (
                view.tools.show(name),
                view.description(name),
                strip_enums(view.schema(name), {rename(a) for a in self._cut.get(tool.name, ())}),
            )
            for name, tool in self.tools.items()
        ]


@cache
def all_tools() -> Mapping[str, ToolLike]:
    """Every tool of our servers, by its name."""
    return {name: tool for server in servers.load_all() for name, tool in server.tools.items()}


def _view(example: Example, tools: list[ToolLike]) -> View:
    """The view of an example: plain, or that of its alias."""
    alias = example.toolbox.alias
    if alias is None:
        return PLAIN
    names = dict.fromkeys([example.server, *sorted({tool.server for tool in tools})])
    if reason := why_no_alias(example):
        raise BadFile(f"{example.id}: {reason}")
    loaded = tuple(servers.load(name) for name in names)
    known = tools_of(loaded)
    exposed = ((n, t) for n, t in expose(tools).items() if isinstance(t, Tool))
    return view_of(loaded, alias, tuple((n, t) for n, t in exposed if known.get(n) is not t))


def example_view(example: Example) -> View:
    """The view in which an example is played."""
    return PLAIN if example.toolbox.alias is None else Toolbox.of(example).view


def why_no_alias(example: Example) -> str:
    """Why an example can have no alias, or nothing."""
    if not example.server:
        return "it has no server, so its tools cannot have other names"
    if servers.is_known(example.server) and servers.load(example.server).foreign:
        return f"{example.server} is a foreign server, and its tools keep their names"
    return ""


def aliased(example: Example, seed: int) -> Example:
    """The aliased twin of a plain example: the same world and calls, under other names.

    The user's texts say ids in their other form. Everything else in the example stays plain.
    """
    if reason := why_no_alias(example):
        raise BadFile(f"{example.id}: {reason}")
    return under(example, draw(seed))


def under(example: Example, alias: Alias) -> Example:
    """The twin of a plain example under a given alias."""
    named = put(
        example,
        id=f"{example.id}{_suffix(alias)}",
        toolbox=put(example.toolbox, alias=alias),
        knobs=(*example.knobs, ALIAS_KNOB),
    )
    view = example_view(named)
    if isinstance(view, AliasedView) and (said := example.provenance.transcript):
        shown = put(example.provenance, transcript=tuple(view.show_messages(said)))
        named = put(named, provenance=shown)
    return _with_texts(named, view.show_text)


def plain(example: Example) -> Example:
    """An example without its alias: the same texts and tools under their own names.

    A recorded transcript is left out; it can be played again.
    """
    if example.toolbox.alias is None:
        return example
    bare = _with_texts(example, example_view(example).read_text)
    knobs = tuple(name for name in example.knobs if name != ALIAS_KNOB)
    made = put(example.provenance, transcript=())
    toolbox = put(example.toolbox, alias=None)
    return put(bare, id=plain_id(example), toolbox=toolbox, knobs=knobs, provenance=made)


def plain_id(example: Example) -> str:
    """The id of an example without its alias. The order of the tools is drawn from it."""
    alias = example.toolbox.alias
    return example.id if alias is None else example.id.removesuffix(_suffix(alias))


def _suffix(alias: Alias) -> str:
    return f"-alias{alias.seed}"


def _with_texts(example: Example, write: Callable[[str], str]) -> Example:
    turns = tuple(put(turn, text=write(turn.text)) for turn in example.turns)
    return put(example, system=write(example.system), turns=turns)


def gold_tools(example: Example) -> set[str]:
    """Every tool of a reference step or of an alternative, over all paths."""
    steps = [step for path in example.paths for step in path.steps]
    return {step.tool for step in steps} | {a.tool for step in steps for a in step.alternatives}


def needed_tools(example: Example) -> set[str]:
    """The tools that an example is not shown without: gold, and what a rule will refuse."""
    refused = example.provenance.infeasible
    return gold_tools(example) | ({refused.tool} if refused else set())


def expose(tools: list[ToolLike]) -> dict[str, ToolLike]:
    """Give each tool a valid, unique name; if two names are equal, `<server>__<name>`."""
    counts = Counter(tool.name for tool in tools)
    exposed: dict[str, ToolLike] = {}
    for tool in tools:
        name = tool.name
        if counts[name] > 1 or not NAME.fullmatch(name):
            name = re.sub(r"[^a-zA-Z0-9_-]", "_", f"{tool.server}__{tool.name}")[:MAX_NAME]
        number = 2
        while name in exposed:
            name = f"{name[: MAX_NAME - len(str(number)) - 1]}_{number}"
            number += 1
        exposed[name] = tool
    return exposed


def strip_enums(schema: Json, arguments: set[str]) -> Json:
    """The schema without the enums of these arguments; their descriptions list the values."""
    if not arguments:
        return schema
    properties = dict(schema["properties"])
    for name in arguments & properties.keys():
        part = dict(properties[name])
        values = [str(value) for value in part.pop("enum", ()) if value is not None]
        if values:
            part["description"] = (
                f"{part.get('description', '')} One of {', '.join(values)}.".strip()
            )
        properties[name] = part
    return {**schema, "properties": properties}


def fits(schema: Json, value: Any) -> bool:
    """Whether a value has the JSON types, required and declared keys of a schema, at any depth.

    Enums, bounds and formats are checked when the call is run: those errors help the model more.
    """
    if "anyOf" in schema or "oneOf" in schema:
        return any(fits(option, value) for option in schema.get("anyOf") or schema["oneOf"])
    kinds = schema.get("type")
    if kinds is not None:
        allowed = [kinds] if isinstance(kinds, str) else kinds
        if not any(JSON_TYPES[kind](value) for kind in allowed):
            return False
    if isinstance(value, list):
        return all(fits(schema.get("items", {}), part) for part in value)
    if not isinstance(value, dict):
        return True
    declared = schema.get("properties", {})
    if any(key not in value for key in schema.get("required", ())):
        return False
    if schema.get("additionalProperties", True) is False and value.keys() - declared.keys():
        return False
    return all(fits(declared[key], part) for key, part in value.items() if key in declared)
