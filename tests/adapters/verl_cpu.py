"""verl on a CPU, for tests: a platform without a GPU, and transformers in the place of vLLM.

verl imports this module in each of its processes (VERL_USE_EXTERNAL_MODULES=verl_cpu). All the rest
is verl's own: its trainer, its queue, its agent-loop workers, its FSDP engine.
VERL_CPU_SCRIPT may name a JSON file with pairs of a context and a reply, of one rollout from its
opening on: every second rollout says these replies, so that rewards differ.
"""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import ray
import torch
import torch.distributed.fsdp._init_utils as fsdp
import verl.utils.distributed
import verl.utils.fsdp_utils
from verl.plugin.platform import get_platform
from verl.plugin.platform.platform_cuda import PlatformCUDA
from verl.plugin.platform.platform_manager import set_platform
from verl.workers.rollout import base
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry, TokenOutput


class Memory:
    """torch.cpu with the questions that verl asks a GPU about its memory."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)

    def empty_cache(self) -> None:
        """A CPU keeps no freed memory back."""

    def get_device_name(self) -> str:
        """For the table of peak speeds."""
        return "CPU"

    def mem_get_info(self) -> tuple[int, int]:
        """Free and all."""
        return 0, 0

    def memory_allocated(self) -> int:
        """Not counted."""
        return 0

    memory_reserved = max_memory_allocated = max_memory_reserved = memory_allocated


class Cpu(PlatformCUDA):
    """A CPU that ray counts as a GPU: it is started with num_gpus=1."""

    device_name = property(lambda self: "cpu")
    device_module = property(lambda self: Memory())

    def is_available(self) -> bool:
        """There is always one."""
        return True

    def current_device(self) -> Any:
        """Where tensors are put."""
        return torch.device("cpu")

    def set_device(self, device_index: int) -> None:
        """There is one alone."""

    def synchronize(self, device_index: int | None = None) -> None:
        """A CPU has nothing under way."""

    def manual_seed(self, seed: int) -> None:
        """torch has seeded it."""

    manual_seed_all = manual_seed

    def set_allocator_settings(self, settings: str) -> None:
        """The settings are CUDA's."""

    def empty_cache(self) -> None:
        """A CPU keeps no freed memory back."""

    def communication_backend_name(self) -> str:
        """The backend of torch.distributed."""
        return "gloo"

    def nvtx_range(self, msg: str) -> Any:
        """There is no profiler."""
        return nullcontext()


def join(timeout_second: int | None = None, backend: str | None = None) -> None:
    """Join the process group; verl would ask for one backend per device, and here are not two."""
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group(
            "gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"])
        )


class Server:
    """Samples replies as verl's vLLM server does, one at a time, with the weights it was sent."""

    def __init__(self, place: str, temperature: float, seed: int) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        from provegym.models.sampler import Sampler

        model = AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32)
        for weights in model.parameters():
            weights.data.zero_()  # verl starts vLLM with dummy weights, too
        self.model = model
        self.sampler = Sampler(model, AutoTokenizer.from_pretrained(place), temperature, seed)
        self.steps: int | None = None
        file = os.environ.get("VERL_CPU_SCRIPT")
        pairs = json.loads(Path(file).read_text("utf-8")) if file else []
        self.script = {tuple(context): reply for context, reply in pairs}
        self.opening = next(iter(self.script), ())
        self.asked = 0

    def load(self, weights: dict[str, torch.Tensor], steps: int) -> None:
        """The trainer's weights after a step."""
        found = self.model.load_state_dict(weights, strict=False)
        assert not found.unexpected_keys, found
        assert set(found.missing_keys) <= {"lm_head.weight"}, found
        self.steps = steps

    def generate(
        self, request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
    ) -> TokenOutput:
        """The reply to a context."""
        context = tuple(prompt_ids)
        self.asked += context == self.opening
        if context in self.script and (context != self.opening or self.asked % 2):
            ids, logprobs = self.script[context], [0.0] * len(self.script[context])
        else:
            (said,) = self.sampler.generate([list(context)], sampling_params["max_tokens"])
            ids, logprobs = said.ids, said.logprobs
        return TokenOutput(
            token_ids=ids,
            log_probs=logprobs if sampling_params["logprobs"] else None,
            stop_reason="completed",
            num_preempted=0,
            extra_fields={"global_steps": self.steps},
        )

    def pass_over(self, *_: Any, **__: Any) -> None:
        """Sleeping, waking and the KV cache are vLLM's."""

    wake_up = sleep = abort_all_requests = resume_generation = clear_kv_cache = pass_over
    release_kv_cache = resume_kv_cache = pass_over


class Replica(RolloutReplica):
    """Starts the server."""

    async def launch_servers(self) -> None:
        """One server, under the name of verl's own."""
        config = self.config
        server = (
            ray.remote(Server)
            .options(name=f"vllm_server_{self.replica_rank}_0", max_concurrency=1)
            .remote(self.model_config.path, config.temperature, config.seed)
        )
        self.servers, self._server_handle, self._server_address = [server], server, "cpu:0"


class Adapter(BaseRollout):
    """Sends the trainer's weights to the server."""

    async def resume(self, tags: list[str]) -> None:
        """Nothing sleeps."""

    async def release(self) -> None:
        """Nothing sleeps."""

    async def update_weights(
        self, weights: Iterator[tuple[str, torch.Tensor]], global_steps: int = 0, **_: Any
    ) -> None:
        """All weights at once, under their names in transformers."""
        server = ray.get_actor("vllm_server_0_0")
        held = {name: each.detach().float().clone() for name, each in weights}
        await asyncio.wrap_future(server.load.remote(held, global_steps).future())


set_platform(Cpu())
assert get_platform().device_name == "cpu"
# FSDP refuses to send the first rank's weights to the others from a CPU; here is one rank.
fsdp._check_module_states_for_sync_module_states = lambda _: None
verl.utils.fsdp_utils.load_fsdp_model_to_gpu = lambda _: None  # it makes a device named cpu:cpu
verl.utils.distributed.initialize_global_process_group_ray = join
RolloutReplicaRegistry.register("vllm", lambda: Replica)
base._ROLLOUT_REGISTRY["vllm", "async"] = f"{__name__}.Adapter"
