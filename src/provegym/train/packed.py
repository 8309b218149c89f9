"""Rollouts end to end instead of padded: what those of one prompt share is read once.

A trainer pads every sequence of a step to the longest, and reads a prompt as often as it was rolled
out. Here the tokens of a batch stand in one row: a prompt, then what followed it in each of its
rollouts. Attention is told where each begins and which keys it sees, so that the numbers are those
of the padded rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from provegym.models.optional import need

ATTENTION = "provegym"
UNKNOWN = ("softcap", "s_aux")
IGNORED = -100


class PackedPart(NamedTuple):
    """A stretch of the row: its tokens, and where the keys that it sees before its own begin."""

    start: int
    length: int
    prefix: int = 0
    shared: int = 0


class PackedRow(NamedTuple):
    """A batch in one row: inputs of the model, and where each sequence's completion stands."""

    inputs: dict[str, Any]
    places: list[tuple[int, int]]

    def spread(self, values: Any, width: int) -> Any:
        """Values of the row's tokens, as a padded batch of completions."""
        torch = need("torch")
        rows = [values[start : start + length] for start, length in self.places]
        return torch.nn.utils.rnn.pad_sequence([*rows, values.new_zeros(width)], batch_first=True)[
            :-1
        ]


def lay_out(prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> PackedRow:
    """Prompts and what follows them in one row; equal prompts next to each other stand there once.

    The last token of a prompt belongs to each completion: it is what the first token is drawn from.
    """
    torch = need("torch")
    ids: list[int] = []
    labels: list[int] = []
    positions: list[int] = []
    parts: list[PackedPart] = []
    places = []
    before: Sequence[int] = ()
    prefix = 0
    for prompt, completion in zip(prompts, completions, strict=True):
        shared = len(prompt) - 1
        if prompt != before:
            before, prefix = prompt, len(ids)
            parts += [PackedPart(prefix, shared)] if shared else []
            ids += prompt[:-1]
            labels += [IGNORED] * shared
            positions += range(shared)
        part = PackedPart(len(ids), max(1, len(completion)), prefix, shared)
        parts.append(part)
        places.append((part.start, len(completion)))
        ids += [prompt[-1], *completion[:-1]]
        labels += completion or [IGNORED]
        positions += range(shared, shared + part.length)
    row = {"input_ids": ids, "position_ids": positions, "shift_labels": labels}
    inputs = {name: torch.tensor([values]) for name, values in row.items()}
    return PackedRow({**inputs, **_bounds(parts)}, places)


def _bounds(parts: Sequence[PackedPart]) -> dict[str, Any]:
    """Where parts begin among queries and among keys, and which token each key is."""
    torch = need("torch")
    queries = [part.length for part in parts]
    keys = [part.shared + part.length for part in parts]
    spans = [
        torch.arange(start, start + length)
        for part in parts
        for start, length in ((part.prefix, part.shared), (part.start, part.length))
    ]
    return {
        "cu_seq_lens_q": _ends(queries),
        "cu_seq_lens_k": _ends(keys),
        "max_length_q": max(queries),
        "max_length_k": max(keys),
        "key_tokens": torch.cat(spans),
    }


def _ends(lengths: Sequence[int]) -> Any:
    torch = need("torch")
    return torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)


def use_packing(model: Any) -> None:
    """Have a model's attention read rows as well as padded batches."""
    transformers = need("transformers")
    # A compiler gains nothing by looking into attention, and its bounds change with every row.
    seen = need("torch").compiler.disable(attend)
    transformers.AttentionInterface.register(ATTENTION, seen)
    transformers.AttentionMaskInterface.register(ATTENTION, _mask)
    model.set_attn_implementation(ATTENTION)


def attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **settings: Any
) -> tuple[Any, None]:
    """Causal attention within the parts of a row, which has no mask.

    Of anything else, what transformers does.
    """
    if settings.get("cu_seq_lens_q") is None:
        sdpa = need("transformers.integrations.sdpa_attention").sdpa_attention_forward
        seen: tuple[Any, None] = sdpa(module, query, key, value, attention_mask, **settings)
        return seen
    window = settings.get("sliding_window") or settings["max_length_k"]
    if window < settings["max_length_k"] or any(settings.get(name) for name in UNKNOWN):
        raise ValueError(f"{type(module).__name__} attends in a way that rows do not; unset packed")
    # Keys of a prompt get a gradient from each of its rollouts: 16 bits would lose the small ones.
    tokens = settings.get("key_tokens")
    query, key, value = (each[0].transpose(0, 1) for each in (query, key, value))
    if tokens is not None:
        key, value = (each.float()[tokens].to(value.dtype) for each in (key, value))
    flash = _flash if query.device.type == "cuda" else _plain
    return flash(query.to(value.dtype), key.to(value.dtype), value, settings)[None], None


def _flash(query: Any, key: Any, value: Any, settings: Mapping[str, Any]) -> Any:
    """Of tokens by heads by width; a part's last query sees all of its keys."""
    return need("torch").ops.aten._flash_attention_forward(
        query.contiguous(),
        key.contiguous(),
        value.contiguous(),
        settings["cu_seq_lens_q"],
        settings["cu_seq_lens_k"],
        settings["max_length_q"],
        settings["max_length_k"],
        0.0,
        True,
        False,
        scale=settings.get("scaling"),
    )[0]


def _plain(query: Any, key: Any, value: Any, settings: Mapping[str, Any]) -> Any:
    """The same, part by part."""
    torch = need("torch")
    sdpa = torch.nn.functional.scaled_dot_product_attention
    ends = zip(_pairs(settings["cu_seq_lens_q"]), _pairs(settings["cu_seq_lens_k"]), strict=True)
    seen = []
    for (q_from, q_to), (k_from, k_to) in ends:
        some = (query[q_from:q_to], key[k_from:k_to], value[k_from:k_to])
        mask = torch.ones(q_to - q_from, k_to - k_from, dtype=torch.bool)
        late = mask.tril(k_to - k_from - (q_to - q_from))
        # Batches have a kernel that keeps no attention weights: a tenth of the memory.
        parts = (each.transpose(0, 1)[None] for each in some)
        scale = settings.get("scaling")
        (made,) = sdpa(*parts, attn_mask=late, scale=scale, enable_gqa=True)
        seen.append(made.transpose(0, 1))
    return torch.cat(seen)


def _pairs(ends: Any) -> Iterator[tuple[int, int]]:
    return pairwise(ends.tolist())


def _mask(*args: Any, attention_mask: Any = None, **settings: Any) -> Any:
    """A mask for padded batches; a row has none, and would need one as wide as it is long."""
    if attention_mask is None:
        return None
    sdpa_mask = need("transformers.masking_utils").sdpa_mask
    return sdpa_mask(*args, attention_mask=attention_mask, **settings)


def trainer() -> Any:
    """TRL's GRPO trainer, that reads rows."""
    utils = need("trl.trainer.utils")

    class Packed(need("trl").GRPOTrainer):  # type: ignore[misc]
        _buffered_inputs: Any

        def _prepare_inputs(self, generation_batch: Any) -> Any:
            """As TRL, but groups stay together: all of a step is one update, in any order."""
            if not self.model.training:
                return super()._prepare_inputs(generation_batch)
            every = self.args.steps_per_generation
            if self._step % (every * self.num_iterations) == 0 or self._buffered_inputs is None:
                scored = self._generate_and_score_completions(generation_batch)
                self._buffered_inputs = utils.split_tensor_dict(scored, every)
            return self._buffered_inputs[self._step % every]

        def _get_per_token_logps_and_entropies(
            self,
            model: Any,
            input_ids: Any,
            attention_mask: Any,
            logits_to_keep: int,
            *,
            batch_size: int | None = None,
            compute_entropy: bool = False,
            **_: Any,
        ) -> tuple[Any, Any, None]:
            torch = need("torch")
            size = batch_size or len(input_ids)
            found: tuple[list[Any], list[Any]] = ([], [])
            for at in range(0, len(input_ids), size):
                ids, mask = input_ids[at : at + size].cpu(), attention_mask[at : at + size].cpu()
                row = lay_out(*_unpadded(ids, mask.bool(), logits_to_keep))
                inputs = {name: _moved(value, input_ids) for name, value in row.inputs.items()}
                with self.accelerator.autocast():
                    seen = model(**inputs, fused_lm_head=True)
                found[0].append(row.spread(seen.log_probs[0], logits_to_keep))
                if compute_entropy:
                    found[1].append(row.spread(seen.entropy[0], logits_to_keep))
            entropies = torch.cat(found[1]) if compute_entropy else None
            return torch.cat(found[0]), entropies, None

    return Packed


def _unpadded(ids: Any, mask: Any, kept: int) -> tuple[list[list[int]], list[list[int]]]:
    """Prompts, padded on their left, and completions, padded on their right, without padding."""
    pairs = list(zip(ids, mask, strict=True))
    prompts = [row[:-kept][seen[:-kept]].tolist() for row, seen in pairs]
    return prompts, [row[-kept:][seen[-kept:]].tolist() for row, seen in pairs]


def _moved(value: Any, like: Any) -> Any:
    return value.to(like.device, non_blocking=True) if not isinstance(value, int) else value
