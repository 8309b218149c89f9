"""The quickstart steps with a model: rollouts on held-out tasks, and a few GRPO steps."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rich.progress import Progress

from provegym.config import write_recipe
from provegym.evals.measure import measure
from provegym.lines import mend, recording
from provegym.models.codec import Codec
from provegym.models.local import EMBEDDED, load, shipped
from provegym.models.optional import need
from provegym.models.sampler import Sampler
from provegym.models.source import Sampled
from provegym.players.local import Local
from provegym.quickstart.folder import Figures, QuickstartFolder
from provegym.quickstart.plan import device, recipe
from provegym.rewards.explain import success_line
from provegym.trace import Example, Json, Rollout, line, read
from provegym.train import trl
from provegym.train.data import load as load_examples
from provegym.train.run import Run
from provegym.train.start import policy, save_adapter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from provegym.players.local import Trajectory

BASE, TRAINED = "base", "trained"


def base(desk: QuickstartFolder, bar: Progress) -> tuple[str, Figures]:
    """Play the tasks with the embedded model, without an adapter."""
    told, figures = _play(desk, bar, BASE, None)
    return f"{EMBEDDED} as it comes: {told}", figures


def trained(desk: QuickstartFolder, bar: Progress) -> tuple[str, Figures]:
    """Play the tasks with the LoRA adapter that the package ships."""
    told, figures = _play(desk, bar, TRAINED, shipped())
    return f"the same with the shipped adapter: {told}", figures


def grpo(desk: QuickstartFolder, bar: Progress) -> tuple[str, Figures]:
    """Take a few GRPO steps from the shipped adapter, or resume them."""
    settings = recipe(desk.plan, desk.corpus, shipped())
    with hushed(desk.log):
        run = Lesson(desk, bar, settings)
        examples = load_examples(settings.data, desk.corpus, bar)
        model, tokenizer = policy(settings.model, device())
        known = {example.id: example for example in examples}
        trl.train(settings, run, known, model, tokenizer)
        save_adapter(model, run.folder / "adapter")
        run.plot()
    rewards = [past["reward"] for past in run.history]
    seconds = sum(past["seconds"] for past in run.history) / len(rewards)
    told = (
        f"{len(rewards)} steps from that adapter, each on {desk.plan.prompts} new prompts with"
        f" {desk.plan.rollouts} rollouts each, on live worlds: mean reward"
        f" {', '.join(f'{reward:.2f}' for reward in rewards)}; {seconds:.0f} s per step"
    )
    return told, {"history": run.history}


class Lesson(Run):
    """A training run that shows its progress in the quickstart's console."""

    def __init__(self, desk: QuickstartFolder, bar: Progress, settings: Any) -> None:
        self.desk, self.bar = desk, bar
        resume = (desk.run / "recipe.toml").exists()
        super().__init__(desk.run, settings, write_recipe(settings), resume)
        self.task = bar.add_task("GRPO", total=settings.grpo.steps, completed=len(self.history))

    def begin(self) -> None:
        """Show that rollouts are being played."""
        count = self.recipe.grpo.sequences if self.recipe.grpo else 0
        self.bar.update(self.task, description=f"playing {count} rollouts")
        super().begin()

    def note(
        self,
        step: int,
        trajectories: "Sequence[Trajectory]",
        generation: float,
        world: float,
        more: Mapping[str, float] | None = None,
    ) -> dict[str, float]:
        """Show that the model learns from the rollouts."""
        self.bar.update(self.task, description=f"learning from {len(trajectories)} rollouts")
        return super().note(step, trajectories, generation, world, more)

    def finish(self, step: int, steps: int, logs: Mapping[str, float]) -> None:
        """Print the figures of a finished step."""
        super().finish(step, steps, logs)
        self.bar.update(self.task, completed=step)
        self.tell(self.history[-1], steps)

    def tell(self, past: Json, steps: int) -> None:
        """Print the figures of a step."""
        self.desk.console.print(
            f"    step {past['step']}/{steps}:"
            f" reward {past['reward']:.2f} ± {past['reward_std']:.2f}, {success_line(past)},"
            f" {past['calls']:.1f} calls per task,"
            f" {past['seconds']:.0f} s",
            style="dim",
            highlight=False,
        )


def _play(
    desk: QuickstartFolder, bar: Progress, name: str, adapter: Path | None
) -> tuple[str, Figures]:
    """Play the tasks that are not played yet, and summarise all rollouts."""
    examples, file = list(read(desk.tasks, Example)), desk.rollouts(name)
    known = {rollout.example.id for rollout in held(file)}
    task = bar.add_task("loading the model", total=len(examples), completed=len(known))
    left = [example for example in examples if example.id not in known]
    with hushed(desk.log):
        player = QuickstartPlayer(desk, bar, task, adapter)
        with recording(file) as append:
            for rollout in player.play(left, name):
                append(line(rollout))
    rollouts = list(read(file, Rollout))
    scores = {key: value.mean for key, value in measure(rollouts).items()}
    speed = player.tokens / player.seconds if player.seconds else 0.0
    told = (
        f"reward {scores['reward']:.2f}, {success_line(scores)},"
        f" {scores['calls']:.1f} calls per task"
    )
    return told, {"scores": scores, "tokens_per_second": speed, "rollouts": len(rollouts)}


def held(file: Path) -> Iterator[Rollout]:
    """The rollouts in a file, after cutting off an incomplete last line."""
    if file.exists():
        mend(file)
        yield from read(file, Rollout)


class QuickstartPlayer:
    """A model that plays tasks and shows its progress."""

    def __init__(
        self, desk: QuickstartFolder, bar: Progress, task: Any, adapter: Path | None
    ) -> None:
        self.bar, self.task, self.limits = bar, task, desk.plan.play
        self.batch = desk.plan.tasks
        model, tokenizer = load("embedded", adapter, device())
        model = model.merge_and_unload() if adapter else model
        self.codec = Codec(tokenizer, self.limits.prompt)
        self.sampler = Sampler(model, tokenizer, 0.0, 0)
        self.tokens, self.seconds = 0, 0.0

    def play(self, examples: list[Example], name: str) -> Iterator[Rollout]:
        """Yield the rollouts of some examples, played in batches."""
        local = Local(name, self.generate, self.codec, self.limits, self.batch)
        for rollout in local([example for example in examples if local.takes(example)]):
            self.bar.advance(self.task)
            yield rollout

    def generate(self, contexts: list[list[int]], most: int) -> list[Sampled]:
        """Sample the next reply of every conversation in the batch, and time it."""
        going = f"{len(contexts)} of {self.batch} conversations going on"
        self.bar.update(self.task, description=going)
        began = perf_counter()
        samples = self.sampler.generate(contexts, most)
        self.seconds += perf_counter() - began
        self.tokens += sum(len(sampled.ids) for sampled in samples)
        return samples


@contextmanager
def hushed(log: Path) -> Iterator[None]:
    """Redirect everything that libraries print to a log file."""
    logs = need("transformers").logging
    level = logs.get_verbosity()
    logs.set_verbosity_error()
    logs.disable_progress_bar()
    try:
        with log.open("a", encoding="utf-8") as out, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with redirect_stdout(out), redirect_stderr(out):
                yield
    finally:
        logs.set_verbosity(level)
        logs.enable_progress_bar()
