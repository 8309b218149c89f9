"""Turns a fully fine-tuned model into a LoRA adapter: a truncated SVD of what training changed.

For each linear layer, the difference to the base model is cut to its largest singular values. Each
matrix gets a rank of its own: of all singular values of all matrices, the adapter keeps those with
the largest square per byte, until a budget of bytes is used up.

Norms and embeddings stay as in the base. PEFT merges an adapter of tied embeddings twice, as input
and as output. A norm's change could be a part of the next matrix, but has full rank there, and
takes bytes that other changes need more.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from provegym.errors import UserError
from provegym.files import atomic_folder, locked_file, make_folder
from provegym.models.local import EMBEDDED, NoModel, load
from provegym.models.optional import need

LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
MEGABYTE = 1_000_000
TWO_BYTES = 2
WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"


class CannotExtract(UserError):
    """A model and a base that do not fit together, or a budget that is too small."""


class Extracted(msgspec.Struct, frozen=True):
    """An adapter that was written: its size, its ranks, and how much of the difference it keeps.

    `kept` is a share of the squared difference of its matrices. `left_out` is the share of other
    weights, such as the embedding, in the squared difference of all weights.
    """

    bytes: int
    matrices: int
    lowest_rank: int
    highest_rank: int
    kept: float
    left_out: float


class Factors(NamedTuple):
    """The singular value decomposition of a matrix; `left @ diag(values) @ right`."""

    left: Any
    values: Any
    right: Any

    @property
    def rank_bytes(self) -> int:
        """The bytes in bfloat16 of a column of `left` and a row of `right`."""
        return TWO_BYTES * (len(self.left) + int(self.right.shape[1]))


def extract(full: Path, base: str | Path, out: Path, megabytes: float) -> Extracted:
    """Write a LoRA adapter for `base` that comes close to the fully fine-tuned model `full`."""
    _check_folder(full)
    make_folder(out.resolve().parent)
    with locked_file(out):
        if out.exists():
            raise CannotExtract(f"{out} exists already; name another --out")
        new, old = _weights(full), _weights(base)
        _check_same(full, base, new, old)
        names = sorted(name for name in new if _is_linear(name))
        with _one_thread():
            found = {
                name.removesuffix(".weight"): _decompose(new[name], old[name]) for name in names
            }
        name = f"HuggingFaceTB/{EMBEDDED}" if str(base) == "embedded" else str(base)
        ranks, files = _fit(found, megabytes * MEGABYTE, name)
        with atomic_folder(out) as part:
            for file, content in files.items():
                (part / file).write_bytes(content)
    whole = sum(each.values.square().sum().item() for each in found.values())
    kept = sum(found[name].values[:rank].square().sum().item() for name, rank in ranks.items())
    return Extracted(
        bytes=sum(map(len, files.values())),
        matrices=len(ranks),
        lowest_rank=min(ranks.values()),
        highest_rank=max(ranks.values()),
        kept=kept / whole if whole else 1.0,
        left_out=_left_out(new, old),
    )


def _check_folder(full: Path) -> None:
    if (full / CONFIG).exists():
        raise NoModel(f"{full} is an adapter already; name the folder of a whole model")
    if not (full / "config.json").exists():
        raise NoModel(f"{full} is no model folder: it has no config.json")


def _weights(name: str | Path) -> dict[str, Any]:
    """The weights of a model in 32 bits; weights that are tied are there once."""
    model, _ = load(name, None, "cpu")
    return {key: value.detach() for key, value in model.named_parameters()}


def _check_same(
    full: Path, base: str | Path, new: Mapping[str, Any], old: Mapping[str, Any]
) -> None:
    """Refuse a model that was not trained from the base, as far as shapes tell."""
    for name in sorted({*new, *old}):
        ours, theirs = (
            f"{tuple(weights[name].shape)}" if name in weights else "missing"
            for weights in (new, old)
        )
        if ours != theirs:
            raise CannotExtract(
                f"{full} was not trained from {base}: {name} is {ours}, and {theirs} in the base;"
                " name its base with --base"
            )
    if not any(_is_linear(name) for name in new):
        raise CannotExtract(f"{full} has no layers named {', '.join(LINEAR)}; none is adapted")


def _is_linear(name: str) -> bool:
    return name.endswith(tuple(f".{each}.weight" for each in LINEAR))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch compute in one thread: equal bytes on any number of cores.

    It is no slower for matrices of this size, and much faster if other processes use the cores.
    """
    torch = need("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _left_out(new: Mapping[str, Any], old: Mapping[str, Any]) -> float:
    """The share of weights that no adapter here holds in the whole squared difference."""
    parts = {name: (new[name] - old[name]).square().sum().item() for name in new}
    left: float = sum(part for name, part in parts.items() if not _is_linear(name))
    return left / (sum(parts.values()) or 1.0)


def _decompose(new: Any, old: Any) -> Factors:
    """The factors of a difference; singular values that rounding in 32 bits causes become 0.

    The largest entry of each left singular vector is positive, so equal matrices give equal
    factors.
    """
    torch = need("torch")
    left, values, right = torch.linalg.svd(new - old, full_matrices=False)
    signs = left.gather(0, left.abs().argmax(0, keepdim=True)).sign()
    largest = max(new.abs().max().item(), old.abs().max().item())
    noise = largest * torch.finfo(new.dtype).eps * sum(size**0.5 for size in new.shape)
    return Factors(left * signs, values.masked_fill(values <= noise, 0.0), right * signs.T)


def _fit(
    found: Mapping[str, Factors], budget: float, base: str
) -> tuple[dict[str, int], dict[str, bytes]]:
    """The largest ranks whose adapter is within a budget of bytes, and its files.

    Every matrix has at least rank 1: PEFT has no rank 0.
    """
    ranks = dict.fromkeys(found, 1)
    files = _files(found, ranks, base)
    least = _size(files)
    if not least <= budget:  # also if the budget is NaN
        raise CannotExtract(
            f"an adapter of rank 1 has {least:,} bytes, more than the budget of {budget:,.0f};"
            " raise --megabytes"
        )
    order = _by_worth(found)
    sizes = accumulate((found[name].rank_bytes for name in order), initial=least)
    count = sum(1 for size in sizes if size <= budget) - 1
    # The file's header and the configuration grow with the ranks too, by a few kB.
    while count:
        more = Counter(order[:count])
        raised = {name: 1 + more[name] for name in found}
        if _size(files := _files(found, raised, base)) <= budget:
            return raised, files
        count -= 1
    return ranks, _files(found, ranks, base)


def _by_worth(found: Mapping[str, Factors]) -> list[str]:
    """Each matrix once per singular value after its first, by its square per byte."""
    worth = [
        (-value * value / factors.rank_bytes, name)
        for name, factors in found.items()
        for value in factors.values[1:].tolist()
        if value
    ]
    return [name for _, name in sorted(worth)]


def _size(files: Mapping[str, bytes]) -> int:
    return sum(map(len, files.values()))


def _files(found: Mapping[str, Factors], ranks: Mapping[str, int], base: str) -> dict[str, bytes]:
    """The files of an adapter, by name. Equal factors and ranks give equal bytes."""
    torch = need("torch")
    tensors = {}
    for name, rank in ranks.items():
        left, values, right = found[name]
        root = values[:rank].sqrt()
        down, up = root[:, None] * right[:rank], left[:, :rank] * root
        for side, factor in (("A", down), ("B", up)):
            key = f"base_model.model.{name}.lora_{side}.weight"
            tensors[key] = factor.to(torch.bfloat16).contiguous()
    weights = need("safetensors.torch").save(tensors, metadata={"format": "pt"})
    return {WEIGHTS: weights, CONFIG: _config(found, ranks, base)}


def _config(found: Mapping[str, Factors], ranks: Mapping[str, int], base: str) -> bytes:
    """PEFT's configuration. Its rank is the mean of all; each alpha equals its rank: scaling 1."""
    weighed = sum(found[name].rank_bytes * rank for name, rank in ranks.items())
    mean = round(weighed / sum(each.rank_bytes for each in found.values()))
    other = {name: rank for name, rank in sorted(ranks.items()) if rank != mean}
    config = (
        need("peft")
        .LoraConfig(
            base_model_name_or_path=base,
            task_type="CAUSAL_LM",
            inference_mode=True,
            r=mean,
            lora_alpha=mean,
            rank_pattern=other,
            alpha_pattern=other,
        )
        .to_dict()
    )
    config["target_modules"] = sorted({name.rpartition(".")[2] for name in ranks})
    return json.dumps(config, indent=2, sort_keys=True).encode() + b"\n"
