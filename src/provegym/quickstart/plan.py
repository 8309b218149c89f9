"""The sizes of a quickstart: about ten minutes of work on a laptop, larger ones on a GPU."""

import os
from dataclasses import dataclass
from pathlib import Path

from provegym.models.optional import need
from provegym.players.local import Limits
from provegym.train.recipe import Data, Grpo, Lora, Model, Recipe

PLAY, LEARN = Limits(1024, 1280, reply=96), Limits(1024, 640, reply=96)


@dataclass(frozen=True)
class Plan:
    """Numbers of examples, held-out tasks per group, GRPO steps and rollouts, and token limits.

    `together` is the number of prompts per training batch; it changes memory use, not the result.
    """

    examples: int = 300
    drawn: int = 18
    tasks: int = 5
    tools: int = 4
    steps: int = 3
    prompts: int = 2
    rollouts: int = 4
    together: int = 1
    play: Limits = PLAY
    learn: Limits = LEARN


LAPTOP = Plan()
GPU = Plan(drawn=60, tasks=20, steps=10, prompts=8, rollouts=8, together=4, learn=PLAY)


def cores() -> int:
    """The number of CPU cores."""
    return os.cpu_count() or 1


def device() -> str:
    """The torch device: "cuda" if there is a GPU, else "cpu"."""
    return "cuda" if need("torch").cuda.is_available() else "cpu"


def recipe(plan: Plan, corpus: Path, adapter: Path) -> Recipe:
    """The recipe of a few GRPO steps; no KL term, because it would take a third longer."""
    return Recipe(
        model=Model(adapter=str(adapter), lora=Lora()),
        data=Data(corpus=str(corpus), limit=plan.tools, gold=plan.learn.completion),
        grpo=Grpo(
            steps=plan.steps,
            prompts_per_step=plan.prompts,
            rollouts=plan.rollouts,
            batch=plan.rollouts * plan.together,
            lr=1e-4,
            beta=0.0,
            packed=True,
            use_vllm=False,
            save_every=1,
            sample_every=1,
            samples=plan.prompts * plan.rollouts,
            patience=plan.steps + 1,
            report=(),
        ),
        limits=plan.learn,
    )
