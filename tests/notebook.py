"""Runs the code cells of a notebook in order, and keeps what they print, as Jupyter would.

`python tests/notebook.py` writes the outputs of examples/tour.ipynb anew. Worlds and
examples are the same on every machine, so a test can compare the outputs.
"""

import ast
import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "examples" / "tour.ipynb"
Cell = dict[str, Any]


def executed(notebook: Cell) -> Cell:
    """The notebook with the outputs of its code cells."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = run("".join(cell["source"]), count, names)
            cell = {**cell, "execution_count": count, "outputs": outputs}
        cells.append(cell)
    return {**notebook, "cells": cells}


def run(code: str, number: int, names: dict[str, Any]) -> list[Cell]:
    """Run a cell; its outputs are what it prints, and the value of its last line."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    outputs: list[Cell] = []
    if text := printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines(text)})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        made = {"output_type": "execute_result", "execution_count": number}
        outputs.append({**made, "metadata": {}, "data": data})
    return outputs


def lines(text: str) -> list[str]:
    """A text as notebooks keep it: a list of lines with their ends."""
    return text.splitlines(keepends=True)


def read() -> Cell:
    """The notebook as it is committed."""
    found: Cell = json.loads(NOTEBOOK.read_text("utf-8"))
    return found


def write(notebook: Cell) -> None:
    """Write the notebook as Jupyter does."""
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    NOTEBOOK.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    write(executed(read()))
