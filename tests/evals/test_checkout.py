"""τ² from a checkout of its repository: the command it is given, and the results it leaves."""

import json
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from evals.ready import run
from provegym.evals import checkout
from provegym.evals.benchmark import BenchmarkRun, evaluate
from provegym.evals.checkout import Original, verdict
from provegym.evals.environments import BenchmarkError
from provegym.evals.gateway import Gateway, noop

# A stand-in for the original's command line, by its documentation: the agent greets, then both
# models talk until the user stops; all results so far are written after every task.
TAU2 = """#!{python}
import argparse, json, pathlib, sys, time, urllib.request
parser = argparse.ArgumentParser()
parser.add_argument("command", choices=["run"])
for name in ("domain", "agent-llm", "user-llm", "save-to", "log-level"):
    parser.add_argument(f"--{{name}}", required=True)
for name in ("agent-llm-args", "user-llm-args"):
    parser.add_argument(f"--{{name}}", type=json.loads, required=True)
parser.add_argument("--num-trials", type=int)
parser.add_argument("--max-concurrency", type=int)
parser.add_argument("--task-ids", nargs="+")
given = parser.parse_args()
data = pathlib.Path("data")
tasks = json.loads((data / "tau2/domains" / given.domain / "tasks.json").read_text())

def ask(model, where, messages, tools):
    provider, _, name = model.partition("/")
    assert provider == "openai"
    body = {{"model": name, "messages": messages, "tools": tools}}
    key = where["api_key"]
    headers = {{"authorization": f"Bearer {{key}}", "content-type": "application/json"}}
    url = where["api_base"] + "/chat/completions"
    sent = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(sent) as answer:
        return json.load(answer)["choices"][0]["message"]

def talk(task):
    greeting, made = "Hi! How can I help you today?", []
    user = [{{"role": "system", "content": json.dumps(task["user_scenario"])}},
            {{"role": "user", "content": greeting}}]
    agent = [{{"role": "system", "content": "policy"}},
             {{"role": "assistant", "content": greeting}}]
    tools = [{{"type": "function", "function": {{"name": "cancel"}}}}]
    while True:
        said = ask(given.user_llm, given.user_llm_args, user, [])
        user.append(said)
        if "###STOP###" in said["content"]:
            return made, agent
        agent.append({{"role": "user", "content": said["content"]}})
        while (reply := ask(given.agent_llm, given.agent_llm_args, agent, tools)).get("tool_calls"):
            agent.append(reply)
            for call in reply["tool_calls"]:
                made.append(json.loads(call["function"]["arguments"]))
                agent.append({{"role": "tool", "tool_call_id": call["id"], "content": "ok"}})
        agent.append(reply)
        user.append({{"role": "user", "content": reply["content"]}})

simulations = []
for task in tasks:
    if task["id"] not in given.task_ids:
        continue
    if task["id"] == "broken":
        sys.exit("litellm.BadRequestError: broken")
    if task["id"] == "hung":
        time.sleep(60)
    made, messages = talk(task)
    right = [action["arguments"] for action in task["evaluation_criteria"]["actions"]]
    reward = {{"reward": float(made == right), "reward_basis": ["DB", "COMMUNICATE"]}}
    simulations.append({{"id": "s", "task_id": task["id"], "trial": 0, "duration": 1.5,
        "termination_reason": "user_stop", "reward_info": reward, "messages": messages}})
    saved = data / "simulations" / given.save_to
    saved.mkdir(parents=True, exist_ok=True)
    (saved / "results.json").write_text(json.dumps({{"info": {{}}, "simulations": simulations}}))
"""


def task(name: str, *cancelled: str) -> dict[str, Any]:
    """A task of the original, as far as anybody reads it here."""
    actions = [{"name": "cancel", "arguments": {"id": each}} for each in cancelled]
    scenario = {"instructions": {"reason": f"Reservation {name}."}}
    right = {"actions": actions, "communicate_info": []}
    return {"id": name, "user_scenario": scenario, "evaluation_criteria": right}


def made(folder: Path, *tasks: dict[str, Any]) -> Path:
    """A checkout with some airline tasks."""
    venv.create(folder / ".venv")
    python = folder / ".venv" / "bin" / "python"
    command = python.with_name("tau2")
    command.write_text(TAU2.format(python=python))
    command.chmod(0o755)
    minor = sys.version_info.minor
    about = folder / f".venv/lib/python3.{minor}/site-packages/tau2-1.0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tau2\nVersion: 1.0.1\n")
    for domain in ("airline", "retail", "telecom"):
        data = folder / "data" / "tau2" / "domains" / domain
        data.mkdir(parents=True)
        some = tasks if domain == "airline" else ()
        (data / "tasks.json").write_text(json.dumps(some))
        split = {"base": [each["id"] for each in some]}
        (data / "split_tasks.json").write_text(json.dumps(split))
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Floors of their own, and no waiting."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(checkout, "PAUSE", 0.02)


def test_both_scripts_play_the_original(tmp_path: Path) -> None:
    bench = Original(made(tmp_path / "tau2-bench", task("0", "A"), task("1"), task("2", "B", "C")))
    answer = bench.script("oracle")
    assert answer is not None
    report = evaluate(
        bench, BenchmarkRun("oracle", "o", tmp_path / "o"), lambda: answer, lambda *_: None
    )
    airline = report["scores"]["airline"]
    assert (airline["score"], airline["tasks"], airline["floor"]) == (1, 3, pytest.approx(1 / 3))
    assert report["versions"]["tau2"] == "1.0.1"
    # Nothing is left to play, so no model is loaded.
    again = evaluate(
        bench, BenchmarkRun("oracle", "o", tmp_path / "o"), pytest.fail, lambda *_: None
    )
    assert again["scores"] == report["scores"]


def test_the_command_is_the_one_it_documents(tmp_path: Path) -> None:
    bench = Original(made(tmp_path / "tau2-bench"))
    gateway = Gateway(noop, key="k", url="http://127.0.0.1:1/v1")
    words = bench.command(gateway, "airline", ["0", "7"], 3)
    assert words[1:4] == ["run", "--domain", "airline"]
    assert words[-3:] == ["--task-ids", "0", "7"]
    where = json.loads(words[words.index("--agent-llm-args") + 1])
    assert where == {"api_base": "http://127.0.0.1:1/v1", "api_key": "k", "temperature": 0.0}
    assert words[words.index("--max-concurrency") + 1] == "3"


def test_a_run_that_breaks_off_keeps_what_is_done(tmp_path: Path) -> None:
    folder = made(tmp_path / "tau2-bench", task("0", "A"), task("broken"))
    bench = Original(folder)
    answer = bench.script("oracle")
    assert answer is not None
    with pytest.raises(BenchmarkError, match=r"tau2 ended early: litellm\.BadRequestError: broken"):
        evaluate(
            bench, BenchmarkRun("oracle", "o", tmp_path / "o"), lambda: answer, lambda *_: None
        )
    assert (tmp_path / "o" / "results.jsonl").read_text().count('"airline/0"') == 1


def test_a_run_that_hangs_after_a_task_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Original(made(tmp_path / "tau2-bench", task("0", "A"), task("hung")))
    answer = bench.script("oracle")
    assert answer is not None
    monkeypatch.setattr(checkout, "PATIENCE", 15)
    with pytest.raises(BenchmarkError, match="tau2 did nothing for 15 s"):
        evaluate(
            bench, BenchmarkRun("oracle", "o", tmp_path / "o"), lambda: answer, lambda *_: None
        )
    assert (tmp_path / "o" / "results.jsonl").read_text().count('"airline/0"') == 1


def test_a_simulation_without_a_reward_has_failed() -> None:
    told = verdict({"task_id": 3, "reward_info": None, "termination_reason": "max_steps"})
    assert (told["id"], told["valid"], told["error"]) == ("3", False, "max_steps")


def test_a_folder_that_is_no_checkout_is_one_line(tmp_path: Path) -> None:
    done = run("eval", "tau2", "--checkout", tmp_path, "--endpoint", "noop", "--out", tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "uv sync" in done.stderr
