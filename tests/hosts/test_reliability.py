"""The table of docs/reliability.md is what its command makes of the figures."""

import json
import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_has_the_table_of_the_figures() -> None:
    script = runpy.run_path(str(DOCS / "reliability_serving.py"))
    figures = json.loads(script["FIGURES"].read_text("utf-8"))
    assert script["table"](figures) in script["PAGE"].read_text("utf-8")
    assert figures["soak"]["errors"] == figures["soak"]["mismatches"] == 0
