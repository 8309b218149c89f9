"""BFCL's multi-turn tasks through its own handler, worlds and checker, in its own environment."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from evals.ready import command, run, small
from provegym.evals.benchmark import BenchmarkRun, chosen, evaluate
from provegym.evals.bfcl import KINDS, Bfcl, call
from provegym.evals.bfcl_single import kinds
from provegym.evals.environments import BenchmarkError
from provegym.evals.gateway import Answer, Upstream
from provegym.models.endpoint import EndpointConfig
from provegym.models.served import Refused
from provegym.trace import Json, Reply
from teacher.fake_endpoint import Body, Failure, fake_model


@pytest.fixture(scope="module")
def bench() -> Bfcl:
    """The benchmark; where the registry cannot be reached these tests are skipped."""
    small()
    return Bfcl()


def played(bench: Bfcl, run: BenchmarkRun, answer: Answer | None) -> Any:
    """The report of a run."""
    assert answer is not None
    return evaluate(bench, run, lambda: answer, lambda *_: None)


def test_a_call_in_python_is_a_call_in_json() -> None:
    shown = {"sort": {"parameters": {"properties": {"file_name": {}, "reverse": {}}}}}
    found = call("sort('a.txt', reverse=True)", shown)
    assert (found.name, json.loads(found.arguments)) == (
        "sort",
        {"file_name": "a.txt", "reverse": True},
    )
    with pytest.raises(ValueError, match="no call"):
        call("a.b()", {})


def test_it_has_800_tasks_and_a_sample_is_the_same_every_time(bench: Bfcl) -> None:
    tasks = bench.tasks()
    assert {kind: list(tasks.values()).count(kind) for kind in KINDS} == dict.fromkeys(KINDS, 200)
    some = BenchmarkRun("m", "e", Path("out"), ("base", "miss_func"), limit=3)
    assert list(chosen(bench, some).values()) == ["base"] * 3 + ["miss_func"] * 3
    assert chosen(bench, some) == chosen(bench, some)


def test_the_oracle_is_right_and_the_noop_is_the_floor(bench: Bfcl, tmp_path: Path) -> None:
    best = played(
        bench, BenchmarkRun("oracle", "o", tmp_path / "o", limit=3), bench.script("oracle")
    )
    idle = played(bench, BenchmarkRun("noop", "n", tmp_path / "n", limit=3), bench.script("noop"))
    assert best["scores"].keys() == {*KINDS, "overall"}
    for name, score in best["scores"].items():
        assert score["score"] == 1, (name, best["failures"])
        assert score["floor"] == idle["scores"][name]["score"] == 0
    assert best["versions"]["bfcl-eval"] == "2026.3.23"
    assert (tmp_path / "o" / "report.md").read_text().startswith("# bfcl: oracle")


def test_another_version_is_another_benchmark(tmp_path: Path) -> None:
    bench = Bfcl("2025.7.17")
    if not bench.environment.is_ready():
        pytest.skip("BFCL v3 is not set up here: provegym eval bfcl --setup --version 2025.7.17")
    report = played(bench, BenchmarkRun("oracle", "o", tmp_path, limit=2), bench.script("oracle"))
    assert report["scores"]["overall"]["score"] == 1, report["failures"]
    assert report["versions"]["bfcl-eval"] == "2025.7.17"
    assert "BFCL v3" in report["notes"][1]


@pytest.mark.long
@pytest.mark.parametrize(("subset", "limit"), [("multi_turn", 5), ("non_live", 3)])
def test_a_run_that_is_killed_goes_on_and_loses_nothing(
    bench: Bfcl, tmp_path: Path, subset: str, limit: int
) -> None:
    out = tmp_path / "out"
    how = ("--subset", subset, "--limit", limit, "--at-once", "1")
    arguments = ("eval", "bfcl", "--endpoint", "oracle", *how)
    process = subprocess.Popen(
        command(*arguments, "--out", out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    file = out / "results.jsonl"
    while process.poll() is None and (not file.exists() or file.read_bytes().count(b"\n") < 2):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = file.read_bytes().splitlines()
    whole = limit * len(kinds([subset]))
    assert 2 <= len(before) < whole
    done = run(*arguments, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    assert {each["score"] for each in json.loads(done.stdout)["scores"].values()} == {1}
    after = file.read_bytes().splitlines()
    assert len({json.loads(line)["id"] for line in after}) == len(after) == whole
    assert after[: len(before) - 1] == before[:-1]


def test_a_wrong_endpoint_is_one_line_and_leaves_no_run(bench: Bfcl, tmp_path: Path) -> None:
    where = ("--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--out", tmp_path)
    done = run("eval", "bfcl", *where, "--limit", "1")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "http://127.0.0.1:9/v1 gave no answer" in done.stderr
    assert not (tmp_path / "results.jsonl").exists()


def test_a_prompt_that_is_too_long_fails_its_task_alone(bench: Bfcl, tmp_path: Path) -> None:
    async def short(body: Json) -> Reply:
        if sum(message["role"] == "user" for message in body["messages"]) > 2:
            raise Refused("a prompt of 9 tokens; this model takes 8")
        return Reply(text="I cannot.")

    some = BenchmarkRun("m", "e", tmp_path / "out", ("base",), limit=5)
    report = played(bench, some, short)
    tasks = chosen(bench, some)
    long = [e for e in bench.entries("base") if e["id"] in tasks and len(e["question"]) > 2]
    assert report["scores"]["base"]["score"] == 0
    assert report["failures"]["prompt too long"] == len(long) > 0


def evil(body: Body) -> Any:
    """Nonsense: code for names, code for keys, no JSON, no call, a file to write."""
    if not body.get("tools") or body["messages"][-1]["role"] == "tool":
        return "Done."
    mark = body["messages"][0]["content"] + str(len(body["messages"]))
    files = [f"{Path.cwd()}/evil-{n}" for n in range(3)]
    calls = [
        (f"__import__('os').system('touch {files[0]}') or ls", "{}"),
        ("ls", json.dumps({f"a=__import__('os').system('touch {files[1]}'), b": 1})),
        ("open", json.dumps({"file": files[2], "mode": "w"})),
        ("ls", "{no json"),
        ("input", "{}"),
    ]
    name, arguments = calls[sum(map(ord, mark)) % len(calls)]
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": function}],
    }


def test_nonsense_is_scored_and_never_run(bench: Bfcl, tmp_path: Path) -> None:
    with fake_model(evil) as model:
        remote = Upstream(EndpointConfig(model.url, "evil"))
        report = played(bench, BenchmarkRun("evil", "e", tmp_path / "evil", limit=4), remote)
    assert report["scores"]["overall"]["score"] == 0
    assert report["done"] == 16
    assert list(Path.cwd().glob("evil-*")) == []


def test_an_endpoint_that_goes_away_stops_the_run_and_costs_no_task(
    bench: Bfcl, tmp_path: Path
) -> None:
    asked = 0

    def leaving(body: Body) -> Any:
        nonlocal asked
        asked += 1
        return Failure(401) if asked > 30 else "I cannot."

    some = BenchmarkRun("m", "e", tmp_path / "out", ("base",), limit=12, at_once=2)
    with fake_model(leaving) as model:
        with pytest.raises(BenchmarkError, match="status 401"):
            played(bench, some, Upstream(EndpointConfig(model.url, "m")))
        kept = (some.out / "results.jsonl").read_bytes().splitlines()
        assert 0 < len(kept) < 12
        assert all(b"empty_turn" in line for line in kept)
        model.answer = lambda _: "I cannot."
        report = played(bench, some, Upstream(EndpointConfig(model.url, "m")))
    assert report["failures"] == {"multi_turn:empty_turn_model_response": 12}
