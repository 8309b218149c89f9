"""τ²: both sides of a task played by a script, without its environment and in it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evals.ready import large
from provegym.evals.benchmark import BenchmarkRun, evaluate
from provegym.evals.gateway import PROBE, noop
from provegym.evals.tau2 import DOMAINS, STOP, AgentAndUser, Tau2, TauScript, TauTask
from provegym.models.served import Refused
from provegym.trace import Json, Reply


def action(name: str, requestor: str = "assistant", **arguments: Any) -> Json:
    """A right action."""
    return {"name": name, "requestor": requestor, "arguments": arguments}


TASK: Json = {
    "id": "1",
    "user_scenario": {"persona": None, "instructions": {"reason": "No data.\nAbroad."}},
    "evaluation_criteria": {
        "actions": [
            action("look", "user"),
            action("find", id="x"),
            action("enable", id="x"),
            action("toggle", "user", on=True),
        ],
        "communicate_info": ["42"],
    },
}


def talk(script: TauScript, prompt: str) -> list[str]:
    """A conversation as the benchmark runs it: what was called and said, side by side."""
    user: list[Json] = [{"role": "system", "content": prompt}, {"role": "user", "content": "Go."}]
    agent: list[Json] = [{"role": "system", "content": "policy"}]
    told: list[str] = []

    def speak(model: str, messages: list[Json]) -> str:
        shown = [{"function": {"name": f"{model}_{n}"}} for n in ("look", "toggle", "find")]
        while True:
            body = {"model": model, "messages": messages, "tools": shown}
            reply = asyncio.run(script(body))
            message: Json = {"role": "assistant", "content": reply.text}
            messages.append(message)
            if not reply.calls:
                return reply.text
            call = reply.calls[0]
            message["tool_calls"] = [{"function": {"name": call.name}}]
            messages.append({"role": "tool", "content": "ok"})
            told.append(f"{call.name} {call.arguments}")

    while STOP not in (said := speak("user", user)):
        agent.append({"role": "user", "content": said})
        said = speak("agent", agent)
        user.append({"role": "user", "content": said})
        told.append(said)
    return told


def test_the_oracle_plays_every_action_in_turn_and_tells_what_must_be_told() -> None:
    script = TauScript({"telecom/1": TauTask.of(TASK)}, calls=True, expected=["telecom/1"])
    assert talk(script, "No data.\n\tAbroad.") == [
        "user_look {}",
        'agent_find {"id":"x"}',
        'enable {"id":"x"}',
        "Done: 42.",
        'user_toggle {"on":true}',
        "Done: 42.",
    ]


def test_the_noop_is_asked_once_and_calls_nothing() -> None:
    script = TauScript({"telecom/1": TauTask.of(TASK)}, calls=False)
    assert talk(script, "No data.") == ["I cannot help with that."]


def test_tasks_that_look_alike_are_played_in_order() -> None:
    other = {**TASK, "evaluation_criteria": {"actions": [action("find", id="y")]}}
    fourth = {**TASK, "user_scenario": {"instructions": {"reason": "No data.\nAt home."}}}
    parts = {"a/1": TauTask.of(TASK), "a/2": TauTask.of(other), "a/3": TauTask.of(fourth)}
    script = TauScript(parts, calls=True, expected=["a/3", "a/1", "a/2"])
    talk(script, "No data.\nAbroad.")
    assert talk(script, "No data.\nAbroad.") == ['agent_find {"id":"y"}', "Done."]
    assert script.expected == ["a/3"]


def test_agent_and_user_are_two_models_and_a_probe_is_for_both() -> None:
    asked: list[str] = []

    def named(name: str) -> Any:
        async def answer(_: Json) -> Reply:
            asked.append(name)
            return Reply(text=name)

        return answer

    pair = AgentAndUser(named("agent"), named("user"))
    for body in (said("user", "Hello."), said("agent", "Hello."), PROBE):
        asyncio.run(pair(body))
    assert asked == ["user", "agent", "user", "agent"]


def said(model: str, words: str) -> Json:
    """What a model is asked after some words."""
    return {"model": model, "messages": [{"role": "user", "content": words}]}


def test_a_conversation_too_long_for_one_of_them_is_over() -> None:
    async def refuse(_: Json) -> Reply:
        raise Refused("a prompt of 9 tokens; this model takes 8")

    pair = AgentAndUser(refuse, noop)
    assert asyncio.run(pair(said("user", "Hello."))).text != STOP
    with pytest.raises(Refused) as refusal:
        asyncio.run(pair(said("agent", "Help me.")))
    assert asyncio.run(pair(said("user", str(refusal.value)))).text == STOP
    assert asyncio.run(AgentAndUser(noop, refuse)(said("user", "Hello."))).text == STOP


def test_in_its_environment_the_oracle_is_right(tmp_path: Path) -> None:
    large()
    bench = Tau2()
    assert {name: len(bench.entries(name)) for name in DOMAINS} == {
        "airline": 50,
        "retail": 114,
        "telecom": 114,
    }
    assert "get_user_details" in {function["name"] for function in bench.functions()}
    answer = bench.script("oracle")
    assert answer is not None
    run = BenchmarkRun("oracle", "o", tmp_path / "o", ("telecom",), limit=2)
    report = evaluate(bench, run, lambda: answer, lambda *_: None)
    assert report["scores"]["telecom"]["score"] == 1, report["failures"]
    assert report["scores"]["telecom"]["floor"] == 0

    async def full(body: Json) -> Reply:
        raise Refused("a prompt of 9 tokens; this model takes 8")

    run = BenchmarkRun("m", "e", tmp_path / "m", ("airline",), limit=1)
    lost = evaluate(bench, run, lambda: AgentAndUser(full, noop), lambda *_: None)
    assert lost["failures"] == {"prompt too long": 1}
