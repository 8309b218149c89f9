"""Checks of a server's asks.toml: ways of asking, their slots and fields, and names of records."""

import re
from collections.abc import Iterator
from typing import Any

from provegym.fuzz.pool import snake
from provegym.kernel import AnyServer, Session, Tool
from provegym.language.questions import COUNT, read_way
from provegym.language.things import kinds, survey
from provegym.servers import asks
from provegym.verify.server_worlds import fields, tables

SLOT = re.compile(r"\{(\w+)(?::\w+)?\}")
LEAST_WAYS = {True: 4, False: 3}  # for a tool that writes, and one that reads


def ask_faults(server: AnyServer) -> Iterator[str]:
    """What is wrong with the ways of asking: too few, alike, or with slots that do not fit."""
    listed = asks(server.name).get("asks", {})
    for unknown in sorted(listed.keys() - server.tools.keys()):
        yield f"[asks] names {unknown}, which is no tool"
    for tool in server.tools.values():
        ways = [read_way(way).words for way in listed.get(tool.name, ())]
        least = LEAST_WAYS[tool.writes]
        if len(set(ways)) < least:
            yield f"{tool.name} has {len(set(ways))} ways of asking; at least {least} are asked"
        elif len({way.split()[0] for way in ways}) < 2:
            yield f"{tool.name}: all ways of asking begin with the same word"
        yield from (f"{tool.name}: {fault}" for way in ways for fault in way_faults(tool, way))


def way_faults(tool: Tool, way: str) -> Iterator[str]:
    """What is wrong with the slots of one way of asking."""
    bare = re.sub(r"\[[^\[\]]*\]", "", way)
    if re.search(r"[\[\]]", bare) or re.search(r"[{}]", SLOT.sub("", bare)):
        yield f"the brackets of {way!r} do not fit"
    known = set(tool.input_schema["properties"])
    for slot in sorted(set(SLOT.findall(way)) - known):
        yield f"{{{slot}}} in {way!r} is no argument"
    for slot in sorted(set(tool.input_schema["required"]) - set(SLOT.findall(bare))):
        yield f"{way!r} leaves out the required {{{slot}}}"
    if "_" in SLOT.sub("", way):
        yield f"{way!r} has an underscore, as only ids and tool names have"


def question_faults(server: AnyServer) -> Iterator[str]:
    """The ways of asking for a read that name no field of its result, or one that it has not.

    A way of asking for a write names none.
    """
    table = asks(server.name)
    short = table.get("short", {})
    for tool in server.tools.values():
        more = [way for ways in short.get(tool.name, {}).values() for way in ways]
        schema = tool.output_schema
        known = {*paths(schema["properties"]["items"]["items"]), COUNT} if tool.paged else None
        known = known or set(paths(schema))
        for way in (*table.get("asks", {}).get(tool.name, ()), *more):
            named = read_way(way).asked.fields
            if tool.writes and named:
                yield f"{tool.name} writes, so {way!r} asks for no field"
            elif not tool.writes and not named:
                yield f"{way!r} does not say which field answers it"
            elif unknown := [field for field in named if not tool.writes and field not in known]:
                yield f"{way!r}: {tool.name} returns no {unknown[0]!r}"


def paths(schema: dict[str, Any]) -> Iterator[str]:
    """The fields of a record, and those of records in its fields, as "lines/name"."""
    for name, part in schema.get("properties", {}).items():
        yield name
        # A tuple of fixed length has `items: false`.
        for kind in (part, part.get("items") or {}, *part.get("anyOf", ())):
            yield from (f"{name}/{inner}" for inner in paths(kind))


def refer_faults(server: AnyServer) -> Iterator[str]:
    """What is wrong with [refer]: how people name a record by its fields."""
    refer = asks(server.name).get("refer", {})
    records = {snake(spec): spec for spec in server.state.tables.values()}
    for noun, ways in refer.items():
        if noun not in records:
            yield f"[refer] names {noun}, which is no kind of record"
            continue
        for way in ways:
            slots = set(SLOT.findall(way))
            if not slots:
                yield f"{noun}: {way!r} names no field"
            for slot in sorted(slots - (fields(records[noun].record) - {"id"})):
                yield f"{noun}: {{{slot}}} in {way!r} is no field that people say"
    for noun in sorted(id_nouns(server) - {noun for noun, ways in refer.items() if ways}):
        yield f"[refer] has no way to name the records of kind {noun}, and tools take their ids"


def id_nouns(server: AnyServer) -> set[str]:
    """The kinds of records whose ids tools take."""
    records = {snake(spec) for spec in server.state.tables.values()}
    return records & {
        name.removesuffix("_id")
        for tool in server.tools.values()
        for name in tool.input_schema["properties"]
        if name.endswith("_id")
    }


def nameless(server: AnyServer, seed: int = 0) -> Iterator[str]:
    """The kinds of records whose ids tools take, and of which none has a name of its own.

    A kind whose ids records with a name hold ("the thread of that message") needs no names.
    """
    session = Session([server], seed)
    found = survey(session)
    named, held_by = found.named, {f for thing in found.things.values() for f in thing.fields}
    drawn = tables(session.state(server))
    held = {snake(server.state.tables[table]): rows for table, rows in drawn.items()}
    for noun in sorted(id_nouns(server) & set(kinds(server).prefixes.values())):
        count, total = len(named.get(noun, ())), len(held.get(noun, ()))
        if total and not count and f"{noun}_id" not in held_by:
            yield f"none of {total} {noun} records is shown by a read with a name of its own"
