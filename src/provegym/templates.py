"""Jinja templates for pages, reports and dataset cards; they are next to the code that uses them.

In HTML every value is escaped, unless the template marks it as safe.
"""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape


def fill(template: str, /, **values: Any) -> str:
    """Render a template of this package, such as "corpus/card.md.jinja"."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("provegym", "."),
        autoescape=select_autoescape(("html.jinja",), default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters["percent"] = lambda share: f"{share:.1%}"
    return found
