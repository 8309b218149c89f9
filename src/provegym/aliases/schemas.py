"""Values under other names, guided by their JSON schema: keys, enum values and ids, both ways."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from provegym.aliases.bijection import Renaming
from provegym.aliases.ids import Ids
from provegym.kernel import Tool
from provegym.kernel.schema import Json

TOOLS = 2_048
DEEPEST = 64
NESTED = (dict, list)


@dataclass(frozen=True, eq=False)
class NamesWithin:
    """What a schema says about the names in a value: fields, entries, whether it is an enum.

    A value without fields is data: its keys are texts like any other.
    """

    fields: "dict[str, NamesWithin]" = field(default_factory=dict)
    entries: "NamesWithin | None" = None
    enum: bool = False


ANYTHING = NamesWithin()


def names_within(schema: Json) -> NamesWithin:
    """The names within a schema; the options of a union count together."""
    parts = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    fields: dict[str, NamesWithin] = {}
    entries = None
    for part in parts:
        fields |= {name: names_within(each) for name, each in part.get("properties", {}).items()}
        inner = part.get("items") or part.get("additionalProperties")
        entries = names_within(inner) if isinstance(inner, dict) else entries
    return NamesWithin(fields, entries, any("enum" in part for part in parts))


def words_of(schema: Json) -> Iterator[str]:
    """Every field name in a schema."""
    for part in _parts(schema):
        yield from part.get("properties", {})


def enums_of(schema: Json) -> Iterator[tuple[Any, ...]]:
    """Every enum in a schema, without null."""
    for part in _parts(schema):
        if "enum" in part:
            yield tuple(value for value in part["enum"] if value is not None)


def _parts(schema: Json) -> Iterator[Json]:
    """A schema and every schema within it."""
    yield schema
    for part in schema.get("properties", {}).values():
        yield from _parts(part)
    for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), schema.get("items")):
        if isinstance(part, dict):
            yield from _parts(part)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _parts(schema["additionalProperties"])


class ToolNames(NamedTuple):
    """The plain names in a tool's schemas. They are the same under every alias."""

    takes: NamesWithin
    gives: NamesWithin
    arguments: tuple[str, ...]
    fields: tuple[str, ...]
    enums: tuple[tuple[Any, ...], ...]


@lru_cache(maxsize=TOOLS)
def names_of(tool: Tool) -> ToolNames:
    """The plain names of a tool, found once."""
    given, returned = tool.input_schema, tool.output_schema
    return ToolNames(
        names_within(given),
        names_within(returned),
        tuple(words_of(given)),
        tuple(words_of(returned)),
        (*enums_of(given), *enums_of(returned)),
    )


@dataclass(frozen=True, eq=False)
class Translator:
    """Translates values with one renaming of keys, one of enum values and one of ids."""

    keys: Renaming
    enums: Renaming
    ids: Ids

    def show(self, value: Any, shape: NamesWithin, depth: int = 0) -> Any:
        """A plain value under its other names. What is nested absurdly deep stays as it is."""
        if isinstance(value, str):
            if shape.enum and (found := self.enums.show(value)) != value:
                return found
            return self.ids.show(value)
        if not isinstance(value, NESTED) or depth == DEEPEST:
            return value
        inner, depth = shape.entries or ANYTHING, depth + 1
        if isinstance(value, list):
            return [self.show(part, inner, depth) for part in value]
        if not shape.fields:
            return {self.ids.show(k): self.show(v, inner, depth) for k, v in value.items()}
        get, rename = shape.fields.get, self.keys.show
        return {rename(k): self.show(v, get(k, ANYTHING), depth) for k, v in value.items()}

    def read(self, value: Any, shape: NamesWithin, depth: int = 0) -> Any:
        """The plain value of one under other names."""
        if isinstance(value, str):
            if shape.enum and (found := self.enums.read(value)) != value:
                return found
            return self.ids.read(value)
        if not isinstance(value, NESTED) or depth == DEEPEST:
            return value
        inner, depth = shape.entries or ANYTHING, depth + 1
        if isinstance(value, list):
            return [self.read(part, inner, depth) for part in value]
        if not shape.fields:
            return {self.ids.read(k): self.read(v, inner, depth) for k, v in value.items()}
        get, rename = shape.fields.get, self.keys.read
        return {
            (name := rename(k)): self.read(v, get(name, ANYTHING), depth) for k, v in value.items()
        }

    def show_schema(self, schema: Json) -> Json:
        """A schema of arguments with other names, enum values and defaults."""
        told = dict(schema)
        if "properties" in told:
            parts = told["properties"].items()
            told["properties"] = {self.keys.show(n): self.show_schema(part) for n, part in parts}
            told["required"] = [self.keys.show(name) for name in told.get("required", ())]
        for name in ("enum", "anyOf", "oneOf"):
            if name in told:
                told[name] = [
                    self.show_schema(part) if isinstance(part, dict) else self._enum(part)
                    for part in told[name]
                ]
        if isinstance(told.get("items"), dict):
            told["items"] = self.show_schema(told["items"])
        if "default" in told:
            told["default"] = self.show(told["default"], names_within(schema))
        return told

    def _enum(self, value: Any) -> Any:
        return self.enums.show(value) if isinstance(value, str) else value
