"""Pages, pictures and cards from Jinja templates, which stand beside the code that fills them.

In HTML and SVG every value is escaped, unless the template marks it as safe.
"""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape


def fill(name: str, **values: Any) -> str:
    """A template of this package, such as "corpus/card.md.jinja", filled with values."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("provegym", "."),
        autoescape=select_autoescape(("html.jinja", "svg.jinja"), default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters["percent"] = lambda share: f"{share:.1%}"
    return found
