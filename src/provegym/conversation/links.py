"""Data flow along proven edges: arguments of a goal that come from results of earlier calls."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from provegym.graph.chains import Chain
from provegym.graph.dependency import Dependency
from provegym.graph.slots import EACH, filled, pointed, taken
from provegym.kernel import Tool
from provegym.language.phrasing import Voice
from provegym.language.things import noun_of
from provegym.language.values import Scalar, leaves
from provegym.trace import Json

VARIANTS = 3

Results = Mapping[str, tuple[Json, Any]]


def links(
    tool: Tool, chain: Chain, edges: Iterable[Dependency], results: Results, voice: Voice
) -> Iterator[Json]:
    """Partial arguments for a goal, best first.

    First, values from earlier calls together with the enum values that proved the chain's edges.
    Then values from earlier calls alone. At last, none.
    """
    parts = tool.input_schema["properties"]
    leading = [e for e in (*chain.edges, *edges) if e.target == tool.name and e.source in results]
    proven: Json = {}
    for edge in chain.edges:
        for run in edge.with_source[-2:]:
            if run.tool == tool.name:
                proven |= {n: v for n, v in run.arguments.items() if _is_choice(parts.get(n))}
    tried: list[Json] = [{}]
    for more in (proven, *({},) * VARIANTS):
        fixed = {**more, **_shared(leading, parts, results, voice)}
        if fixed not in tried:
            tried.append(fixed)
            yield fixed
    yield {}


def _shared(edges: Iterable[Dependency], parts: Json, results: Results, voice: Voice) -> Json:
    shared: Json = {}
    for edge in edges:
        shared = {**_taken(edge, parts, results[edge.source], voice), **shared}
    return shared


def _taken(edge: Dependency, parts: Json, made: tuple[Json, Any], voice: Voice) -> Json:
    """The arguments that an edge passes on from an earlier call."""
    arguments, result = made
    proven = edge.with_source[-1].arguments
    if edge.kind == "implicit":
        return _same(edge, proven, arguments)
    path = tuple(edge.argument.split("/"))
    found = [v for v in pointed(result, edge.pointer) if isinstance(v, Scalar)]
    found = found or _of_kind(taken(proven, path), result, voice)
    if not found or path[0] not in parts:
        return {}
    value = voice.chance.choice(found)
    return {path[0]: [value] if path[1:] == (EACH,) else filled(proven, path, value)[path[0]]}


def _of_kind(proven: object, result: Json, voice: Voice) -> list[Scalar]:
    """The entities of the kind that an edge passes on, anywhere in a result."""
    noun = noun_of(voice.server, proven)
    held = [leaf for leaf in leaves(result) if noun_of(voice.server, leaf) == noun]
    return [leaf for leaf in held if str(leaf) in voice.things and voice.is_known(str(leaf))]


def _same(edge: Dependency, proven: Json, arguments: Json) -> Json:
    """The arguments that two calls of an implicit edge share, with the values of the first call."""
    source = next(r.arguments for r in reversed(edge.with_source[:-1]) if r.tool == edge.source)
    shared: Json = {}
    for name, value in proven.items():
        for other, same in source.items():
            made = arguments.get(other)
            if isinstance(value, str) and isinstance(same, str) and isinstance(made, str):
                for then, now in zip(_parts(same), _parts(made), strict=True):
                    if then and then == value:
                        shared[name] = now
    return shared


def _parts(text: str) -> tuple[str, str, str]:
    """A text, and if it is a path its folder and its last part."""
    inside, _, last = text.rpartition("/")
    return text, inside, last if inside else ""


def _is_choice(part: Json | None) -> bool:
    """Whether an argument is an enum or a boolean."""
    return part is not None and (
        "enum" in part or "boolean" in (part.get("type"), *part.get("type", ()))
    )
