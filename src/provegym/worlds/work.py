"""Bounds the work of a world before it runs: of a call, an event, a check and a drawing.

Work is counted in records that are looked at. The bounds keep a call below some milliseconds and
the drawing of a world below a second, whatever a spec says.
"""

from provegym.worlds.events import CompiledEvent, returns
from provegym.worlds.formula import Work
from provegym.worlds.seeding import PATIENCE
from provegym.worlds.spec import SpecError, WorldSpec

MOST_PER_CALL = 300_000
MOST_PER_MOMENT = 6_000_000
MOST_PER_CHECK = 300_000
MOST_PER_WORLD = 5_000_000

Sizes = dict[str, int]


def require_bounded(
    spec: WorldSpec,
    tools: dict[str, Work],
    events: list[CompiledEvent],
    invariants: list[tuple[str, Work]],
) -> None:
    """Raise SpecError if a call, a moment with events, a check or a drawing takes too long."""
    full = {entity.name: entity.most for entity in spec.entities}
    smaller = "make `most` of its entities smaller"
    for tool, work in tools.items():
        _require(f"{tool} may look", work.rows(full), MOST_PER_CALL, smaller)
    moment = sum(full[each.event.entity] * (1 + each.work.rows(full)) for each in events)
    _require("events may look", moment, MOST_PER_MOMENT, smaller)
    sizes = _drawn_sizes(spec)
    check = sum(sizes[entity] * (1 + work.rows(sizes)) for entity, work in invariants)
    fewer = "take fewer records or fewer invariants"
    _require("invariants may look", check, MOST_PER_CHECK, fewer)
    shorter = "take fewer records, a shorter past or fewer events"
    _require("drawing a world may look", _drawing(spec, tools, events), MOST_PER_WORLD, shorter)


def _require(who: str, rows: int, most: int, advice: str) -> None:
    if rows > most:
        raise SpecError(f"{who} at {rows:,} records, more than {most:,}: {advice}")


def _drawn_sizes(spec: WorldSpec) -> Sizes:
    """How many records each table of a drawn world has, at most."""
    sizes = {entity.name: entity.count for entity in spec.entities}
    for past in spec.past:
        for effect in spec.operation(past.tool).effects:
            if effect.add:
                sizes[effect.add] += past.times
    return {entity.name: min(entity.most, sizes[entity.name] + 1) for entity in spec.entities}


def _drawing(spec: WorldSpec, tools: dict[str, Work], events: list[CompiledEvent]) -> int:
    """How many records the past of a world looks at, at most."""
    sizes = _drawn_sizes(spec)
    calls = sum(past.times * PATIENCE * tools[past.tool].rows(sizes) for past in spec.past)
    moments = sum(past.times for past in spec.past) + 1
    runs = sum(sizes[each.event.entity] for each in events)
    runs += int(returns(events, sizes, spec.days))
    looks = 2 * sum(sizes[each.event.entity] for each in events)
    most = max((each.work.rows(sizes) for each in events), default=0)
    return calls + (moments + runs) * looks + runs * most
