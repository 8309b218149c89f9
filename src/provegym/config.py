"""Recipes: reads TOML files into frozen settings; the settings are defined next to their code."""

import tomllib
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import tomli_w
from msgspec.structs import asdict

from provegym.kernel.errors import suggest
from provegym.players.local import Limits
from provegym.recipes import BadRecipe, base, find
from provegym.rewards import WEIGHTS
from provegym.train.recipe import Recipe, RecipeTable

EXTENDS = "extends"
# A recipe that extends one that extends another, and so on.
DEEPEST = 8
__all__ = ["BadRecipe", "check_weights", "load_recipe", "write_recipe"]
Toml = dict[str, Any]


def load_recipe(name: str | Path, changes: Sequence[str] = ()) -> Recipe:
    """Read a recipe and the recipes it extends, then apply changes such as `grpo.steps=20`.

    It is a recipe of the package, such as tiny, or the path of a file.
    """
    path = find(name)
    table = _read(path, ())
    for change in changes:
        _change(table, change)
    try:
        for key in _keys(table):
            if not _is_known(key):
                raise BadRecipe(f"no setting {key!r}; {suggest(key, KNOWN)}")
        recipe = msgspec.convert(table, Recipe)
        check_weights(recipe.reward.weights)
        _check(recipe)
    except msgspec.ValidationError as problem:
        raise BadRecipe(f"{path}: {_sentence(str(problem))}") from None
    except BadRecipe as problem:
        raise BadRecipe(f"{path}: {problem}") from None
    return recipe


def check_weights(weights: object) -> None:
    """Raise BadRecipe if a weight is not finite or names an unknown component."""
    if not isinstance(weights, dict):
        return
    if unknown := sorted(set(weights) - set(WEIGHTS)):
        raise BadRecipe(f"no reward part {unknown[0]!r}; there are {', '.join(WEIGHTS)}")
    for part, weight in weights.items():
        if not isfinite(weight):
            raise BadRecipe(f"the weight of {part} is {weight}; it must be a number")


def write_recipe(recipe: Recipe) -> str:
    """A recipe as TOML with every setting; reading it gives the same recipe."""
    return tomli_w.dumps(_without_none(msgspec.to_builtins(recipe)))


def _read(path: Path, above: tuple[Path, ...]) -> Toml:
    """The tables of a file, merged over those of the file it extends."""
    if path.resolve() in above:
        raise BadRecipe(f"{path} extends itself")
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as problem:
        raise BadRecipe(f"{path}: {problem.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise BadRecipe(f"{path}: {problem}") from None
    extended = table.pop(EXTENDS, None)
    if extended is None:
        return table
    if not isinstance(extended, str) or not extended.isprintable() or len(above) > DEEPEST:
        raise BadRecipe(f"{path}: {EXTENDS} is the name of a recipe, or of a file")
    return _over(_read(base(path, extended), (*above, path.resolve())), table)


def _over(below: Toml, table: Toml) -> Toml:
    merged = dict(below)
    for key, value in table.items():
        held = below.get(key)
        both = isinstance(value, dict) and isinstance(held, dict)
        merged[key] = _over(held, value) if both and held is not None else value
    return merged


def _change(table: Toml, change: str) -> None:
    """Set one key; a value that is not TOML is taken as text, so names need no quotes."""
    key, equals, text = change.partition("=")
    if not equals:
        raise BadRecipe(f"--set takes key=value, such as grpo.steps=20, not {change!r}")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *tables, last = key.strip().split(".")
    for name in tables:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise BadRecipe(f"--set {change}: {name} is no table")
    table[last] = value


def _known(kind: Any, prefix: str = "") -> Iterator[str]:
    """The dotted names of all settings."""
    for name, hint in get_type_hints(kind).items():
        yield prefix + name
        for part in (hint, *get_args(hint)):
            if isinstance(part, type) and issubclass(part, RecipeTable | Limits):
                yield from _known(part, f"{prefix}{name}.")
        if prefix + name == "reward":
            yield from (f"reward.{field}" for field in get_type_hints(hint))


def _keys(table: Toml, prefix: str = "") -> Iterator[str]:
    for name, value in table.items():
        yield prefix + name
        if isinstance(value, dict):
            yield from _keys(value, f"{prefix}{name}.")


def _is_known(key: str) -> bool:
    return key in KNOWN or key.startswith("reward.weights.")


def _check(recipe: Recipe) -> None:
    """Raise BadRecipe for settings that do not fit together, which types cannot express."""
    for name, value in asdict(recipe.limits).items():
        if value < 1:
            raise BadRecipe(f"limits.{name} is {value}; it must be at least 1")
    if recipe.sft and recipe.grpo:
        raise BadRecipe("a recipe has [sft] or [grpo], not both; the second starts from the first")
    if recipe.sft and recipe.sft.together % recipe.sft.batch:
        raise BadRecipe(
            f"sft.together ({recipe.sft.together}) must be a multiple of sft.batch"
            f" ({recipe.sft.batch})"
        )
    if recipe.grpo and recipe.grpo.sequences % recipe.grpo.batch:
        raise BadRecipe(
            f"grpo.prompts_per_step times grpo.rollouts ({recipe.grpo.sequences}) must be a"
            f" multiple of grpo.batch ({recipe.grpo.batch})"
        )


def _sentence(problem: str) -> str:
    """The message of msgspec, beginning with the key it is about."""
    what, _, where = problem.partition(" - at `$")
    return f"{where.strip('.`')}: {what[:1].lower()}{what[1:]}" if where else problem


def _without_none(table: Toml) -> Toml:
    """A table without its None values, because TOML has no null."""
    return {
        key: _without_none(value) if isinstance(value, dict) else value
        for key, value in table.items()
        if value is not None
    }


KNOWN = sorted(_known(Recipe))
