"""The sizes of a quickstart: some minutes on a laptop, ten for the full job, more on a GPU."""

import os
from dataclasses import dataclass
from pathlib import Path

from provegym.models.optional import need
from provegym.players.local import Limits
from provegym.train.recipe import Data, Grpo, Lora, Model, Recipe

PLAY, LEARN = Limits(1024, 1280, reply=96), Limits(1024, 640, reply=96)
# Tasks with one user turn, and tasks that end after the first reply.
ONE_TURN, ONE_REPLY = Limits(1024, 512, reply=96), Limits(400, 56, reply=56, assistant_turns=1)


@dataclass(frozen=True)
class Short:
    """The sizes of the short job, all of it on one server.

    Two models play `tasks` of `drawn` held-out examples, with `tools` shown. GRPO takes `steps`
    steps on `lessons` of the examples, with `rollouts` each, one tool shown and one reply. It
    starts from the shipped adapter with its weights times `strength`.
    """

    server: str = "filesystem"
    examples: int = 60
    drawn: int = 24
    tasks: int = 4
    tools: int = 3
    lessons: int = 4
    steps: int = 6
    rollouts: int = 4
    strength: float = 0.4
    lr: float = 1e-4
    seed: int = 0
    play: Limits = ONE_TURN
    learn: Limits = ONE_REPLY


@dataclass(frozen=True)
class Plan:
    """Numbers of examples, held-out tasks per group, GRPO steps and rollouts, and token limits.

    `together` is the number of prompts per training batch; it changes memory use, not the result.
    `short` has the sizes of the short job; all others are those of the full one.
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
    short: Short = Short()


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


def short_recipe(short: Short, tasks: Path, adapter: Path) -> Recipe:
    """The recipe of GRPO on the same few tasks at every step; no KL term, as it takes longer."""
    return Recipe(
        model=Model(adapter=str(adapter)),
        data=Data(corpus=str(tasks)),
        grpo=Grpo(
            steps=short.steps,
            prompts_per_step=short.lessons,
            rollouts=short.rollouts,
            batch=short.rollouts,
            lr=short.lr,
            beta=0.0,
            packed=True,
            checkpointing=False,
            use_vllm=False,
            save_every=1,
            sample_every=1,
            samples=short.lessons * short.rollouts,
            patience=short.steps + 1,
            report=(),
            seed=short.seed,
        ),
        limits=short.learn,
    )
