"""The recipes that come with the package: TOML files with the settings of a training run.

A recipe is named by itself, as in `provegym train tiny`, or by the path of a file of one's own.
"""

from collections.abc import Iterator
from pathlib import Path

from provegym.errors import UserError
from provegym.kernel.errors import near

FOLDER = Path(__file__).parent
ENDING = ".toml"


class BadRecipe(UserError):
    """A recipe cannot be used; the message names file and field."""


def names() -> list[str]:
    """The names of the recipes, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob(f"*{ENDING}"))


def find(name: str | Path) -> Path:
    """The file of a recipe, from a name such as tiny or from a path."""
    path = Path(name)
    if path.name == str(name) and path.suffix != ENDING:
        if str(name) not in names():
            hint = near(str(name), names()) or "`provegym recipes` lists them"
            raise BadRecipe(f"no recipe {str(name)!r}; {hint}")
        return FOLDER / f"{name}{ENDING}"
    if not path.exists() and path.stem in names():
        raise BadRecipe(f"{path}: no such file; to take the package's recipe, say {path.stem}")
    return path


def base(path: Path, name: str) -> Path:
    """The file that the recipe at a path extends: beside it, or one of the package."""
    beside, ours = path.parent / name, name.removesuffix(ENDING)
    return FOLDER / f"{ours}{ENDING}" if ours in names() and not beside.exists() else beside


def about(name: str) -> str:
    """What a recipe is for, from the first sentence of the comment at its top."""
    told = " ".join(_comment(find(name)))
    return told.partition(". ")[0].rstrip(".")


def _comment(path: Path) -> Iterator[str]:
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            return
        yield line.lstrip("# ")
