"""GRPO with TRL's GRPOTrainer and our rollout function, on one machine.

TRL knows an example only by its id. The rollout function returns tokens, a loss mask and rewards.
TRL itself applies no chat template and tokenises nothing.
"""

import gc
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from provegym.models.codec import Codec, TooLong
from provegym.models.optional import need
from provegym.players.gold import Unplayable
from provegym.players.local import opening
from provegym.trace import Example, Json
from provegym.train import packed
from provegym.train.data import spread
from provegym.train.precision import Base, suit
from provegym.train.prefetch import Prefetcher
from provegym.train.recipe import Grpo, Recipe
from provegym.train.roller import Roller, weighted
from provegym.train.run import Run, TrainError
from provegym.train.saving import save_model
from provegym.train.sft import encode, pace

ADAPTER = "default"
LOOKED_AT = 1_024


def train(
    recipe: Recipe, run: Run, examples: Mapping[str, Example], model: Any, tokenizer: Any
) -> None:
    """Train a model until the recipe's last step, or resume from the run's last checkpoint.

    A model with an adapter is passed to TRL as it is, so that the reference model of the KL term is
    the base with the adapter it started from.
    """
    codec = Codec(tokenizer, recipe.limits.prompt)
    rows = choose(recipe, codec, examples)
    model = suit(model, recipe, _settings(recipe))
    ahead = Prefetcher(rows, examples)
    with closing(Roller(recipe, run, codec, Base(model), ahead)) as roller:
        trainer = _trainer(recipe, run, model, tokenizer, roller)
        last = run.last()
        if last is not None:
            _restore(model, last)
        with run.guard(), without_garbage():
            trainer.train(resume_from_checkpoint=str(last) if last else None)
    if not isinstance(model, need("peft").PeftModel):
        save_model(trainer, run.folder / "model")


def _trainer(recipe: Recipe, run: Run, model: Any, tokenizer: Any, roller: Roller) -> Any:
    """TRL's trainer, with our packing, credit and rollouts."""
    base = packed.trainer() if roller.grpo.packed else need("trl").GRPOTrainer
    # TRL warns at every start that rollout_func may change.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*rollout_func.*", UserWarning)
        trainer = weighted(base, roller)(
            model=model,
            args=arguments(recipe, run, model.device.type),
            reward_funcs=reward,
            rollout_func=roller,
            train_dataset=need("datasets").Dataset.from_dict({"prompt": roller.ahead.order}),
            processing_class=tokenizer,
            callbacks=[run.watch()],
        )
    # The run prints a line per step itself.
    trainer.remove_callback(need("transformers").PrinterCallback)
    return trainer


@contextmanager
def without_garbage() -> Iterator[None]:
    """Freeze the garbage collector, so that it does not scan the libraries' objects again."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


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
    if not grpo.use_vllm and (grpo.top_p < 1 or grpo.top_k):
        raise TrainError("grpo.top_p and grpo.top_k need grpo.use_vllm=true; leave them out")
    if grpo.engines:
        return {"use_vllm": False}
    if not grpo.use_vllm:
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
