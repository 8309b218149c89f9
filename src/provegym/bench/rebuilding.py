"""Rebuilds a server from a schema alone, and says which rebuilt tools stand for which real ones."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from provegym.bench.copying import Copier, match_entity, same_name
from provegym.kernel import AnyServer
from provegym.kernel.schema import output_schema
from provegym.worlds import build, describe, from_openapi, from_sql
from provegym.worlds.schemas import nouns
from provegym.worlds.spec import Operation, SpecError, WorldSpec

CREATES = ("create", "link", "post", "reserve")
CHANGES = ("update", "assign", "transition", "cancel", "transfer")
ENOUGH_ALIKE = 0.6


@dataclass(frozen=True)
class ToolMatch:
    """A rebuilt tool that stands for a real one; `arguments` are real names by rebuilt names.

    A real tool that changes several fields has one rebuilt tool for each of them: it is called if
    the call gives the argument `only`, and gives it the `value` if there is one. `fixed` are
    arguments with a value of their own: a real tool may be a special case of a rebuilt one.
    """

    tool: str
    arguments: Mapping[str, str]
    only: str = ""
    value: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rebuilt:
    """A server that was rebuilt from a schema, with its counterpart for each real tool."""

    real: AnyServer
    server: AnyServer
    spec: WorldSpec
    copier: Copier
    tools: Mapping[str, tuple[ToolMatch, ...]]

    def is_stray(self, tool: str) -> bool:
        """Whether what stands for a real tool works on records that the real server has not."""
        entities = {self.spec.operation(match.tool).entity for match in self.tools[tool]}
        return bool(entities) and not entities & self.copier.matches.keys()


def rebuild_from_openapi(real: AnyServer) -> Rebuilt:
    """Rebuild a server from the OpenAPI document of its tools; raises SpecError if that fails."""
    shown = [tool.describe() for tool in real.tools.values()]
    document = describe.describe(real.name, real.about, shown)
    spec, _ = from_openapi.spec_of(json.dumps(document), real.name)
    kinds = describe.kinds(shown)
    tables: dict[str, str] = {}
    for entity in spec.entities:
        same = [schema for n, schema in kinds.items() if _noun(nouns.plural(n)) == entity.name]
        table = _table(real, same[0]) if same else ""
        if table and table not in tables.values():
            tables[entity.name] = table
    places = describe.places(shown)
    tools = {name: tuple(_by_place(real, name, places[name], spec)) for name in real.tools}
    return _rebuilt(real, spec, tables, tools)


def rebuild_from_sql(real: AnyServer, text: str, matching: Mapping[str, Any]) -> Rebuilt:
    """Rebuild a server from an SQL schema; `matching` names rebuilt tools and real tables.

    `matching["tools"]` has, by the name of a real tool, a rebuilt tool or several of them;
    `matching["arguments"]` the real argument of a rebuilt tool's argument, by "tool.argument"
    with the name of either tool;
    `matching["fixed"]`, by the name of a real tool, arguments with a value of their own.
    """
    spec, _ = from_sql.spec_of(text, real.name)
    tables = {}
    for table in real.state.tables:
        noun = matching.get("tables", {}).get(table, _noun(table))
        if any(entity.name == noun for entity in spec.entities):
            tables[noun] = table
    renamed = matching.get("arguments", {})
    known = {operation.tool: operation for operation in spec.operations}
    tools = {}
    for name in real.tools:
        wanted = matching.get("tools", {}).get(name, ())
        wanted = [wanted] if isinstance(wanted, str) else list(wanted)
        if missing := [each for each in wanted if each not in known]:
            raise SpecError(f"{real.name}: no rebuilt tool {', '.join(missing)} for {name}")
        several = len(wanted) > 1
        fixed = matching.get("fixed", {}).get(name, {})
        tools[name] = tuple(
            replace(_tool_match(real, name, known[each], renamed, several=several), fixed=fixed)
            for each in wanted
        )
    return _rebuilt(real, spec, tables, tools)


def _rebuilt(
    real: AnyServer,
    spec: WorldSpec,
    tables: Mapping[str, str],
    tools: Mapping[str, tuple[ToolMatch, ...]],
) -> Rebuilt:
    server = build(spec)
    matches = {
        entity.name: match_entity(entity, real, tables[entity.name])
        for entity in spec.entities
        if entity.name in tables
    }
    return Rebuilt(real, server, spec, Copier(server, spec, real, matches), tools)


def _noun(words: str) -> str:
    return nouns.noun_of_table(words)


def _table(real: AnyServer, schema: Mapping[str, Any]) -> str:
    """The real table whose records have a schema, or else the one with the most equal fields."""
    wanted = set(schema.get("properties", ()))
    best, score = "", ENOUGH_ALIKE
    for name, declared in real.state.tables.items():
        own = output_schema(declared.record)
        if own == schema:
            return str(name)
        held = set(own["properties"])
        alike = len(wanted & held) / len(wanted | held)
        if alike > score:
            best, score = name, alike
    return best


def _by_place(
    real: AnyServer, name: str, place: tuple[str, str], spec: WorldSpec
) -> Iterator[ToolMatch]:
    """The rebuilt tools of an operation, by its method and path."""
    method, path = place
    *before, last = path.strip("/").split("/")
    is_one = last.startswith("{")
    noun = _noun(before[-1] if is_one else last)
    own = [each for each in spec.operations if each.entity == noun]
    if method == "post" and not is_one and before and before[-1].startswith("{"):
        verb = f"{last}_{_noun(before[-2])}"
        verbs = [each for each in spec.operations if each.tool == verb]
        own = verbs or own
    slots = [part.strip("{}") for part in path.split("/") if part.startswith("{")]
    kinds = {
        "get": ("get",) if is_one else ("search",),
        "post": (*CREATES, *CHANGES),
        "delete": ("remove",),
        "patch": CHANGES,
    }[method]
    found = [each for each in own if each.kind in kinds]
    if method == "post" and any(each.kind in CREATES for each in found):
        found = [each for each in found if each.kind in CREATES]
    renamed = {f"{each.tool}.{noun}_id": slots[-1] for each in found if slots and is_one}
    for each in found if method == "patch" else found[:1]:
        yield _tool_match(real, name, each, renamed, several=method == "patch")


def _tool_match(
    real: AnyServer, name: str, operation: Operation, renamed: Mapping[str, str], *, several: bool
) -> ToolMatch:
    """How a call of a real tool becomes a call of a rebuilt one: arguments by name."""
    given = real.tools[name].input_schema["properties"]
    arguments = {}
    for each in operation.arguments:
        other = renamed.get(f"{name}.{each.name}") or renamed.get(f"{operation.tool}.{each.name}")
        other = other or same_name(each.name, operation.entity, given)
        if other:
            arguments[each.name] = other
    for paging in ("limit", "offset"):
        if operation.kind == "search" and paging in given:
            arguments[paging] = paging
    changed = [each.name for each in operation.arguments if each.of != operation.entity]
    if not several:
        return ToolMatch(operation.tool, arguments)
    if changed:
        return ToolMatch(operation.tool, arguments, arguments.get(changed[0], "-"))
    # A verb that sets a status stands for the update that sets the same value.
    fixed = next(iter(operation.effects[0].set.items()))
    return ToolMatch(operation.tool, arguments, fixed[0], str(fixed[1]))
