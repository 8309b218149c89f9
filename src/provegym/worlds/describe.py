"""Describes any server as a REST API: an OpenAPI 3.1 document from the schemas of its tools.

Only what a client of the server sees is used: names, descriptions, input and output schemas and
annotations of tools. Equal output schemas are one kind of record. A read without a required id
becomes `GET /things`, a read by an id `GET /things/{thing_id}`, a write `POST`, `PATCH`, `DELETE`
or a verb path such as `POST /cards/{card_id}/freeze`. `operationId` is the name of the tool.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from provegym.worlds.schemas import nouns

Json = dict[str, Any]

PAGE = {"items", "total", "offset", "next_offset"}
UPDATES = ("update", "set", "change", "edit", "correct", "rename")
REMOVALS = ("remove", "delete", "discard")
PREPOSITIONS = ("to", "from", "on", "in", "for")


class _Shown:
    """One tool as a client sees it."""

    def __init__(self, tool: Json) -> None:
        self.name: str = tool["name"]
        self.about: str = tool["description"]
        self.writes: bool = tool["writes"]
        self.destructive: bool = tool["destructive"]
        self.idempotent: bool = tool["idempotent"]
        self.arguments: Json = tool["input_schema"].get("properties", {})
        self.required: list[str] = list(tool["input_schema"].get("required", ()))
        result: Json = tool["output_schema"]
        self.paged = set(result.get("properties", ())) == PAGE
        self.result = result
        self.record: Json = result["properties"]["items"]["items"] if self.paged else result
        self.key = json.dumps(self.record, sort_keys=True)
        self.verb, *words = self.name.split("_")
        self.words = "_".join(words)
        while len(words) > 1 and words[0] in PREPOSITIONS:
            words = words[1:]
        # What the tool is about, in the singular: "search_crm_contacts" is about a crm_contact.
        self.topic = nouns.singular("_".join(words)) or self.verb

    def about_noun(self, ids: Iterable[str]) -> str:
        """The topic, in the words of the ids: a crm_contact is a contact if ids are contact_id."""
        fitting = [each for each in ids if _ends(self.topic, each)]
        return max(fitting, key=len, default=self.topic)


@dataclass(frozen=True)
class _Place:
    """Where a tool is in the API."""

    method: str
    path: str
    slot: str = ""


def _ends(words: str, noun: str) -> bool:
    return words == noun or words.endswith(f"_{noun}")


def _own_key(record: Json) -> str:
    """The property that identifies a record: `id`, or else its first one if that is a text."""
    held: Json = record.get("properties", {})
    if "id" in held:
        return "id"
    first = next(iter(held), "")
    is_text = bool(first) and held[first].get("type") == "string"
    return first if is_text and not first.endswith("_id") else ""


class _Api:
    """The kinds of records of a server, and the place of each of its tools."""

    def __init__(self, tools: Sequence[Json]) -> None:
        self.tools = [_Shown(tool) for tool in tools]
        names = [name for tool in self.tools for name in tool.arguments]
        self.ids = [*dict.fromkeys(n.removesuffix("_id") for n in names if n.endswith("_id"))]
        self.records = {tool.key: tool.record for tool in self.tools}
        self.nouns = self._named()
        self.slots = self._slots()
        # What reads call a record: draft, and email_draft too.
        self.topics = {noun: {noun} for noun in self.nouns.values()}
        for tool in self.tools:
            noun = self.nouns[tool.key]
            if not tool.writes and _ends(tool.topic, noun):
                self.topics[noun].add(tool.topic)
        self.places: dict[str, _Place] = {}
        self.taken: set[tuple[str, str]] = set()
        ordered = sorted(self.tools, key=lambda tool: (tool.writes, self._strange(tool)))
        for tool in ordered:
            self._put(tool)

    def _named(self) -> dict[str, str]:
        """A noun for each kind of record: what the tools that return it are about, most often."""
        votes: Counter[tuple[str, str]] = Counter()
        for tool in self.tools:
            votes[tool.key, tool.about_noun(self.ids)] += 1 if tool.writes else 2
            given = [name for name in tool.required if name.endswith("_id")]
            if len(given) == 1 and not tool.paged:
                votes[tool.key, given[0].removesuffix("_id")] += 2
        found: dict[str, str] = {}
        for (key, noun), _ in sorted(votes.items(), key=lambda vote: (-vote[1], len(vote[0][1]))):
            if key not in found and noun not in found.values() and self._may_be(key, noun):
                found[key] = noun
        for tool in self.tools:
            if tool.key not in found:
                found[tool.key] = tool.name
        return found

    def _may_be(self, key: str, noun: str) -> bool:
        """Whether a record can be a payment: not if it points to one, holds one or has no id."""
        held = self.records[key].get("properties", {})
        return not ({noun, f"{noun}_id"} & held.keys() or (noun in self.ids and "id" not in held))

    def _slots(self) -> dict[str, list[str]]:
        """The nouns of each argument that identifies a record: `card_id`, a stock's `symbol`."""
        found = {f"{noun}_id": [noun] for noun in self.nouns.values()}
        for key, noun in self.nouns.items():
            own = _own_key(self.records[key])
            if own not in ("", "id", "name"):
                found.setdefault(own, []).append(noun)
        return found

    def _owner(self, tool: _Shown, slot: str) -> str:
        """The noun of the record that an argument identifies; of several, the tool's topic."""
        known = self.slots.get(slot, [])
        return known[0] if len(known) == 1 else next((n for n in known if n == tool.topic), "")

    def _strange(self, tool: _Shown) -> bool:
        """Whether a tool is about something else than what it returns."""
        return tool.topic != self.nouns[tool.key] or bool(self._given(tool))

    def _given(self, tool: _Shown) -> list[str]:
        """The required arguments that identify records."""
        return [name for name in tool.required if self._owner(tool, name)]

    def _put(self, tool: _Shown) -> None:
        for place in self._wanted(tool):
            if (place.method, place.path) not in self.taken:
                self.taken.add((place.method, place.path))
                self.places[tool.name] = place
                return

    def _wanted(self, tool: _Shown) -> list[_Place]:
        """Places for a tool, the best one first; the last one is always free."""
        noun, many = self.nouns[tool.key], nouns.plural(self.nouns[tool.key])
        given = self._given(tool)
        own = [name for name in given if self._owner(tool, name) == noun]
        slot = (own or given or [""])[0]
        owner = self._owner(tool, slot)
        base = f"/{nouns.plural(owner)}/{{{slot}}}" if owner else f"/{many}"
        method = "post" if tool.writes else "get"
        last = _Place(method, f"{base}/{tool.name}", slot)
        if tool.writes:
            return [*self._write(tool, noun, owner, slot, base), last]
        if tool.paged:
            is_other = owner and owner != noun
            first = [_Place("get", f"{base}/{many}", slot)] if is_other else []
            first += [_Place("get", base)] if not owner else []
        elif owner:
            first = [_Place("get", base, slot)] if owner in (noun, tool.about_noun([owner])) else []
        else:
            return [_Place("get", f"/{tool.topic}"), last]
        return [*first, _Place("get", f"{base}/{_rest(tool.topic, owner or noun)}", slot), last]

    def _write(self, tool: _Shown, noun: str, owner: str, slot: str, base: str) -> Iterable[_Place]:
        is_about = tool.about_noun(self.ids) == noun
        others = [name for name in tool.arguments if name != slot]
        if owner != noun:
            many = nouns.plural(noun)
            below = f"{base}/{many}"
            if is_about and owner and ("get", below) in self.taken:
                yield _Place("post", below, slot)
            elif is_about:
                yield _Place("post", f"/{many}")
        elif tool.verb in REMOVALS and tool.destructive and is_about and not others:
            yield _Place("delete", base, slot)
        elif tool.verb in UPDATES:
            held = self.records[tool.key].get("properties", {})
            if is_about or all(name in held for name in others):
                yield _Place("patch", base, slot)
        if owner:
            is_whole = tool.topic in self.topics[owner]
            verb = tool.verb if is_whole else f"{tool.verb}_{_rest(tool.words, owner)}"
            yield _Place("post", f"{base}/{verb}", slot)


def _rest(topic: str, noun: str) -> str:
    """The words of a topic without the noun at its start or end."""
    if topic == noun:
        return noun
    return topic.removeprefix(f"{noun}_").removesuffix(f"_{noun}")


def describe(name: str, about: str, tools: Sequence[Json]) -> Json:
    """The OpenAPI document of a server, from the plain descriptions of its tools."""
    api = _Api(tools)
    components = {noun: _Refs(api.nouns).inside(api.records[k]) for k, noun in api.nouns.items()}
    paths: dict[str, Json] = {}
    for tool in api.tools:
        place = api.places[tool.name]
        paths.setdefault(place.path, {})[place.method] = _operation(tool, place, api.nouns)
    document = {
        "openapi": "3.1.0",
        "info": {"title": f"{nouns.spaced(name)}: {about}", "version": "1"},
        "paths": paths,
        "components": {"schemas": {_schema_name(noun): s for noun, s in components.items()}},
    }
    # Defaults of schemas may be tuples; the document is plain JSON.
    plain: Json = json.loads(json.dumps(document))
    return plain


def places(tools: Sequence[Json]) -> dict[str, tuple[str, str]]:
    """The method and path of each tool in its server's OpenAPI document."""
    found = _Api(tools).places
    return {name: (place.method, place.path) for name, place in found.items()}


def kinds(tools: Sequence[Json]) -> dict[str, Json]:
    """The schema of each kind of record, by its noun."""
    api = _Api(tools)
    return {noun: api.records[key] for key, noun in api.nouns.items()}


def _schema_name(noun: str) -> str:
    return "".join(part.capitalize() for part in noun.split("_"))


class _Refs:
    """Replaces the schemas of records by references to components."""

    def __init__(self, known: dict[str, str]) -> None:
        self.known = known

    def of(self, node: Any) -> Any:
        """A schema, or a reference if it is a known one."""
        if isinstance(node, list):
            return [self.of(part) for part in node]
        if not isinstance(node, dict):
            return node
        noun = self.known.get(json.dumps(node, sort_keys=True))
        if noun is not None:
            return {"$ref": f"#/components/schemas/{_schema_name(noun)}"}
        return self.inside(node)

    def inside(self, node: Json) -> Json:
        """A schema with references in its parts."""
        return {name: self.of(part) for name, part in node.items()}


def _operation(tool: _Shown, place: _Place, known: dict[str, str]) -> Json:
    refs = _Refs(known)
    made: Json = {"operationId": tool.name, "summary": tool.about}
    parameters = []
    body: Json = {}
    for name, schema in tool.arguments.items():
        part = {"name": name, "required": name in tool.required, "schema": schema}
        if name == place.slot:
            parameters.append({"in": "path", **part})
        elif tool.writes:
            body[name] = schema
        else:
            parameters.append({"in": "query", **part})
    if parameters:
        made["parameters"] = parameters
    if body:
        needed = [name for name in tool.required if name != place.slot]
        schema = {"type": "object", "properties": body, "required": needed}
        made["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    result = {"application/json": {"schema": refs.of(tool.result)}}
    made["responses"] = {"200": {"description": "What was asked for.", "content": result}}
    if tool.writes and tool.idempotent:
        made["x-idempotent"] = True
    return made
