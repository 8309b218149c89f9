"""Draws docs/machine.svg, the state diagram of a conversation, from the code of its state machine.

Boxes are the functions in `conversation.machine.STATES` with their docstrings. Arrows come from
their return types. The main path is the one that the module's docstring names. Run it with
`python docs/machine.py`; the SVG loads nothing else.
"""

import re
import textwrap
from collections import defaultdict
from html import escape
from pathlib import Path
from typing import NamedTuple, get_args, get_type_hints

from provegym.conversation import machine

WIDE, HIGH, LINE, LETTERS = 296, 102, 18, 38
GAP_X, GAP_Y = 70, 48
LEFT, TOP, RIGHT, BOTTOM = 54, 78, 48, 112
LANE, BEND, SHIFT = 26, 10, 8
PITCH = HIGH + GAP_Y
STYLE = """
text { font-family: 'DejaVu Sans Mono', 'Fira Code', Menlo, Consolas, monospace; fill: #c5c8c6; }
.title { font: bold 18px sans-serif; }
.name { font-size: 18px; font-weight: bold; }
.says { font: 15px sans-serif; fill: #b4b7b5; }
.road rect { fill: #2c3a40; stroke: #68a0b3; } .road .name { fill: #8fc6d9; }
.detour rect { fill: #3a362a; stroke: #d0b344; } .detour .name { fill: #e2ca6b; }
.end rect { fill: #333a2a; stroke: #98a84b; } .end .name { fill: #b9ca67; }
.drop rect { fill: #3f2b2c; stroke: #cc555a; } .drop text { font-size: 12px; fill: #f0a3a6; }
.arrow { fill: none; stroke-width: 1.6; }
"""
COLOURS = {"road": "#68a0b3", "detour": "#b39b45", "back": "#a98ab0"}
TIPS = "".join(
    f'<marker id="{kind}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" '
    f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L10 5L0 10z" fill="{colour}"/>'
    "</marker>"
    for kind, colour in COLOURS.items()
)
DOTS = "".join(
    f'<circle cx="{x}" cy="22" r="7" fill="{colour}"/>'
    for x, colour in ((26, "#ff5f57"), (48, "#febc2e"), (70, "#28c840"))
)

GIVEN_UP = "dropped"
MEANS = "no such goal in this world, or too many calls: another candidate is drawn instead"

Arrows = dict[str, list[str]]


class Spot(NamedTuple):
    """The position of a state: the centre of its box."""

    x: float
    y: float

    @property
    def west(self) -> float:
        """The left side of its box."""
        return self.x - WIDE / 2

    @property
    def east(self) -> float:
        """The right side of its box."""
        return self.x + WIDE / 2


def transitions() -> Arrows:
    """The successors of each state, from its return type."""
    return {
        name: list(get_args(get_args(get_type_hints(function)["return"])[0]))
        for name, function in machine.STATES.items()
    }


def main_road() -> list[str]:
    """The main path: the states that the machine's docstring names, in order."""
    found = re.search(r"\w+(?: → \w+)+", machine.__doc__ or "")
    if found is None or not set(road := found[0].split(" → ")) <= machine.STATES.keys():
        raise SystemExit(
            "conversation/machine.py: its docstring must name a path such as query → turn"
        )
    return road


def detours(arrows: Arrows, road: list[str]) -> dict[tuple[int, int], list[str]]:
    """The other states, grouped by where they leave and rejoin the main path."""
    before: Arrows = defaultdict(list)
    for name, targets in arrows.items():
        for target in targets:
            before[target].append(name)
    groups: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name in arrows:
        if name not in road:
            groups[min(meets(name, before, road)), max(meets(name, arrows, road))].append(name)
    return {ends: groups[ends] for ends in sorted(groups, key=_span)}


def meets(name: str, ways: Arrows, road: list[str]) -> set[int]:
    """The positions on the main path that a state reaches, directly or by other detours."""
    found, seen, waiting = set(), {name}, [name]
    while waiting:
        for other in ways.get(waiting.pop(), ()):
            if other in road:
                found.add(road.index(other))
            elif other not in seen:
                seen.add(other)
                waiting.append(other)
    return found


def _span(ends: tuple[int, int]) -> tuple[int, int]:
    return ends[1] - ends[0], ends[0]


def place(road: list[str], groups: dict[tuple[int, int], list[str]]) -> dict[str, Spot]:
    """Positions: the main path in column 0, each group of detours in a free column."""
    spots = {name: _spot(0, row) for row, name in enumerate(road)}
    taken: list[list[tuple[int, int]]] = []
    for (start, end), names in groups.items():
        free = [c for c, held in enumerate(taken) if all(end <= s or e <= start for s, e in held)]
        if not free:
            free = [len(taken)]
            taken.append([])
        taken[free[0]].append((start, end))
        for number, name in enumerate(names):
            row = (start + end) / 2 + number - (len(names) - 1) / 2
            spots[name] = _spot(free[0] + 1, row)
    return spots


def _spot(column: int, row: float) -> Spot:
    x = LEFT + WIDE / 2 + column * (WIDE + GAP_X)
    return Spot(x, TOP + HIGH / 2 + row * PITCH)


def wrap(text: str) -> list[str]:
    """Wrap a text into as few lines as possible, of similar length."""
    count = len(textwrap.wrap(text, LETTERS))
    least = next(n for n in range(1, LETTERS + 1) if len(textwrap.wrap(text, n)) <= count)
    return textwrap.wrap(text, least)


def box(name: str, spot: Spot, kind: str, drops: bool) -> str:
    """Draw a state with its docstring, and a tag if a candidate may be dropped there."""
    says = wrap((machine.STATES[name].__doc__ or "").strip())
    top = spot.y - HIGH / 2
    first = spot.y + 14 - (len(says) - 1) * LINE / 2
    lines = "".join(
        f'<text class="says" x="{spot.west + 14:g}" y="{first + 4 + number * LINE:g}">'
        f"{escape(line)}</text>"
        for number, line in enumerate(says)
    )
    gone = tag(spot.east - 48, top) if drops else ""
    return (
        f'<g class="{kind}"><rect x="{spot.west:g}" y="{top:g}" width="{WIDE}" height="{HIGH}" '
        f'rx="8"/><text class="name" x="{spot.west + 14:g}" y="{first - 18:g}">{name}</text>'
        f"{lines}</g>{gone}"
    )


def tag(x: float, y: float) -> str:
    """Draw the tag of a state in which a candidate may be dropped."""
    return (
        f'<g class="drop"><rect x="{x - 36:g}" y="{y - 11:g}" width="72" height="21" rx="10"/>'
        f'<text x="{x:g}" y="{y + 4:g}" text-anchor="middle">{GIVEN_UP}</text></g>'
    )


def line(points: list[tuple[float, float]], kind: str) -> str:
    """Draw an arrow along points, with round corners."""
    path = f"M{points[0][0]:g} {points[0][1]:g}"
    for before, at, after in zip(points, points[1:], points[2:], strict=False):
        (x1, y1), (x2, y2) = _towards(at, before), _towards(at, after)
        path += f"L{x1:g} {y1:g}Q{at[0]:g} {at[1]:g} {x2:g} {y2:g}"
    return (
        f'<path class="arrow" stroke="{COLOURS[kind]}" marker-end="url(#{kind})" '
        f'd="{path}L{points[-1][0]:g} {points[-1][1]:g}"/>'
    )


def _towards(at: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """The point at distance BEND from a corner, towards another point."""
    dx, dy = other[0] - at[0], other[1] - at[1]
    length = abs(dx) + abs(dy)
    part = min(BEND, length / 2) / length if length else 0
    return at[0] + dx * part, at[1] + dy * part


def arrow(source: Spot, target: Spot, side: str) -> str:
    """Draw an arrow along the main path, back up beside it, or to and from a detour."""
    if side == "road":
        return line([(source.x, source.y + HIGH / 2), (target.x, target.y - HIGH / 2)], side)
    if side == "back":
        lane = source.west - LANE
        points = [(source.west, source.y), (lane, source.y), (lane, target.y)]
        return line([*points, (target.west, target.y)], side)
    if source.x < target.x:
        lane, y = target.west - LANE, source.y + SHIFT
        points = [(source.east, y), (lane, y), (lane, target.y), (target.west, target.y)]
    else:
        lane, y = source.east + LANE, target.y - SHIFT
        points = [(source.east, source.y), (lane, source.y), (lane, y), (target.east, y)]
    return line(points, "detour")


def draw() -> str:
    """Draw the state machine as an SVG."""
    arrows, road = transitions(), main_road()
    spots = place(road, detours(arrows, road))
    last, exits = road[-1], [name for name in arrows[road[-1]] if name not in arrows]
    parts = []
    for name, targets in arrows.items():
        for target in targets:
            if target in spots:
                on_road = name in road and target in road
                follows = on_road and road.index(target) == road.index(name) + 1
                side = "road" if follows else "back" if on_road else "detour"
                parts.append(arrow(spots[name], spots[target], side))
    for name, spot in spots.items():
        drops = GIVEN_UP in arrows[name]
        parts.append(box(name, spot, "road" if name in road else "detour", drops))
    for exit_name in exits:
        parts.append(way_out(exit_name, spots[last]))
    key = spots[last].y + HIGH / 2 + GAP_Y + 17
    parts.append(tag(_spot(1, 0).west + 36, key))
    parts.append(f'<text class="says" x="{_spot(1, 0).west + 86:g}" y="{key + 4:g}">{MEANS}</text>')
    width = max(spot.east for spot in spots.values()) + RIGHT
    height = max(spot.y for spot in spots.values()) + HIGH / 2 + BOTTOM
    return frame("".join(parts), width, height)


def way_out(name: str, last: Spot) -> str:
    """Draw the end of the main path, below its last state."""
    top = last.y + HIGH / 2 + GAP_Y
    arrow_down = line([(last.x, last.y + HIGH / 2), (last.x, top)], "road")
    return (
        f'{arrow_down}<g class="end"><rect x="{last.x - 50:g}" y="{top:g}" width="100" height="34" '
        f'rx="17"/><text class="name" x="{last.x:g}" y="{top + 23:g}" text-anchor="middle">{name}'
        "</text></g>"
    )


def frame(inside: str, width: float, height: float) -> str:
    """Draw the window frame around the picture."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-label="The states of a conversation and what may follow each">'
        f"<style>{STYLE}</style><defs>{TIPS}</defs>"
        f'<rect fill="#292929" stroke="#fff" stroke-opacity=".35" x="1" y="1" '
        f'width="{width - 2:g}" height="{height - 2:g}" rx="8"/>{DOTS}'
        f'<text class="title" x="{width / 2:g}" y="28" text-anchor="middle">'
        f"how a conversation is made</text>{inside}</svg>\n"
    )


if __name__ == "__main__":
    target = Path(__file__).with_name("machine.svg")
    target.write_text(draw(), "utf-8")
    print(f"wrote {target}")
