"""BFCL's single-turn tasks: one request, whose calls are compared with the right ones (AST).

Thirteen kinds: simple (Python, Java, JavaScript), multiple, parallel, parallel_multiple and
irrelevance, each written by BFCL's authors, and the same from users of its site, called live.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from provegym.evals import bfcl
from provegym.evals.bfcl import Bfcl
from provegym.evals.environments import BFCL_VERSION, BenchmarkError
from provegym.evals.gateway import Answer, noop
from provegym.evals.journal import Means
from provegym.trace import Json, Reply, ToolCall

SIMPLE = ("simple_python", "simple_java", "simple_javascript")
NON_LIVE = (*SIMPLE, "multiple", "parallel", "parallel_multiple", "irrelevance")
LIVE_CALLS = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
LIVE = (*LIVE_CALLS, "live_irrelevance", "live_relevance")
KINDS = (*NON_LIVE, *LIVE)
# Sets of kinds that have a name.
SETS: Mapping[str, tuple[str, ...]] = {
    "multi_turn": bfcl.KINDS,
    "single": KINDS,
    "non_live": NON_LIVE,
    "live": LIVE,
    "simple": SIMPLE,
}
PARTS = (*SETS, *bfcl.KINDS, *KINDS)


def kinds(names: Sequence[str]) -> tuple[str, ...]:
    """The kinds that some names of kinds and sets stand for, each once."""
    return tuple(dict.fromkeys(kind for name in names for kind in SETS.get(name, (name,))))


def benchmark(subset: Sequence[str], version: str = BFCL_VERSION) -> Bfcl:
    """The benchmark that has these kinds: multi-turn, which is the default, or single-turn."""
    single = [kind for kind in subset if kind in KINDS]
    others = [kind for kind in subset if kind not in KINDS]
    if single and others:
        raise BenchmarkError(
            f"{others[0]} is multi-turn and {single[0]} is single-turn; play them in two runs"
        )
    return BfclSingle(version) if single else Bfcl(version)


class BfclSingle(Bfcl):
    """BFCL's single-turn tasks in its virtual environment."""

    groups: tuple[str, ...] = KINDS

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the reader of the report."""
        return (
            f"BFCL {self.edition}, single-turn, function-calling mode. simple, non_live and"
            " irrelevance_detection are means of their kinds, live is weighted by the number of"
            " tasks, as on BFCL's leaderboard; overall is the mean of non_live, live and"
            " irrelevance_detection.",
        )

    @property
    def means(self) -> Means:
        """The leaderboard's means; its total score weighs the three parts of overall equally."""
        return {
            "simple": dict.fromkeys(SIMPLE, 1),
            "non_live": dict.fromkeys(("simple", "multiple", "parallel", "parallel_multiple"), 1),
            "live": {kind: len(self.entries(kind)) for kind in LIVE_CALLS},
            "irrelevance_detection": {"irrelevance": 1, "live_irrelevance": 1},
            "overall": {"non_live": 1, "live": 1, "irrelevance_detection": 1},
        }

    def entries(self, kind: str) -> list[Json]:
        """The tasks of a kind: the request and the functions."""
        if self.edition == "v3":
            raise BenchmarkError("BFCL v3 is played multi-turn only; v4 has the single-turn tasks")
        return super().entries(kind)

    def category(self, kind: str) -> str:
        """BFCL's own name of a kind."""
        return kind

    def truths(self, kind: str) -> dict[str, Any]:
        """The right calls of each task: for every argument, the values that are right."""
        return {} if kind.endswith("relevance") else super().truths(kind)

    def functions(self) -> list[Json]:
        """The tools of all tasks, under the names that a model sees; some names have variants."""
        found: dict[Any, Json] = {}
        entries = [entry for kind in KINDS for entry in self.entries(kind)]
        for function in (function for entry in entries for function in entry["function"]):
            name = shown_name(function["name"])
            names = frozenset(function["parameters"]["properties"])
            found.setdefault((name, function["description"], names), {**function, "name": name})
        return list(found.values())

    def right_calls(self, kind: str) -> dict[str, list[tuple[str, Json]]]:
        """The right calls of each task, as names and arguments; irrelevance has none."""
        entries, truths = self.entries(kind), self.truths(kind)
        found = {}
        for entry in entries:
            known = {function["name"]: function for function in entry["function"]}
            right = [pair for each in truths.get(entry["id"], ()) for pair in each.items()]
            found[entry["id"]] = [
                (shown_name(name), arguments(given, known[name], kind)) for name, given in right
            ]
        return found

    def script(self, name: str) -> Answer | None:
        """A model that knows the answers, or one that never calls."""
        if name == "noop":
            return noop
        return SingleOracle(self) if name == "oracle" else None


class SingleOracle:
    """A script that makes the right calls: no call for irrelevance, any call for relevance."""

    def __init__(self, bench: BfclSingle) -> None:
        self.calls = {
            task: calls for kind in KINDS for task, calls in bench.right_calls(kind).items()
        }

    async def __call__(self, body: Json) -> Reply:
        """The calls of a task; the model's name ends in the task id."""
        task = str(body["model"]).rpartition("/")[2]
        calls = self.calls.get(task, [])
        if task.startswith("live_relevance"):
            calls = [(body["tools"][0]["function"]["name"], {})]
        made = [ToolCall(name=name, arguments=_json(given)) for name, given in calls]
        return Reply(calls=tuple(made)) if made else Reply(text="I cannot.")


def shown_name(name: str) -> str:
    """A tool's name as a model sees it: BFCL's handler writes dots as underscores."""
    return name.replace(".", "_")


def arguments(given: Mapping[str, list[Any]], function: Json, kind: str) -> Json:
    """Right arguments: the first right value of each; one that may be left out is left out."""
    schema, found = function["parameters"], {}
    for name, values in given.items():
        if "" in values and name not in schema["required"]:
            continue
        value = plain(next((each for each in values if each != ""), ""))
        if kind == "simple_java":
            value = java(value, schema["properties"][name])
        if kind == "simple_javascript":
            value = value if isinstance(value, str) else _json(value)
        found[name] = value
    return found


def plain(value: Any) -> Any:
    """A right value; in a dictionary, the first right value of each key."""
    if isinstance(value, list):
        return [plain(each) if isinstance(each, dict) else each for each in value]
    if not isinstance(value, dict):
        return value
    return {key: values[0] for key, values in value.items() if "" not in values}


def java(value: Any, schema: Json) -> str:
    """A value as Java source. BFCL wants text in an ArrayList quoted, all other text not."""
    items = schema.get("items", {})
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        puts = " ".join(f'put("{key}", {_json(each)});' for key, each in value.items())
        return f"new HashMap<>() {{{{ {puts} }}}}"
    if isinstance(value, list) and schema["type"] == "Array":
        return f"new Object[]{{{', '.join(java(each, items) for each in value)}}}"
    if isinstance(value, list):
        quoted = (_json(each) if isinstance(each, str) else java(each, items) for each in value)
        return f"new ArrayList<>(Arrays.asList({', '.join(quoted)}))"
    return f"{value}L" if schema.get("type") == "long" else _json(value)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
