"""Our worlds in verifiers: its own rollouts, with scripts behind an endpoint in a model's place."""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import msgspec
import pytest

from provegym.adapters.episode import success
from provegym.models.dialects import openai
from provegym.players.plan import tool_call
from provegym.players.scripted import SCRIPTS, Script
from provegym.rewards import HARDENED, PAPER, Scheme, rescore
from provegym.rollout import play
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, Rollout, ToolCall, read, write

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".envs" / "verifiers" / "bin" / "python"
PAGE = ROOT / "docs" / "adapters" / "verifiers.md"
TEN = (
    *("banking/pay-and-freeze", "banking/open-and-fill", "banking/what-is-left"),
    *("budget/august-and-after", "calendar/budget-dry-run", "maps/how-long-by-tram"),
    *("filesystem/how-long-is-it", "payments/posters-for-the-vets"),
    *("vehicle/garage-but-when", "video_meeting/garden-plans"),
)

needs_verifiers = pytest.mark.skipif(
    not PYTHON.exists(), reason="make adapters builds .envs/verifiers"
)


def clumsy(example: Example) -> Script:
    """Calls that are none, of a tool that is not there, and with arguments that do not fit."""
    first = next(iter(Toolbox.of(example).tools))
    wrong = [
        ToolCall(name=first, arguments='{"half": '),
        ToolCall(name=first, arguments="[1]"),
        tool_call("open_sesame", {}),
        tool_call(first, {"no_such_argument": 1}),
    ]
    return Script(example, [[wrong[:2], wrong[2:]], [wrong[2:3]]])


def endless(example: Example) -> Script:
    """Never stops looking."""
    return Script(example, [[[tool_call("list_accounts", {})] for _ in range(30)]])


def greedy(example: Example) -> Script:
    """More calls in a message than a rollout may have."""
    return Script(example, [[[tool_call("list_accounts", {})] * 40] * 3])


POLICIES = {**SCRIPTS, "left": SCRIPTS["oracle"], "right": SCRIPTS["oracle"]}
POLICIES |= {policy.__name__: policy for policy in (clumsy, endless, greedy)}


class Scripted(BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint where scripts answer, one for every session."""

    server: "Endpoint"

    def do_POST(self) -> None:
        """Answer as a stream if asked to."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = self.server.answer(body, self.headers["x-session-id"])
        whole = {"id": "x", "created": 0, "model": body["model"]}
        whole["usage"] = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        choice = {"index": 0, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        if body.get("stream"):
            calls = [{**call, "index": n} for n, call in enumerate(message.get("tool_calls", ()))]
            delta = {**message, "tool_calls": calls} if calls else message
            chunk = {**whole, "object": "chat.completion.chunk"}
            chunk["choices"] = [{**choice, "delta": delta}]
            self._send("text/event-stream", f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n")
        else:
            whole |= {"object": "chat.completion", "choices": [{**choice, "message": message}]}
            self._send("application/json", json.dumps(whole))

    def _send(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Endpoint(ThreadingHTTPServer):
    """Scripts by session; `left` and `right` wait for each other before every reply."""

    daemon_threads = True

    def __init__(self, examples: Sequence[Example]) -> None:
        super().__init__(("127.0.0.1", 0), Scripted)
        self.examples = {each.turns[0].text: each for each in examples}
        self.scripts: dict[str, Script] = {}
        self.both = Barrier(2, timeout=60)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"

    def answer(self, body: Json, session: str) -> Json:
        """What the script of this session says next."""
        said: list[Json] = body["messages"]
        if session not in self.scripts:
            first = next(each["content"] for each in said if each["role"] == "user")
            self.scripts[session] = POLICIES[body["model"]](self.examples[first])
        if body["model"] in ("left", "right"):
            self.both.wait()
        reply = asyncio.run(self.scripts[session].reply(said, body.get("tools") or []))
        made = sum(len(each.get("tool_calls") or ()) for each in said)
        calls = [
            msgspec.structs.replace(call, id=f"call_{made + at}")
            for at, call in enumerate(reply.calls)
        ]
        return openai.message(msgspec.structs.replace(reply, calls=tuple(calls)))


def examples(*wanted: str) -> list[Example]:
    """Examples of the tests' data, by id."""
    servers = dict.fromkeys(each.partition("/")[0] for each in wanted)
    found = [e for s in servers for e in read(ROOT / f"tests/data/{s}.jsonl", Example)]
    return sorted((e for e in found if e.id in wanted), key=lambda e: wanted.index(e.id))


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    """A running endpoint that knows the examples."""
    with Endpoint(examples(*TEN)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def played(endpoint: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """What verifiers' traces hold, of all rollouts at once; it takes its time to start."""
    games = [f"{name}={policy}" for name in TEN for policy in ("oracle", "noop")]
    games += [f"{TEN[0]}={policy}" for policy in ("left", "right", "clumsy", "endless", "greedy")]
    return drive(endpoint, games, "paper", tmp_path_factory.mktemp("verifiers"))


def drive(endpoint: Endpoint, games: list[str], scheme: str, folder: Path) -> dict[str, Json]:
    """What the traces of these games hold, by game."""
    write(folder / "examples.jsonl", examples(*TEN))
    driver = [PYTHON, Path(__file__).with_name("drive_verifiers.py")]
    command = [*driver, folder / "examples.jsonl", endpoint.url, scheme, *games]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return dict(zip(games, map(json.loads, done.stdout.splitlines()), strict=True))


def check(found: Json, example: Example, policy: str, scheme: Scheme = PAPER) -> Rollout:
    """That a trace is what our own loop does with the same policy, word by word."""
    assert found["problems"] == []
    rollout = msgspec.convert(found["info"]["rollout"], Rollout)
    own = asyncio.run(play(example, POLICIES[policy](example), name=policy, scheme=scheme))
    assert rollout == own
    assert own.reward is not None
    assert rescore(rollout, scheme).reward == own.reward
    assert found["reward"] == own.reward.total
    assert found["metrics"] == {**own.reward.parts, **success(own)}
    told = [message["content"] for message in own.messages if message["role"] == "tool"]
    # What a rollout that was stopped would have been told next, nobody heard.
    heard = len(found["told"]) if own.ended != "done" else len(told)
    assert found["told"] == told[:heard]
    assert found["shown"] == list(Toolbox.of(example).tools)
    return rollout


@needs_verifiers
def test_oracle_is_paid_all_and_noop_nothing(played: dict[str, Json]) -> None:
    for example in examples(*TEN):
        oracle, noop = played[f"{example.id}=oracle"], played[f"{example.id}=noop"]
        assert (oracle["reward"], noop["reward"]) == (1.3, 0)
        assert len(oracle["metrics"]) == 9
        check(oracle, example, "oracle")
        check(noop, example, "noop")


@needs_verifiers
def test_the_hardened_scheme_reads_the_replies_too(endpoint: Endpoint, tmp_path: Path) -> None:
    (example,) = examples(TEN[0])
    games = [f"{example.id}={policy}" for policy in ("oracle", "noop")]
    oracle, noop = drive(endpoint, games, "hardened", tmp_path).values()
    check(oracle, example, "oracle", HARDENED)
    check(noop, example, "noop", HARDENED)
    assert (oracle["metrics"]["success"], noop["metrics"]["success"]) == (1, 0)


@needs_verifiers
def test_two_of_the_same_example_do_not_see_each_other(played: dict[str, Json]) -> None:
    """They go side by side, reply by reply."""
    (example,) = examples(TEN[0])
    for side in ("left", "right"):
        assert check(played[f"{example.id}={side}"], example, side).outcome == example.outcome != ()


@needs_verifiers
def test_words_and_caps_are_our_own(played: dict[str, Json]) -> None:
    (example,) = examples(TEN[0])
    clumsy, endless, greedy = (
        check(played[f"{example.id}={policy}"], example, policy)
        for policy in ("clumsy", "endless", "greedy")
    )
    errors = [call.error for call in clumsy.calls]
    assert errors == ["malformed", "malformed", "not_found", "invalid_argument", "not_found"]
    assert endless.ended == "turns"
    assert greedy.ended == "calls"


@needs_verifiers
def test_the_example_of_the_page_runs(endpoint: Endpoint, tmp_path: Path) -> None:
    """With the harness `null` as it is, which uv installs."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(code.splitlines()) <= 14
    code = code.replace("http://127.0.0.1:8000/v1", endpoint.url).replace("my-model", "oracle")
    write(tmp_path / "examples.jsonl", examples("banking/what-is-left"))
    with_uv = {**os.environ, "PATH": f"{PYTHON.parent}:{os.environ['PATH']}"}
    command = [PYTHON, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path, env=with_uv, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.startswith("banking/what-is-left 1.3 {"), done.stdout + done.stderr


@pytest.mark.parametrize("module", ["provegym", "provegym.adapters.verifiers"])
@pytest.mark.parametrize(
    ("found", "says"),
    [
        (None, "verifiers is missing: pip install 'verifiers==0.4.*'"),
        ("0.3.1", "this adapter is for verifiers 0.4, not 0.3.1: pip install 'verifiers==0.4.*'"),
    ],
    ids=["missing", "older"],
)
def test_another_verifiers_is_one_line(
    module: str, found: str | None, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(package: str) -> str:
        if found is None:
            raise PackageNotFoundError(package)
        return found

    monkeypatch.setattr("provegym.adapters.episode.version", version)
    with pytest.raises(ImportError, match=f"^{re.escape(says)}$"):
        getattr(import_module(module), "GymTaskset")  # noqa: B009
