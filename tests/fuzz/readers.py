"""The readers that are fuzzed: what they are given first, and what is done with what they read.

A reader takes bytes, as a file or a reply has them. It may raise a `UserError`, whose message says
what is wrong. Any other exception is a fault.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import mcp_types as types
import msgspec
import pydantic

from provegym.config import load_recipe
from provegym.corpus.imports import write_examples
from provegym.evals.journal import Result, read_results
from provegym.hosts.foreign_reply import read_result
from provegym.players.scripted import SCRIPTS
from provegym.rewards import HARDENED, PAPER, rescore
from provegym.rewards.explain import explain
from provegym.rollout import play_script
from provegym.toolbox import Toolbox
from provegym.trace import Example, Rollout, line, read
from provegym.verify import verify
from provegym.view.item import show_example, show_item, show_rollout
from provegym.view.library import Library
from provegym.view.sources import Missing
from provegym.view.summary import summarise
from provegym.worlds.spec import parse

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
NAMES = ("banking", "maps", "email", "vehicle", "team_chat")
TOOL = {
    "name": "f",
    "description": "d",
    "parameters": {"type": "dict", "properties": {"a": {"type": "str"}}, "required": ["a"]},
}
WHEN2CALL = msgspec.json.encode(
    {
        "tools": [msgspec.json.encode(TOOL).decode(), TOOL],
        "messages": [{"role": "user", "content": "Hi"}],
        "chosen_response": {"role": "assistant", "content": "No."},
    }
)
REPLY = (
    b'{"content": [{"type": "text", "text": "{\\"items\\": [1, 2]}"},'
    b' {"type": "resource", "resource": {"uri": "file:///a", "text": "x"}}],'
    b' "structuredContent": {"items": [{"id": "a_1"}]}, "isError": false}'
)
RESULT = (
    b'{"id":"t0","group":"a","score":1.0,"error":"","tokens":5,"seconds":0.1,"record":{"a":1}}\n'
)


class Reader(NamedTuple):
    """A reader: its first inputs, how it reads a file, and what is done with what was read."""

    seeds: list[bytes]
    read: Callable[[Path], Any]
    use: Callable[[Any], object]


def examples() -> list[Example]:
    """A few examples of several servers."""
    found = [list(read(DATA / f"{name}.jsonl", Example)) for name in NAMES]
    return [example for some in found for example in some[:2]]


def read_reply(path: Path) -> Any:
    """A reply of somebody's MCP server, as the SDK hands it over; None if the SDK refuses it."""
    try:
        return types.CallToolResult.model_validate_json(path.read_bytes())
    except (pydantic.ValidationError, ValueError):
        return None


def use_example(found: list[Example]) -> None:
    """Show an example, play it with nobody, and verify it."""
    for example in found:
        summarise(line(example), "examples")
        show_example(example)
        Toolbox.of(example).openai()
        play_script(example, SCRIPTS["noop"])
        verify(example)


def use_rollout(found: list[Rollout]) -> None:
    """Score a rollout again, explain and show it."""
    for rollout in found:
        summarise(line(rollout), "rollouts")
        again = rescore(rescore(rollout, PAPER), HARDENED)
        list(explain(again))
        show_rollout(rollout, PAPER)


def use_page(library: Library) -> None:
    """Show the rows of a file as the page does; a sentence says what cannot be shown."""
    for source in library.sources:
        source.describe()
        for at in range(min(source.count, 2)):
            with suppress(Missing):
                show_item(library.rows(source.id), at)


def readers() -> dict[str, Reader]:
    """All readers by name."""
    some = examples()
    rollouts = [play_script(each, SCRIPTS[name]) for each in some for name in ("oracle", "noop")]
    recipes = sorted((ROOT / "src" / "provegym" / "recipes").glob("*.toml"))
    spec = parse((ROOT / "tests" / "worlds" / "library.toml").read_bytes())
    return {
        "examples": Reader(
            [line(each) for each in some], lambda path: list(read(path, Example)), use_example
        ),
        "rollouts": Reader(
            [line(each) for each in rollouts], lambda path: list(read(path, Rollout)), use_rollout
        ),
        "page of examples": Reader(
            [line(each) for each in some], lambda path: Library([path]).settle(), use_page
        ),
        "page of rollouts": Reader(
            [line(each) for each in rollouts], lambda path: Library([path]).settle(), use_page
        ),
        "recipes": Reader(
            [path.read_bytes() for path in recipes if path.stat().st_size < 1_000],
            lambda path: load_recipe(str(path)),
            str,
        ),
        "specs": Reader([msgspec.json.encode(spec)], lambda path: parse(path.read_bytes()), str),
        "foreign results": Reader(
            [REPLY], read_reply, lambda told: told and read_result(told, {"id": "a_1"})
        ),
        "benchmark results": Reader([RESULT], lambda path: read_results(path, Result), str),
        "imported rows": Reader(
            [WHEN2CALL],
            lambda path: write_examples("when2call", path, path.with_suffix(".out")),
            str,
        ),
    }
