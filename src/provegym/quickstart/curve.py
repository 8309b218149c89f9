"""A learning curve as an SVG file, drawn without matplotlib: one point per step."""

from collections.abc import Sequence
from pathlib import Path

from provegym.files import make_folder, write_atomically
from provegym.rewards import BEST
from provegym.templates import fill

WIDTH, HEIGHT, MARGIN, INSET = 720, 260, 44, 24
TICKS = (0.0, 0.5, 1.0, BEST)


def draw_curve(rewards: Sequence[float], path: Path) -> None:
    """Draw the mean reward of each step."""
    make_folder(path.parent)
    write_atomically(path, curve(rewards))


def curve(rewards: Sequence[float]) -> str:
    """The SVG text of a curve; the largest reward is the top of the picture."""
    left = MARGIN + INSET
    apart = (WIDTH - 2 * left) / max(1, len(rewards) - 1)
    points = [(left + at * apart, _height(reward)) for at, reward in enumerate(rewards)]
    return fill(
        "quickstart/curve.svg.jinja",
        width=WIDTH,
        height=HEIGHT,
        margin=MARGIN,
        points=list(zip(points, rewards, strict=True)),
        ticks=[(f"{tick:g}", _height(tick)) for tick in TICKS],
    )


def _height(reward: float) -> float:
    room = HEIGHT - 2 * MARGIN
    return HEIGHT - MARGIN - room * min(max(reward, 0.0), BEST) / BEST
