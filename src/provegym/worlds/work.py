"""Bounds the work of a world before it runs: of one call, and of drawing a world.

Work is counted in records that are looked at. The bounds keep a call below some milliseconds and
the drawing of a world below a second, whatever a spec says.
"""

from provegym.worlds.events import CompiledEvent, returns
from provegym.worlds.formula import Work
from provegym.worlds.spec import SpecError, WorldSpec

MOST_PER_CALL = 300_000
MOST_PER_MOMENT = 6_000_000
MOST_PER_WORLD = 3_000_000
TRIES = 3


def require_bounded(spec: WorldSpec, tools: dict[str, Work], events: list[CompiledEvent]) -> None:
    """Raise SpecError if a call, a moment with events or the drawing of a world takes too long."""
    full = {entity.name: entity.most for entity in spec.entities}
    for tool, work in tools.items():
        if (rows := work.rows(full)) > MOST_PER_CALL:
            raise SpecError(
                f"{tool} may look at {rows:,} records in one call, more than {MOST_PER_CALL:,}:"
                " make `most` of its entities smaller"
            )
    moment = sum(full[each.event.entity] * (1 + each.work.rows(full)) for each in events)
    if moment > MOST_PER_MOMENT:
        raise SpecError(
            f"events may look at {moment:,} records at once, more than {MOST_PER_MOMENT:,}:"
            " make `most` of their entities smaller"
        )
    if (rows := _drawing(spec, tools, events)) > MOST_PER_WORLD:
        raise SpecError(
            f"drawing a world may look at {rows:,} records, more than {MOST_PER_WORLD:,}:"
            " take fewer records, a shorter past or fewer events"
        )


def _drawing(spec: WorldSpec, tools: dict[str, Work], events: list[CompiledEvent]) -> int:
    """How many records the past of a world looks at, at most."""
    sizes = {entity.name: entity.count for entity in spec.entities}
    for past in spec.past:
        for effect in spec.operation(past.tool).effects:
            if effect.add:
                sizes[effect.add] += past.times
    sizes = {entity.name: min(entity.most, sizes[entity.name] + 1) for entity in spec.entities}
    calls = sum(past.times * TRIES * tools[past.tool].rows(sizes) for past in spec.past)
    moments = sum(past.times for past in spec.past) + 1
    runs = sum(sizes[each.event.entity] for each in events)
    runs += int(returns(events, sizes, spec.days))
    looks = 2 * sum(sizes[each.event.entity] for each in events)
    most = max((each.work.rows(sizes) for each in events), default=0)
    return calls + (moments + runs) * looks + runs * most
