"""Compresses a fully fine-tuned model to what training changed, an eighth of its size.

The folder that comes out is used like any folder of a model (provegym.models.local).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from provegym.errors import UserError
from provegym.files import atomic_folder, locked_file, make_folder
from provegym.models import change
from provegym.models.local import NoModel, load

# Settings that do not change what a model computes. Trainers write the token ids anew.
IDLE = {
    *("_name_or_path", "architectures", "dtype", "torch_dtype", "transformers_version"),
    *("use_cache", "pad_token_id", "bos_token_id", "eos_token_id"),
}


class CannotCompress(UserError):
    """A model and a base that do not fit together, or a folder that is taken."""


class Compressed(msgspec.Struct, frozen=True):
    """A compressed model: its bytes, its weights, and the share of the squared change it lost."""

    bytes: int
    weights: int
    lost: float


def compress(full: Path, base: str, out: Path) -> Compressed:
    """Write the change from `base` to the fine-tuned model `full`."""
    if (full / "adapter_config.json").exists():
        raise NoModel(f"{full} is an adapter, which is small already; name the folder of a model")
    if (full / change.FILE).exists():
        raise NoModel(f"{full} is compressed already")
    if not (full / "config.json").exists():
        raise NoModel(f"{full} is no model folder: it has no config.json")
    make_folder(out.resolve().parent)
    with locked_file(out):
        if out.exists():
            raise CannotCompress(f"{out} exists already; name another --out")
        new_model, new_words = load(full, None, "cpu")
        old_model, old_words = load(base, None, "cpu")
        new, old = _weights(new_model), _weights(old_model)
        _check_same(full, base, new, old)
        _check_alike(full, base, _settings(new_model), _settings(old_model))
        _check_alike(full, base, _words(new_words), _words(old_words))
        with atomic_folder(out) as part:
            try:
                lost = change.write(part / change.FILE, new, old, base)
            except change.OtherModel as problem:
                raise CannotCompress(f"{full} cannot be compressed: {problem}") from None
    size = (out / change.FILE).stat().st_size
    return Compressed(size, sum(value.numel() for value in new.values()), lost)


def _weights(model: Any) -> dict[str, Any]:
    """The weights of a model; those that are tied are there once."""
    return {key: value.detach() for key, value in model.named_parameters()}


def _settings(model: Any) -> dict[str, Any]:
    """What a model's configuration says about how it computes."""
    found = model.config.to_dict()
    return {key: value for key, value in found.items() if key not in IDLE}


def _words(tokenizer: Any) -> dict[str, Any]:
    """What of a tokenizer changes the tokens of a conversation."""
    return {
        "chat template": tokenizer.chat_template,
        "end token": tokenizer.eos_token,
        "vocabulary": tokenizer.get_vocab(),
    }


def _check_alike(full: Path, base: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Refuse a model with other settings: what is compressed takes them from its base."""
    for name in sorted({*ours, *theirs}):
        if ours.get(name) != theirs.get(name):
            raise CannotCompress(
                f"{full} has another {name} than {base}, and a compressed model takes it from its"
                " base; give both the same, or name another --base"
            )


def _check_same(full: Path, base: str, new: Mapping[str, Any], old: Mapping[str, Any]) -> None:
    """Refuse a model that was not trained from the base, as far as shapes tell."""
    for name in sorted({*new, *old}):
        ours, theirs = (
            f"{tuple(weights[name].shape)}" if name in weights else "missing"
            for weights in (new, old)
        )
        if ours != theirs:
            raise CannotCompress(
                f"{full} was not trained from {base}: {name} is {ours}, and {theirs} in the base;"
                " name its base with --base"
            )
