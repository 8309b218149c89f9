"""Worlds from API descriptions: OpenAPI 3 and Swagger 2, in JSON or YAML, become a spec.

A path such as /pets is an entity, /pets/{petId}/visits one that refers to it, and a path that ends
with a verb, such as POST /orders/{id}/cancel, a transition. What is not understood is left out, and
the notes that come with the spec say so.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from provegym.worlds.schemas import api_document, drafting, lexicon, nouns
from provegym.worlds.schemas.api_properties import property_of, status_of
from provegym.worlds.schemas.sketch import DEEDS, Deed, Move, Property, Sketch, Subject
from provegym.worlds.spec import SpecError, WorldSpec

METHODS = ("get", "post", "put", "patch", "delete")
SLOT = re.compile(r"\{([^{}]+)\}")
VERSION = re.compile(r"v\d+(\.\d+)*|api|rest|public|\d{4}-\d\d-\d\d")
VERBS = frozenset(
    (
        *("login", "logout", "signup", "search", "find", "upload", "download", "export", "import"),
        *("validate", "batch", "bulk", "purge", "status", "health", "ping", "me", "count", "token"),
        *(
            "upload_image",
            "image",
            "log",
            "exchange",
            "signature",
            "latest",
            "types",
            "unlink_repo",
        ),
    )
)
PAGING = ("page", "limit", "offset", "per_page", "sort", "order", "cursor", "size", "fields", "q")


@dataclass
class Resource:
    """What paths say of one kind of record."""

    noun: str
    parents: list[str] = field(default_factory=list)
    deeds: set[Deed] = field(default_factory=set)
    schemas: list[Any] = field(default_factory=list)
    created: Any = None
    updated: Any = None
    filters: list[str] = field(default_factory=list)
    verbs: list[str] = field(default_factory=list)


def spec_of(text: str, name: str) -> tuple[WorldSpec, list[str]]:
    """The world of an API description, and notes on what was left out or changed."""
    notes: list[str] = []
    spec = drafting.draft(sketch_of(text, name, notes), notes)
    return spec, [*dict.fromkeys(notes)]


def sketch_of(text: str, name: str, notes: list[str]) -> Sketch:
    """The sketch of an API description."""
    document = api_document.load(text)
    resources = _Paths(document, notes).read()
    known = {noun for noun, each in resources.items() if each.schemas or each.created}
    subjects = []
    for noun, each in resources.items():
        if noun not in known:
            notes.append(f"left out: {noun}, since no schema says what it has")
            continue
        subjects.append(_subject(document, each, known, notes))
    info = document.get("info")
    title = " ".join(str(info.get("title", "")).split()) if isinstance(info, dict) else ""
    about = f"A world of {nouns.spaced(name)}, from an API description"
    about += f": {title}." if title else "."
    version = "OpenAPI" if "openapi" in document else "Swagger"
    return Sketch(
        name=name,
        about=about[:200],
        source=f"{version} {document.get('openapi') or document.get('swagger')}",
        subjects=tuple(subjects),
    )


class _Paths:
    """Reads the paths of a document into resources."""

    def __init__(self, document: dict[str, Any], notes: list[str]) -> None:
        self.document = document
        self.notes = notes
        self.resources: dict[str, Resource] = {}

    def read(self) -> dict[str, Resource]:
        paths = self.document["paths"]
        ordered = sorted(paths, key=lambda path: path.count("/"))
        left = 0
        for path in ordered:
            item = api_document.resolved(self.document, paths[path])
            for method in METHODS:
                operation = item.get(method)
                if isinstance(operation, dict) and not operation.get("deprecated"):
                    left += not self._operation(path, method, operation)
        if left:
            self.notes.append(
                f"left out: {left} operations whose paths are neither records nor verbs"
            )
        if not self.resources:
            raise SpecError("no path of the API description names a kind of record")
        return self.resources

    def _operation(self, path: str, method: str, operation: dict[str, Any]) -> bool:
        """Note an operation of a path; False if it is not understood."""
        parts = [part for part in path.strip("/").split("/") if part]
        while parts and VERSION.fullmatch(parts[0].lower()):
            parts.pop(0)
        chain: list[tuple[str, str]] = []
        for part in parts:
            if slot := SLOT.fullmatch(part):
                if not chain or chain[-1][1]:
                    return False
                chain[-1] = (chain[-1][0], slot[1])
            elif SLOT.search(part):
                return False
            else:
                chain.append((nouns.snake(part), ""))
        if len(chain) > 1 and not chain[0][1] and not self._is_noun(chain[0][0]):
            chain.pop(0)  # A prefix such as /store/order.
        if not chain or any(not key for _, key in chain[:-1]):
            chain = chain if chain and self._is_verb(chain) else []
        if not chain:
            return False
        key = chain[-1][1]
        if not key and self._is_verb(chain):
            return self._verb(chain, method)
        return self._record(chain, method, operation)

    def _is_noun(self, word: str) -> bool:
        return nouns.singular(word) in self.resources

    def _is_verb(self, chain: list[tuple[str, str]]) -> bool:
        word = chain[-1][0]
        return not chain[-1][1] and (
            word.partition("_")[0] in lexicon.verbs()
            or word in VERBS
            or word.startswith(("find_by", "create_with", "update_", "get_"))
        )

    def _verb(self, chain: list[tuple[str, str]], method: str) -> bool:
        if len(chain) < 2 or not chain[-2][1] or method == "get":
            return False
        owner = self.resources.get(nouns.noun_of_table(chain[-2][0]))
        verb = chain[-1][0]
        if owner is None or verb not in lexicon.verbs():
            return False
        owner.verbs.append(verb)
        return True

    def _record(self, chain: list[tuple[str, str]], method: str, operation: dict[str, Any]) -> bool:
        name, key = chain[-1]
        noun = nouns.noun_of_table(name)
        resource = self.resources.setdefault(noun, Resource(noun))
        parents = [nouns.noun_of_table(owner) for owner, held in chain[:-1] if held]
        if parents and not resource.deeds and parents[-1] in self.resources:
            resource.parents = parents[-1:]
        schema, is_list = api_document.result_schema(self.document, operation)
        if schema is not None and method == "get":
            resource.schemas.append(schema)
        body = api_document.body_schema(self.document, operation)
        if method == "get":
            resource.deeds.add("get" if key and not is_list else "list")
            resource.filters += self._filters(operation) if not key else []
        elif method == "post" and not key:
            resource.deeds.add("create")
            resource.created = resource.created or body or schema
            resource.schemas += [schema] if schema is not None and not is_list else []
        elif method in ("put", "patch"):
            resource.deeds.add("update")
            resource.updated = resource.updated or body
        elif method == "delete" and key:
            resource.deeds.add("remove")
        else:
            return False
        return True

    def _filters(self, operation: dict[str, Any]) -> list[str]:
        found = []
        for each in api_document.listed(operation.get("parameters")):
            parameter = api_document.resolved(self.document, each)
            name = parameter.get("name")
            if parameter.get("in") == "query" and isinstance(name, str):
                word = nouns.snake(name)
                found += [word] if word not in PAGING else []
        return found


def _subject(
    document: dict[str, Any], resource: Resource, known: set[str], notes: list[str]
) -> Subject:
    """A subject from the schemas of a resource."""
    noun = resource.noun
    shown: dict[str, Any] = {}
    for schema in (resource.created, resource.updated, *resource.schemas[:2]):
        shown = (
            {**api_document.properties(document, schema), **shown} if schema is not None else shown
        )
    needed = api_document.required(document, resource.created)
    needed |= (
        set()
        if resource.created is not None
        else api_document.required(document, next(iter(resource.schemas), None))
    )
    made: dict[str, Property] = {}
    for name, schema in list(shown.items())[:120]:
        each = property_of(document, name, schema, noun, known - {noun}, empty=name not in needed)
        if each is not None and each.name not in made:
            made[each.name] = each
    for parent in resource.parents:
        held = [p for p in made.values() if p.kind == "reference" and p.to == parent]
        for each in held:
            del made[each.name]
        made[f"{parent}_id"] = Property(name=f"{parent}_id", kind="reference", to=parent)
    moves = _moves(resource, made, notes)
    updates = tuple(
        nouns.snake(name) for name in api_document.properties(document, resource.updated)
    )
    deeds = tuple(deed for deed in DEEDS if deed in resource.deeds)
    if "list" not in deeds and "get" in deeds:
        notes.append(f"changed: {noun} can be listed, since ids have to be found somewhere")
    filters = tuple(name for name in resource.filters if name in made)
    return Subject(
        name=noun,
        properties=tuple(made.values()),
        key=("id",),
        moves=tuple(moves),
        deeds=deeds,
        filters=filters,
        updates=updates,
    )


def _moves(resource: Resource, made: dict[str, Property], notes: list[str]) -> list[Move]:
    """What the verbs of paths do to a status; without one, a status is made up and noted."""
    noun, verbs = resource.noun, [*dict.fromkeys(resource.verbs)]
    if not verbs:
        return []
    status = status_of(noun, made)
    moves = []
    if status is not None:
        for verb in verbs:
            value = next(
                (v for v in status.values if lexicon.folded(v) in lexicon.verbs()[verb]), ""
            )
            if value:
                moves.append(Move(verb=verb, property=status.name, value=value))
            else:
                notes.append(f"left out: {verb} of {noun}, since no {status.name} is known for it")
        return moves
    ends = [lexicon.verbs()[verb][0] for verb in verbs]
    values = tuple(dict.fromkeys(["active", *ends]))
    made["status"] = Property(name="status", kind="enum", values=values, default="active")
    notes.append(f"added: {noun}.status, since {', '.join(verbs)} must lead somewhere")
    return [Move(verb=v, property="status", value=e) for v, e in zip(verbs, ends, strict=True)]
