"""GRPO with TRL's own trainer, on ProveGym's worlds and reward.

    python trl_grpo.py Qwen/Qwen3-0.6B              # a model with tool calls in its chat template

TRL plays examples with one user turn: `first_turn` cuts an example after its first turn and keeps
it if it is still verified. `provegym train` plays all turns (docs/adapters/trl.md).
"""

import sys
from typing import Any

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

import provegym
from provegym.adapters.trl import environments, first_turn, reward, row

SETTINGS = {
    "output_dir": "runs/trl",
    "max_steps": 20,
    "num_generations": 4,
    "per_device_train_batch_size": 4,
    "max_completion_length": 2048,
    "max_tool_calling_iterations": 9,
}


def brief(completions: list[list[dict[str, Any]]], **_: Any) -> list[float]:
    """A reward of your own beside ours: minus 0.01 for each message of the assistant."""
    said = [[each for each in one if each["role"] == "assistant"] for one in completions]
    return [-0.01 * len(messages) for messages in said]


def build(model: str, size: int = 100, **changes: Any) -> GRPOTrainer:
    """A trainer on verified examples of two servers."""
    made = provegym.synthesize(size, servers=["banking", "maps"], mix="multi_turn")
    examples = [first for example in made if (first := first_turn(example))]
    return GRPOTrainer(
        model=model,
        args=GRPOConfig(**{**SETTINGS, **changes}),
        train_dataset=Dataset.from_list([row(example) for example in examples]),
        environment_factory=environments(examples),
        reward_funcs=[reward, brief],
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build(sys.argv[1]).train()
