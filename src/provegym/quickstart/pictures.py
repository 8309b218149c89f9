"""The pictures of a quickstart: scores of each player with intervals, and GRPO's rollouts."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provegym.policies.extra import need
from provegym.trace import Rollout, read
from provegym.train.run import paid

if TYPE_CHECKING:
    from provegym.quickstart.report import Scores

FORMATS = ("png", "svg")
SHOWN = ("reward", "success", "coverage", "argument")
COLOURS = {"noop": "#b8b8b8", "base": "#7aa6c2", "trained": "#d9822b", "oracle": "#5a8f5a"}


def draw_scores(scores: "Scores", names: Mapping[str, str], path: Path) -> None:
    """A panel per group, a bar per player and metric, with its interval."""
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
        count = next(iter(players.values()))["reward"].tasks
        panel.set_title(f"{group}, {count} tasks", loc="left", fontsize="medium")
        panel.set_xticks(range(len(SHOWN)), SHOWN)
        panel.grid(axis="y", alpha=0.25)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    _save(figure, path)


def draw_lesson(folder: Path, path: Path) -> None:
    """What each rollout of each step was paid, the groups apart, and the mean."""
    figure = need("matplotlib.figure").Figure(figsize=(9.0, 3.2), layout="constrained")
    axes = figure.subplots()
    means = []
    for file in sorted(folder.glob("step-*.jsonl")):
        step = int(file.stem.rpartition("-")[2])
        groups: dict[str, list[float]] = {}
        for rollout in read(file, Rollout):
            groups.setdefault(rollout.example.id, []).append(paid(rollout))
        for number, rewards in enumerate(groups.values()):
            shift = (number + 1) / (len(groups) + 1) - 0.5
            spots = [step + shift * 0.6] * len(rewards)
            axes.scatter(spots, rewards, s=22, alpha=0.6, color=f"C{number % 10}", linewidths=0)
        everyone = [reward for rewards in groups.values() for reward in rewards]
        means.append((step, sum(everyone) / len(everyone)))
    axes.plot(*zip(*means, strict=True), color="#333333", marker="o", label="mean of the step")
    axes.set_xticks([step for step, _ in means])
    axes.set_ylim(-0.1, 1.4)
    axes.set_xlabel("step")
    axes.set_title("GRPO: what each rollout was paid; a colour is a prompt", loc="left")
    axes.grid(axis="y", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    for form in FORMATS:
        figure.savefig(path.with_suffix(f".{form}"), dpi=150)
