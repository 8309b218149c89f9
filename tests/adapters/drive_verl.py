"""Runs in .envs/verl: verl's own classes play a script of tokens, and read our overrides.

It is told what to do by a JSON object on its input, and leaves its answers in the file named there.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import torch
import transfer_queue
import verl
from hydra import compose, initialize_config_dir
from verl.trainer.ppo.core_algos import agg_loss, get_policy_loss_fn, kl_penalty
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopWorkerTQ
from verl.utils import tensordict_utils
from verl.utils.config import omega_conf_to_dataclass, validate_config
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
from verl.utils.tokenizer import hf_tokenizer
from verl.workers.rollout.replica import TokenOutput

CONFIG = Path(verl.__file__).parent / "trainer" / "config"
STEP = 3


class Server:
    """Stands where verl has its language models: says to each request what the script says."""

    def __init__(self, scripts: list[dict[str, Any]]) -> None:
        self.scripts = {tuple(each["prompt"]): each["replies"] for each in scripts}
        self.left: dict[str, list[list[int]]] = {}
        self.known: dict[str, list[int]] = {}

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]
    ) -> TokenOutput:
        """The next reply of a rollout, whose context must go on from what was said before."""
        await asyncio.sleep(0)
        if request_id not in self.left:
            self.left[request_id] = list(self.scripts[tuple(prompt_ids)])
            self.known[request_id] = prompt_ids
        known = self.known[request_id]
        assert prompt_ids[: len(known)] == known
        assert sampling_params["temperature"] == 1.0
        said = self.left[request_id].pop(0)[: sampling_params["max_tokens"]]
        self.known[request_id] = prompt_ids + said
        return TokenOutput(
            token_ids=said,
            log_probs=[-(token % 97) / 8 for token in said]
            if sampling_params["logprobs"]
            else None,
            num_preempted=0,
            extra_fields={"min_global_steps": STEP, "max_global_steps": STEP},
        )


class Broken(Server):
    """A server that is no longer there."""

    async def generate(self, request_id: str, **_: Any) -> TokenOutput:
        """Fail as a lost actor does."""
        raise RuntimeError("the server is gone")


def load(arguments: list[str]) -> Any:
    """The configuration of verl's trainer, as its command reads it."""
    with initialize_config_dir(str(CONFIG), version_base=None):
        return compose("ppo_trainer", arguments)


def accept(arguments: list[str]) -> dict[str, Any]:
    """What verl makes of a command's arguments; an error where it refuses them."""
    config = load(arguments)
    validate_config(config, need_reference_policy(config), need_critic(config))
    actor = omega_conf_to_dataclass(config.actor_rollout_ref.actor)
    rollout = omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
    algorithm = omega_conf_to_dataclass(config.algorithm)
    return {
        "reference": need_reference_policy(config),
        "critic": need_critic(config),
        "lr": actor.optim.lr,
        "mini_batch": actor.ppo_mini_batch_size,
        "average": actor.loss_agg_mode,
        "kl": actor.kl_loss_coef,
        "rollouts": rollout.n,
        "agent": rollout.agent.default_agent_loop,
        "correction": algorithm.rollout_correction["rollout_is"],
        "estimator": algorithm.adv_estimator,
        "run": config.trainer.experiment_name,
    }


def learn(arguments: list[str], told: dict[str, Any]) -> dict[str, Any]:
    """The loss of a batch by a command's settings, and what it does to each log-probability."""
    actor = omega_conf_to_dataclass(load(arguments).actor_rollout_ref.actor)
    now = torch.tensor(told["now"], requires_grad=True)
    old, ref, mask = (torch.tensor(told[name]) for name in ("old", "ref", "mask"))
    whole = {
        "dp_size": 1,
        "batch_num_tokens": int(mask.sum()),
        "global_batch_size": len(mask),
        "loss_scale_factor": actor.loss_scale_factor,
    }
    actor.global_batch_info.update(whole)
    lost, _ = get_policy_loss_fn(actor.policy_loss.loss_mode)(
        old_log_prob=old,
        log_prob=now,
        advantages=torch.tensor(told["advantages"])[:, None] * mask,
        response_mask=mask,
        loss_agg_mode=actor.loss_agg_mode,
        config=actor,
    )
    apart = kl_penalty(now, ref, actor.kl_loss_type)
    lost = lost + actor.kl_loss_coef * agg_loss(apart, mask, actor.loss_agg_mode, **whole)
    lost.backward()
    return {"loss": lost.item(), "pull": now.grad.tolist()}


def play(
    arguments: list[str], scripts: list[dict[str, Any]], broken: bool = False
) -> dict[str, Any]:
    """Every row of the data through verl's dataset, its trainer's worker and our loop.

    What the worker puts in the queue of its cluster is kept here instead.
    """
    config = load(arguments)
    tokenizer = hf_tokenizer(config.actor_rollout_ref.model.path)
    data = RLHFDataset(config.data.train_files, tokenizer, config.data)
    rows = collate_fn([data[at] for at in range(len(data))])
    rows["uid"] = rows["index"].astype(str).astype(object)
    batch = tensordict_utils.get_tensordict(rows)
    tensordict_utils.assign_non_tensor_data(batch, "global_steps", STEP)
    queue: dict[str, Any] = {}
    states: dict[str, str] = {}

    async def put(key: str, partition_id: str, tag: dict[str, str]) -> None:
        states[key] = tag["status"]

    async def put_batch(keys: list[str], fields: Any, tags: list[Any], partition_id: str) -> None:
        queue.update({key: (fields[at], tags[at]) for at, key in enumerate(keys)})

    transfer_queue.init = lambda *_: None
    transfer_queue.async_kv_put, transfer_queue.async_kv_batch_put = put, put_batch
    worker = AgentLoopWorkerTQ.__ray_metadata__.modified_class(
        config, (Broken if broken else Server)(scripts)
    )

    async def work() -> None:
        await worker.generate_sequences(batch)
        await asyncio.gather(*worker.background_tasks)

    asyncio.run(work())
    return {"states": states, "rollouts": {key: row(*queue[key]) for key in sorted(queue)}}


def row(fields: Any, tag: dict[str, Any]) -> dict[str, Any]:
    """A rollout as verl's trainer finds it."""
    more = fields["extra_fields"]
    logprobs = fields["rollout_log_probs"].tolist() if "rollout_log_probs" in fields else None
    assert fields["input_ids"].tolist() == [
        *fields["prompts"].tolist(),
        *fields["responses"].tolist(),
    ]
    return {
        "prompt": fields["prompts"].tolist(),
        "completion": fields["responses"].tolist(),
        "mask": fields["response_mask"].tolist(),
        "logprobs": logprobs,
        "reward": fields["rm_scores"].tolist()[-1],
        "elsewhere": float(fields["rm_scores"][:-1].abs().sum()),
        "parts": more["reward_extra_info"],
        "ended": more["ended"],
        "turns": fields["num_turns"],
        "steps": tag["max_global_steps"],
    }


if __name__ == "__main__":
    told = json.load(sys.stdin)
    work = {"accept": accept, "learn": learn, "play": play}
    answers = [work[each.pop("do")](**each) for each in told["jobs"]]
    Path(told["out"]).write_text(json.dumps(answers), "utf-8")
