"""Draws docs/demo.svg: one server's demo as it looks in a terminal.

Run it with `python docs/picture.py`; the SVG loads nothing else.
"""

import io
import re
from pathlib import Path

from rich.console import Console

from provegym.demo import tell

FONT = "'DejaVu Sans Mono', 'Fira Code', Menlo, Consolas, monospace"


def draw(server: str, seed: int) -> str:
    """The demo of a server as an SVG without web fonts."""
    console = Console(record=True, width=104, file=io.StringIO(), force_terminal=True)
    tell(console, server, seed)
    svg = console.export_svg(title=f"provegym demo {server}")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code, monospace", FONT).replace("arial", "sans-serif")


if __name__ == "__main__":
    target = Path(__file__).with_name("demo.svg")
    target.write_text(draw("banking", 7), "utf-8")
    print(f"wrote {target}")
