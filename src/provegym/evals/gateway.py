"""The OpenAI-compatible endpoint a benchmark is given, whatever answers behind it.

A benchmark's process never sees the model's URL or key: it asks here, over loopback, and a remote
endpoint, a script or a model on this machine answers. That is also where a dead endpoint is told
from a request it refuses, and where names that are none are kept from being run as code.
"""

import asyncio
import re
import secrets
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from provegym.evals.environments import BenchmarkError
from provegym.models.dialects import openai
from provegym.models.endpoint import HELLO, Endpoint, EndpointConfig, EndpointError
from provegym.models.served import Refused
from provegym.trace import Json, Reply, ToolCall

Answer = Callable[[Json], Awaitable[Reply]]
Load = Callable[[], Answer]
PROBE: Json = {"model": "probe", "messages": HELLO}
PATIENCE = 300.0
# What asking later does not help: no message in an answer, a request that is refused; some servers
# say 500 of a prompt that is too long.
REFUSALS = {200, 500, *range(400, 500)} - {408, 409, 425, 429}


@dataclass
class Upstream:
    """A model behind somebody's endpoint."""

    config: EndpointConfig

    def __post_init__(self) -> None:
        self._endpoint = Endpoint(self.config)

    async def __call__(self, body: Json) -> Reply:
        """Ask it; whether it refuses this request or all is found out by one anybody can answer."""
        if body is PROBE:
            return await self._endpoint.probe()
        try:
            return await self._endpoint.reply(body["messages"], body.get("tools") or [])
        except EndpointError as problem:
            if problem.status not in REFUSALS:
                raise
            await self._endpoint.probe()
            raise Refused(str(problem)) from None


@dataclass
class Gateway:
    """A server on loopback that answers chat completions, and remembers whether it still can."""

    answer: Answer
    key: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    dead: str = ""
    asked: int = 0
    refused: int = 0
    waiting: int = 0
    heard: float = field(default_factory=monotonic)
    url: str = ""
    _loop: asyncio.AbstractEventLoop | None = None

    def check(self) -> None:
        """Raise if whatever answers is gone."""
        if self.dead:
            raise BenchmarkError(self.dead)

    @property
    def idle(self) -> float:
        """For how many seconds nobody has asked and nothing is being answered."""
        return 0.0 if self.waiting else monotonic() - self.heard

    def ask(self, body: Json) -> "Future[Reply]":
        """Ask from another thread, not over HTTP."""
        if self._loop is None:
            raise BenchmarkError("the gateway is not open")

        async def answered() -> Reply:
            return await self._answered(body)

        return asyncio.run_coroutine_threadsafe(answered(), self._loop)

    def probe(self) -> None:
        """Find out at once whether anybody answers."""
        self.ask(PROBE).exception()
        self.check()

    @contextmanager
    def open(self) -> Iterator["Gateway"]:
        """Listen until the end of the block."""
        app = Starlette(routes=[Route("/v1/chat/completions", self._complete, methods=["POST"])])
        config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=self._serve, args=(server,), daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        try:
            yield self
        finally:
            server.should_exit = server.force_exit = True
            thread.join(10)

    def _serve(self, server: uvicorn.Server) -> None:
        async def run() -> None:
            self._loop = asyncio.get_running_loop()
            await server.serve()

        asyncio.run(run())

    async def _complete(self, request: Request) -> JSONResponse:
        if request.headers.get("authorization") != f"Bearer {self.key}":
            return _error(401, "this gateway is another process's")
        try:
            body = msgspec.json.decode(await request.body(), type=dict[str, Any])
            reply = await self._answered(body)
        except msgspec.DecodeError as problem:
            return _error(400, f"not JSON: {problem}")
        except Refused as problem:
            # The one refusal that harnesses know: they end the conversation, not the run.
            return _error(400, str(problem), "context_length_exceeded")
        except EndpointError as problem:
            return _error(503, str(problem))
        return JSONResponse(completion(reply, str(body.get("model"))))

    async def _answered(self, body: Json) -> Reply:
        self.asked += 1
        self.waiting += 1
        try:
            reply = await self.answer(body)
        except Refused:
            self.refused += 1
            raise
        except EndpointError as problem:
            self.dead = self.dead or str(problem)
            raise
        except Exception as problem:
            # A mistake in what answers: a task that nobody answered is not one that failed.
            self.dead = self.dead or repr(problem)
            raise
        finally:
            self.waiting -= 1
            self.heard = monotonic()
        return tame(reply)


def tame(reply: Reply) -> Reply:
    """Names as the protocol has them; a block that is no call is said, not called.

    BFCL pastes the names a model writes into Python source; a name that is none would be code.
    """
    calls, said = [], [reply.text]
    for at, call in enumerate(reply.calls):
        if not call.name:
            said.append(call.arguments)
            continue
        name = re.sub(r"\W", "_", call.name, flags=re.ASCII)[:64]
        name = f"_{name}" if name[0].isdigit() else name
        arguments = tame_arguments(call.arguments)
        calls.append(ToolCall(name=name, arguments=arguments, id=call.id or f"call_{at}"))
    text = "\n".join(filter(None, said))
    return Reply(text=text, calls=tuple(calls), tokens=reply.tokens)


def tame_arguments(text: str) -> str:
    """Arguments whose keys are names; what is no object is left for the benchmark to refuse."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    if not isinstance(value, dict) or all(re.fullmatch(r"[A-Za-z_]\w*", key) for key in value):
        return text
    tamed = {re.sub(r"\W|^(?=\d)", "_", key) or "_": each for key, each in value.items()}
    return msgspec.json.encode(tamed).decode()


def completion(reply: Reply, model: str) -> Json:
    """A reply as the answer to a request for a chat completion."""
    message = openai.message(reply)
    message["content"] = message["content"] or (None if reply.calls else "")
    finish = "tool_calls" if reply.calls else "stop"
    return {
        "id": f"chatcmpl-{secrets.token_hex(8)}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": 0,
            "completion_tokens": reply.tokens,
            "total_tokens": reply.tokens,
        },
    }


def _error(status: int, message: str, code: str | None = None) -> JSONResponse:
    told = {"message": message, "type": "provegym", "code": code or str(status)}
    return JSONResponse({"error": told}, status)


async def noop(_: Json) -> Reply:
    """Never calls."""
    return Reply(text="I cannot help with that.")
