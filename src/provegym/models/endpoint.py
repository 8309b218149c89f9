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
# More calls in one message than any rollout runs are not read.
MOST_CALLS = 1_000
MOST_TOKENS = 10**9
# Seconds between two tries.
LONGEST_PAUSE = 60
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

    `timeout` limits one try, from the request to the last byte of the answer. `deadline` limits a
    whole request with its retries; the default is the sum of their timeouts and longest pauses.
    Waiting for the rate limit does not count. `max_bytes` limits an answer, also when it is
    decompressed.
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
    max_bytes: int = 16 * 2**20

    @property
    def total_seconds(self) -> float:
        """The most seconds of a request with its retries."""
        return self.deadline or self.timeout * (self.retries + 1) + LONGEST_PAUSE * self.retries


class OversizedAnswer(ValueError):
    """An answer has more bytes than are allowed, perhaps only after decompression."""


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
        # The time of a whole try is limited below, and not each wait for some bytes.
        self._client = httpx2.AsyncClient(timeout=None, headers=headers)

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
            body = on_the_wire(body)
        try:
            async with asyncio.timeout(self.config.total_seconds) as limit:
                answer = await self._ask(body, retries, limit)
        except TimeoutError:
            late = f"gave no whole answer within {self.config.total_seconds:g} s"
            raise EndpointError(f"{public(self.config.url)} {late}") from None
        try:
            message = {**answer["choices"][0]["message"]}
            message["content"] = _text(message.get("content"))
            usage = answer.get("usage") or {}
            spent, read = _count(usage, "completion_tokens"), _count(usage, "prompt_tokens")
            message["tool_calls"] = (message.get("tool_calls") or [])[:MOST_CALLS]
            reply = openai.parse(message)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError):
            told = f"{public(self.config.url)} answered without a message"
            raise EndpointError(told + self._quote(answer), 200) from None
        if not reply.calls and not message.get("tool_calls"):
            reply = pick(self.config.model)(message["content"])
        calls = tuple(replace(call, name=names.get(call.name, call.name)) for call in reply.calls)
        return Reply(text=reply.text, calls=calls, tokens=spent, prompt_tokens=read)

    async def _ask(self, body: Json, retries: int, limit: asyncio.Timeout) -> Any:
        problem, status = "", 0
        for attempt in range(retries + 1):
            await self._wait_for_turn(limit)
            pause = self.backoff * 2**attempt
            try:
                async with asyncio.timeout(self.config.timeout):
                    status, headers, content = await self._post(body)
                if status == 200:
                    # Unlike json, msgspec refuses half a surrogate pair, which no file can hold.
                    return msgspec.json.decode(content)
                problem = f"status {status}{self._quote(_decoded(content))}"
                if status not in RETRIED:
                    break
                pause = max(pause, _seconds(headers.get("retry-after")))
            except TimeoutError:
                problem, status = f"no whole answer within {self.config.timeout:g} s", 0
            except OversizedAnswer as failure:
                problem, status = str(failure), 0
                break
            except (httpx2.RequestError, ValueError, RecursionError) as failure:
                problem, status = type(failure).__name__ + self._quote(str(failure)), 0
            except httpx2.InvalidURL as failure:
                raise EndpointError(f"{public(self.config.url)} is no URL: {failure}") from None
            if attempt < retries:
                await asyncio.sleep(min(pause, LONGEST_PAUSE))
        tries = f"{attempt + 1} tries" if attempt else "one try"
        raise EndpointError(
            f"{public(self.config.url)} gave no answer after {tries}: {problem}", status
        )

    async def _post(self, body: Json) -> tuple[int, httpx2.Headers, bytes]:
        """Send a request and read the answer, up to the limit; compressed parts are counted too."""
        url, most = f"{self.config.url.rstrip('/')}/chat/completions", self.config.max_bytes
        content = bytearray()
        async with self._client.stream("POST", url, json=body) as response:
            async for part in response.aiter_bytes():
                content += part
                if len(content) > most:
                    raise OversizedAnswer(f"the answer has more than {most:,} bytes")
        return response.status_code, response.headers, bytes(content)

    def _quote(self, answer: Any) -> str:
        """What an endpoint says about an error, shortened, and never with the API key."""
        said = " ".join(error_text(answer).split())
        if self._key:
            said = said.replace(self._key, "…")
        return f": {shorten(public(said))}" if said else ""

    async def _wait_for_turn(self, limit: asyncio.Timeout) -> None:
        """Rate limit: wait until the next request may be sent; all rollouts share the limit."""
        if self.config.per_minute is None:
            return
        now = monotonic()
        self._next = max(now, self._next) + 60 / self.config.per_minute
        wait = max(0.0, self._next - 60 / self.config.per_minute - now)
        limit.reschedule((limit.when() or 0) + wait)
        await asyncio.sleep(wait)


def wire_name(name: str) -> str:
    """The name of a tool in a request: OpenAI allows no dot in it."""
    return name.replace(".", "__")


def on_the_wire(body: Json) -> Json:
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


def _count(usage: Json, name: str) -> int:
    """A number of tokens; what no model could have read or written counts as none."""
    count = int(usage.get(name) or 0)
    return count if 0 <= count <= MOST_TOKENS else 0


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
