"""The plots of a quickstart: bar charts of scores with intervals, and rewards of rollouts."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provegym.evals.measure import has_gold
from provegym.models.optional import need
from provegym.rewards import BEST, paid
from provegym.trace import Rollout, read
from provegym.train.plots import save_figure

if TYPE_CHECKING:
    from provegym.quickstart.report import Scores

SHOWN = ("reward", "success", "state", "answer", "coverage", "argument")
COLOURS = {"noop": "#b8b8b8", "base": "#7aa6c2", "trained": "#d9822b", "oracle": "#5a8f5a"}
GAP = 1.0


def draw_scores(scores: "Scores", names: Mapping[str, str], path: Path) -> None:
    """Draw one panel per group, with one bar per player and metric and its interval."""
    figure = need("matplotlib.figure").Figure(figsize=(9.0, 3.6), layout="constrained")
    panels = figure.subplots(1, len(scores), sharey=True, squeeze=False)[0]
    for panel, (group, players) in zip(panels, scores.items(), strict=True):
        wide = 0.8 / len(players)
        for number, (player, found) in enumerate(players.items()):
            known = [(at, found[name]) for at, name in enumerate(SHOWN) if name in found]
            places = [at - 0.4 + wide * (number + 0.5) for at, _ in known]
            panel.bar(
                places,
                [value.mean for _, value in known],
                wide * 0.92,
                yerr=[
                    [value.mean - value.low for _, value in known],
                    [value.high - value.mean for _, value in known],
                ],
                color=COLOURS[player],
                error_kw={"elinewidth": 1, "ecolor": "#444444"},
                label=names[player],
            )
        first = next(iter(players.values()))
        counts = [first[name].tasks if name in first else 0 for name in SHOWN]
        panel.set_title(f"{group}, {counts[0]} tasks", loc="left", fontsize="medium")
        labels = [f"{name}\nn = {count}" for name, count in zip(SHOWN, counts, strict=True)]
        panel.set_xticks(range(len(SHOWN)), labels, fontsize="small")
        panel.grid(axis="y", alpha=0.25)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    save_figure(figure, path)


def draw_lesson(folder: Path, path: Path) -> None:
    """Draw the reward of each rollout: one column per prompt, with gaps between steps."""
    figure = need("matplotlib.figure").Figure(figsize=(9.0, 3.4), layout="constrained")
    axes = figure.subplots()
    steps = [_prompts(file) for file in sorted(folder.glob("step-*.jsonl"))]
    size, ticks, place = 400 / (8 + sum(map(len, steps))), [], 0.0
    for prompts in steps:
        if place:
            axes.axvline(place - (1 + GAP) / 2, color="#d8dde2", linewidth=0.8)
        ticks.append(place + (len(prompts) - 1) / 2)
        for rollouts in prompts:
            _draw_prompt(axes, place, rollouts, size)
            place += 1
        place += GAP
    axes.set_xticks(ticks, [f"step {number}" for number in range(1, len(ticks) + 1)])
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-(1 + GAP) / 2, place - (1 + GAP) / 2)
    axes.set_ylim(-0.05, 1.4)
    axes.set_ylabel("reward")
    axes.grid(axis="y", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    shown = dict(zip(labels, handles, strict=True))
    figure.legend(
        shown.values(), shown.keys(), loc="outside lower center", ncols=len(shown), frameon=False
    )
    save_figure(figure, path)


def _prompts(file: Path) -> list[list[Rollout]]:
    """The rollouts of a step, prompt by prompt."""
    found: dict[str, list[Rollout]] = {}
    for rollout in read(file, Rollout):
        found.setdefault(rollout.example.id, []).append(rollout)
    return list(found.values())


def _draw_prompt(axes: Any, place: float, rollouts: list[Rollout], size: float) -> None:
    """Draw a prompt's rollouts side by side, so that equal rewards stay visible."""
    rewards, count = list(map(paid, rollouts)), len(rollouts)
    best = BEST if has_gold(rollouts[0].example) else 1.0
    spots = [place + 0.44 * ((number + 0.5) / count - 0.5) for number in range(count)]
    for level, half, colour, style, label in (
        (best, 0.45, COLOURS["oracle"], ":", "what the right calls are paid"),
        (sum(rewards) / count, 0.3, "#333333", "-", "mean of a prompt's rollouts"),
    ):
        ends = place - half, place + half
        axes.hlines(level, *ends, colors=colour, linestyles=style, label=label)
    axes.scatter(
        spots, rewards, s=size, color=COLOURS["trained"], linewidths=0, zorder=3, label="a rollout"
    )
