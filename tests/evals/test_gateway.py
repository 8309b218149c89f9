"""The endpoint a benchmark is given: what it passes on, refuses and notices."""

import json
from typing import Any

import httpx2
import pytest

from provegym.evals.environments import BenchmarkError
from provegym.evals.gateway import PROBE, Gateway, Upstream, noop, tame, tame_arguments
from provegym.models.endpoint import EndpointConfig, EndpointError
from provegym.models.served import Refused
from provegym.trace import Json, Reply, ToolCall
from teacher.fake_endpoint import Answer, Body, Failure, fake_model

TOOL: Json = {"type": "function", "function": {"name": "list_them"}}
ASKED: Json = {
    "model": "m",
    "messages": [{"role": "user", "content": "List them."}],
    "tools": [TOOL],
}


def post(gateway: Gateway, body: Any, key: str | None = None) -> httpx2.Response:
    """Ask over HTTP, as a benchmark does."""
    headers = {"authorization": f"Bearer {key or gateway.key}"}
    return httpx2.post(f"{gateway.url}/chat/completions", json=body, headers=headers)


def test_a_script_answers_as_an_endpoint_does() -> None:
    async def script(body: Json) -> Reply:
        return Reply(calls=(ToolCall(name="ls", arguments='{"a": true}'),), tokens=3)

    with Gateway(script).open() as gateway:
        told = post(gateway, ASKED).json()
        assert post(gateway, ASKED, "another key").status_code == 401
        assert post(gateway, [1]).status_code == 400
    message = told["choices"][0]["message"]
    assert (message["content"], told["choices"][0]["finish_reason"]) == (None, "tool_calls")
    assert message["tool_calls"][0]["function"] == {"name": "ls", "arguments": '{"a": true}'}
    assert told["usage"]["completion_tokens"] == 3
    assert gateway.asked == 1


def test_what_is_no_name_is_never_handed_on_as_one() -> None:
    evil = "__import__('os').system('x')"
    calls = (
        ToolCall(name=evil, arguments="{}"),
        ToolCall(name="ls", arguments=json.dumps({f"a={evil}, b": 1, "ok": 2})),
        ToolCall(name="", arguments="no call"),
        ToolCall(name="9lives", arguments="not json"),
    )
    tamed = tame(Reply(text="Hm.", calls=calls))
    assert tamed.text == "Hm.\nno call"
    assert all(call.name.isidentifier() for call in tamed.calls)
    assert all(key.isidentifier() for key in json.loads(tamed.calls[1].arguments))
    assert [call.arguments for call in tamed.calls[::2]] == ["{}", "not json"]
    assert tame_arguments('{"a b": 1}') == '{"a_b":1}'
    assert tame_arguments('{ "plain": 1 }') == '{ "plain": 1 }'


def test_whatever_goes_wrong_in_answering_ends_the_run() -> None:
    async def script(body: Json) -> Reply:
        if body is PROBE:
            return Reply(text="Hello.")
        raise KeyError("tools")

    with Gateway(script).open() as gateway:
        gateway.probe()
        assert post(gateway, ASKED).status_code == 500
        with pytest.raises(BenchmarkError, match="KeyError"):
            gateway.check()
        assert (gateway.waiting, gateway.refused) == (0, 0)


@pytest.mark.parametrize("status", [400, 413, 500])
def test_a_request_that_is_refused_is_told_from_an_endpoint_that_is_gone(status: int) -> None:
    def answer(body: Body) -> Answer:
        return Failure(status) if body.get("tools") else "Hello."

    with fake_model(answer) as model:
        remote = Upstream(EndpointConfig(model.url, "m", retries=0))
        with Gateway(remote).open() as gateway:
            gateway.probe()
            refused = post(gateway, ASKED)
            assert refused.status_code == 400
            assert refused.json()["error"]["code"] == "context_length_exceeded"
            assert isinstance(gateway.ask(ASKED).exception(), Refused)
            assert (gateway.refused, gateway.dead) == (2, "")
            model.answer = lambda _: Failure(401)
            assert post(gateway, ASKED).status_code == 503
            with pytest.raises(BenchmarkError, match="status 401"):
                gateway.check()


@pytest.mark.parametrize("failure", [Failure(429), Failure(503), Failure(504), Failure(524)])
def test_an_endpoint_that_is_busy_ends_the_run_and_fails_no_task(failure: Failure) -> None:
    with fake_model(lambda body: failure if body.get("tools") else "Hello.") as model:
        remote = Upstream(EndpointConfig(model.url, "m", retries=0))
        with Gateway(remote).open() as gateway:
            assert post(gateway, ASKED).status_code == 503
            with pytest.raises(BenchmarkError, match=f"status {failure.status}"):
                gateway.check()
            assert gateway.refused == 0


def test_a_slow_reply_is_no_refusal() -> None:
    slow = Failure(200, wait=1)
    with fake_model(lambda body: slow if body.get("tools") else "Hello.") as model:
        remote = Upstream(EndpointConfig(model.url, "m", timeout=0.3, retries=0))
        with Gateway(remote).open() as gateway:
            assert isinstance(gateway.ask(ASKED).exception(), EndpointError)
            with pytest.raises(BenchmarkError, match="no whole answer within"):
                gateway.check()


def test_a_wrong_endpoint_is_noticed_before_anything_is_played() -> None:
    remote = Upstream(EndpointConfig("http://127.0.0.1:9/v1", "m"))
    with (
        Gateway(remote).open() as gateway,
        pytest.raises(BenchmarkError, match="after one try: ConnectError"),
    ):
        gateway.probe()


def test_the_noop_never_calls() -> None:
    with Gateway(noop).open() as gateway:
        reply = gateway.ask(PROBE).result()
        assert (reply.calls, gateway.waiting) == ((), 0)
        assert gateway.idle < 5
