"""Runs of training: their curves while they are written, and one example over the steps."""

import tomllib
from typing import Any

import msgspec

from provegym.trace import Json
from provegym.view.glance import glance
from provegym.view.sources import BAD_LINE, Missing, Rows, RunFolder


def show_run(run: RunFolder, after: int) -> Json:
    """A run, and its steps after so many; `generation` changes where they start anew."""
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
    found: dict[int, list[tuple[Rows, int]]] = {}
    for sample in _samples(run):
        for at, key in enumerate(sample.columns.keys[: sample.count]):
            found.setdefault(key, []).append((sample, at))
    return [
        {"id": _id(*spots[0]), "server": spots[0][0].columns.servers[spots[0][1]], "steps": steps}
        for spots in found.values()
        if len({source.step for source, _ in spots}) > 1
        and (steps := [_spot(source, at) for source, at in spots])
    ]


def _spot(source: Rows, at: int) -> Json:
    return {
        "step": source.step,
        "source": source.id,
        "at": at,
        "reward": source.columns.reward(at),
        "success": source.columns.success(at),
    }


def _id(source: Rows, at: int) -> str:
    try:
        return glance(source.line(at), "rollouts").id
    except (*BAD_LINE, Missing):
        return ""
