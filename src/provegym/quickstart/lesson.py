"""The short quickstart's GRPO run: few tasks on one server, short enough for two cores.

It starts from the shipped adapter at a part of its strength. The base model never makes a call, so
it has nothing to learn from; the shipped adapter makes nearly all of these calls already.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from rich.progress import Progress

from provegym.models.local import load, shipped
from provegym.models.optional import need
from provegym.quickstart.folder import Figures, QuickstartFolder
from provegym.quickstart.models import Lesson, hushed
from provegym.quickstart.plan import device, short_recipe
from provegym.rewards import BEST
from provegym.trace import Example, Json, read
from provegym.train import trl
from provegym.train.start import policy, save_adapter

# The characters of a bar that stands for the largest reward.
WIDE = 30


def learn(desk: QuickstartFolder, bar: Progress) -> tuple[str, Figures]:
    """Run GRPO on the same few tasks at every step, or resume it."""
    short = desk.plan.short
    recipe = short_recipe(short, desk.lessons, desk.start)
    with hushed(desk.log):
        run = ShortRun(desk, bar, recipe)
        examples = {example.id: example for example in read(desk.lessons, Example)}
        if not (desk.start / "adapter_config.json").exists():
            weaken(short.strength, desk.start)
        need("transformers").set_seed(short.seed)
        model, tokenizer = policy(recipe.model, device())
        trl.train(recipe, run, examples, model, tokenizer)
        save_adapter(model, run.folder / "adapter")
    rewards = [past["reward"] for past in run.history]
    first, last = ends(rewards)
    told = (
        f"{len(rewards)} steps on {len(examples)} tasks with {short.rollouts} rollouts each, from"
        f" the shipped adapter at {short.strength:.0%} of its strength: mean reward {first:.2f} in"
        f" the first third of the steps, {last:.2f} in the last"
    )
    return told, {"history": run.history, "first": first, "last": last}


def weaken(strength: float, folder: Path) -> None:
    """Write the shipped adapter with its weights scaled: a model between the base and it."""
    model, _ = load("embedded", shipped(), "cpu")
    for name, weights in model.named_parameters():
        if "lora_B" in name:
            weights.data *= strength
    save_adapter(model, folder)


def ends(rewards: Sequence[float]) -> tuple[float, float]:
    """The mean of the first third of the steps, and of the last."""
    third = max(1, len(rewards) // 3)
    return fmean(rewards[:third]), fmean(rewards[-third:])


class ShortRun(Lesson):
    """A run that prints each step's reward as a bar; its curve is drawn at the end."""

    def tell(self, past: Json, steps: int) -> None:
        """Print the reward of a step."""
        drawn = "█" * round(WIDE * past["reward"] / BEST)
        self.desk.console.print(
            f"    step {past['step']:>2}/{steps}  reward {past['reward']:.2f}  {drawn}",
            highlight=False,
        )

    def plot(self) -> None:
        """Draw nothing: plots need matplotlib, which the short quickstart does without."""
