"""Loads an OpenAPI or Swagger document, and resolves its references within bounds.

YAML aliases are refused, and `$ref`s are followed a few levels deep only, so that a small file
cannot become a huge or endless one. What a schema has is found once, and a document may be looked
up only so often: then it is refused.
"""

import json
import re
from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Any

from provegym.worlds.schemas.packages import need
from provegym.worlds.spec import SpecError

MAX_BYTES = 16_000_000
MAX_YAML_BYTES = 400_000
MAX_PATHS = 1_500
MAX_DEPTH = 6
MAX_PARTS = 40
MAX_SCHEMAS = 60
MAX_NESTING = 60
MAX_PROPERTIES = 200
# Steps of looking up, of about one microsecond each.
MAX_STEPS = 600_000
# Escapes such as \\ud800 may be half a character only.
HALVES = re.compile(r"\\[uU](?:0000)?[dD][89a-fA-F]")
# What says more of a property than its type.
DEFINING = frozenset(("$ref", "properties", "items", "enum", "allOf", "oneOf", "anyOf"))
YAML_BOOL, YAML_TIME = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"
YAML_INT, YAML_FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"


class Document(dict[str, Any]):
    """A document, the properties that were found in it, and the steps that are left to look up."""

    def __init__(self, root: dict[str, Any]) -> None:
        super().__init__(root)
        # By the identity of a schema; the schema is kept, so that no other one gets its identity.
        self.found: dict[int, tuple[Any, dict[str, Any]]] = {}
        self.steps = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Count steps; a document that needs too many is refused."""
        self.steps -= steps
        if self.steps < 0:
            raise SpecError(
                "the schemas of the API description are too many, or refer to each other too often;"
                " leave some of its paths out"
            )


def load(text: str) -> Document:
    """A document from JSON or YAML text."""
    if len(text) > MAX_BYTES:
        raise SpecError(f"an API description has at most {MAX_BYTES} characters, not {len(text)}")
    text = text.removeprefix("\ufeff")
    try:
        document = json.loads(text) if text.lstrip()[:1] == "{" else _yaml(text)
        if HALVES.search(text):
            json.dumps(document, ensure_ascii=False).encode("utf-8")
    except SpecError:
        raise
    except UnicodeEncodeError:
        raise SpecError(
            "the API description has half of a character, such as \\ud800 without its other half"
        ) from None
    except ValueError as problem:
        if "integer string conversion" in str(problem):
            raise SpecError("a number in the API description has too many digits") from None
        reason = str(problem).splitlines()[0]
        raise SpecError(f"the API description is neither JSON nor YAML: {reason}") from None
    except RecursionError:
        raise SpecError("the API description is nested too deeply") from None
    if not isinstance(document, dict):
        raise SpecError("the API description is not an object")
    version = str(document.get("openapi") or document.get("swagger") or "")
    if not version.startswith(("3.", "2.")):
        raise SpecError("the document has neither `openapi: 3.x` nor `swagger: 2.0`")
    if not isinstance(document.get("paths"), dict) or not document["paths"]:
        raise SpecError("the API description has no paths")
    if len(document["paths"]) > MAX_PATHS:
        raise SpecError(
            f"an API description has at most {MAX_PATHS} paths, not {len(document['paths'])}"
        )
    return Document(document)


def plain_text(value: Any) -> str:
    """A text in one line; what cannot be printed, such as an escape character, is a space."""
    letters = (letter if letter.isprintable() else " " for letter in str(value))
    return " ".join("".join(letters).split())


def _yaml(text: str) -> Any:
    """Plain YAML: no aliases, no tags, and not too large for a parser in Python."""
    if len(text) > MAX_YAML_BYTES:
        raise SpecError(
            f"a YAML description has at most {MAX_YAML_BYTES} characters, not {len(text)};"
            " convert it to JSON"
        )
    yaml = need("yaml")
    loader = _loader(yaml)
    try:
        _check_events(yaml, yaml.parse(text, Loader=loader))
        return _with_text_keys(yaml.load(text, Loader=loader))
    except yaml.YAMLError as problem:
        reason = " ".join(str(problem).split())
        raise SpecError(f"the API description is neither JSON nor YAML: {reason}") from None


def _check_events(yaml: Any, events: Iterable[Any]) -> None:
    """Refuse aliases and deep nesting before anything is built.

    The parser of libyaml builds by recursion in C: a list in a list in a list … would end the
    process.
    """
    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            raise SpecError("the API description has YAML aliases, which are not read")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_NESTING:
            raise SpecError("the API description is nested too deeply")


def _loader(yaml: Any) -> Any:
    """A safe loader that reads `on`, `yes`, `12:30` and dates as text, as YAML 1.2 and JSON do."""
    base = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    loader: Any = type("Loader", (base,), {})
    changed = (YAML_BOOL, YAML_TIME, YAML_INT, YAML_FLOAT)
    loader.yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in known if tag not in changed]
        for first, known in base.yaml_implicit_resolvers.items()
    }
    truth = re.compile("^(?:true|True|TRUE|false|False|FALSE)$")
    loader.add_implicit_resolver(YAML_BOOL, truth, "tTfF")
    whole = re.compile(r"^[-+]?(?:0|[1-9][0-9]{0,30})$")
    loader.add_implicit_resolver(YAML_INT, whole, "-+0123456789")
    broken = re.compile(r"^[-+]?[0-9]{0,30}(?:\.[0-9]{1,30}|[0-9]\.)(?:[eE][-+]?[0-9]{1,3})?$")
    loader.add_implicit_resolver(YAML_FLOAT, broken, "-+.0123456789")
    return loader


def _with_text_keys(node: Any) -> Any:
    """A document in which every key is text: a status code such as 200 is a number in YAML."""
    if isinstance(node, dict):
        return {str(key): _with_text_keys(value) for key, value in node.items()}
    return [_with_text_keys(part) for part in node] if isinstance(node, list) else node


def listed(node: Any) -> list[Any]:
    """A list as it is; anything else is an empty one."""
    return node[:MAX_PARTS] if isinstance(node, list) else []


def resolved(document: Document, node: Any) -> dict[str, Any]:
    """A node, or what its `$ref` points to; an empty one if that is not in the document."""
    for _ in range(MAX_DEPTH):
        if not isinstance(node, dict):
            return {}
        document.spend(1 + len(node) // 8)
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return node
        node = _at(document, reference)
    return {}


def _at(document: Document, reference: str) -> Any:
    """What a reference within the document points to."""
    if not reference.startswith("#/"):
        return {}
    document.spend(len(reference) // 40)
    node: Any = document
    for part in reference[2:].split("/"):
        part = part.replace("~1", "/").replace("~0", "~")
        node = node.get(part) if isinstance(node, dict) else None
    return node


def reference_name(node: Any) -> str:
    """The name of the schema that a `$ref` points to."""
    reference = node.get("$ref") if isinstance(node, dict) else None
    return reference.rpartition("/")[2] if isinstance(reference, str) else ""


def properties(document: Document, schema: Any) -> dict[str, Any]:
    """The properties of a schema with those of its allOf; of oneOf and anyOf the first."""
    part = resolved(document, schema)
    if not part:
        return {}
    if id(part) not in document.found:
        document.found[id(part)] = (part, _all_properties(document, part))
    return document.found[id(part)][1]


def _all_properties(document: Document, schema: Any) -> dict[str, Any]:
    """The properties of all parts of a schema; its own count most, then later parts of allOf."""
    parts = _parts(document, schema)
    names: dict[str, None] = {}
    for _, part in parts:
        own = part.get("properties")
        if isinstance(own, dict) and len(names) < MAX_PROPERTIES:
            some = islice(own, MAX_PROPERTIES - len(names))
            names = {**dict.fromkeys(some), **names}
    found: dict[str, Any] = {}
    for _, part in sorted(parts, key=lambda each: -each[0]):
        own = part.get("properties")
        if not isinstance(own, dict):
            continue
        document.spend(1 + min(len(own), len(names)) // 2)
        for name in min(own, names, key=len):
            if name in own and name in names:
                found[name] = _narrowed(found[name], own[name]) if name in found else own[name]
    return {name: found[name] for name in names}


def _narrowed(first: Any, second: Any) -> Any:
    """What two parts of allOf say of a property: the later counts, and what it leaves open stays.

    The items of a list stay if the later part says nothing more of them than their type.
    """
    if not isinstance(first, dict) or not isinstance(second, dict):
        return second if isinstance(second, dict) else first
    if "$ref" in first or "$ref" in second:
        return second if second.keys() & DEFINING else first
    if len(first) > MAX_PARTS or len(second) > MAX_PARTS:
        return second
    both = {**first, **second}
    items, later = first.get("items"), second.get("items")
    if isinstance(items, dict) and isinstance(later, dict) and not later.keys() & DEFINING:
        both["items"] = items
    held, more = first.get("properties"), second.get("properties")
    if isinstance(held, dict) and isinstance(more, dict):
        both["properties"] = dict(islice({**held, **more}.items(), MAX_PROPERTIES))
    return both


def required(document: Document, schema: Any) -> set[str]:
    """The required properties of a schema with those of its allOf."""
    names = [name for _, part in _parts(document, schema) for name in listed(part.get("required"))]
    return {name for name in names if isinstance(name, str)}


def _parts(document: Document, schema: Any) -> list[tuple[int, dict[str, Any]]]:
    """A schema and what it is made of, with depths; what a `$ref` points to is entered once."""
    found: list[tuple[int, dict[str, Any]]] = []
    seen: set[str] = set()
    todo = deque([(0, schema)])
    while todo and len(found) < MAX_SCHEMAS:
        depth, node = todo.popleft()
        reference = node.get("$ref") if isinstance(node, dict) else None
        if isinstance(reference, str):
            if reference in seen:
                continue
            seen.add(reference)
        part = resolved(document, node)
        found.append((depth, part))
        choices = listed(part.get("oneOf")) or listed(part.get("anyOf"))
        if len(todo) < MAX_SCHEMAS:
            todo += [(depth + 1, each) for each in (*listed(part.get("allOf")), *choices[:1])]
    return found
