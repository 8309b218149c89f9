"""English inflection: plurals and past participles, with the irregular ones in inflection.toml."""

import re
import tomllib
from functools import cache
from importlib.resources import files


@cache
def _irregular() -> dict[str, dict[str, str]]:
    return tomllib.loads(files(__package__).joinpath("inflection.toml").read_text("utf-8"))


def plural(noun: str) -> str:
    """The plural of a noun, of its first word if it goes on: "pieces of work"."""
    for one, many in _irregular()["plurals"].items():
        if noun == one or noun.endswith(f" {one}"):
            return f"{noun.removesuffix(one)}{many}"
    first, of, rest = noun.partition(" of ")
    if re.search(r"[^aeiou]y$", first):
        first = f"{first[:-1]}ies"
    else:
        first = f"{first}es" if re.search(r"(s|x|ch|sh)$", first) else f"{first}s"
    return f"{first}{of}{rest}"


def past(verb: str) -> str:
    """The past participle of a verb."""
    known = _irregular()["past"]
    if irregular := known.get(verb):
        return irregular
    prefix, stem = verb[:2], verb[2:]
    if prefix in ("un", "re") and stem in known and verb != "relay":
        return f"{prefix}{known[stem]}"
    if verb.endswith("e"):
        return f"{verb}d"
    if re.search(r"[^aeiou]y$", verb):
        return f"{verb[:-1]}ied"
    return f"{verb}ed"
