"""Training curves as PNG and SVG: reward, its components, success, calls per task, loss."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from provegym.files import atomic_path, make_folder
from provegym.models.optional import need
from provegym.rewards.success import PARTS
from provegym.train.run import PAID

WINDOW = 10
SIZE = (8.0, 4.0)
FORMATS = ("png", "svg")

History = Sequence[Mapping[str, Any]]


def draw(history: History, folder: Path) -> list[Path]:
    """Draw every picture for which the history has data."""
    pictures = {
        "reward": ("mean reward per step", ["reward"]),
        "parts": ("parts of the reward, unweighted", PAID),
        "success": ("success and its three parts", ["success", *PARTS]),
        "calls": ("calls per task", ["calls"]),
        "loss": ("loss", ["loss"]),
    }
    made: list[Path] = []
    for name, (title, keys) in pictures.items():
        known = [key for key in keys if any(_has(line, key) for line in history)]
        if known:
            made += _picture(history, known, title, folder / name)
    return made


def _has(line: Mapping[str, Any], key: str) -> bool:
    """Whether a line has this figure; "ended" of older runs holds counts instead of a share."""
    return isinstance(line.get(key), int | float)


def smooth(values: Sequence[float], window: int = WINDOW) -> list[float]:
    """The moving average: the mean of each value and up to `window` - 1 before it."""
    ends = range(1, len(values) + 1)
    spans = [values[max(0, end - window) : end] for end in ends]
    return [sum(span) / len(span) for span in spans]


def _picture(history: History, keys: Sequence[str], title: str, path: Path) -> list[Path]:
    """One figure: a faint line for the values and a strong line for their moving average."""
    # A Figure made without pyplot needs neither a display nor a backend.
    figure = need("matplotlib.figure").Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    for number, key in enumerate(keys):
        points = [(line["step"], line[key]) for line in history if _has(line, key)]
        steps, values = [step for step, _ in points], [value for _, value in points]
        colour = f"C{number}"
        axes.plot(steps, values, color=colour, alpha=0.25, linewidth=1)
        means = smooth(values)
        label = f"{key} {means[-1]:.3f}"
        axes.plot(steps, means, color=colour, linewidth=1.8, label=label)
    axes.set_xlabel("step")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_title(title, loc="left")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    told = f"mean of the last {WINDOW}" if len(history) > WINDOW else "mean so far"
    figure.legend(frameon=False, fontsize="small", title=told, loc="outside right upper")
    return save_figure(figure, path)


def save_figure(figure: Any, path: Path) -> list[Path]:
    """Write a figure of matplotlib in each format, as whole files."""
    make_folder(path.parent)
    files = [path.with_suffix(f".{form}") for form in FORMATS]
    for form, file in zip(FORMATS, files, strict=True):
        with atomic_path(file) as part:
            figure.savefig(part, format=form, dpi=150)
    return files
