"""ProveGym's tasks in the framework verifiers: a model behind an endpoint plays, verifiers scores.

    pip install 'verifiers==0.4.*' uv
    provegym synth --servers banking --size 20 --out corpus
    python verifiers_eval.py corpus http://127.0.0.1:8000/v1 my-model

`provegym` is a taskset by name, so `vf-eval provegym` works too (docs/adapters/verifiers.md).
"""

import asyncio
import sys
from statistics import fmean

import verifiers.v1 as vf


async def evaluate(data: str, url: str, model: str) -> list[float]:
    """Play every example once, print what each was paid, and return the rewards."""
    config = {"taskset": {"id": "provegym", "data": data, "task": {"scheme": "hardened"}}}
    env = vf.load_environment(vf.resolve_env_config(config))
    player = vf.ModelContext(model=model, client=vf.EvalClientConfig(base_url=url))
    rewards = []
    async with env.serving():
        for task in env.taskset:
            episode = await env.run_episode(task, player)
            (trace,) = episode.traces
            rewards.append(trace.reward)
            print(f"{task.data.id}: {trace.reward:.2f}, success {trace.metrics['success']:.0f}")
    return rewards


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    paid = asyncio.run(evaluate(*sys.argv[1:4]))
    print(f"mean reward {fmean(paid):.3f} over {len(paid)} tasks")
