"""Client of an OpenAI-compatible chat endpoint, with rate limit and exponential backoff.

The API key comes from the environment (PROVEGYM_API_KEY, else OPENAI_API_KEY). It is sent in the
request's header and never written to a log, a file or an error message.
"""

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import httpx2
import msgspec
from msgspec.structs import replace

from provegym.errors import UserError
from provegym.kernel.errors import shorten
from provegym.models.dialects import openai, pick
from provegym.trace import Example, Json, Reply

KEYS = ("PROVEGYM_API_KEY", "OPENAI_API_KEY")
HELLO: list[Json] = [{"role": "user", "content": "Say hello."}]
RETRIED = (408, 409, 425, 429, 500, 502, 503, 504)


class EndpointError(UserError):
    """The endpoint gave no usable answer, after all retries.

    `status` is the last HTTP status, or 0 if there was no response.
    """

    def __init__(self, told: str, status: int = 0) -> None:
        super().__init__(told)
        self.status = status


@dataclass(frozen=True)
class EndpointConfig:
    """Which model to ask, how to sample it, and the limits on time, retries and rate.

    `timeout` limits each wait for the endpoint, `deadline` a whole request with its retries.
    """

    url: str
    model: str
    temperature: float = 0.0
    max_tokens: int = 2_048
    timeout: float = 120.0
    retries: int = 4
    per_minute: float | None = None
    native_tools: bool = True
    deadline: float | None = None


@dataclass
class Endpoint:
    """A policy that asks a chat endpoint; many rollouts share one connection pool."""

    config: EndpointConfig
    backoff: float = 1.0
    _client: httpx2.AsyncClient = field(init=False, repr=False)
    _next: float = field(default=0.0, init=False)
    _key: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        self._key = next((value for name in KEYS if (value := os.environ.get(name))), "")
        headers = {"authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = httpx2.AsyncClient(timeout=self.config.timeout, headers=headers)

    def __call__(self, _: Example) -> "Endpoint":
        """The policy of an example is the endpoint itself."""
        return self

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        """Ask for the next message."""
        return await self._reply(messages, tools, self.config.retries)

    async def probe(self) -> Reply:
        """Send one simple request, without retries, to test the endpoint."""
        return await self._reply(HELLO, [], 0)

    async def _reply(self, messages: Sequence[Json], tools: list[Json], retries: int) -> Reply:
        body: Json = {
            "model": self.config.model,
            "messages": list(messages),
            "temperature": self.config.temperature,
            "max_tokens": self.config.max_tokens,
        }
        if self.config.native_tools and tools:
            body["tools"] = tools
        names = {wire_name(tool["function"]["name"]): tool["function"]["name"] for tool in tools}
        if any(short != name for short, name in names.items()):
            body = _on_the_wire(body)
        try:
            async with asyncio.timeout(self.config.deadline):
                answer = await self._ask(body, retries)
        except TimeoutError:
            late = f"gave no whole answer within {self.config.deadline:g} s"
            raise EndpointError(f"{public(self.config.url)} {late}") from None
        try:
            message = {**answer["choices"][0]["message"]}
            message["content"] = _text(message.get("content"))
            usage = answer.get("usage") or {}
            spent = int(usage.get("completion_tokens") or 0)
            read = int(usage.get("prompt_tokens") or 0)
            reply = openai.parse(message)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            told = f"{public(self.config.url)} answered without a message"
            raise EndpointError(told + self._quote(answer), 200) from None
        if not reply.calls and not message.get("tool_calls"):
            reply = pick(self.config.model)(message["content"])
        calls = tuple(replace(call, name=names.get(call.name, call.name)) for call in reply.calls)
        return Reply(text=reply.text, calls=calls, tokens=spent, prompt_tokens=read)

    async def _ask(self, body: Json, retries: int) -> Any:
        problem, status = "", 0
        for attempt in range(retries + 1):
            await self._wait_for_turn()
            pause = self.backoff * 2**attempt
            try:
                response = await self._client.post(
                    f"{self.config.url.rstrip('/')}/chat/completions", json=body
                )
                if response.status_code == 200:
                    # Unlike json, msgspec refuses half a surrogate pair, which no file can hold.
                    return msgspec.json.decode(response.content)
                status = response.status_code
                problem = f"status {status}{self._quote(_decoded(response.content))}"
                if status not in RETRIED:
                    break
                pause = max(pause, _seconds(response.headers.get("retry-after")))
            except (httpx2.RequestError, ValueError, RecursionError) as failure:
                problem, status = type(failure).__name__ + self._quote(str(failure)), 0
            except httpx2.InvalidURL as failure:
                raise EndpointError(f"{public(self.config.url)} is no URL: {failure}") from None
            if attempt < retries:
                await asyncio.sleep(min(pause, 60))
        tries = f"{attempt + 1} tries" if attempt else "one try"
        raise EndpointError(
            f"{public(self.config.url)} gave no answer after {tries}: {problem}", status
        )

    def _quote(self, answer: Any) -> str:
        """What an endpoint says about an error, shortened, and never with the API key."""
        said = " ".join(error_text(answer).split())
        if self._key:
            said = said.replace(self._key, "…")
        return f": {shorten(public(said))}" if said else ""

    async def _wait_for_turn(self) -> None:
        """Rate limit: wait until the next request may be sent; all rollouts share the limit."""
        if self.config.per_minute is None:
            return
        now = monotonic()
        self._next = max(now, self._next) + 60 / self.config.per_minute
        await asyncio.sleep(max(0.0, self._next - 60 / self.config.per_minute - now))


def wire_name(name: str) -> str:
    """The name of a tool in a request: OpenAI allows no dot in it."""
    return name.replace(".", "__")


def _on_the_wire(body: Json) -> Json:
    """A request in which the names of tools have no dots."""

    def named(held: Json) -> Json:
        function = held["function"]
        return {**held, "function": {**function, "name": wire_name(function["name"])}}

    messages = [
        {**message, "tool_calls": [named(call) for call in message["tool_calls"]]}
        if message.get("tool_calls")
        else message
        for message in body["messages"]
    ]
    told = {**body, "messages": messages}
    return {**told, "tools": [named(tool) for tool in body["tools"]]} if "tools" in body else told


def public(text: str) -> str:
    """The text without user names and passwords in its URLs."""
    return re.sub(r"//[^/@\s]*@", "//", text)


def error_text(answer: Any) -> str:
    """The sentence in an error response: OpenAI's `error.message`, FastAPI's `detail`, or text."""
    for _ in range(2):
        if isinstance(answer, dict):
            named = (answer.get(name) for name in ("error", "message", "detail"))
            answer = next(filter(None, named), "")
    if isinstance(answer, str):
        return answer
    return msgspec.json.encode(answer).decode() if answer else ""


def _decoded(content: bytes) -> Any:
    """The JSON of a response, or its text if it is none."""
    try:
        return msgspec.json.decode(content)
    except (ValueError, RecursionError):
        return content.decode(errors="replace")


def _seconds(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def _text(content: Any) -> str:
    """The text of a message's content, which is a string, a list of parts, or null."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part["type"] == "text")
    if content is not None and not isinstance(content, str):
        raise TypeError
    return content or ""
