"""Search for other tools that serve the same request, by trial calls on forks of the world."""

from collections.abc import Iterator
from itertools import islice, product

from provegym.kernel import Session
from provegym.language.values import leaves
from provegym.rewards.outcome import same_outcome
from provegym.toolbox import Toolbox, fits
from provegym.trace import Json

MOST_TRIES = 24


def serving(session: Session, toolbox: Toolbox, tool: str, arguments: Json) -> set[str]:
    """The other writes of the toolbox that make the same change from the same values."""
    wanted = session.fork()
    if not wanted.call(tool, arguments).ok:
        return set()
    goal = wanted.changes(tool)
    found = set()
    for name, other in toolbox.tools.items():
        if not other.writes or name == tool:
            continue
        for given in islice(_draws(toolbox.schemas[name], arguments), MOST_TRIES):
            twin = session.fork()
            if twin.call(name, given).ok and same_outcome(twin.changes(name), goal):
                found.add(name)
                break
    return found


def _draws(schema: Json, arguments: Json) -> Iterator[Json]:
    """Arguments for a tool from the request's values: matched by name first, then by type."""
    required = schema.get("required", [])
    values = [*arguments.values(), *leaves(arguments)]
    options = []
    for name in required:
        part = schema["properties"][name]
        named = [arguments[name]] if name in arguments else []
        options.append([value for value in (*named, *values) if fits(part, value)])
    optional = {n: v for n, v in arguments.items() if n in schema["properties"]}
    for drawn in product(*options):
        yield {**optional, **dict(zip(required, drawn, strict=True))}
