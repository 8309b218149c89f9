"""Recipes: TOML files read into the frozen settings that stand beside the code they configure."""

import tomllib
from math import isfinite
from pathlib import Path

import msgspec

from provegym.rewards import WEIGHTS, Scheme


class BadRecipe(Exception):
    """A recipe that cannot be used; the message names file and field."""


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run's settings; a table per layer."""

    reward: Scheme = Scheme()


def load_recipe(path: Path) -> Recipe:
    """Read a recipe, or say what is wrong with it."""
    try:
        recipe = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Recipe)
    except OSError as problem:
        raise BadRecipe(f"{path}: {problem.strerror}") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as problem:
        raise BadRecipe(f"{path}: {problem}") from None
    check_weights(recipe.reward.weights)
    return recipe


def check_weights(weights: object) -> None:
    """Refuse a weight for a part that there is not, or one that is no number."""
    if not isinstance(weights, dict):
        return
    if unknown := sorted(set(weights) - set(WEIGHTS)):
        raise BadRecipe(f"no reward part {unknown[0]!r}; there are {', '.join(WEIGHTS)}")
    for part, weight in weights.items():
        if not isfinite(weight):
            raise BadRecipe(f"the weight of {part} is {weight}; it must be a number")
