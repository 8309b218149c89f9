"""What training changed in a model, in 1.6 bits for each weight: it rose, it fell, or it stayed.

The change of a weight matrix is cut into groups of 64 neighbours. A group has one level, and each
of its weights rose by it, fell by it, or stayed; five such signs fit into a byte. Level and signs
are chosen so that the squared error is small. Vectors, such as the gains of norms, are kept whole.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from provegym.models.optional import need

FILE, FORMAT = "change.safetensors", "provegym change 1"
GROUP, ROUNDS = 64, 8
POWERS = (1, 3, 9, 27, 81)
SIGNS, LEVELS = ":signs", ":levels"


class OtherModel(ValueError):
    """A change does not belong to a model; the message says how they differ."""


class Signed(NamedTuple):
    """The signs of a change, five in a byte, and the level of each group."""

    signs: Any
    levels: Any


def sign(change: Any) -> Signed:
    """The signs and levels of a change."""
    torch = need("torch")
    flat = change.float().flatten()
    rows = torch.nn.functional.pad(flat, (0, -len(flat) % GROUP)).reshape(-1, GROUP)
    sizes = rows.abs()
    level = sizes.mean(1, keepdim=True)
    for _ in range(ROUNDS):
        moved = sizes > level / 2
        level = (sizes * moved).sum(1, keepdim=True) / moved.sum(1, keepdim=True).clamp(min=1)
    level = level.bfloat16()
    digits = torch.where(sizes > level.float() / 2, rows.sign(), 0).flatten().to(torch.uint8) + 1
    digits = torch.nn.functional.pad(digits, (0, -len(digits) % len(POWERS)))
    places = torch.tensor(POWERS, dtype=torch.uint8)
    return Signed((digits.reshape(-1, len(POWERS)) * places).sum(1).to(torch.uint8), level[:, 0])


def unsign(signed: Signed, like: Any) -> Any:
    """The change that signs and levels stand for, in the shape of a weight matrix."""
    torch = need("torch")
    groups = -(-like.numel() // GROUP)
    if (len(signed.levels), len(signed.signs)) != (groups, -(-groups * GROUP // len(POWERS))):
        raise OtherModel("a matrix has another size")
    places = torch.tensor(POWERS, dtype=torch.uint8)
    digits = (signed.signs[:, None] // places % 3).flatten()[: groups * GROUP].float() - 1
    change = digits.reshape(groups, GROUP) * signed.levels.float()[:, None]
    return change.flatten()[: like.numel()].reshape(like.shape)


def write(path: Path, new: Mapping[str, Any], old: Mapping[str, Any], base: str) -> float:
    """Write what differs between equally shaped weights; return the share of it that was lost."""
    torch = need("torch")
    kept: dict[str, Any] = {}
    whole = lost = 0.0
    for name in sorted(new):
        change = new[name].float() - old[name].float()
        if change.ndim < 2:
            kept[name] = change.contiguous()
            continue
        signed = sign(change)
        kept[name + SIGNS], kept[name + LEVELS] = signed
        whole += change.square().sum().item()
        lost += (change - unsign(signed, change)).square().sum().item()
    if not all(bool(torch.isfinite(each.float()).all()) for each in kept.values()):
        raise OtherModel("a weight is not a number")
    # One entry: safetensors writes several in any order.
    need("safetensors.torch").save_file(kept, path, metadata={FORMAT: base})
    return lost / whole if whole else 0.0


def base_of(path: Path) -> str:
    """The name of the model that was changed."""
    with need("safetensors").safe_open(path, "pt") as file:
        told = file.metadata() or {}
    if FORMAT not in told:
        raise OtherModel(f"its format is not {FORMAT!r}")
    return str(told[FORMAT])


def apply(path: Path, weights: Mapping[str, Any]) -> None:
    """Add a change to the weights of the model that was changed, in place."""
    kept = need("safetensors.torch").load_file(path)
    names = {name.removesuffix(SIGNS).removesuffix(LEVELS) for name in kept}
    if odd := sorted(names ^ set(weights)):
        raise OtherModel(f"one of them has no {odd[0]}")
    for name, value in weights.items():
        if name in kept:
            if kept[name].shape != value.shape:
                raise OtherModel(f"{name} has another size")
            value.data += kept[name].to(value.dtype)
        else:
            signed = Signed(kept[name + SIGNS], kept[name + LEVELS])
            value.data += unsign(signed, value).to(value.dtype)
