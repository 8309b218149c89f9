"""Saves trained models: files appear whole, and a full disk is a sentence and no traceback."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from provegym.files import ADVICE, CannotWrite, atomic_folder, describe
from provegym.models.optional import need

# Torch reports a file that cannot be written by the place in its own source alone.
TORCH_WRITES = ("inline_container.cc", "PytorchStreamWriter", "iostream error")


@contextmanager
def saving(place: Path) -> Iterator[None]:
    """Turn an error of torch or safetensors about writing a file into `CannotWrite`."""
    try:
        yield
    except RuntimeError as problem:
        if not any(mark in str(problem) for mark in TORCH_WRITES):
            raise
        raise CannotWrite(f"{place}: a file could not be written; {ADVICE[errno.ENOSPC]}") from None
    except need("safetensors").SafetensorError as problem:
        found = re.search(r"os error (\d+)", str(problem))
        if found is None:
            raise
        told = OSError(int(found[1]), os.strerror(int(found[1])))
        raise CannotWrite(describe(told, place)) from None


@contextmanager
def model_folder(folder: Path) -> Iterator[str]:
    """A temporary folder to save a model to; its files get to `folder` when they are whole."""
    with atomic_folder(folder) as part, saving(folder):
        yield str(part)


def save_model(trainer: Any, folder: Path) -> None:
    """Save the model of a trainer of transformers."""
    with model_folder(folder) as part:
        trainer.save_model(part)
