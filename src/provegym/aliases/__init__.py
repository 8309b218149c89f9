"""Aliases: the same world under other names, translated both ways where a model meets it."""

from provegym.aliases.styles import ALIAS_STYLES, draw
from provegym.aliases.view import AliasedView, PlainView, View, tools_of, view_of

__all__ = ["ALIAS_STYLES", "AliasedView", "PlainView", "View", "draw", "tools_of", "view_of"]
