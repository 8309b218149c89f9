"""A model on this machine that answers chat completions: transformers, or vLLM where there is one.

Requests that wait at the same time are sampled together. Its weights need the extra `train`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from provegym.evals.gateway import Refused
from provegym.policies.dialects import pick
from provegym.policies.local import Generate, Sampler, load, need
from provegym.trace import Json, Reply

LONGEST = 32_768


@dataclass(frozen=True)
class Weights:
    """Which model, with which adapter, and how it is sampled."""

    model: str
    adapter: Path | None = None
    temperature: float = 0.0
    reply: int = 1024
    batch: int = 8


@dataclass
class Served:
    """A model and its tokenizer as something that answers."""

    generate: Generate
    tokenizer: Any
    weights: Weights
    longest: int
    _waiting: "list[tuple[list[int], asyncio.Future[list[int]]]]" = field(default_factory=list)
    _sampling: "asyncio.Future[None] | None" = None

    async def __call__(self, body: Json) -> Reply:
        """What the model says next."""
        ids = self.tokens(body["messages"], body.get("tools") or [])
        most = self.longest - self.weights.reply
        if len(ids) > most:
            raise Refused(f"a prompt of {len(ids)} tokens, and this model takes {most}")
        answer = asyncio.get_running_loop().create_future()
        self._waiting.append((ids, answer))
        if self._sampling is None or self._sampling.done():
            self._sampling = asyncio.ensure_future(self._sample())
        return self.said(await answer)

    def tokens(self, messages: list[Json], tools: list[Json]) -> list[int]:
        """A conversation as its chat template shows it."""
        text = self.tokenizer.apply_chat_template(
            [spoken(message) for message in messages],
            tools=tools or None,
            add_generation_prompt=True,
            tokenize=False,
        )
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def said(self, ids: list[int]) -> Reply:
        """The message that sampled ids spell, in the model's own dialect."""
        special = set(self.tokenizer.all_special_ids)
        kept = len(ids)
        while kept and ids[kept - 1] in special:
            kept -= 1
        text = self.tokenizer.decode(ids[:kept], clean_up_tokenization_spaces=False)
        name = Path(str(self.tokenizer.name_or_path)).name
        return msgspec.structs.replace(pick(name)(text), tokens=len(ids))

    async def _sample(self) -> None:
        """Sample all that waits, so many at a time, until nobody does."""
        await asyncio.sleep(0.01)
        while self._waiting:
            some = self._waiting[: self.weights.batch]
            del self._waiting[: len(some)]
            contexts = [ids for ids, _ in some]
            drawn = await asyncio.to_thread(self.generate, contexts, self.weights.reply)
            for (_, answer), sampled in zip(some, drawn, strict=True):
                if not answer.done():
                    answer.set_result(sampled.ids)


def spoken(message: Json) -> Json:
    """A message as templates take it: words in one text, arguments as objects."""
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


def serve(weights: Weights) -> Served:
    """Load a model."""
    torch: Any = need("torch")
    cuda = torch.cuda.is_available()
    fast = cuda and find_spec("vllm") is not None
    model, tokenizer = load(weights.model, weights.adapter, "cuda" if cuda and not fast else "cpu")
    longest = min(int(model.config.max_position_embeddings), LONGEST)
    if fast:
        return Served(_vllm(weights, longest), tokenizer, weights, longest)
    sampler = Sampler(model, tokenizer, weights.temperature, 0)
    return Served(sampler.generate, tokenizer, weights, longest)


def _vllm(weights: Weights, longest: int) -> Callable[..., Any]:
    from provegym.evals.vllm import Vllm

    engine = Vllm(weights.model, longest, weights.temperature)
    if weights.adapter:
        engine.wear(weights.adapter)
    return engine.generate
