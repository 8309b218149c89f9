"""Worlds from API descriptions: OpenAPI 3 and Swagger 2, in JSON or YAML, become a spec.

A path such as /pets is an entity, /pets/{petId}/visits one that refers to it, and a path that ends
with a verb, such as POST /orders/{id}/cancel, an operation on the record before it. What is not
understood is left out, and the notes that come with the spec say so.
"""

from typing import Any

from provegym.worlds.schemas import api_document, drafting, nouns
from provegym.worlds.schemas.api_document import Document, plain_text
from provegym.worlds.schemas.api_paths import Paths, Resource
from provegym.worlds.schemas.api_properties import merged, property_of
from provegym.worlds.schemas.api_verbs import moves_of
from provegym.worlds.schemas.sketch import DEEDS, Property, Sketch, Subject
from provegym.worlds.spec import WorldSpec


def spec_of(text: str, name: str) -> tuple[WorldSpec, list[str]]:
    """The world of an API description, and notes on what was left out or changed."""
    notes: list[str] = []
    spec = drafting.draft(sketch_of(text, name, notes), notes)
    return spec, [*dict.fromkeys(notes)]


def sketch_of(text: str, name: str, notes: list[str]) -> Sketch:
    """The sketch of an API description."""
    document = api_document.load(text)
    resources = Paths(document, notes).read()
    known = {noun for noun, each in resources.items() if each.schemas or each.created}
    subjects = []
    for noun, each in resources.items():
        if noun not in known:
            notes.append(f"left out: {noun}, since no schema says what it has")
            continue
        subjects.append(_subject(document, each, known, notes))
    info = document.get("info")
    title = plain_text(str(info.get("title", ""))[:400]) if isinstance(info, dict) else ""
    about = f"A world of {nouns.spaced(name)}, from an API description"
    about += f": {title}." if title else "."
    version = "OpenAPI" if "openapi" in document else "Swagger"
    return Sketch(
        name=name,
        about=about[:200],
        source=plain_text(f"{version} {document.get('openapi') or document.get('swagger')}")[:40],
        subjects=tuple(subjects),
    )


def _subject(document: Document, resource: Resource, known: set[str], notes: list[str]) -> Subject:
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
        each = property_of(
            document, name, schema, noun, known, notes=notes, empty=name not in needed
        )
        if each is not None and each.name not in made:
            made[each.name] = each
    for parent in resource.parents:
        held = [p for p in made.values() if p.kind == "reference" and p.to == parent]
        for each in held:
            del made[each.name]
        made[f"{parent}_id"] = Property(name=f"{parent}_id", kind="reference", to=parent)
    moves = moves_of(document, noun, resource.verbs, made, notes)
    updated = {
        nouns.snake(name): property_of(document, name, schema, noun, set(), notes=notes, empty=True)
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


def _shown(document: Document, resource: Resource) -> dict[str, Any]:
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
