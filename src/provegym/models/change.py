"""What training changed in a model, in two bits for each weight: it rose, it fell, or it stayed.

The change of a weight matrix, row after row, is cut into groups of 64. A group has one level in 16
bits, and each of its weights rose by it, fell by it, or stayed. Five such signs are the digits of a
byte in base 3, the lowest first: 0 fell, 1 stayed, 2 rose. Level and signs are chosen so that the
squared error is small. Vectors, such as the gains of norms, are kept whole.

A checksum in the file covers all of that: with one wrong bit, a level can be 10^36.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from provegym.models.optional import need

FILE, FORMAT = "change.safetensors", "provegym change 2"
GROUP, ROUNDS = 64, 8
POWERS = (1, 3, 9, 27, 81)
SIGNS, LEVELS = ":signs", ":levels"
DAMAGED = "the file is damaged; copy or make it again"
# Weights of so many dimensions are kept as signs and levels.
MATRIX = 2


class OtherModel(ValueError):
    """A change does not belong to a model; the message says how they differ."""


class Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file says: the base's name and hash, and the checksum of what it holds."""

    base: str
    fingerprint: str
    checksum: str


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
    signs, levels = signed
    groups = -(-like.numel() // GROUP)
    wanted = [(-(-groups * GROUP // len(POWERS)),), (groups,)]
    if [tuple(each.shape) for each in signed] != wanted or signs.dtype != torch.uint8:
        raise OtherModel("a matrix has another size")
    places = torch.tensor(POWERS, dtype=torch.uint8)
    digits = (signs[:, None] // places % 3).flatten()[: groups * GROUP].float() - 1
    change = digits.reshape(groups, GROUP) * levels.float()[:, None]
    return change.flatten()[: like.numel()].reshape(like.shape)


def fingerprint(weights: Mapping[str, Any]) -> str:
    """A hash of the weights of a model, rounded to 16 bits."""
    return _hash((name, weights[name].detach().bfloat16()) for name in sorted(weights))


def checksum(kept: Mapping[str, Any]) -> str:
    """A hash of what a file keeps."""
    return _hash((name, kept[name]) for name in sorted(kept))


def _hash(tensors: Iterable[tuple[str, Any]]) -> str:
    """A hash of names, types, shapes and bytes."""
    torch, mark = need("torch"), sha256()
    for name, value in tensors:
        mark.update(f"{name} {value.dtype} {tuple(value.shape)} ".encode())
        mark.update(value.contiguous().flatten().view(torch.uint8).numpy())
    return mark.hexdigest()[:32]


def write(path: Path, new: Mapping[str, Any], old: Mapping[str, Any], base: str) -> float:
    """Write what differs between equally shaped weights; return the share of it that was lost."""
    torch = need("torch")
    kept: dict[str, Any] = {}
    whole = lost = 0.0
    for name in sorted(new):
        change = new[name].float() - old[name].float()
        if change.ndim < MATRIX:
            kept[name] = change.contiguous()
            continue
        kept[name + SIGNS], kept[name + LEVELS] = signed = sign(change)
        whole += change.double().square().sum().item()
        lost += (change - unsign(signed, change)).double().square().sum().item()
    if not all(bool(torch.isfinite(each.float()).all()) for each in kept.values()):
        raise OtherModel("a weight is too large, or not a number")
    # One entry: safetensors writes several in any order.
    told = Told(base, fingerprint(old), checksum(kept))
    metadata = {FORMAT: msgspec.json.encode(told).decode()}
    path.write_bytes(need("safetensors.torch").save(kept, metadata=metadata))
    return lost / whole if whole else 0.0


def base_of(path: Path) -> str:
    """The name of the model that was changed."""
    return _told(path).base


def _told(path: Path) -> Told:
    with need("safetensors").safe_open(path, "pt") as file:
        told = file.metadata() or {}
    if FORMAT not in told:
        raise OtherModel(f"its format is not {FORMAT!r}")
    try:
        return msgspec.json.decode(told[FORMAT], type=Told)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise OtherModel(DAMAGED) from None


def apply(path: Path, weights: Mapping[str, Any]) -> None:
    """Add a change to the weights of the model that was changed, in place."""
    told = _told(path)
    kept = need("safetensors.torch").load_file(path)
    if told.checksum != checksum(kept):
        raise OtherModel(DAMAGED)
    if told.fingerprint != fingerprint(weights):
        raise OtherModel(f"its base, {told.base}, has other weights here than when it was made")
    for name, value in weights.items():
        if value.ndim < MATRIX:
            change = _taken(kept, name)
            if change.shape != value.shape:
                raise OtherModel(f"{name} has another size")
        else:
            change = unsign(Signed(_taken(kept, name + SIGNS), _taken(kept, name + LEVELS)), value)
        value.data += change.to(value.dtype)
    if kept:
        raise OtherModel(f"its base has no {min(kept)}")


def _taken(kept: dict[str, Any], name: str) -> Any:
    if name not in kept:
        raise OtherModel(f"it has no {name}")
    return kept.pop(name)
