"""Saving on a full disk: whatever torch and safetensors say becomes one sentence."""

from pathlib import Path

import pytest

from files_in_trouble import full_disk
from provegym.files import CannotWrite
from provegym.train.saving import saving

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
WEIGHTS = 10_000


@pytest.mark.parametrize("most", [100, 1_000, 8_192, 30_000, 40_500])
@pytest.mark.parametrize("kind", ["torch", "safetensors"])
def test_a_file_that_does_not_fit_is_a_sentence(tmp_path: Path, kind: str, most: int) -> None:
    """Torch says something else for each place in the file at which the disk is full."""
    save = torch.save if kind == "torch" else lambda held, file: safetensors.save_file(held, file)
    held, file = {"weights": torch.zeros(WEIGHTS)}, tmp_path / "weights"
    if kind == "safetensors":
        most = min(most, 30_000)  # it is smaller
    with full_disk(most), pytest.raises(CannotWrite, match="weights: "), saving(file):
        save(held, file)


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="shapes"), saving(tmp_path):
        raise RuntimeError("shapes differ")
