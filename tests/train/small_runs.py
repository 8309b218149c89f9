"""Training runs small enough to be killed: a model, examples and two recipes in a folder.

The model answers half of the time with a call where none is right, so GRPO has something to learn.
"""

import json
import os
import signal
import subprocess
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Any

import msgspec
import torch

from examples import pay_example
from provegym.files import LOCK
from provegym.lines import sums_file
from provegym.models.codec import Codec
from provegym.trace import Example, Json, ToolboxSpec, Turn, write
from provegym.trace import Path as Road
from train.tiny import LIMITS, build_model, build_tokenizer, gold, play, warm_up

KINDS = ("sft", "grpo")
COUNT, STEPS, SAVE_EVERY = 8, 8, 2
PATIENCE = 300
COMMON = f"""
[model]
name = "MODEL"
dtype = "float32"
lora = {{ r = 2, alpha = 4 }}

[data]
corpus = "DATA"

[limits]
prompt = {LIMITS.prompt}
completion = 96
reply = 48
"""
SFT = f"""
[sft]
epochs = {STEPS // 2}
together = {COUNT // 2}
batch = 2
"""
GRPO = f"""
[grpo]
steps = {STEPS}
prompts_per_step = 2
rollouts = 4
batch = 4
use_vllm = false
patience = 100
sample_every = 1
"""
BOTH = f"""
lr = 3e-3
checkpointing = false
save_every = {SAVE_EVERY}
report = []
"""


def prepare(folder: Path) -> None:
    """Write the model, the examples and the recipes."""
    torch.set_num_threads(1)  # a model this small is slower on several
    folder.mkdir(parents=True, exist_ok=True)
    examples = [quiet(number) for number in range(COUNT)]
    write(folder / "examples.jsonl", examples)
    tokenizer = build_tokenizer(examples, size=400)
    model, codec = build_model(tokenizer, width=32), Codec(tokenizer, LIMITS.prompt)
    right_and_wrong = [
        play(example, replies, codec)[0]
        for example in examples[:2]
        for replies in (gold(example), [called(), *gold(example)])
    ]
    warm_up(model, right_and_wrong, 200, 1e-2)
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    for name, table in zip(KINDS, (SFT, GRPO), strict=True):
        common = COMMON.replace("MODEL", str(folder / "model"))
        common = common.replace("DATA", str(folder / "examples.jsonl"))
        (folder / f"{name}.toml").write_text(common + table + BOTH.lstrip("\n"), "utf-8")


def quiet(number: int) -> Example:
    """An example with nothing to call."""
    return pay_example(
        id=f"quiet-{number}",
        kind="irrelevance",
        turns=(Turn(text=f"What is {number} plus {number}?"),),
        paths=(Road(),),
        toolbox=ToolboxSpec(limit=1),
    )


def called() -> Json:
    """A reply with a call."""
    function = {"name": "look", "arguments": "{}"}
    return {"role": "assistant", "content": "", "tool_calls": [{"function": function}]}


def command(folder: Path, name: str, out: Path) -> list[str]:
    """The command of a run, or the one that goes on with it."""
    resume = ["--resume"] if (out / "metrics.jsonl").exists() else []
    return ["train", str(folder / f"{name}.toml"), "--out", str(out), *resume]


def outcome(out: Path) -> dict[str, bytes]:
    """What a run has written that does not tell the time: weights, rollouts, metrics, recipe.

    Plots, versions and checkpoints are left out. Of the metrics, seconds are left out.
    """
    found = {
        str(path.relative_to(out)): path.read_bytes()
        for pattern in ("adapter/*", "model/*", "rollouts/*", "recipe.toml")
        for path in sorted(out.glob(pattern))
        if path.name != "training_args.bin" and path.suffix != ".part"
    }
    if written := found.get("model/adapter_config.json"):  # PEFT writes a set as it comes
        found["model/adapter_config.json"] = bytes(sorted(written))
    lines = (out / "metrics.jsonl").read_bytes().splitlines()
    untimed: list[Any] = [
        {name: value for name, value in json.loads(line).items() if "second" not in name}
        for line in lines
    ]
    return {**found, "metrics.jsonl": msgspec.json.encode(untimed)}


def lines(out: Path) -> int:
    """How many steps a run has recorded."""
    metrics = out / "metrics.jsonl"
    return metrics.read_bytes().count(b"\n") if metrics.exists() else 0


def kill(process: "subprocess.Popen[Any]", out: Path, chance: Random) -> bool:
    """Kill a run at a random moment between its start and its end; whether it was still going on.

    The moment is some fraction of a second after a random step, so it is reached on any machine.
    The steps of an earlier run count too: then the new one is killed soon after its start.
    """
    step = chance.randint(0, STEPS)
    latest = monotonic() + PATIENCE
    while process.poll() is None and not ((out / LOCK).exists() and lines(out) >= step):
        assert monotonic() < latest, "the run does not begin"
        sleep(0.01)
    sleep(chance.uniform(0, 0.8))
    if process.poll() is not None:
        return False
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    (out / LOCK).unlink(missing_ok=True)  # by its return it is seen that the next run begins
    return True


def torn(out: Path) -> list[Path]:
    """Files of rollouts without checksums, and temporary files: a finished run has none."""
    bare = [path for path in out.glob("rollouts/*.jsonl") if not sums_file(path).exists()]
    return [*bare, *out.rglob("*.part")]
