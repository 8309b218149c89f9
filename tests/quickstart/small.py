"""A quickstart small enough for a test: a tiny model in the place of the embedded one.

Run as a program it is the command, `python small.py MODELS --out FOLDER`, with all its options.
"""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from provegym.models import local, optional
from provegym.players.local import Limits
from provegym.quickstart import run
from provegym.quickstart.plan import Plan, Short

# The folder of a quickstart, and what it said.
Whole = tuple[Path, str]
needs_models = pytest.mark.skipif(find_spec("trl") is None, reason="trl is not installed")
SMALL = Plan(
    examples=12,
    drawn=2,
    tasks=1,
    tools=1,
    steps=2,
    prompts=1,
    rollouts=2,
    play=Limits(prompt=4096, completion=512, reply=24),
    learn=Limits(prompt=4096, completion=2048, reply=24),
    short=Short(
        examples=12,
        drawn=6,
        tasks=2,
        lessons=1,
        steps=3,
        rollouts=2,
        play=Limits(prompt=4096, completion=512, reply=24),
        learn=Limits(prompt=4096, completion=24, reply=24, assistant_turns=1),
    ),
)


def build_models(folder: Path) -> None:
    """A model with a tokenizer, and an adapter for it."""
    from peft import LoraConfig, get_peft_model

    from examples import pay_example
    from train.tiny import build_model, build_tokenizer

    tokenizer = build_tokenizer([pay_example()])
    model = build_model(tokenizer)
    model.save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    config = LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM")
    get_peft_model(model, config).save_pretrained(folder / "adapter")


def missing(module: str) -> None:
    """A check of packages that finds none."""
    raise optional.NotInstalled(f"{module} is missing: {optional.INSTALL}")


def swap(folder: Path, put: Callable[[Any, str, Any], None]) -> None:
    """Have the quickstart use these models and the small plan."""
    put(local, "embedded", lambda: folder / "base")
    put(local, "ADAPTER", folder / "adapter")
    put(run, "LAPTOP", SMALL)


if __name__ == "__main__":
    from provegym.cli import main

    swap(Path(sys.argv.pop(1)), setattr)
    sys.argv.insert(1, "quickstart")
    main()
