"""The folder of a training run: recipe, versions, metrics, sampled rollouts, checkpoints, plots.

A trainer calls `note` with the rollouts of a step and has `watch()` among its callbacks. A killed
run resumes from its last complete checkpoint; what was recorded after it is deleted.
"""

import math
import platform
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median, pstdev
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec

from provegym import servers
from provegym.errors import UserError
from provegym.files import appending, make_folder, write_atomically
from provegym.lines import sums_file
from provegym.models.optional import installed
from provegym.rewards import COMPONENTS, paid
from provegym.rewards.explain import success_line
from provegym.rewards.success import rates, verdict_of
from provegym.terminal import say
from provegym.trace import Json, Rollout, numbered, write
from provegym.train.recipe import Grpo, Recipe, Sft
from provegym.train.saving import saving
from provegym.worlds.files import copy_worlds

if TYPE_CHECKING:
    from provegym.players.local import Trajectory

PACKAGES = ("provegym", "torch", "transformers", "trl", "peft", "datasets", "accelerate", "vllm")
LOGGED = (
    *("loss", "grad_norm", "learning_rate", "kl", "entropy", "mean_token_accuracy", "epoch"),
    "effective_samples",
)
# Success is reported over all rollouts, so not as a component, which some rollouts lack.
PAID = tuple(part for part in COMPONENTS if part != "success")
CHECKPOINT = "checkpoint-"
PLOTTED_EVERY = 120.0
JUMP, LEAST = 20, 0.02
# Settings that do not change the result of a step.
FREE = {
    *("steps", "batch", "checkpointing", "compiled", "vllm_memory", "patience"),
    *("save_every", "keep", "report", "sample_every", "samples"),
}


class TrainError(UserError):
    """A run cannot start or continue; the message says what to change."""


class Run:
    """A training run in progress."""

    def __init__(
        self, folder: Path, recipe: Recipe, toml: str = "", resume: bool = False, first: bool = True
    ) -> None:
        """Begin or resume a run. Of several processes only the first writes."""
        self.folder, self.recipe, self.first = folder, recipe, first
        self.checkpoints = folder / "checkpoints"
        self.metrics = folder / "metrics.jsonl"
        self.history: list[Json] = []
        self._noted: Json = {}
        self._began = self._plotted = 0.0
        if not first:
            return
        if self.metrics.exists() and not resume:
            raise TrainError(
                f"{folder} holds a run; continue it with --resume, or name another --out"
            )
        make_folder(folder)
        for left in folder.rglob("*.part"):  # by a process that was killed; the folder is locked
            if left.is_file():
                left.unlink()
        if resume:
            self._take_back()
        write_atomically(folder / "recipe.toml", toml)
        told = msgspec.json.format(msgspec.json.encode(versions()))
        write_atomically(folder / "versions.json", told)

    @property
    def settings(self) -> Sft | Grpo:
        """The recipe's table for this run: [grpo], or else [sft]."""
        settings = self.recipe.grpo or self.recipe.sft
        assert settings is not None
        return settings

    def last(self) -> Path | None:
        """The last complete checkpoint. Its state file is written last."""
        found = sorted(self.checkpoints.glob(f"{CHECKPOINT}*"), key=_number)
        return next((path for path in reversed(found) if _is_whole(path)), None)

    def note(
        self,
        step: int,
        trajectories: "Sequence[Trajectory]",
        generation: float,
        world: float,
        more: Mapping[str, float] | None = None,
    ) -> dict[str, float]:
        """Record the rollouts of the step after this one; return their mean figures.

        `generation` and `world` are seconds: for sampling tokens, and for the rest of the rollouts.
        `more` are further figures of the step. Branches count for the tokens alone: a mean with
        them would not be that of the policy.
        """
        rollouts = [each.rollout for each in trajectories if each.fork is None]
        sampled = sum(sum(trajectory.mask) for trajectory in trajectories)
        told = sum(len(each.completion) for each in trajectories) - sampled
        figures = {**summary(rollouts), **(more or {})}
        self._noted = {
            **figures,
            **tallies(rollouts),
            "tokens": sampled,
            "told_tokens": told,
            "tokens_per_second": sampled / generation if generation else 0.0,
            "generation_seconds": generation,
            "world_seconds": world,
        }
        grpo = self.recipe.grpo
        if grpo and self.first and (step // grpo.iterations + 1) % grpo.sample_every == 0:
            apart = max(1, len(rollouts) // grpo.samples)
            kept = rollouts[::apart][: grpo.samples]
            folder = self.folder / "rollouts"
            folder.mkdir(exist_ok=True)
            copy_worlds({each.example.server for each in kept}, folder / servers.BESIDE)
            write(folder / f"step-{step + 1:06}.jsonl", numbered(kept))
        return figures

    def last_figure(self, name: str) -> float:
        """The last value of a figure, 0 before the first."""
        return next((float(past[name]) for past in reversed(self.history) if name in past), 0.0)

    def begin(self) -> None:
        """Start the clock of a step."""
        self._began = perf_counter()

    def finish(self, step: int, steps: int, logs: Mapping[str, float]) -> None:
        """Record and print a finished step; stop the run if it cannot learn any more."""
        seconds = perf_counter() - self._began
        known = {name: logs[name] for name in LOGGED if name in logs}
        line = {"step": step, **self._noted, **known, "seconds": seconds}
        if self._noted:
            apart = self._noted["generation_seconds"] + self._noted["world_seconds"]
            line["training_seconds"] = max(0.0, seconds - apart)
        self._noted = {}
        self.history.append(line)
        with appending(self.metrics) as append:
            append(msgspec.json.encode(line) + b"\n")
        recent = [past["seconds"] for past in self.history[-20:]]
        say(progress(line, steps, fmean(recent) * (steps - step)), file=sys.stderr, flush=True)
        self._check(line)
        if strange := _strange(self.history):
            say(strange, file=sys.stderr, flush=True)

    def plot(self) -> None:
        """Draw the curves so far."""
        from provegym.train.plots import draw

        draw(self.history, self.folder / "plots")
        self._plotted = perf_counter()

    def watch(self) -> Any:
        """A callback for a trainer of transformers that records its steps in this run."""
        from transformers import TrainerCallback

        run = self

        class Watch(TrainerCallback):  # type: ignore[misc, unused-ignore]
            def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                run.begin()

            def on_log(self, args: Any, state: Any, control: Any, **more: Any) -> None:
                if state.is_world_process_zero and "loss" in more["logs"]:
                    run.finish(state.global_step, state.max_steps, more["logs"])

            def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                # Drawing takes seconds, too long to do at every checkpoint.
                if state.is_world_process_zero and perf_counter() - run._plotted > PLOTTED_EVERY:
                    run.plot()

        return Watch()

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Turn a lack of memory, and of space for checkpoints, into a message that says it."""
        try:
            with saving(self.checkpoints):
                yield
        except RuntimeError as problem:
            # Torch raises a RuntimeError on the GPU and on the CPU.
            if "out of memory" not in str(problem) and "allocate memory" not in str(problem):
                raise
            raise TrainError(
                f"out of memory after step {len(self.history)}; {_smaller(self.recipe)}"
            ) from None

    def _check(self, line: Json) -> None:
        for name in ("loss", "grad_norm"):
            if not math.isfinite(line.get(name, 0.0)):
                raise TrainError(
                    f"{name} is {line[name]} at step {line['step']}; begin another"
                    f" run{self._good()} with a lower lr (now {self.settings.lr}) or"
                    " model.dtype=float32"
                )
        if self.recipe.grpo is None:
            return
        patience = self.recipe.grpo.patience
        recent = [past for past in self.history if "equal_groups" in past][-patience:]
        if len(recent) == patience and all(past["equal_groups"] == 1 for past in recent):
            reward = fmean(past["reward"] for past in recent)
            steps = line["step"] - recent[0]["step"] + 1
            raise TrainError(
                f"for {steps} steps all rollouts of each group earned the same reward (mean"
                f" {reward:.2f}), so there is nothing to learn from; train with [sft] first,"
                " raise grpo.temperature or choose other examples"
            )

    def _good(self) -> str:
        """The option by which another run starts from the last checkpoint, if there is one."""
        model, last = self.recipe.model, self.last()
        key = "model.adapter" if model.lora or model.adapter else "model.name"
        return f" from the last good weights by --set {key}={last}," if last else ""

    def _take_back(self) -> None:
        """Delete what was recorded after the last complete checkpoint."""
        kept = _number(last) if (last := self.last()) else 0
        for path in self.checkpoints.glob(f"{CHECKPOINT}*"):
            if _number(path) > kept:
                shutil.rmtree(path)
        for path in self.folder.glob("rollouts/step-*.jsonl"):
            if _number(path.with_suffix("")) > kept:
                path.unlink()
                sums_file(path).unlink(missing_ok=True)
        if self.metrics.exists():
            self.history = [past for past in _read_metrics(self.metrics) if past["step"] <= kept]
            text = b"".join(msgspec.json.encode(past) + b"\n" for past in self.history)
            write_atomically(self.metrics, text)


def _strange(history: Sequence[Json]) -> str:
    """A warning if the KL divergence jumped at the last step; else empty.

    One update changes a model only a little. If the KL divergence jumps, vLLM sampled tokens that
    have a probability near zero in the trained model: the two compute different things.
    """
    *past, last = history[-11:]
    usual = max(LEAST, median(each.get("kl", 0.0) for each in past)) if past else math.inf
    if last.get("kl", 0.0) <= JUMP * usual:
        return ""
    return (
        f"step {last['step']}: KL {last['kl']:.1f}, usually {usual:.2f}: some sampled tokens have a"
        " probability near zero in the trained model; if this continues, vLLM computes something"
        " else than the trainer (try another version of vLLM, or other graph settings)"
    )


def summary(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """The mean figures of a batch of rollouts. Components are averaged where they exist."""
    rewards = [paid(rollout) for rollout in rollouts]
    figures = {"reward": fmean(rewards), "reward_std": pstdev(rewards)}
    for part in PAID:
        values = [r.reward.parts[part] for r in rollouts if r.reward and part in r.reward.parts]
        if values:
            figures[part] = fmean(values)
    calls = [call for rollout in rollouts for call in rollout.calls]
    groups: dict[str, set[float]] = {}
    for rollout, reward in zip(rollouts, rewards, strict=True):
        groups.setdefault(rollout.example.id, set()).add(reward)
    return {
        **figures,
        **rates([verdict_of(rollout) for rollout in rollouts]),
        "calls": len(calls) / len(rollouts),
        "valid_calls": fmean(call.checks.ran for call in calls) if calls else 0.0,
        "equal_groups": fmean(len(rewards) == 1 for rewards in groups.values()),
    }


def tallies(rollouts: Sequence[Rollout]) -> Json:
    """Counts of how rollouts ended, and of the errors of their calls."""
    errors = Counter(call.error for rollout in rollouts for call in rollout.calls if call.error)
    return {"errors": dict(errors), "endings": dict(Counter(r.ended for r in rollouts))}


def progress(line: Mapping[str, Any], steps: int, left: float) -> str:
    """A step in one line."""
    told = [f"step {line['step']}/{steps}"]
    if "reward" in line:
        told.append(f"reward {line['reward']:.3f} ± {line['reward_std']:.3f}")
        told += [f"{part} {line[part]:.2f}" for part in PAID if part in line]
        told.append(f"calls {line['calls']:.1f}, {success_line(line)}")
        told.append(f"{line['tokens_per_second']:,.0f} tokens/s")
    told.append(f"loss {line['loss']:.4f}")
    told.append(f"{line['seconds']:.1f} s, {duration(left)} left")
    return "  ".join(told)


def versions() -> Json:
    """The versions of Python, the machine and the packages."""
    found: Json = {"python": platform.python_version(), "machine": platform.platform()}
    return found | {package: installed(package) for package in PACKAGES}


def duration(seconds: float) -> str:
    """Seconds in words: hours, minutes or seconds."""
    minutes, hours = seconds / 60, seconds / 3600
    return (
        f"{hours:.1f} h"
        if hours >= 1
        else f"{minutes:.0f} min"
        if minutes >= 2
        else f"{seconds:.0f} s"
    )


def free(settings: Sft | Grpo) -> set[str]:
    """The settings that may change when a run is resumed.

    `batch` may not with the loss `bnpo`, which is a mean over each micro-batch. `steps` may not
    with a schedule that falls until the last step.
    """
    bound = {"steps"} if settings.schedule != "constant" else set()
    if isinstance(settings, Grpo) and settings.loss_type == "bnpo":
        bound.add("batch")
    return FREE.intersection(settings.__struct_fields__) - bound


def _smaller(recipe: Recipe) -> str:
    """Advice for less memory: first the settings that may change when a run is resumed."""
    if grpo := recipe.grpo:
        batch, able = f"grpo.batch (now {grpo.batch})", free(grpo)
        longest = f"limits.completion (now {recipe.limits.completion})"
        memory = [f"grpo.vllm_memory (now {grpo.vllm_memory})"] if grpo.use_vllm else []
    else:
        assert recipe.sft is not None
        batch, able = f"sft.batch (now {recipe.sft.batch})", free(recipe.sft)
        longest, memory = f"sft.max_tokens (now {recipe.sft.max_tokens})", []
    here, anew = ([batch, *memory], [longest]) if "batch" in able else (memory, [batch, longest])
    go_on = f"lower {' or '.join(here)} and --resume, which changes only the speed, or "
    return f"{go_on if here else ''}begin another run with a lower {' or '.join(anew)}"


def _number(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def _is_whole(checkpoint: Path) -> bool:
    state = checkpoint / "trainer_state.json"
    return state.exists() and bool(_decode(state.read_bytes()))


def _read_metrics(file: Path) -> Iterator[Json]:
    """The lines of a file of metrics; one that a killed process left incomplete is left out."""
    *lines, _ = file.read_bytes().split(b"\n")
    for number, text in enumerate(lines, 1):
        past = _decode(text)
        if past is None or not isinstance(past.get("step"), int):
            raise TrainError(f"{file}:{number} is damaged; take this line out, then --resume again")
        yield past


def _decode(text: bytes) -> Json | None:
    """A JSON object, or None if the text is incomplete or damaged."""
    try:
        return msgspec.json.decode(text, type=Json)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
