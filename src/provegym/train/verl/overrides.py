"""Translation of a recipe into hydra overrides for verl.

Every setting that changes a result has an override, so no result depends on verl's default.
Settings that change only the speed are left to verl: `packed`, `compiled`, `engines`, `use_vllm`
(verl always samples with vLLM). Limits and reward are in the agent file. A setting that verl does
not support is an error.
"""

import re
from collections.abc import Iterator
from math import gcd
from pathlib import Path
from typing import Any, NamedTuple

from provegym.kernel.session import MAX_RESULT_BYTES
from provegym.models.local import is_gguf
from provegym.trace import Json
from provegym.train.recipe import Grpo, Recipe
from provegym.train.run import TrainError

ACTOR, MODEL, REF, ROLLOUT = (
    f"actor_rollout_ref.{part}" for part in ("actor", "model", "ref", "rollout")
)
# How a loss is averaged over tokens. verl has no match for TRL's bnpo, which averages over a
# micro-batch, and cispo, which clips on one side only.
AVERAGES = {
    "dapo": "token-mean",
    "grpo": "seq-mean-token-mean",
    "dr_grpo": "seq-mean-token-sum-norm",
}
WORKERS = 8
# TRL's bound on the importance weight between vLLM and trainer, and verl's dual-clip bound.
# A recipe has neither.
MOST_WEIGHT, DUAL_CLIP = 3.0, 3.0
PLAIN = re.compile(r"[A-Za-z0-9_./:-]+")


class RunFiles(NamedTuple):
    """The files of a run, and the number of its GPUs."""

    folder: Path
    gpus: int = 8
    nodes: int = 1
    resume: bool = False

    @property
    def size(self) -> int:
        """The number of all GPUs."""
        return self.gpus * self.nodes

    @property
    def data(self) -> Path:
        """The examples."""
        return self.folder / "train.parquet"

    @property
    def agent(self) -> Path:
        """The agent file, which registers our loop with verl."""
        return self.folder / "agent.yaml"

    @property
    def base(self) -> Path:
        """The folder of the base model, if verl cannot load the recipe's model by name."""
        return self.folder / "base"


def overrides(recipe: Recipe, place: RunFiles) -> list[str]:
    """The command-line arguments of verl's trainer; the folder of `place` must be absolute."""
    if recipe.grpo is None:
        raise TrainError("the recipe has no [grpo] table, and verl trains nothing else here")
    for key, value, remedy in _unsaid(recipe, recipe.grpo):
        raise TrainError(f"verl cannot do {key} = {_text(value)}: {remedy}")
    if recipe.grpo.sequences % place.size or place.gpus % recipe.grpo.vllm_parallel:
        raise TrainError(
            f"{recipe.grpo.sequences} rollouts of a step, or grpo.vllm_parallel ="
            f" {recipe.grpo.vllm_parallel}, cannot be shared among {place.nodes} nodes of"
            f" {place.gpus} GPUs; change --gpus or --nodes"
        )
    settings = {
        **_data(recipe, recipe.grpo, place),
        **_loss(recipe, recipe.grpo),
        **_update(recipe, recipe.grpo, place),
        **_model(recipe, place),
        **_rollout(recipe, recipe.grpo, place),
        **_trainer(recipe.grpo, place),
    }
    return [f"{key}={_text(value)}" for key, value in settings.items()]


def has_base(recipe: Recipe) -> bool:
    """Whether verl loads a model that we save, in the place of the recipe's model name.

    verl cannot load the embedded model by name, nor a GGUF file. An adapter is merged into its
    base, and verl trains a new adapter on top, so that the reference of the KL term includes the
    adapter, as in TRL.
    """
    name = recipe.model.name
    return name == "embedded" or is_gguf(name) or bool(recipe.model.adapter)


def _unsaid(recipe: Recipe, grpo: Grpo) -> Iterator[tuple[str, Any, str]]:
    """Settings that verl does not support, and what to do."""
    lora = recipe.model.lora
    if grpo.loss_type not in AVERAGES:
        yield "grpo.loss_type", grpo.loss_type, f"take one of {', '.join(AVERAGES)}"
    if grpo.scale_rewards == "batch":
        yield "grpo.scale_rewards", "batch", "take group or none"
    if grpo.schedule == "linear":
        yield "grpo.schedule", "linear", "take constant or cosine"
    if grpo.unbiased_kl:
        yield "grpo.unbiased_kl", True, "leave it out"
    if grpo.mask_truncated:
        yield "grpo.mask_truncated", True, "leave it out"
    if grpo.vllm_correction == "sequence_mask":
        yield "grpo.vllm_correction", "sequence_mask", "take token_truncate or none"
    if grpo.vllm_mode == "server":
        yield "grpo.vllm_mode", "server", "it starts vLLM itself; take colocate"
    if grpo.credit == "turn":
        yield "grpo.credit", "turn", "leave it out"
    if grpo.branches:
        yield "grpo.branches", grpo.branches, "leave it out"
    if grpo.lag:
        yield "grpo.lag", grpo.lag, "leave it out"
    if recipe.model.positions:
        yield "model.positions", recipe.model.positions, "leave it out; it is for SFT"
    if lora and lora.dropout:
        yield "model.lora.dropout", lora.dropout, "leave it out"
    if recipe.model.adapter and not lora:
        yield "model.adapter", recipe.model.adapter, "give model.lora, which is trained on top"


def _data(recipe: Recipe, grpo: Grpo, place: RunFiles) -> Json:
    return {
        "data.train_files": str(place.data),
        # verl requires validation files, but reads none: there is no validation.
        "data.val_files": str(place.data),
        "data.train_batch_size": grpo.prompts_per_step,
        "data.max_prompt_length": recipe.limits.prompt,
        "data.max_response_length": recipe.limits.completion,
        # The examples are already filtered and shuffled, by prompts that include the tools.
        "data.shuffle": False,
        "data.filter_overlong_prompts": False,
        "data.truncation": "error",
    }


def _loss(recipe: Recipe, grpo: Grpo) -> Json:
    corrected = grpo.vllm_correction == "token_truncate"
    norm = recipe.limits.completion if grpo.loss_type == "dr_grpo" else None
    return {
        "algorithm.adv_estimator": "grpo",
        "algorithm.norm_adv_by_std_in_grpo": grpo.scale_rewards == "group",
        "algorithm.use_kl_in_reward": False,
        "algorithm.rollout_correction.rollout_is": "token" if corrected else None,
        "algorithm.rollout_correction.rollout_is_threshold": MOST_WEIGHT,
        "algorithm.rollout_correction.bypass_mode": False,
        f"{ACTOR}.policy_loss.loss_mode": (
            "gspo" if grpo.importance_level == "sequence" else "vanilla"
        ),
        f"{ACTOR}.loss_agg_mode": AVERAGES[grpo.loss_type],
        f"{ACTOR}.loss_scale_factor": norm,
        f"{ACTOR}.clip_ratio": grpo.epsilon,
        f"{ACTOR}.clip_ratio_low": grpo.epsilon,
        f"{ACTOR}.clip_ratio_high": grpo.epsilon_high,
        f"{ACTOR}.clip_ratio_c": DUAL_CLIP,
        f"{ACTOR}.entropy_coeff": 0,
        f"{ACTOR}.use_kl_loss": grpo.beta > 0,
        f"{ACTOR}.kl_loss_coef": grpo.beta,
        f"{ACTOR}.kl_loss_type": "low_var_kl",
    }


def _update(recipe: Recipe, grpo: Grpo, place: RunFiles) -> Json:
    # A GPU's share of a step may be smaller than the recipe's micro-batch.
    batch = gcd(grpo.batch, grpo.sequences // place.size)
    return {
        f"{ACTOR}.ppo_mini_batch_size": grpo.prompts_per_step,
        f"{ACTOR}.ppo_epochs": grpo.iterations,
        f"{ACTOR}.ppo_micro_batch_size_per_gpu": batch,
        f"{REF}.log_prob_micro_batch_size_per_gpu": batch,
        f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu": batch,
        f"{ACTOR}.data_loader_seed": grpo.seed,
        f"{ACTOR}.fsdp_config.seed": grpo.seed,
        f"{ACTOR}.fsdp_config.model_dtype": "fp32",
        f"{ACTOR}.fsdp_config.dtype": recipe.model.dtype,
        f"{REF}.fsdp_config.dtype": recipe.model.dtype,
        f"{ACTOR}.optim.lr": grpo.lr,
        f"{ACTOR}.optim.lr_scheduler_type": grpo.schedule,
        f"{ACTOR}.optim.lr_warmup_steps": grpo.warmup,
        f"{ACTOR}.optim.weight_decay": grpo.weight_decay,
        f"{ACTOR}.optim.clip_grad": grpo.max_grad_norm,
    }


def _model(recipe: Recipe, place: RunFiles) -> Json:
    name, lora = recipe.model.name, recipe.model.lora
    local = Path(name).resolve() if Path(name).is_dir() else name
    grpo = recipe.grpo or Grpo()
    settings: Json = {
        f"{MODEL}.path": str(place.base if has_base(recipe) else local),
        f"{MODEL}.enable_gradient_checkpointing": grpo.checkpointing,
        # Log-probabilities in float32, a chunk of tokens at a time. Otherwise verl takes them from
        # bfloat16 logits; without flash-attn it rounds them, and goes token by token.
        f"{MODEL}.use_fused_kernels": True,
        f"{MODEL}.fused_kernel_options.impl_backend": "torch",
        f"{MODEL}.lora_rank": lora.r if lora else 0,
    }
    if lora:
        settings |= {
            f"{MODEL}.lora_alpha": lora.alpha,
            f"{MODEL}.target_modules": list(lora.targets),
            # vLLM gets the merged weights, as in TRL.
            f"{MODEL}.lora.merge": True,
        }
    return settings


def _rollout(recipe: Recipe, grpo: Grpo, place: RunFiles) -> Json:
    limits = recipe.limits
    return {
        f"{ROLLOUT}.name": "vllm",
        f"{ROLLOUT}.n": grpo.rollouts,
        f"{ROLLOUT}.seed": grpo.seed,
        f"{ROLLOUT}.temperature": grpo.temperature,
        f"{ROLLOUT}.top_p": grpo.top_p,
        f"{ROLLOUT}.top_k": grpo.top_k or -1,
        f"{ROLLOUT}.dtype": recipe.model.dtype,
        f"{ROLLOUT}.calculate_log_probs": grpo.vllm_correction != "none",
        f"{ROLLOUT}.gpu_memory_utilization": grpo.vllm_memory,
        f"{ROLLOUT}.tensor_model_parallel_size": grpo.vllm_parallel,
        f"{ROLLOUT}.max_model_len": limits.prompt + limits.completion + limits.reply,
        f"{ROLLOUT}.agent.default_agent_loop": "provegym",
        f"{ROLLOUT}.agent.agent_loop_config_path": str(place.agent),
        f"{ROLLOUT}.agent.num_workers": min(WORKERS, grpo.prompts_per_step),
        # Our loop reads none of these. They are set so that verl's report of the run is true.
        # verl's own loop runs one call per message, cuts results at 256 characters, and counts
        # every tool result as a user turn.
        f"{ROLLOUT}.multi_turn.enable": True,
        f"{ROLLOUT}.multi_turn.max_assistant_turns": limits.assistant_turns,
        f"{ROLLOUT}.multi_turn.max_user_turns": None,
        f"{ROLLOUT}.multi_turn.max_parallel_calls": limits.calls,
        f"{ROLLOUT}.multi_turn.max_tool_response_length": MAX_RESULT_BYTES,
        # The agent loop returns the reward, so no reward function runs.
        "reward.num_workers": 1,
        "reward.reward_model.enable": False,
    }


def _trainer(grpo: Grpo, place: RunFiles) -> Json:
    return {
        "trainer.nnodes": place.nodes,
        "trainer.n_gpus_per_node": place.gpus,
        "trainer.total_training_steps": grpo.steps,
        # An epoch has at least one step, so this number of epochs is always enough.
        "trainer.total_epochs": grpo.steps,
        "trainer.save_freq": grpo.save_every,
        "trainer.max_actor_ckpt_to_keep": grpo.keep,
        "trainer.val_before_train": False,
        "trainer.test_freq": -1,
        "trainer.logger": ["console", *grpo.report],
        "trainer.project_name": "provegym",
        "trainer.experiment_name": place.folder.name,
        "trainer.default_local_dir": str(place.folder / "checkpoints"),
        "trainer.resume_mode": "auto" if place.resume else "disable",
        "hydra.run.dir": str(place.folder / "hydra"),
    }


def _text(value: Any) -> str:
    """A value in the syntax of hydra overrides."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    text = str(value)
    if not isinstance(value, str) or PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
