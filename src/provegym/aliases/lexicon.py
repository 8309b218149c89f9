"""The lexicon of aliases: synonyms, abbreviations, and the words of slugs (lexicon.toml)."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def lexicon() -> dict[str, Any]:
    """The tables of lexicon.toml."""
    return tomllib.loads(files(__package__).joinpath("lexicon.toml").read_text("utf-8"))
