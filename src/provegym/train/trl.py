"""GRPO with TRL's GRPOTrainer and a custom rollout function, on one machine.

TRL knows an example only by its id. The rollout function returns tokens, a loss mask and rewards.
TRL itself applies no chat template and tokenises nothing.
"""

import gc
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import msgspec

from provegym.models.codec import Codec, TooLong
from provegym.models.optional import need
from provegym.models.sampler import Sampler
from provegym.models.source import Generate, Rounds, Sampled, Source
from provegym.models.vllm import Continuous
from provegym.players import local as engine
from provegym.players.gold import Unplayable
from provegym.players.local import Trajectory, opening
from provegym.trace import Example, Json
from provegym.train import packed
from provegym.train.credit import Prover, credit, per_token
from provegym.train.data import spread
from provegym.train.precision import Base, suit
from provegym.train.prefetch import Prefetcher
from provegym.train.recipe import Grpo, Recipe
from provegym.train.run import Run, TrainError
from provegym.train.sft import encode, pace

ADAPTER = "default"
STRIDE = 1_000_003
LOOKED_AT = 1_024


def train(
    recipe: Recipe, run: Run, examples: Mapping[str, Example], model: Any, tokenizer: Any
) -> None:
    """Train a model until the recipe's last step, or resume from the run's last checkpoint.

    A model with an adapter is passed to TRL as it is, so that the reference model of the KL term is
    the base with the adapter it started from.
    """
    grpo = _settings(recipe)
    codec = Codec(tokenizer, recipe.limits.prompt)
    rows = choose(recipe, codec, examples)
    model = suit(model, recipe, grpo)
    make = packed.trainer() if grpo.packed else need("trl").GRPOTrainer
    roller = Roller(recipe, run, codec, Base(model), Prefetcher(rows, examples))
    make = _credited(make, roller) if grpo.credit == "turn" else make
    # TRL warns at every start that rollout_func may change.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*rollout_func.*", UserWarning)
        trainer = make(
            model=model,
            args=arguments(recipe, run, model.device.type),
            reward_funcs=reward,
            rollout_func=roller,
            train_dataset=need("datasets").Dataset.from_dict({"prompt": rows}),
            processing_class=tokenizer,
            callbacks=[run.watch()],
        )
    # The run prints a line per step itself.
    trainer.remove_callback(need("transformers").PrinterCallback)
    last = run.last()
    if last is not None:
        _restore(model, last)
    with run.guard(), without_garbage():
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    if not isinstance(model, need("peft").PeftModel):
        trainer.save_model(str(run.folder / "model"))


@contextmanager
def without_garbage() -> Iterator[None]:
    """Freeze the garbage collector, so that it does not scan the libraries' objects again."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class Roller:
    """The rollout function that TRL calls at each generation."""

    def __init__(
        self, recipe: Recipe, run: Run, codec: Codec, base: Base, ahead: Prefetcher
    ) -> None:
        self.recipe, self.run, self.codec, self.base, self.ahead = recipe, run, codec, base, ahead
        self.advantages: list[list[float]] = []

    # TRL reads the name of the function for its logs.
    __name__ = "rollouts"

    def __call__(self, ids: Sequence[str], trainer: Any) -> Json:
        """Play one rollout for each id, and return tokens, loss masks and rewards."""
        # TRL has just merged the adapter to send the weights to vLLM.
        self.base.put_back()
        step = trainer.state.global_step
        watch = Stopwatch(self._source(trainer, step))
        began, read = perf_counter(), self.codec.seconds
        self.ahead.wait()
        trajectories = engine.run(
            [self.ahead.examples[each] for each in ids],
            watch,
            self.codec,
            self.recipe.limits,
            self.recipe.reward,
        )
        more = self._credit(trajectories)
        # The time for tokenising and decoding counts as generation.
        generation = watch.seconds + self.codec.seconds - read
        world = perf_counter() - began - generation
        figures = self.run.note(step, trajectories, generation, world, more)
        self.ahead.draw(ids)
        masked = _settings(self.recipe).mask_truncated
        return {**columns(trajectories, self.codec.end, masked), "figures": figures}

    def _credit(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        """Keep the advantages of the tokens, if each reply has its own; return their figures."""
        grpo = _settings(self.recipe)
        if grpo.credit == "rollout":
            return {}
        provers: dict[str, Prover] = {}
        potentials = []
        for each in trajectories:
            key = each.example.id
            if key not in provers:
                provers[key] = Prover(each.example, self.recipe.reward, grpo.credit_reach)
            found = provers[key].potentials(each.rollout)
            potentials.append(found or [0.0] * len(each.starts))
        rewards = [each.rollout.reward for each in trajectories]
        made = credit(
            [None if reward is None else reward.total for reward in rewards],
            potentials,
            grpo.rollouts,
            self.run.last_figure("credit_slope"),
            scaled=grpo.scale_rewards != "none",
        )
        self.advantages = [
            per_token(each.starts, some, max(1, len(each.completion)))
            for each, some in zip(trajectories, made.advantages, strict=True)
        ]
        return {
            "credit_slope": made.slope,
            "advantage_variance": made.variance,
            "plain_advantage_variance": made.plain_variance,
        }

    def _source(self, trainer: Any, step: int) -> Source:
        grpo = _settings(self.recipe)
        if trainer.use_vllm and grpo.vllm_mode == "server":
            return Rounds(vllm(trainer.vllm_generation))
        if trainer.use_vllm:
            asked = None if grpo.vllm_correction == "none" else 0
            drawn = {"temperature": grpo.temperature, "top_p": grpo.top_p, "top_k": grpo.top_k}
            return Continuous(trainer.vllm_generation.llm, logprobs=asked, **drawn)
        # Every step has its own seed, so a resumed run draws the same tokens.
        seed = grpo.seed * STRIDE + step
        model = trainer.accelerator.unwrap_model(trainer.model)
        seed = seed * STRIDE + trainer.accelerator.process_index
        sampler = Sampler(model, trainer.processing_class, trainer.temperature, seed)
        return Rounds(sampler.generate)


def _credited(base: Any, roller: Roller) -> Any:
    """A trainer that gives each token the advantage of its reply."""

    class Credited(base):  # type: ignore[misc]
        def _generate_and_score_completions(self, inputs: Any) -> Any:
            scored = super()._generate_and_score_completions(inputs)
            plain, ids = scored["advantages"], scored["completion_ids"]
            made = plain.new_zeros(ids.shape)
            for at, row in enumerate(roller.advantages):
                made[at, : len(row)] = plain.new_tensor(row)
            return {**scored, "advantages": made}

    return Credited


class Stopwatch(Source):
    """A source of tokens that measures the seconds generation takes."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.seconds = 0.0

    def ask(self, seat: int, context: list[int], most: int) -> None:
        """Pass a request on, and measure its time."""
        began = perf_counter()
        self._source.ask(seat, context, most)
        self.seconds += perf_counter() - began

    def take(self) -> Mapping[int, Sampled]:
        """Take the finished replies, and measure the time."""
        began = perf_counter()
        given = self._source.take()
        self.seconds += perf_counter() - began
        return given


def vllm(backend: Any) -> Generate:
    """Sample from TRL's vLLM, which has the weights of this step; logprobs include temperature."""

    def generate(contexts: list[list[int]], most: int) -> list[Sampled]:
        backend.max_completion_length = most
        _, ids, logprobs, _ = backend.generate(prompts=contexts, images=None, num_generations=1)
        return [
            Sampled(list(row), [_number(best[0]) for best in values])
            for row, values in zip(ids, logprobs, strict=True)
        ]

    return generate


def columns(trajectories: Sequence[Trajectory], end: int, masked: bool = False) -> Json:
    """Rollouts as TRL expects them. An empty completion becomes one masked end token.

    If truncated rollouts are masked, TRL masks those whose last reply was cut. A rollout whose last
    reply is complete, but that had no tokens left for the tool result, is masked here.
    """
    if masked:
        trajectories = [
            _mask(each) if each.rollout.ended == "tokens" else each for each in trajectories
        ]
    said = [bool(each.completion) for each in trajectories]
    pairs = list(zip(trajectories, said, strict=True))
    rewards = [each.rollout.reward for each in trajectories]
    return {
        "prompt_ids": [each.prompt or [end] for each in trajectories],
        "completion_ids": [each.completion if full else [end] for each, full in pairs],
        "env_mask": [each.mask if full else [0] for each, full in pairs],
        "logprobs": [each.logprobs if full else [0.0] for each, full in pairs],
        "paid": [None if paid is None else paid.total for paid in rewards],
    }


def _mask(trajectory: Trajectory) -> Trajectory:
    return replace(trajectory, mask=[0] * len(trajectory.mask))


def reward(
    paid: list[float | None],
    figures: list[dict[str, float]],
    log_metric: Callable[[str, float], None],
    **_: Any,
) -> list[float | None]:
    """The rewards of the rollouts; None for one that a bug of a server ended."""
    for name, value in figures[0].items():
        log_metric(f"world/{name}", value)
    return paid


def arguments(recipe: Recipe, run: Run, device: str) -> Any:
    """The GRPOConfig of TRL for a recipe. Each setting that changes the result is given."""
    grpo, limits = _settings(recipe), recipe.limits
    args = need("trl").GRPOConfig(
        **pace(run, device),
        **_vllm_settings(recipe),
        max_steps=grpo.steps,
        max_completion_length=limits.completion,
        num_generations=grpo.rollouts,
        generation_batch_size=grpo.sequences,
        num_iterations=grpo.iterations,
        beta=grpo.beta,
        epsilon=grpo.epsilon,
        epsilon_high=grpo.epsilon_high,
        loss_type=grpo.loss_type,
        scale_rewards=grpo.scale_rewards,
        importance_sampling_level=grpo.importance_level,
        use_bias_correction_kl=grpo.unbiased_kl,
        mask_truncated_completions=grpo.mask_truncated,
        temperature=grpo.temperature,
        top_p=grpo.top_p,
        top_k=grpo.top_k,
        disable_dropout=True,
        shuffle_dataset=False,
    )
    args.gradient_accumulation_steps = args.steps_per_generation
    if args.world_size > 1 and (grpo.vllm_mode == "server" or grpo.vllm_parallel > 1):
        raise TrainError(
            "rollouts of several processes end at different times, and cannot share one vLLM: set"
            ' grpo.vllm_mode="colocate" and grpo.vllm_parallel=1, or start one process'
        )
    return args


def _vllm_settings(recipe: Recipe) -> Json:
    grpo, limits = _settings(recipe), recipe.limits
    if not grpo.use_vllm:
        if grpo.top_p < 1 or grpo.top_k:
            raise TrainError("grpo.top_p and grpo.top_k need grpo.use_vllm=true; leave them out")
        if grpo.compiled:
            raise TrainError(
                "grpo.compiled needs grpo.use_vllm=true: sampling would compile at every token"
            )
        return {"use_vllm": False}
    corrected = grpo.vllm_correction != "none"
    return {
        "use_vllm": True,
        "vllm_mode": grpo.vllm_mode,
        "vllm_server_base_url": grpo.vllm_server or None,
        "vllm_gpu_memory_utilization": grpo.vllm_memory,
        "vllm_tensor_parallel_size": grpo.vllm_parallel,
        "vllm_max_model_length": limits.prompt + limits.completion + limits.reply,
        "vllm_importance_sampling_correction": corrected,
        **({"vllm_importance_sampling_mode": grpo.vllm_correction} if corrected else {}),
    }


def choose(recipe: Recipe, codec: Codec, examples: Mapping[str, Example]) -> list[str]:
    """The ids of a run's examples, in training order."""
    grpo = _settings(recipe)
    rows = list(islice(_rows(recipe, codec, examples), grpo.steps * grpo.prompts_per_step))
    if len(rows) < grpo.prompts_per_step:
        raise TrainError(_too_few(recipe, codec, examples, len(rows)))
    return rows


def _too_few(recipe: Recipe, codec: Codec, examples: Mapping[str, Example], found: int) -> str:
    """The message that too few examples fit for one step, and what to change."""
    grpo, gold = _settings(recipe), recipe.data.gold
    any_gold = msgspec.structs.replace(recipe, data=msgspec.structs.replace(recipe.data, gold=None))
    short = found if gold is None else sum(1 for _ in _rows(any_gold, codec, examples))
    answers = f" and right answers of at most {gold}" if short > found else ""
    remedies = [
        *(["raise data.gold"] if short > found else []),
        *(["raise limits.prompt", "lower data.limit"] if short < len(examples) else []),
        "lower grpo.prompts_per_step",
    ]
    return (
        f"{found} of {len(examples)} examples have prompts of at most {recipe.limits.prompt}"
        f" tokens{answers}, and a step takes {grpo.prompts_per_step}: {', or '.join(remedies)}"
    )


def _rows(recipe: Recipe, codec: Codec, examples: Mapping[str, Example]) -> Iterator[str]:
    """The ids of the examples that fit, shuffled by the recipe's seed."""
    order = sorted(examples)
    Random(_settings(recipe).seed).shuffle(order)
    fits = partial(_fits, codec=codec, gold=recipe.data.gold)
    for at in range(0, len(order), LOOKED_AT):
        some = order[at : at + LOOKED_AT]
        good = spread(fits, [examples[each] for each in some])
        yield from (each for each, fine in zip(some, good, strict=True) if fine)


def _fits(example: Example, codec: Codec, gold: int | None) -> bool:
    """Whether the prompt of an example and its gold completion are short enough."""
    try:
        start = len(opening(example, codec))
        return gold is None or len(encode(example, codec, sys.maxsize).input_ids) <= start + gold
    except (TooLong, Unplayable):
        return False


def _restore(model: Any, checkpoint: Path) -> None:
    """Load the adapter of a checkpoint.

    The trainer of transformers does so only if a model has one adapter. TRL adds a reference
    adapter; then transformers loads that one alone.
    """
    peft = need("peft")
    if isinstance(model, peft.PeftModel):
        weights = peft.load_peft_weights(str(checkpoint), device="cpu")
        peft.set_peft_model_state_dict(model, weights, ADAPTER)


def _settings(recipe: Recipe) -> Grpo:
    if recipe.grpo is None:
        raise TrainError("the recipe has no [grpo] table; add one, or train its [sft]")
    return recipe.grpo


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
