"""Plays τ²-bench tasks of one domain with `inspect-evals`, inside its virtual environment."""

import glob
import importlib
import os
from collections.abc import Callable
from typing import Any

TOO_LONG = "model_length"


def play(job: dict[str, Any], emit: Callable[[dict[str, Any]], None]) -> None:
    """Play every task of a job and emit the result of each."""
    os.environ.update({"GATEWAY_API_KEY": job["key"], "GATEWAY_BASE_URL": job["url"]})
    os.environ["HOME"] = os.getcwd()
    load = importlib.import_module
    tell_samples(load("inspect_ai.hooks"), emit)
    task = load("inspect_evals.tau2").__dict__[f"tau2_{job['domain']}"]
    load("inspect_ai").eval(
        task(shuffle=False),
        model="openai-api/gateway/agent",
        model_roles={"user": "openai-api/gateway/user"},
        # Inspect reads ids as glob patterns, and some ids contain brackets.
        sample_id=[glob.escape(name) for name in job["tasks"]],
        max_samples=job["concurrency"],
        max_connections=2 * job["concurrency"],
        log_dir=os.path.join(os.getcwd(), "logs"),
        log_realtime=False,
        display="none",
        fail_on_error=False,
        ctl_server=False,
    )


def tell_samples(hooks: Any, emit: Callable[[dict[str, Any]], None]) -> None:
    """Register a hook with Inspect that emits the start and the end of every sample."""

    async def on_sample_start(_: Any, data: Any) -> None:
        emit({"begin": data.summary.id})

    async def on_sample_end(_: Any, data: Any) -> None:
        emit(verdict(data.sample))

    told = {"on_sample_start": on_sample_start, "on_sample_end": on_sample_end}
    hooks.hooks(name="gateway", description="Tells of samples.")(type("Told", (hooks.Hooks,), told))


def verdict(sample: Any) -> dict[str, Any]:
    """The result of a sample: valid if all scorers say so and no prompt was too long."""
    scores = sample.scores or {}
    full = [e for e in sample.events if e.event == "model" and e.output.stop_reason == TOO_LONG]
    valid = bool(scores) and all(score.value in ("C", 1, 1.0) for score in scores.values())
    valid = valid and not full
    why = [score.explanation or "" for score in scores.values()]
    error = sample.error.message if sample.error else ""
    if full:
        error = f"prompt too long\n{full[0].output.completion}"
    return {
        "id": str(sample.id),
        "valid": valid,
        "error": error or ("" if valid else "; ".join(why)[:500]),
        "result": [
            message.model_dump(mode="json", exclude_none=True) for message in sample.messages
        ],
        "seconds": round(sample.total_time or 0.0, 3),
        "tokens": sum(usage.output_tokens for usage in (sample.model_usage or {}).values()),
    }
