"""Batch sampling with plain transformers and a KV cache: for CPUs, and for runs too small for vLLM.

The KV cache is kept between calls. A rollout comes back after every turn with a longer context:
only the new tokens are read. Rollouts of one group have the same prompt: it is read once.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from provegym.models.kv_cache import ALIKE, GROUPED, KVCache, register, stack
from provegym.models.optional import need
from provegym.models.source import Sampled

MOST_KEPT = 4 * 1024**3


class Continuation(NamedTuple):
    """A context that is being continued, its number in the batch, and the tokens sampled so far."""

    number: int
    context: list[int]
    sampled: Sampled

    @property
    def known(self) -> list[int]:
        """The tokens in the KV cache: all but the last sampled one."""
        return self.context + self.sampled.ids[:-1]


def end_tokens(model: Any, tokenizer: Any) -> set[int]:
    """The tokens that end a reply."""
    ends = model.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    return {tokenizer.eos_token_id, *ends} - {None}


class Sampler:
    """Samples one model; temperature 0 means greedy decoding."""

    def __init__(self, model: Any, tokenizer: Any, temperature: float, seed: int) -> None:
        self.torch = need("torch")
        self.model = model
        self.temperature = temperature
        self.pad = tokenizer.pad_token_id
        self.ends = end_tokens(model, tokenizer)
        self.chance = self.torch.Generator(device=model.device).manual_seed(seed)
        layers = need("transformers").DynamicCache(config=model.config).layers
        self.remembers = {type(layer).__name__ for layer in layers} == {"DynamicLayer"}
        self.kept: list[tuple[list[int], KVCache]] = []

    def generate(self, contexts: list[list[int]], most: int) -> list[Sampled]:
        """One continuation of each context, until the model ends it or after `most` tokens.

        Log-probabilities are those of the sampled distribution, temperature included.
        """
        with self.torch.inference_mode(), self._at_rest():
            return self._continue(contexts, most)

    @contextmanager
    def _at_rest(self) -> Iterator[None]:
        """Put the model in evaluation mode with grouped attention, and restore it afterwards."""
        training, attention = self.model.training, self.model.config._attn_implementation
        self.model.eval()
        if self.remembers and attention.startswith(ALIKE):
            register()
            self.model.config._attn_implementation = GROUPED
        try:
            yield
        finally:
            self.model.config._attn_implementation = attention
            self.model.train(training)

    def _continue(self, contexts: list[list[int]], most: int) -> list[Sampled]:
        rows = [Continuation(number, each, Sampled([], [])) for number, each in enumerate(contexts)]
        samples = [row.sampled for row in rows]
        width = max(map(len, contexts))
        mask = self._mask(contexts, width + most)
        read = self._read if self.remembers else self._read_padded
        cache, logits = read(contexts, width + most)
        for drawn in range(1, most + 1):
            tokens = self._draw(rows, logits, len(contexts))
            going = [at for at, row in enumerate(rows) if row.sampled.ids[-1] not in self.ends]
            if drawn == most:
                going = []
            if len(going) < len(rows):
                self._keep(rows, set(range(len(rows))) - set(going), cache, width)
                chosen = self.torch.tensor(going, dtype=self.torch.long, device=self.model.device)
                rows, tokens, mask = [rows[at] for at in going], tokens[chosen], mask[chosen]
                cache.reorder_cache(chosen)
            if not rows:
                break
            positions = [[len(row.known)] for row in rows]
            logits = self._see(tokens[:, None], mask[:, : width + drawn], positions, cache)[1]
        return samples

    def _read(self, contexts: list[list[int]], room: int) -> tuple[Any, Any]:
        """Read each distinct context once, starting from its prefix in the kept KV caches."""
        found: dict[tuple[int, ...], tuple[KVCache, Any]] = {}
        for context in contexts:
            if tuple(context) not in found:
                found[tuple(context)] = self._read_one(context)
        self.kept = []
        shelves, logits = zip(*(found[tuple(context)] for context in contexts), strict=True)
        spans = [(0, 0, len(context)) for context in contexts]
        return stack(shelves, spans, room), self.torch.cat(logits)

    def _read_one(self, context: list[int]) -> tuple[KVCache, Any]:
        begun = [(len(ids), shelf) for ids, shelf in self.kept if context[: len(ids)] == ids]
        shelf, known = KVCache(len(context)), 0
        if begun:
            most, held = max(begun, key=lambda each: each[0])
            known = min(most, len(context) - 1)
            shelf = stack([held], [(0, 0, known)], len(context))
        ids = self.torch.tensor([context[known:]], device=self.model.device)
        positions = [list(range(known, len(context)))]
        return self._see(ids, None, positions, shelf)

    def _read_padded(self, contexts: list[list[int]], room: int) -> tuple[Any, Any]:
        """Read all contexts as one padded batch: for models without a plain KV cache."""
        width = max(map(len, contexts))
        rows = [[self.pad] * (width - len(context)) + context for context in contexts]
        places = [[max(0, at - width + len(c)) for at in range(width)] for c in contexts]
        ids = self.torch.tensor(rows, device=self.model.device)
        return self._see(ids, self._mask(contexts, room)[:, :width], places, None)

    def _see(self, ids: Any, mask: Any, positions: list[list[int]], cache: Any) -> tuple[Any, Any]:
        seen = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=self.torch.tensor(positions, device=self.model.device),
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return seen.past_key_values, seen.logits[:, -1].float()

    def _mask(self, contexts: Sequence[Sequence[int]], room: int) -> Any:
        """The attention mask for left padding: 0 before a context starts, 1 from there on."""
        width = max(map(len, contexts))
        blanks = [width - len(context) for context in contexts]
        rows = [[0] * blank + [1] * (room - blank) for blank in blanks]
        return self.torch.tensor(rows, device=self.model.device)

    def _keep(self, rows: Sequence[Continuation], done: set[int], cache: Any, width: int) -> None:
        """Keep the KV cache of finished rows while the total stays below MOST_KEPT bytes."""
        if not self.remembers:
            return
        size = sum(shelf.size for _, shelf in self.kept)
        for at in sorted(done):
            known = rows[at].known
            begin = width - len(rows[at].context)
            held = stack([cache], [(at, begin, begin + len(known))], len(known))
            size += held.size
            if size <= MOST_KEPT:
                self.kept.append((known, held))

    def _draw(self, rows: Sequence[Continuation], logits: Any, count: int) -> Any:
        """Sample one token per row; a row's noise does not depend on which other rows are done."""
        scaled = (logits / (self.temperature or 1.0)).log_softmax(-1)
        tokens = scaled.argmax(-1)
        if self.temperature:
            # Gumbel-max trick: argmax of p / Exp(1), as torch.multinomial does it.
            noise = scaled.new_empty((count, scaled.shape[1])).exponential_(generator=self.chance)
            tokens = (scaled.exp() / noise[[row.number for row in rows]]).argmax(-1)
        logprobs = scaled.gather(1, tokens[:, None])[:, 0]
        for row, token, logprob in zip(rows, tokens.tolist(), logprobs.tolist(), strict=True):
            row.sampled.ids.append(token)
            row.sampled.logprobs.append(logprob)
        return tokens
