"""Paths of an API description: which kinds of records there are, and what is done to them.

/pets is a kind of record, /pets/{petId}/visits one that refers to it. A path that ends with a verb
does something to the record before it: POST /orders/{id}/cancel, or POST /couriers/create.
"""

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from provegym.worlds.schemas import api_document, lexicon, nouns
from provegym.worlds.schemas.api_answers import body_schema, result_schema
from provegym.worlds.schemas.api_document import Document
from provegym.worlds.schemas.api_verbs import Verb
from provegym.worlds.schemas.sketch import Deed
from provegym.worlds.spec import SpecError

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
# Last words of paths that name what is done, with the methods that do it.
DEED_WORDS: dict[str, tuple[Deed, tuple[str, ...]]] = {
    **dict.fromkeys(("create", "add", "insert"), ("create", ("post", "put"))),
    **dict.fromkeys(("list", "all", "search", "find"), ("list", ("get", "post"))),
    **dict.fromkeys(("get", "fetch"), ("get", ("get",))),
    **dict.fromkeys(("update", "edit"), ("update", ("post", "put", "patch"))),
    **dict.fromkeys(("delete", "remove", "destroy"), ("remove", ("delete", "post"))),
}
# These list records of a kind that other paths name.
SEARCHES = ("search", "find")
MAX_WORDS = 30
MAX_SHOWN = 8
Chain = list[tuple[str, str]]


class DeedPath(NamedTuple):
    """A path without the word that names what it does, and that word."""

    chain: Chain
    word: str


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


class Paths:
    """Reads the paths of a document into resources."""

    def __init__(self, document: Document, notes: list[str]) -> None:
        self.document = document
        self.notes = notes
        self.resources: dict[str, Resource] = {}
        # The nouns of paths that can be read.
        self.read_nouns: set[str] = set()
        self.actions: list[tuple[Resource, Verb, Any]] = []

    def read(self) -> dict[str, Resource]:
        """The kinds of records of all paths, by their nouns."""
        paths = self.document["paths"]
        for path in paths:
            if "get" in api_document.resolved(self.document, paths[path]):
                words = [part for part in path.split("/") if part and not SLOT.search(part)]
                self.read_nouns |= {nouns.noun_of_table(word) for word in words[-1:]}
            done = _named_deed(chain_of(path))
            if done is not None and done.word not in SEARCHES:
                self.read_nouns.add(nouns.noun_of_table(done.chain[-1][0]))
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
        chain = chain_of(path)
        done = _named_deed(chain)
        if done is not None:
            return self._deed(done, method, operation)
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

    def _deed(self, done: DeedPath, method: str, operation: dict[str, Any]) -> bool:
        """Note an operation whose path names what it does, such as POST /couriers/create."""
        chain, word = done.chain, done.word
        noun = nouns.noun_of_table(chain[-1][0])
        deed, methods = DEED_WORDS[word]
        held = self.resources.get(noun)
        if method not in methods or (held is not None and deed in held.deeds):
            return False
        if word in SEARCHES:
            known = held is not None or noun in self.read_nouns
            if not known or not result_schema(self.document, operation)[1]:
                return False
        if len(chain) > 1 and not chain[0][1] and not self._is_noun(chain[0][0]):
            chain = chain[1:]
        if any(not key for _, key in chain[:-1]):
            return False
        return self._record(chain, method, operation, deed)

    def _is_noun(self, word: str) -> bool:
        return nouns.singular(word) in self.resources

    def _is_verb(self, chain: Chain) -> bool:
        word = chain[-1][0]
        return not chain[-1][1] and (
            word.partition("_")[0] in lexicon.verbs()
            or word in VERBS
            or word.startswith(("find_by", "create_with", "update_", "get_"))
        )

    def _is_action(self, chain: Chain, method: str, operation: dict[str, Any]) -> bool:
        """Whether a path below a record does something to it, and is no kind of record itself.

        It answers with the record, or its last word is no plural and nothing of it can be read.
        """
        if method not in ("post", "put", "patch") or len(chain) < 2 or not chain[-2][1]:
            return False
        word = chain[-1][0]
        owner = self._owner(chain)
        noun = nouns.noun_of_table(word)
        if owner is None or (noun in self.resources and self.resources[noun].parents):
            return False
        schema, is_list = result_schema(self.document, operation)
        if schema is not None and not is_list and schema in owner.schemas:
            return True
        return nouns.singular(word) == word and noun not in self.read_nouns

    def _owner(self, chain: Chain) -> Resource | None:
        """The kind of record before a verb; perhaps only a longer path, read later, lists it."""
        noun = nouns.noun_of_table(chain[-2][0])
        if noun in self.read_nouns:
            return self.resources.setdefault(noun, Resource(noun))
        return self.resources.get(noun)

    def _verb(self, chain: Chain, method: str, operation: dict[str, Any]) -> bool:
        if len(chain) < 2 or not chain[-2][1] or method in ("get", "delete"):
            return False
        owner = self._owner(chain)
        word = chain[-1][0]
        if owner is None or word in VERBS:
            return False
        schema, is_list = result_schema(self.document, operation)
        verb = Verb(word, body_schema(self.document, operation))
        self.actions.append((owner, verb, None if is_list else schema))
        return True

    def _creates(self, owner: Resource, verb: Verb, schema: Any) -> bool:
        """Whether a verb answers with a new record of another kind that points to its owner."""
        if schema is None or schema in owner.schemas:
            return False
        if "$ref" not in schema:
            self.document.spend(4 * len(self.resources))
        known = [each for each in self.resources.values() if schema in each.schemas]
        held = {nouns.snake(name) for name in api_document.properties(self.document, schema)}
        if len(known) != 1 or "create" in known[0].deeds or f"{owner.noun}_id" not in held:
            return False
        known[0].deeds.add("create")
        known[0].created = verb.body
        known[0].parents = known[0].parents or [owner.noun]
        return True

    def _record(
        self, chain: Chain, method: str, operation: dict[str, Any], named: Deed | None = None
    ) -> bool:
        """Note what an operation does to a kind of record; False if it is not understood."""
        name, key = chain[-1]
        noun = nouns.noun_of_table(name)
        resource = self.resources.setdefault(noun, Resource(noun))
        parents = [nouns.noun_of_table(owner) for owner, held in chain[:-1] if held]
        if parents and not resource.deeds and parents[-1] in self.resources:
            resource.parents = parents[-1:]
        schema, is_list = result_schema(self.document, operation)
        deed = named or _deed_of(method, has_key=bool(key), is_list=is_list)
        if deed is None:
            return False
        resource.deeds.add(deed)
        body = body_schema(self.document, operation)
        is_shown = deed in ("list", "get") or (deed == "create" and not is_list)
        if schema is not None and is_shown and len(resource.schemas) < MAX_SHOWN:
            resource.schemas.append(schema)
        if deed == "list" and not key:
            resource.filters |= self._filters(operation)
        elif deed == "create":
            resource.created = resource.created or body or schema
        elif deed == "update":
            resource.updated = resource.updated or body
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


def chain_of(path: str) -> Chain:
    """The words of a path with their slots; none if the path is not understood."""
    parts = [part for part in SUFFIX.sub("", path).strip("/").split("/") if part]
    if len(parts) > MAX_WORDS:
        return []
    while parts and VERSION.fullmatch(parts[0].lower()):
        parts.pop(0)
    chain: Chain = []
    for part in parts:
        if slot := SLOT.fullmatch(part):
            if not chain:
                return []
            # Of /repos/{owner}/{repo} the last slot tells which one.
            chain[-1] = (chain[-1][0], slot[1])
        elif SLOT.search(part):
            return []
        else:
            chain.append((nouns.snake(part), ""))
    return chain if all(word for word, _ in chain) else []


def _named_deed(chain: Chain) -> DeedPath | None:
    """The deed that the last word of a path names, such as `create` of /couriers/create."""
    if len(chain) < 2 or chain[-1][0] not in DEED_WORDS:
        return None
    word, key = chain[-1]
    name, held = chain[-2]
    if held and (key or DEED_WORDS[word][0] in ("list", "create")):
        return None
    return DeedPath([*chain[:-2], (name, held or key)], word)


def _deed_of(method: str, *, has_key: bool, is_list: bool) -> Deed | None:
    """What a method does to the record of a path; POST /customers/{id} changes it in some APIs."""
    if method == "get":
        return "get" if has_key and not is_list else "list"
    if method == "post":
        return "update" if has_key else "create"
    if method == "delete":
        return "remove" if has_key else None
    return "update"
