"""Training runs: metrics while they are written, and the same example at several steps."""

import tomllib
from typing import Any

import msgspec

from provegym.trace import Json
from provegym.view.sources import Rows, RunFolder


def show_run(run: RunFolder, after: int) -> Json:
    """A run and its steps after the first so many; a new `generation` means they start anew."""
    steps = run.steps
    recipe = run.text("recipe.toml")
    return {
        "name": run.name,
        "recipe": recipe,
        "versions": _versions(run.text("versions.json")),
        "steps": steps[after:],
        "total": len(steps),
        "planned": _planned(recipe),
        "generation": run.generation,
        "samples": [
            {"step": sample.step, "file_source": sample.id, "count": sample.count}
            for sample in _samples(run)
        ],
        "running": run.is_running(),
        "problem": run.problem,
    }


def _samples(run: RunFolder) -> list[Rows]:
    return sorted(
        (sample for sample in run.samples if sample.id >= 0), key=lambda sample: sample.step
    )


def _versions(text: str) -> Any:
    try:
        return msgspec.json.decode(text.encode(), type=dict[str, Any]) if text else {}
    except msgspec.DecodeError:
        return {}


def _planned(recipe: str) -> int | None:
    """How many steps the recipe asks for, where it says so."""
    try:
        table = tomllib.loads(recipe).get("grpo", {})
    except tomllib.TOMLDecodeError:
        return None
    steps = table.get("steps") if isinstance(table, dict) else None
    return steps if isinstance(steps, int) else None


def list_watched(run: RunFolder) -> list[Json]:
    """The examples that were sampled at more than one step, with each of their rollouts."""
    found: dict[str, list[tuple[Rows, int]]] = {}
    for sample in _samples(run):
        columns = sample.columns
        for at in range(columns.count):
            found.setdefault(columns.ids[at], []).append((sample, at))
    return [
        {"id": name, "steps": [_show_sample(sample, at) for sample, at in rollouts]}
        for name, rollouts in found.items()
        if len({sample.step for sample, _ in rollouts}) > 1
    ]


def _show_sample(sample: Rows, at: int) -> Json:
    return {
        "step": sample.step,
        "source": sample.id,
        "at": at,
        "reward": sample.columns.rewards[at],
    }
