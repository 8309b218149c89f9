"""BFCL Multi-Turn (Berkeley Function-Calling Leaderboard): four kinds of 200 tasks.

The single-turn tasks are in `bfcl_single.py`.
"""

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import Any

import msgspec

from provegym.evals.environments import BFCL_VERSION, bfcl
from provegym.evals.gateway import Answer, Gateway, noop
from provegym.evals.journal import Means
from provegym.evals.sandbox import Sandbox
from provegym.trace import Json, Reply, ToolCall

KINDS = ("base", "miss_func", "miss_param", "long_context")
PREFIX = "multi_turn_"


class Bfcl:
    """BFCL Multi-Turn in its virtual environment."""

    name = "bfcl"
    groups: tuple[str, ...] = KINDS

    def __init__(self, version: str = BFCL_VERSION) -> None:
        self.environment = bfcl(version)

    @property
    def means(self) -> Means:
        """The leaderboard's score: the mean of the four kinds."""
        return {"overall": dict.fromkeys(KINDS, 1)}

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of the report."""
        return (
            f"BFCL {self.edition}, function-calling mode. v3 and v4 differ in 107 of 200 base"
            " tasks, so figures of the two are not comparable.",
        )

    @cached_property
    def edition(self) -> str:
        """v3 or v4, from the names of the data files."""
        (file,) = self.data.glob(f"BFCL_v*_{PREFIX}base.json")
        return file.name.split("_")[1]

    @cached_property
    def data(self) -> Path:
        """The folder of its tasks."""
        return self.environment.packages / "bfcl_eval" / "data"

    def tasks(self) -> dict[str, str]:
        """The kind of every task, by task id."""
        return {entry["id"]: kind for kind in self.groups for entry in self.entries(kind)}

    def category(self, kind: str) -> str:
        """BFCL's own name of a kind, which is in its file names and task ids."""
        return PREFIX + kind

    def entries(self, kind: str) -> list[Json]:
        """The tasks of a kind: the questions and the initial world."""
        return _lines(self.data / f"BFCL_{self.edition}_{self.category(kind)}.json")

    def truths(self, kind: str) -> dict[str, Any]:
        """The right calls of each task, turn by turn, as Python source."""
        file = self.data / "possible_answer" / f"BFCL_{self.edition}_{self.category(kind)}.json"
        return {entry["id"]: entry["ground_truth"] for entry in _lines(file)}

    def functions(self) -> list[Json]:
        """The tools of all worlds that the multi-turn tasks use."""
        skipped = ("memory_", "web_search")
        files = sorted((self.data / "multi_turn_func_doc").glob("*.json"))
        kept = [file for file in files if not file.name.startswith(skipped)]
        return [function for file in kept for function in _lines(file)]

    def play(self, gateway: Gateway, tasks: Sequence[str], at_once: int) -> Iterator[Json]:
        """Play tasks under a random model name, because BFCL caches worlds by model and task."""
        job = {"run": f"run{token_hex(6)}", "edition": self.edition, "concurrency": at_once}
        yield from Sandbox(self.environment, gateway, job).play(tasks)

    def script(self, name: str) -> Answer | None:
        """A model that knows the answers, or one that never calls."""
        if name == "noop":
            return noop
        return Oracle(self) if name == "oracle" else None


class Oracle:
    """A script that answers every turn with the right calls, then says that it is done."""

    def __init__(self, bench: Bfcl) -> None:
        self.truths = {name: t for kind in KINDS for name, t in bench.truths(kind).items()}

    async def __call__(self, body: Json) -> Reply:
        """The calls of this turn, if not made yet; the model's name ends in the task id."""
        turns = self.truths.get(str(body["model"]).rpartition("/")[2], [])
        messages = body["messages"]
        turn = sum(message["role"] == "user" for message in messages) - 1
        if messages[-1]["role"] != "user" or turn >= len(turns) or not turns[turn]:
            return Reply(text="That is done." if messages[-1]["role"] == "tool" else "I cannot.")
        shown = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or []}
        return Reply(calls=tuple(call(source, shown) for source in turns[turn]))


def call(source: str, shown: dict[str, Json]) -> ToolCall:
    """Convert a Python call to a tool call; positional arguments get their names."""
    node = ast.parse(source.strip(), mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"{source} is no call")
    names = list(shown.get(node.func.id, {}).get("parameters", {}).get("properties", {}))
    arguments: dict[str, Any] = {
        name: ast.literal_eval(value) for name, value in zip(names, node.args, strict=False)
    }
    arguments |= {str(each.arg): ast.literal_eval(each.value) for each in node.keywords}
    return ToolCall(name=node.func.id, arguments=msgspec.json.encode(arguments).decode())


def _lines(file: Path) -> list[Json]:
    return [msgspec.json.decode(line) for line in file.read_bytes().splitlines() if line.strip()]
