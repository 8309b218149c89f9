"""An OpenAI-compatible gateway on loopback, between a benchmark's process and the model.

The benchmark's process never sees the model's URL or key. Behind the gateway a remote endpoint, a
script or a model on this machine answers. The gateway tells an endpoint that is down from one that
refuses a single request. It also sanitizes tool names, because BFCL runs them as Python code.
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
# Statuses for which a retry does not help: an answer without a message, a refused request. Some
# servers answer 500 to a prompt that is too long.
REFUSALS = {200, 500, *range(400, 500)} - {408, 409, 425, 429}


@dataclass
class Upstream:
    """A model behind a remote OpenAI-compatible endpoint."""

    config: EndpointConfig

    def __post_init__(self) -> None:
        self._endpoint = Endpoint(self.config)

    async def __call__(self, body: Json) -> Reply:
        """Ask it; after a refusal, a simple probe tells whether it refuses every request."""
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
    """An HTTP server on loopback for chat completions; it records when the model is gone."""

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
        """Raise if the model behind the gateway no longer answers."""
        if self.dead:
            raise BenchmarkError(self.dead)

    @property
    def idle(self) -> float:
        """Seconds since the last request ended; 0 while one is in progress."""
        return 0.0 if self.waiting else monotonic() - self.heard

    def ask(self, body: Json) -> "Future[Reply]":
        """Ask from another thread of this process, without HTTP."""
        if self._loop is None:
            raise BenchmarkError("the gateway is not open")

        async def answered() -> Reply:
            return await self._answered(body)

        return asyncio.run_coroutine_threadsafe(answered(), self._loop)

    def probe(self) -> None:
        """Send one simple request, and raise if it is not answered."""
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
            return _error(401, "wrong API key: this gateway belongs to another process")
        try:
            body = msgspec.json.decode(await request.body(), type=dict[str, Any])
            reply = await self._answered(body)
        except msgspec.DecodeError as problem:
            return _error(400, f"not JSON: {problem}")
        except Refused as problem:
            # Harnesses know this code: they end the conversation, not the run.
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
            # A bug in the answering code: a task without an answer must not count as failed.
            self.dead = self.dead or repr(problem)
            raise
        finally:
            self.waiting -= 1
            self.heard = monotonic()
        return tame(reply)


def tame(reply: Reply) -> Reply:
    """Sanitize a reply: tool names become identifiers; a call without a name becomes text.

    BFCL pastes tool names into Python source, so a name with other characters would run as code.
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
    return msgspec.structs.replace(reply, text=text, calls=tuple(calls))


def tame_arguments(text: str) -> str:
    """Make argument keys identifiers; text that is no JSON object is left unchanged."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    if not isinstance(value, dict) or all(re.fullmatch(r"[A-Za-z_]\w*", key) for key in value):
        return text
    tamed = {re.sub(r"\W|^(?=\d)", "_", key) or "_": each for key, each in value.items()}
    return msgspec.json.encode(tamed).decode()


def completion(reply: Reply, model: str) -> Json:
    """A reply in the JSON form of a chat completion."""
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
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.tokens,
            "total_tokens": reply.prompt_tokens + reply.tokens,
        },
    }


def _error(status: int, message: str, code: str | None = None) -> JSONResponse:
    told = {"message": message, "type": "provegym", "code": code or str(status)}
    return JSONResponse({"error": told}, status)


async def noop(_: Json) -> Reply:
    """A script that never calls a tool."""
    return Reply(text="I cannot help with that.")
