"""Sequence packing with shared beginnings (variable-length attention) in the place of padding.

TRL pads every sequence of a step to the longest, and computes a prompt once per rollout. Here a
batch is one row of tokens, a tree: each prompt once, then the completions of its rollouts, and
where completions begin alike (branches do), their beginning once. Attention gets the bounds of each
part and the keys it may see, so the results equal those of padded batches.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from provegym.models.optional import need
from provegym.models.varlen import Bounds, attention

ATTENTION = "provegym"
UNKNOWN = ("softcap", "s_aux")
IGNORED = -100
# The fewest tokens that two completions share.
SHORTEST = 16
# Losses that TRL divides by the number of tokens of the whole batch.
SUMMED = ("cispo", "dapo")


class Span(NamedTuple):
    """Some tokens of the row: the first one's place, and how many."""

    start: int
    length: int


class PackedPart(NamedTuple):
    """A part of the row, and the spans of the row that it continues, which it also sees."""

    own: Span
    before: tuple[Span, ...] = ()


class PackedRow(NamedTuple):
    """A packed batch: the model's inputs, and the spans of each completion."""

    inputs: dict[str, Any]
    places: list[tuple[Span, ...]]

    def spread(self, values: Any, width: int) -> Any:
        """Unpack values of the row's tokens into a padded batch of completions."""
        torch = need("torch")
        rows = [
            torch.cat([values[:0], *(values[at : at + length] for at, length in spans)])
            for spans in self.places
        ]
        return torch.nn.utils.rnn.pad_sequence([*rows, values.new_zeros(width)], batch_first=True)[
            :-1
        ]


class _Row:
    """A packed row in the making."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.labels: list[int] = []
        self.positions: list[int] = []
        self.parts: list[PackedPart] = []

    def add(self, ids: Sequence[int], labels: Sequence[int], before: tuple[Span, ...]) -> Span:
        """Append a part that continues these spans; returns its own span."""
        first = sum(length for _, length in before)
        own = Span(len(self.ids), len(ids))
        self.ids += ids
        self.labels += labels
        self.positions += range(first, first + len(ids))
        self.parts.append(PackedPart(own, before))
        return own


def lay_out(prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> PackedRow:
    """Pack prompts and completions into one row, a tree of what they share.

    Equal neighbouring prompts are stored once, and so is the beginning of a completion that an
    earlier one of the same prompt has. The last shared token is repeated before what differs,
    because its output predicts the first token that differs.
    """
    torch = need("torch")
    row = _Row()
    places: list[tuple[Span, ...]] = []
    before: Sequence[int] = ()
    shared: tuple[Span, ...] = ()
    told: list[tuple[Sequence[int], tuple[Span, ...]]] = []
    for prompt, completion in zip(prompts, completions, strict=True):
        if prompt != before:
            before, told = prompt, []
            head = prompt[:-1]
            shared = (row.add(head, [IGNORED] * len(head), ()),) if head else ()
        common, spans = _longest(completion, told)
        read = [prompt[-1], *completion[:-1]][common:]
        own = row.add(read, completion[common:] or [IGNORED], (*shared, *spans))
        spans = (*spans, Span(own.start, len(completion) - common))
        told.append((completion, spans))
        places.append(spans)
    made = {"input_ids": row.ids, "position_ids": row.positions, "shift_labels": row.labels}
    inputs = {name: torch.tensor([values]) for name, values in made.items()}
    return PackedRow({**inputs, **_bounds(row.parts)}, places)


def _longest(
    completion: Sequence[int], told: Sequence[tuple[Sequence[int], tuple[Span, ...]]]
) -> tuple[int, tuple[Span, ...]]:
    """How many tokens a completion shares with an earlier one, and where they are in the row.

    At least one token is left, and a beginning too short to save anything is not shared.
    """
    best = SHORTEST - 1
    found: tuple[Span, ...] = ()
    for other, spans in told:
        most = min(len(other), len(completion) - 1)
        common = next((at for at in range(most) if other[at] != completion[at]), most)
        if common > best:
            best, found = common, spans
    return (best, _first(found, best)) if found else (0, ())


def _first(spans: Sequence[Span], count: int) -> tuple[Span, ...]:
    """The spans of the first tokens of some spans."""
    found = []
    for start, length in spans:
        if count > 0:
            found.append(Span(start, min(length, count)))
        count -= length
    return tuple(found)


def _bounds(parts: Sequence[PackedPart]) -> dict[str, Any]:
    """The bounds of the parts among queries and keys, and the token index of each key."""
    torch = need("torch")
    seen = [(*part.before, part.own) for part in parts]
    queries = [part.own.length for part in parts]
    keys = [sum(length for _, length in spans) for spans in seen]
    every = [torch.arange(start, start + length) for spans in seen for start, length in spans]
    return {
        "cu_seq_lens_q": _ends(queries),
        "cu_seq_lens_k": _ends(keys),
        "max_length_q": max(queries),
        "max_length_k": max(keys),
        "key_tokens": torch.cat(every),
    }


def _ends(lengths: Sequence[int]) -> Any:
    torch = need("torch")
    return torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)


def use_packing(model: Any) -> None:
    """Make a model's attention accept packed rows as well as padded batches."""
    transformers = need("transformers")
    # torch.compile would not speed up attention, and its bounds change with every row.
    seen = need("torch").compiler.disable(attend)
    transformers.AttentionInterface.register(ATTENTION, seen)
    transformers.AttentionMaskInterface.register(ATTENTION, _mask)
    model.set_attn_implementation(ATTENTION)


def attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **settings: Any
) -> tuple[Any, None]:
    """Causal attention within the parts of a packed row, without a mask.

    Padded batches go to the SDPA attention of transformers.
    """
    if settings.get("cu_seq_lens_q") is None:
        sdpa = need("transformers.integrations.sdpa_attention").sdpa_attention_forward
        seen: tuple[Any, None] = sdpa(module, query, key, value, attention_mask, **settings)
        return seen
    window = settings.get("sliding_window") or settings["max_length_k"]
    if window < settings["max_length_k"] or any(settings.get(name) for name in UNKNOWN):
        raise ValueError(
            f"{type(module).__name__} has an attention that packed rows do not support; set"
            " packed = false"
        )
    # A prompt's keys sum the gradients of all its rollouts. In 16 bits, small ones would be lost.
    tokens = settings.get("key_tokens")
    query, key, value = (each[0].transpose(0, 1) for each in (query, key, value))
    if tokens is not None:
        # The gradient of index_select adds in place; that of plain indexing sorts all keys first.
        key, value = (each.float().index_select(0, tokens).to(value.dtype) for each in (key, value))
    bounds = Bounds(
        settings["cu_seq_lens_q"],
        settings["cu_seq_lens_k"],
        settings["max_length_q"],
        settings["max_length_k"],
    )
    scale = settings.get("scaling")
    return attention(query.to(value.dtype), key.to(value.dtype), value, bounds, scale)[None], None


def _mask(*args: Any, attention_mask: Any = None, **settings: Any) -> Any:
    """The mask of a padded batch. A packed row needs none."""
    if attention_mask is None:
        return None
    sdpa_mask = need("transformers.masking_utils").sdpa_mask
    return sdpa_mask(*args, attention_mask=attention_mask, **settings)


def without_idle(scored: Mapping[str, Any], parts: int) -> dict[str, Any]:
    """A batch without the rollouts whose advantages are all zero, for they add nothing to the loss.

    Some of them are kept if the rest cannot be divided into equal parts.
    """
    torch = need("torch")
    advantages = scored["advantages"]
    count = len(advantages)
    idle = (advantages.reshape(count, -1) == 0).all(1)
    learnt = count - int(idle.sum())
    size = max(1, -(-learnt // parts)) * parts
    kept = torch.argsort(idle.int(), stable=True)[:size].sort().values
    return {
        name: value[kept] if isinstance(value, torch.Tensor) and value.ndim else value
        for name, value in scored.items()
    }


def trainer() -> Any:
    """TRL's GRPO trainer with packed rows."""
    utils = need("trl.trainer.utils")

    class Packed(need("trl").GRPOTrainer):  # type: ignore[misc]
        _buffered_inputs: Any

        def _prepare_inputs(self, generation_batch: Any) -> Any:
            """As in TRL, but without shuffling, so that the rollouts of a prompt share a row.

            A step is one update, so the order of its rollouts does not matter.
            """
            if not self.model.training:
                return super()._prepare_inputs(generation_batch)
            every = self.args.steps_per_generation
            if self._step % (every * self.num_iterations) == 0 or self._buffered_inputs is None:
                scored = self._generate_and_score_completions(generation_batch)
                if not self.beta and self.loss_type in SUMMED:
                    scored = without_idle(scored, every)
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
    """Remove the padding: on the left of prompts, and on the right of completions."""
    pairs = list(zip(ids, mask, strict=True))
    prompts = [row[:-kept][seen[:-kept]].tolist() for row, seen in pairs]
    return prompts, [row[-kept:][seen[-kept:]].tolist() for row, seen in pairs]


def _moved(value: Any, like: Any) -> Any:
    return value.to(like.device, non_blocking=True) if not isinstance(value, int) else value
