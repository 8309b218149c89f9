"""Styles of aliases: what each field of an `Alias` may be, and how one is drawn from a seed."""

from random import Random
from typing import get_args, get_type_hints

from msgspec.structs import replace as put

from provegym.trace import Alias

KINDS = get_type_hints(Alias)
# By field of `Alias`, the styles there are.
ALIAS_STYLES: dict[str, tuple[str, ...]] = {
    name: get_args(KINDS[name])
    for name in ("tools", "words", "names", "enums", "ids", "results", "descriptions")
}


def draw(seed: int) -> Alias:
    """An alias whose styles are drawn from a seed; each style of a field is as likely."""
    chance = Random(f"alias {seed}")
    drawn = {name: chance.choice(styles) for name, styles in ALIAS_STYLES.items()}
    return settled(Alias(seed=seed, **drawn))  # type: ignore[arg-type]


def settled(alias: Alias) -> Alias:
    """The alias with styles that go together.

    Names without a meaning need whole descriptions. Descriptions are left out only where names are
    plain words. Tools and arguments never keep the names they have.
    """
    if alias.words == "same" and alias.tools == "verb_noun":
        alias = put(alias, tools="camelCase")
    if alias.words == "same" and alias.names == "snake_case":
        alias = put(alias, names="camelCase")
    opaque = "opaque" in (alias.tools, alias.names)
    if opaque and alias.descriptions in ("terse", "none"):
        return put(alias, descriptions="full")
    if alias.descriptions == "none" and (alias.words != "same" or alias.enums == "codes"):
        return put(alias, descriptions="terse")
    return alias
