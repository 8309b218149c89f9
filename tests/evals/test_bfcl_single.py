"""BFCL's single-turn tasks through its own handler and checkers, in its own environment."""

import json
from pathlib import Path
from typing import Any

import pytest

from evals.ready import small
from provegym.evals import bfcl
from provegym.evals.benchmark import BenchmarkRun, chosen, evaluate
from provegym.evals.bfcl import Bfcl
from provegym.evals.bfcl_single import KINDS, BfclSingle, arguments, benchmark, kinds
from provegym.evals.environments import BenchmarkError
from provegym.evals.gateway import Answer
from provegym.evals.journal import compare
from provegym.trace import Json, Reply, ToolCall

SIZES = (400, 100, 50, 200, 200, 200, 240, 258, 1053, 16, 24, 884, 16)
NO_CALL = {"irrelevance", "live_irrelevance"}
# These cannot be solved. The right list has numbers or booleans, but the checker turns all of them
# into text; a required argument has no right value; the right argument is not in the function.
WRONG = {
    *("simple_java_36", "simple_java_65"),
    *("live_simple_106-63-0", "live_simple_112-68-0"),
    *("live_multiple_862-181-3", "live_multiple_964-207-0"),
}


@pytest.fixture(scope="module")
def bench() -> BfclSingle:
    """The benchmark; where the registry cannot be reached these tests are skipped."""
    small()
    return BfclSingle()


def played(bench: Bfcl, run: BenchmarkRun, answer: Answer | None) -> Any:
    """The report of a run."""
    assert answer is not None
    return evaluate(bench, run, lambda: answer, lambda *_: None)


def test_a_set_is_its_kinds_and_multi_turn_is_the_default() -> None:
    assert kinds(["live_simple", "simple", "simple_java"]) == (
        *("live_simple", "simple_python", "simple_java", "simple_javascript"),
    )
    assert set(kinds(["live", "non_live"])) == set(kinds(["single"])) == set(KINDS)
    assert benchmark(()).groups == benchmark(kinds(["multi_turn"])).groups == bfcl.KINDS
    assert benchmark(kinds(["live"])).groups == KINDS
    with pytest.raises(BenchmarkError, match="base is multi-turn and parallel is single-turn"):
        benchmark(("parallel", "base"))


def function(**types: Any) -> Json:
    """A function with arguments of these types; all but the last are required."""
    return {"parameters": {"properties": types, "required": list(types)[:-1]}}


def test_right_arguments_are_the_first_right_values() -> None:
    given = {"a": ["", 3], "b": [[{"k": ["x", "y"], "l": ["", 1]}]], "c": ["", 5]}
    shown = function(a={"type": "integer"}, b={"type": "array"}, c={"type": "integer"})
    assert arguments(given, shown, "multiple") == {"a": 3, "b": [{"k": "x"}]}


def test_java_and_javascript_take_source_code() -> None:
    longs = {"type": "ArrayList", "items": {"type": "long"}}
    texts = {"type": "ArrayList", "items": {"type": "String"}}
    array = {"type": "Array", "items": {"type": "String"}}
    shown = function(a=longs, b=texts, c=array, d={"type": "HashMap"}, e={"type": "boolean"})
    pair, mapping = [["x", "y"]], [{"k": ["v"]}]
    given = {"a": [[1, 2]], "b": pair, "c": pair, "d": mapping, "e": [True]}
    assert arguments(given, shown, "simple_java") == {
        "a": "new ArrayList<>(Arrays.asList(1L, 2L))",
        "b": 'new ArrayList<>(Arrays.asList("x", "y"))',
        "c": "new Object[]{x, y}",
        "d": 'new HashMap<>() {{ put("k", "v"); }}',
        "e": "true",
    }
    found = arguments({"d": mapping, "e": ["name"]}, shown, "simple_javascript")
    assert found == {"d": '{"k":"v"}', "e": "name"}


def test_it_has_3641_tasks_of_13_kinds(bench: BfclSingle) -> None:
    found = list(bench.tasks().values())
    assert tuple(found.count(kind) for kind in KINDS) == SIZES
    assert sum(SIZES) == 3641
    some = BenchmarkRun("m", "e", Path("out"), ("parallel", "live_relevance"), limit=2)
    assert list(chosen(bench, some).values()) == ["parallel"] * 2 + ["live_relevance"] * 2


def test_the_oracle_is_right_and_the_noop_is_the_floor(bench: BfclSingle, tmp_path: Path) -> None:
    best = played(
        bench, BenchmarkRun("oracle", "o", tmp_path / "o", limit=3), bench.script("oracle")
    )
    idle = played(bench, BenchmarkRun("noop", "n", tmp_path / "n", limit=3), bench.script("noop"))
    for kind in KINDS:
        assert best["scores"][kind]["score"] == 1, (kind, best["failures"])
        assert best["scores"][kind]["floor"] == idle["scores"][kind]["score"] == (kind in NO_CALL)
    means = {name: each["score"] for name, each in idle["scores"].items() if name not in KINDS}
    assert means.pop("overall") == pytest.approx(1 / 3)
    assert means == {"simple": 0, "non_live": 0, "live": 0, "irrelevance_detection": 1}
    assert compare(tmp_path / "n", tmp_path / "o")["parallel"].difference.mean == 1


def test_live_is_weighted_by_tasks_also_in_a_sample(bench: BfclSingle, tmp_path: Path) -> None:
    right = bench.script("oracle")

    async def half(body: Json) -> Reply:
        assert right is not None
        known = "live_multiple" in str(body["model"])
        return await right(body) if known else Reply(text="I cannot.")

    subset = kinds(["live"])
    report = played(bench, BenchmarkRun("m", "e", tmp_path, subset, limit=2), half)
    assert report["scores"]["live"]["score"] == pytest.approx(1053 / (258 + 1053 + 16 + 24))
    assert "overall" not in report["scores"]


def test_wrong_calls_are_wrong_by_the_checker_of_bfcl(bench: BfclSingle, tmp_path: Path) -> None:
    async def eager(body: Json) -> Reply:
        tools = body.get("tools") or [{"function": {"name": "nothing"}}]
        return Reply(calls=(ToolCall(name=tools[0]["function"]["name"], arguments="{}"),) * 9)

    report = played(bench, BenchmarkRun("m", "e", tmp_path, limit=2), eager)
    right = {kind for kind in KINDS if report["scores"][kind]["score"] == 1}
    assert right == {"live_relevance"}
    assert report["failures"] == {
        "simple_function_checker:wrong_count": 8,
        "multiple_function_checker:wrong_count": 4,
        "parallel_function_checker_no_order:wrong_count": 8,
        "irrelevance_error:decoder_success": 4,
    }


def test_names_with_dots_are_shown_with_underscores(bench: BfclSingle, tmp_path: Path) -> None:
    right, seen = bench.script("oracle"), set()

    async def look(body: Json) -> Reply:
        assert right is not None
        seen.update(tool["function"]["name"] for tool in body.get("tools") or ())
        return await right(body)

    subset = ("multiple", "simple_java")
    report = played(bench, BenchmarkRun("m", "e", tmp_path, subset, limit=20), look)
    assert report["failures"] == {}
    dotted = {f["name"] for kind in subset for e in bench.entries(kind) for f in e["function"]}
    assert {name.replace(".", "_") for name in dotted if "." in name} & seen
    assert not any("." in name for name in seen)


@pytest.mark.long
def test_the_oracle_solves_every_task_that_can_be_solved(bench: BfclSingle, tmp_path: Path) -> None:
    report = played(bench, BenchmarkRun("oracle", "o", tmp_path), bench.script("oracle"))
    lines = map(json.loads, (tmp_path / "results.jsonl").read_text().splitlines())
    assert {line["id"] for line in lines if not line["score"]} == WRONG
    assert report["done"] == 3641
    assert all(report["scores"][kind]["floor"] == (kind in NO_CALL) for kind in KINDS)
