"""A model behind an OpenAI-compatible endpoint, played by a small server that misbehaves on cue."""

import json
import logging
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import pytest

from examples import pay_example
from provegym.models.endpoint import Endpoint, EndpointConfig
from provegym.rollout import play
from provegym.toolbox import under
from provegym.trace import Alias, Example, Rollout

KEY = "sk-never-to-be-seen"


class Model(ThreadingHTTPServer):
    """Answers each request with the next thing on its list."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Any] = []
        self.seen: list[dict[str, Any]] = []
        self.keys: list[str | None] = []


class Handler(BaseHTTPRequestHandler):
    """One request: a status, a hang, raw bytes, or a chat message."""

    server: Model

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append(body)
        self.server.keys.append(self.headers.get("authorization"))
        step = self.server.script.pop(0) if self.server.script else {"content": "Done."}
        if step == "hang":
            time.sleep(2)
            step = 504
        if isinstance(step, int):
            self._answer(step, b"{}")
        elif isinstance(step, tuple):
            self._answer(*step)
        elif isinstance(step, bytes):
            self._answer(200, step)
        else:
            said = {"choices": [{"message": step}], "usage": {"completion_tokens": 7}}
            self._answer(200, json.dumps(said).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    """A running model; the key is in the environment."""
    monkeypatch.setenv("PROVEGYM_API_KEY", KEY)
    server = Model()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def native(name: str, arguments: str) -> dict[str, Any]:
    """A chat message with one native call."""
    call = {"id": "x", "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"content": None, "tool_calls": [call]}


def roll(model: Model, *script: Any, example: Example | None = None, **options: Any) -> Rollout:
    """One rollout against the scripted model."""

    async def run() -> Rollout:
        model.script = list(script)
        url = f"http://127.0.0.1:{model.server_address[1]}/v1"
        patience = 0.5 if "hang" in script else 30.0
        config = EndpointConfig(url=url, model="m", timeout=patience, retries=2, **options)
        endpoint = Endpoint(config, backoff=0.01)
        try:
            return await play(example or pay_example(), endpoint, name="endpoint")
        finally:
            await endpoint.aclose()

    return anyio.run(run)


def test_native_calls_are_run_and_answered(model: Model) -> None:
    rollout = roll(model, native("list_payees", '{"name": "Harbour"}'))
    assert rollout.calls[0].checks.ran
    assert model.seen[0]["tools"][0]["type"] == "function"
    answer = model.seen[1]["messages"][-1]
    assert answer["role"] == "tool"
    assert "Harbour Energy" in answer["content"]
    assert answer["tool_call_id"] == model.seen[1]["messages"][-2]["tool_calls"][0]["id"]
    assert rollout.tokens == 21
    assert model.keys[0] == f"Bearer {KEY}"


def test_names_with_dots_have_none_on_the_wire(model: Model) -> None:
    alias = Alias(
        seed=1,
        tools="dotted",
        words="same",
        names="camelCase",
        enums="same",
        ids="uuid",
        results="bare",
        descriptions="full",
    )
    asked = native("banking__payees__list", '{"name": "Harbour"}')
    rollout = roll(model, asked, example=under(pay_example(), alias))
    assert rollout.calls[0].tool == "list_payees"
    assert rollout.calls[0].checks.ran
    names = {tool["function"]["name"] for tool in model.seen[1]["tools"]}
    again = model.seen[1]["messages"][-2]["tool_calls"][0]["function"]["name"]
    assert again == "banking__payees__list"
    assert again in names
    said = rollout.messages[2]["tool_calls"][0]["function"]["name"]
    assert said == "banking.payees.list"


def test_calls_in_the_text_are_read_too(model: Model) -> None:
    text = '<tool_call>{"name": "list_payees", "arguments": {}}</tool_call>'
    assert roll(model, {"content": text}).calls[0].tool == "list_payees"


def test_a_model_that_only_talks_makes_no_call(model: Model) -> None:
    rollout = roll(model)
    assert rollout.calls == ()
    assert rollout.ended == "done"
    assert rollout.reward is not None
    assert rollout.reward.total == 0


def test_malformed_arguments_are_answered_with_an_error_the_model_can_use(model: Model) -> None:
    rollout = roll(model, native("list_payees", '{"name": '), native("list_payees", "{}"))
    assert [call.error for call in rollout.calls] == ["malformed", None]
    assert '"error":"malformed"' in model.seen[1]["messages"][-1]["content"]


HALF_A_PAIR = b'{"choices": [{"message": {"content": "\\ud800"}}]}'


@pytest.mark.parametrize(
    "trouble",
    [[500], [500, 503], ["hang"], [b"not json"], [429, 500], [HALF_A_PAIR], [b"[" * 100_000]],
)
def test_passing_trouble_is_sat_out(model: Model, trouble: list[Any]) -> None:
    rollout = roll(model, *trouble, native("list_payees", "{}"))
    assert rollout.ended == "done"
    assert len(rollout.calls) == 1


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        ([500] * 9, "after 3 tries: status 500"),
        (["hang"] * 3, "after 3 tries: no whole answer within 0.5 s"),
        ([401], "after one try: status 401"),
        ([b"[]"], "answered without a message"),
        ([b'{"choices": [{"message": "hello"}]}'], "answered without a message"),
        ([{"content": {"text": "hello"}}], "answered without a message"),
        ([{"tool_calls": 5}], "answered without a message"),
    ],
)
def test_lasting_trouble_ends_the_rollout_with_a_reason(
    model: Model, trouble: list[Any], says: str
) -> None:
    rollout = roll(model, *trouble)
    assert rollout.ended == "policy_error"
    assert says in rollout.reason


def test_words_in_parts_are_put_together(model: Model) -> None:
    parts = [{"type": "text", "text": "All "}, {"type": "image"}, {"type": "text", "text": "done."}]
    assert roll(model, {"content": parts}).messages[2]["content"] == "All done."


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1:9/v1", "ConnectError"),
        ("http://host:port", "is no URL"),
        ("v1", "Unsupported"),
        ("http://me:secret@127.0.0.1:9/v1", "//127.0.0.1:9/v1 gave no answer"),
    ],
)
def test_an_unreachable_endpoint_is_a_reason_too(url: str, says: str) -> None:
    async def run() -> Rollout:
        config = EndpointConfig(url=url, model="m", retries=1)
        endpoint = Endpoint(config, backoff=0.01)
        try:
            return await play(pay_example(), endpoint, name="endpoint")
        finally:
            await endpoint.aclose()

    reason = anyio.run(run).reason
    assert says in reason
    assert "secret" not in reason


def test_the_rate_is_kept(model: Model) -> None:
    start = time.monotonic()
    roll(model, native("list_payees", "{}"), per_minute=600)
    assert time.monotonic() - start >= 0.2
    assert len(model.seen) == 3


def test_the_key_reaches_neither_log_nor_rollout(
    model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        rollout = roll(model, 401)
    assert KEY not in caplog.text
    assert KEY not in repr(rollout)
    assert KEY not in repr(Endpoint(EndpointConfig(url="http://127.0.0.1", model="m")))


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ((400, b'{"error": {"message": "too many tokens"}}'), "status 400: too many tokens"),
        ((404, b'{"detail": "no such model"}'), "status 404: no such model"),
        ((422, b'{"detail": [{"loc": "x"}]}'), 'status 422: [{"loc":"x"}]'),
        ((403, b"<b>go\n  away</b>"), "status 403: <b>go away</b>"),
        ((401, f"wrong key {KEY}".encode()), "status 401: wrong key …"),
        ((400, b"{}"), "after one try: status 400"),
        (b'{"error": "out of credit"}', "answered without a message: out of credit"),
        (b"[1]", "answered without a message: [1]"),
    ],
)
def test_an_endpoints_own_error_is_told(model: Model, answer: Any, shown: str) -> None:
    rollout = roll(model, answer)
    assert rollout.ended == "policy_error"
    assert rollout.reason.endswith(shown)
    assert KEY not in rollout.reason


def test_a_long_error_is_shortened(model: Model) -> None:
    assert len(roll(model, (400, b"x" * 100_000)).reason) < 800


def test_tokens_read_are_counted(model: Model) -> None:
    usage = {"prompt_tokens": 40, "completion_tokens": 2}
    said = {"choices": [{"message": {"content": "Done."}}], "usage": usage}
    rollout = roll(model, json.dumps(said).encode())
    assert rollout.prompt_tokens == 40
