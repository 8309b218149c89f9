"""Worlds from API descriptions: OpenAPI 3 and Swagger 2, in JSON or YAML, become a spec.

A path such as /pets is an entity, /pets/{petId}/visits one that refers to it, and a path that ends
with a verb, such as POST /orders/{id}/cancel, an operation on the record before it. What is not
understood is left out, and the notes that come with the spec say so.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from provegym.worlds.schemas import api_document, drafting, lexicon, nouns
from provegym.worlds.schemas.api_properties import merged, property_of
from provegym.worlds.schemas.api_verbs import Verb, moves_of
from provegym.worlds.schemas.sketch import DEEDS, Deed, Property, Sketch, Subject
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
# What ends some paths: /tickets.json, /tickets/{id}.json.
SUFFIX = re.compile(r"\.(json|xml)$", re.I)
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
    filters: dict[str, Any] = field(default_factory=dict)
    verbs: list[Verb] = field(default_factory=list)


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
        # The nouns of paths that can be read.
        self.read_nouns: set[str] = set()
        self.actions: list[tuple[Resource, Verb, Any]] = []

    def read(self) -> dict[str, Resource]:
        paths = self.document["paths"]
        for path in paths:
            if "get" in api_document.resolved(self.document, paths[path]):
                words = [part for part in path.split("/") if part and not SLOT.search(part)]
                self.read_nouns |= {nouns.noun_of_table(word) for word in words[-1:]}
        ordered = sorted(paths, key=lambda path: path.count("/"))
        left = 0
        for path in ordered:
            item = api_document.resolved(self.document, paths[path])
            for method in METHODS:
                operation = item.get(method)
                if isinstance(operation, dict) and not operation.get("deprecated"):
                    shared = api_document.listed(item.get("parameters"))
                    own = api_document.listed(operation.get("parameters"))
                    operation = {**operation, "parameters": [*own, *shared]}
                    left += not self._operation(path, method, operation)
        for owner, verb, schema in self.actions:
            if not self._creates(owner, verb, schema):
                owner.verbs.append(verb)
        if left:
            many = "1 operation whose path is neither a record nor a verb"
            if left > 1:
                many = f"{left} operations whose paths are neither records nor verbs"
            self.notes.append(f"left out: {many}")
        if not self.resources:
            raise SpecError("no path of the API description names a kind of record")
        return self.resources

    def _operation(self, path: str, method: str, operation: dict[str, Any]) -> bool:
        """Note an operation of a path; False if it is not understood."""
        parts = [part for part in SUFFIX.sub("", path).strip("/").split("/") if part]
        while parts and VERSION.fullmatch(parts[0].lower()):
            parts.pop(0)
        chain: list[tuple[str, str]] = []
        for part in parts:
            if slot := SLOT.fullmatch(part):
                if not chain:
                    return False
                # Of /repos/{owner}/{repo} the last slot tells which one.
                chain[-1] = (chain[-1][0], slot[1])
            elif SLOT.search(part):
                return False
            else:
                chain.append((nouns.snake(part), ""))
        if any(not word for word, _ in chain):
            return False
        if len(chain) > 1 and not chain[0][1] and not self._is_noun(chain[0][0]):
            chain.pop(0)  # A prefix such as /store/order.
        if not chain or any(not key for _, key in chain[:-1]):
            chain = chain if chain and self._is_verb(chain) else []
        if not chain:
            return False
        key = chain[-1][1]
        if not key and (self._is_verb(chain) or self._is_action(chain, method, operation)):
            return self._verb(chain, method, operation)
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

    def _is_action(
        self, chain: list[tuple[str, str]], method: str, operation: dict[str, Any]
    ) -> bool:
        """Whether a path below a record does something to it, and is no kind of record itself.

        It answers with the record, or its last word is no plural and nothing of it can be read.
        """
        if method not in ("post", "put", "patch") or len(chain) < 2 or not chain[-2][1]:
            return False
        word = chain[-1][0]
        owner = self.resources.get(nouns.noun_of_table(chain[-2][0]))
        noun = nouns.noun_of_table(word)
        if owner is None or (noun in self.resources and self.resources[noun].parents):
            return False
        schema, is_list = api_document.result_schema(self.document, operation)
        if schema is not None and not is_list and schema in owner.schemas:
            return True
        return nouns.singular(word) == word and noun not in self.read_nouns

    def _verb(self, chain: list[tuple[str, str]], method: str, operation: dict[str, Any]) -> bool:
        if len(chain) < 2 or not chain[-2][1] or method in ("get", "delete"):
            return False
        owner = self.resources.get(nouns.noun_of_table(chain[-2][0]))
        word = chain[-1][0]
        if owner is None or word in VERBS:
            return False
        schema, is_list = api_document.result_schema(self.document, operation)
        verb = Verb(word, api_document.body_schema(self.document, operation))
        self.actions.append((owner, verb, None if is_list else schema))
        return True

    def _creates(self, owner: Resource, verb: Verb, schema: Any) -> bool:
        """Whether a verb answers with a new record of another kind that points to its owner."""
        if schema is None or schema in owner.schemas:
            return False
        known = [each for each in self.resources.values() if schema in each.schemas]
        held = {nouns.snake(name) for name in api_document.properties(self.document, schema)}
        if len(known) != 1 or "create" in known[0].deeds or f"{owner.noun}_id" not in held:
            return False
        known[0].deeds.add("create")
        known[0].created = verb.body
        known[0].parents = known[0].parents or [owner.noun]
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
            resource.filters |= self._filters(operation) if not key else {}
        elif method == "post" and key:
            # Some APIs change a record by POST /customers/{id}.
            resource.deeds.add("update")
            resource.updated = resource.updated or body
        elif method == "post":
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

    def _filters(self, operation: dict[str, Any]) -> dict[str, Any]:
        """The query parameters of a list that could be properties, with their schemas."""
        found = {}
        for each in api_document.listed(operation.get("parameters")):
            parameter = api_document.resolved(self.document, each)
            name = parameter.get("name")
            if parameter.get("in") == "query" and isinstance(name, str):
                found[nouns.snake(name)] = parameter.get("schema")
        return {name: schema for name, schema in found.items() if name not in PAGING}


def _subject(
    document: dict[str, Any], resource: Resource, known: set[str], notes: list[str]
) -> Subject:
    """A subject from the schemas of a resource."""
    noun = resource.noun
    shown = _shown(document, resource)
    needed = api_document.required(document, resource.created)
    needed |= (
        set()
        if resource.created is not None
        else api_document.required(document, next(iter(resource.schemas), None))
    )
    made: dict[str, Property] = {}
    for name, schema in list(shown.items())[:120]:
        each = property_of(document, name, schema, noun, known, empty=name not in needed)
        if each is not None and each.name not in made:
            made[each.name] = each
    for parent in resource.parents:
        held = [p for p in made.values() if p.kind == "reference" and p.to == parent]
        for each in held:
            del made[each.name]
        made[f"{parent}_id"] = Property(name=f"{parent}_id", kind="reference", to=parent)
    moves = moves_of(document, noun, resource.verbs, made, notes)
    updated = {
        nouns.snake(name): property_of(document, name, schema, noun, set(), empty=True)
        for name, schema in api_document.properties(document, resource.updated).items()
    }
    given = [nouns.snake(name) for name in api_document.properties(document, resource.created)]
    deeds = tuple(deed for deed in DEEDS if deed in resource.deeds)
    if "list" not in deeds and "get" in deeds:
        notes.append(f"changed: {noun} can be listed, since ids have to be found somewhere")
    return Subject(
        name=noun,
        properties=tuple(made.values()),
        key=("id",),
        moves=tuple(moves),
        deeds=deeds,
        filters=tuple(name for name in resource.filters if name in made),
        updates=tuple(updated),
        offered={name: each.values for name, each in updated.items() if each and each.values},
        arguments=tuple(dict.fromkeys([*given, *resource.filters, *updated])),
        shown="get" in deeds,
    )


def _shown(document: dict[str, Any], resource: Resource) -> dict[str, Any]:
    """The properties of a record: what its own schemas say goes before bodies of requests."""
    own: dict[str, Any] = {}
    for schema in resource.schemas[:2]:
        own = {**api_document.properties(document, schema), **own}
    shown: dict[str, Any] = {}
    for schema in (resource.created, resource.updated):
        shown = {**api_document.properties(document, schema), **shown}
    shown = {**shown, **{name: schema for name, schema in own.items() if name not in shown}}
    for name, given in shown.items():
        # A filter knows all values of an enum, the body of a request perhaps some of them.
        if name in own:
            filtered = resource.filters.get(nouns.snake(name))
            whole = merged(document, own[name], filtered, ("enum",))
            shown[name] = merged(document, whole, given)
    return shown
