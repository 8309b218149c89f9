"""A local model that answers chat completions: with vLLM if it is installed, else transformers.

Waiting requests are sampled as one batch; vLLM adds new requests at any time (continuous
batching). It needs the extra `train`.
"""

import asyncio
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from provegym.models.codec import harmless, reader
from provegym.models.endpoint import EndpointError
from provegym.models.local import load, load_tokenizer, source
from provegym.models.optional import need
from provegym.models.prefix_cache import PrefixCacheSampler
from provegym.models.source import Rounds, Source
from provegym.trace import Json, Reply

LONGEST = 32_768


class Refused(Exception):
    """The request is at fault and would fail again, for example because its prompt is too long."""


@dataclass(frozen=True)
class Weights:
    """Which model to load, with which LoRA adapter, and how to sample it."""

    model: str
    adapter: Path | None = None
    temperature: float = 0.0
    reply: int = 1024
    batch: int = 8


class Waiting(NamedTuple):
    """A waiting request: its prompt, the most tokens to sample, and the future of its answer."""

    ids: list[int]
    most: int
    answer: "asyncio.Future[list[int]]"


@dataclass
class ServedModel:
    """A model and its tokenizer that answer chat requests in batches."""

    source: Source
    tokenizer: Any
    weights: Weights
    longest: int
    _waiting: list[Waiting] = field(default_factory=list)
    _sampling: "asyncio.Task[None] | None" = None
    _seats: "count[int]" = field(default_factory=count)

    def __post_init__(self) -> None:
        self.harmless = harmless(self.tokenizer)
        self.said = reader(self.tokenizer)

    async def __call__(self, body: Json) -> Reply:
        """Answer a chat completion request."""
        ids = self.tokens(body["messages"], body.get("tools") or [])
        room = self.longest - len(ids)
        if room < 1:
            raise Refused(
                f"the prompt has {len(ids)} tokens, but this model takes at most {self.longest - 1}"
            )
        answer = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(ids, min(self.weights.reply, room), answer))
        if self._sampling is None or self._sampling.done():
            self._sampling = asyncio.create_task(self._sample())
        sampled = await answer
        return self.said(sampled[:room])  # the batch samples as many tokens as its longest reply

    def tokens(self, messages: list[Json], tools: list[Json]) -> list[int]:
        """Render a conversation with the chat template; only assistant messages stay unchanged."""
        told = [spoken(message) for message in messages]
        text = self.tokenizer.apply_chat_template(
            [each if each["role"] == "assistant" else self.harmless(each) for each in told],
            tools=self.harmless(tools) or None,
            add_generation_prompt=True,
            tokenize=False,
        )
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    async def _sample(self) -> None:
        """Sample until no request waits; if sampling fails, every request gets the error."""
        await asyncio.sleep(0.01)
        seated: dict[int, Waiting] = {}
        try:
            while self._waiting or seated:
                await self._sample_round(seated)
        except Exception as problem:
            for asked in (*seated.values(), *self._waiting):
                if not asked.answer.done():
                    failure = EndpointError(f"{self.weights.model} failed: {problem}")
                    asked.answer.set_exception(failure)
            self._waiting.clear()

    async def _sample_round(self, seated: dict[int, Waiting]) -> None:
        """Fill the batch with waiting requests, and answer those that are finished next."""
        while self._waiting and len(seated) < self.weights.batch:
            asked = self._waiting.pop(0)
            seat = next(self._seats)
            seated[seat] = asked
            self.source.ask(seat, asked.ids, asked.most)
        for seat, sampled in (await asyncio.to_thread(self.source.take)).items():
            answer = seated.pop(seat).answer
            if not answer.done():
                answer.set_result(sampled.ids)


def spoken(message: Json) -> Json:
    """A message as chat templates expect it: content as one string, arguments as objects."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content)
    told = {**message, "content": content or ""}
    if message.get("tool_calls"):
        told["tool_calls"] = [_decoded(call) for call in message["tool_calls"]]
    return told


def _decoded(call: Json) -> Json:
    function = call["function"]
    try:
        arguments = msgspec.json.decode(function["arguments"])
    except msgspec.DecodeError:
        arguments = {}
    return {**call, "function": {**function, "arguments": arguments}}


def serve(weights: Weights) -> ServedModel:
    """Load a model, on the GPU if there is one."""
    torch: Any = need("torch")
    cuda = torch.cuda.is_available()
    if cuda and find_spec("vllm") is not None:
        return _vllm(weights)
    model, tokenizer = load(weights.model, weights.adapter, "cuda" if cuda else "cpu")
    if weights.adapter:
        model = model.merge_and_unload()
    sampler = PrefixCacheSampler(model, tokenizer, weights.temperature, 0)
    return ServedModel(Rounds(sampler.generate), tokenizer, weights, _longest(model.config))


def _longest(config: Any) -> int:
    """The context length of a model: the most tokens of prompt and reply together."""
    return min(int(config.max_position_embeddings), LONGEST)


def _vllm(weights: Weights) -> ServedModel:
    from provegym.models.vllm import Vllm

    folder = source(weights.model)
    longest = _longest(need("transformers").AutoConfig.from_pretrained(folder))
    engine = Vllm(weights.model, longest, weights.temperature)
    if weights.adapter:
        engine.wear(weights.adapter)
    wide = replace(weights, batch=max(256, weights.batch))
    return ServedModel(engine.source, load_tokenizer(weights.model), wide, longest)
