"""verl's settings for a recipe: every one that matters is said, or refused by its name."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import asdict, replace

from provegym import recipes
from provegym.config import KNOWN, load_recipe
from provegym.rewards import WEIGHTS
from provegym.train.run import TrainError
from provegym.train.verl.launch import agent_file
from provegym.train.verl.overrides import RunFiles, overrides

RECIPES = recipes.FOLDER
PLACE = RunFiles(Path("/runs/one"))
# What the files of a run are made of, as the data's table is; and what changes speed or our own
# records only.
FILES = {"model.name", "model.adapter"}
LEFT_TO_VERL = {
    *("grpo.packed", "grpo.compiled", "grpo.use_vllm", "grpo.vllm_server"),
    *("grpo.sample_every", "grpo.samples", "grpo.patience", "grpo.engines", "grpo.credit_reach"),
    *("grpo.forks", "model.cpu_dtype"),
}
SAID = {
    "model.dtype": "float32",
    "model.lora.r": 8,
    "model.lora.alpha": 8,
    "model.lora.targets": '["q_proj"]',
    "grpo.lr": 3e-7,
    "grpo.schedule": "cosine",
    "grpo.warmup": 7,
    "grpo.weight_decay": 0.1,
    "grpo.max_grad_norm": 0.5,
    "grpo.batch": 2,
    "grpo.checkpointing": "true",
    "grpo.save_every": 3,
    "grpo.keep": 5,
    "grpo.report": '["wandb"]',
    "grpo.seed": 4,
    "grpo.steps": 9,
    "grpo.prompts_per_step": 32,
    "grpo.rollouts": 8,
    "grpo.beta": 0.0,
    "grpo.epsilon": 0.1,
    "grpo.epsilon_high": 0.28,
    "grpo.iterations": 2,
    "grpo.loss_type": "dr_grpo",
    "grpo.scale_rewards": "none",
    "grpo.importance_level": "sequence",
    "grpo.temperature": 0.7,
    "grpo.top_p": 0.9,
    "grpo.top_k": 20,
    "grpo.vllm_memory": 0.4,
    "grpo.vllm_parallel": 2,
    "grpo.vllm_correction": "token_truncate",
    "reward.scheme": "hardened",
    "reward.weights": "{name = 0.5}",
    "reward.beta": 0.0,
    "reward.strict": "true",
    "limits.prompt": 999,
    "limits.completion": 999,
    "limits.reply": 99,
    "limits.user_turns": 2,
    "limits.assistant_turns": 3,
    "limits.calls": 4,
}
REFUSED = {
    "model.lora.dropout": 0.1,
    "model.positions": 4_096,
    "grpo.schedule": "linear",
    "grpo.loss_type": "bnpo",
    "grpo.scale_rewards": "batch",
    "grpo.unbiased_kl": "true",
    "grpo.mask_truncated": "true",
    "grpo.credit": "turn",
    "grpo.branches": 2,
    "grpo.lag": 1,
    "grpo.vllm_mode": "server",
    "grpo.vllm_correction": "sequence_mask",
}


def said(*changes: str, recipe: str = "embedded", place: RunFiles = PLACE) -> dict[str, str]:
    """The overrides of a recipe, and what the agent's file says."""
    settings = load_recipe(RECIPES / f"{recipe}.toml", changes)
    pairs = [line.partition("=") for line in overrides(settings, place)]
    assert len({key for key, _, _ in pairs}) == len(pairs)
    return {**{key: value for key, _, value in pairs}, "agent": agent_file(settings).decode()}


@pytest.mark.parametrize(("key", "value"), SAID.items())
def test_a_setting_that_matters_changes_what_verl_is_told(key: str, value: Any) -> None:
    before, after = said(), said(f"{key}={value}")
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert changed


@pytest.mark.parametrize(("key", "value"), REFUSED.items())
def test_what_verl_cannot_do_is_refused_by_its_name(key: str, value: Any) -> None:
    with pytest.raises(TrainError, match=rf"^verl cannot do {key} = .+: "):
        said(f"{key}={value}")


def test_every_setting_is_said_refused_or_left_to_verl_on_purpose() -> None:
    tables = ("model.", "grpo.", "reward.", "limits.")
    known = {key for key in KNOWN if key.startswith(tables)} - {"model.lora"}
    assert known == {*SAID, *REFUSED, *LEFT_TO_VERL, *FILES}
    assert not LEFT_TO_VERL & {*SAID, *REFUSED}


def test_the_paper_in_verls_words() -> None:
    told = said(recipe="qwen3-4b")
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    wanted = {
        "actor_rollout_ref.model.path": "Qwen/Qwen3-4B-Instruct-2507",
        "actor_rollout_ref.model.lora_rank": "0",
        "algorithm.adv_estimator": "grpo",
        "algorithm.norm_adv_by_std_in_grpo": "true",
        "algorithm.use_kl_in_reward": "false",
        "data.train_batch_size": "16",
        "data.max_prompt_length": "12384",
        "data.max_response_length": "16384",
        f"{actor}.ppo_mini_batch_size": "16",
        f"{actor}.use_kl_loss": "true",
        f"{actor}.kl_loss_coef": "0.01",
        f"{actor}.kl_loss_type": "low_var_kl",
        f"{actor}.loss_agg_mode": "token-mean",
        f"{actor}.optim.lr": "1e-06",
        f"{rollout}.n": "16",
        f"{rollout}.name": "vllm",
        f"{rollout}.top_k": "-1",
        "trainer.total_training_steps": "350",
        "trainer.n_gpus_per_node": "8",
    }
    assert {key: told[key] for key in wanted} == wanted
    assert '"user_turns": 5' in told["agent"]


def test_what_verls_own_loop_would_cut_is_not_cut() -> None:
    told = said(recipe="qwen3-4b")
    turns = "actor_rollout_ref.rollout.multi_turn"
    assert told[f"{turns}.max_parallel_calls"] == "64"
    assert told[f"{turns}.max_tool_response_length"] == "4096"
    assert told[f"{turns}.max_user_turns"] == "null"
    assert told[f"{turns}.max_assistant_turns"] == "10"


@pytest.mark.parametrize("part", ["validity", "efficiency"])
def test_an_ablation_is_in_the_agents_file(part: str) -> None:
    assert part in WEIGHTS
    assert f'"{part}": 0.0' in said(recipe=f"minus-{part}")["agent"]


@pytest.mark.parametrize(("gpus", "nodes", "batch"), [(1, 1, 32), (8, 1, 32), (8, 4, 8)])
def test_a_gpu_takes_no_more_at_a_time_than_its_share(gpus: int, nodes: int, batch: int) -> None:
    told = said(place=PLACE._replace(gpus=gpus, nodes=nodes))
    assert told["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"] == str(batch)


@pytest.mark.parametrize(
    "changes", [("grpo.prompts_per_step=3", "grpo.batch=1"), ("grpo.vllm_parallel=3",)]
)
def test_what_gpus_cannot_share_is_refused(changes: tuple[str, ...]) -> None:
    with pytest.raises(
        TrainError, match=r"cannot be shared among 1 nodes of 32 GPUs; change --gpus"
    ):
        said(*changes, place=PLACE._replace(gpus=32))


def test_an_adapter_is_merged_and_a_new_one_trained() -> None:
    told = said()
    assert told["actor_rollout_ref.model.path"] == "/runs/one/base"
    assert told["actor_rollout_ref.model.lora_rank"] == "16"
    recipe = load_recipe(RECIPES / "qwen3-4b.toml", ["model.adapter=runs/x/adapter"])
    with pytest.raises(TrainError, match=r"model\.adapter = runs/x/adapter: give model\.lora"):
        overrides(recipe, PLACE)


def test_only_grpo_goes_to_verl() -> None:
    with pytest.raises(TrainError, match=r"no \[grpo\]"):
        overrides(load_recipe(RECIPES / "sft.toml"), PLACE)


def test_limits_reach_the_loop_as_they_are() -> None:
    recipe = load_recipe(RECIPES / "embedded.toml")
    (loop,) = msgspec.json.decode(agent_file(recipe))
    assert (loop["name"], loop["_target_"]) == ("provegym", "provegym.train.verl.agent_loop.Loop")
    assert replace(recipe.limits, **loop["limits"]) == recipe.limits
    assert loop["limits"].keys() == asdict(recipe.limits).keys()
