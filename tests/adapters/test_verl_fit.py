"""verl's trainer takes three steps on a CPU, with the command of a recipe.

verl_cpu.py says what stands in the place of a GPU and of vLLM.
"""

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from provegym import recipes
from provegym.config import load_recipe
from provegym.corpus.exports import write_rows
from provegym.models.codec import Codec
from provegym.models.source import Sampled
from provegym.players.local import run
from provegym.trace import Example, Json, read
from provegym.train.recipe import Recipe
from provegym.train.verl.launch import agent_file, command
from provegym.train.verl.overrides import RunFiles
from train.tiny import build_model, build_tokenizer, gold

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".envs" / "verl" / "bin" / "python"
# For the two cores of a test machine; nothing here changes what is learnt.
SMALL = (
    "trainer.logger=[console,file]",
    *("ray_kwargs.ray_init.num_cpus=8", "+ray_kwargs.ray_init.num_gpus=1"),
    *("+ray_kwargs.ray_init.include_dashboard=false", "data.dataloader_num_workers=0"),
    "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
    "actor_rollout_ref.actor.fsdp_config.use_torch_compile=false",
    "actor_rollout_ref.ref.fsdp_config.use_torch_compile=false",
)
CHANGES = (
    *("grpo.steps=3", "grpo.prompts_per_step=1", "grpo.rollouts=4", "grpo.save_every=3"),
    *("grpo.report=[]", "grpo.lr=0.01"),
    *("limits.prompt=8192", "limits.completion=1536", "limits.reply=128"),
)

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="make adapters builds .envs/verl")


def script(example: Example, codec: Codec, recipe: Recipe) -> list[tuple[list[int], list[int]]]:
    """The replies of a rollout that makes the right calls, each after its context."""
    left = [codec.say(reply) for reply in gold(example)]
    pairs: list[tuple[list[int], list[int]]] = []

    def generate(contexts: list[list[int]], most: int) -> list[Sampled]:
        pairs.append((contexts[0], left.pop(0)))
        return [Sampled(pairs[-1][1], [0.0] * len(pairs[-1][1]))]

    run([example], generate, codec, recipe.limits, recipe.reward)
    return pairs


def fit(recipe: Recipe, place: RunFiles, said: Path) -> list[Json]:
    """Run verl's command; what it measured, step by step."""
    out = place.folder / "metrics.jsonl"
    env = {
        "PYTHONPATH": str(Path(__file__).parent),
        "VERL_USE_EXTERNAL_MODULES": "verl_cpu",
        "VERL_ENGINE_DEVICE": "cuda",  # what the engine is registered for; it runs on the CPU
        "VERL_CPU_SCRIPT": str(said),
        "VERL_FILE_LOGGER_PATH": str(out),
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    line = [str(PYTHON), *command(recipe, place), *SMALL]
    ended = subprocess.run(
        line,
        cwd=place.folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert ended.returncode == 0, shlex.join(line) + (ended.stdout + ended.stderr)[-5000:]
    return [json.loads(each)["data"] for each in out.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Json]]:
    """A run of a tiny model, in which half of the rollouts make the right calls."""
    folder = tmp_path_factory.mktemp("fit")
    example = next(read(ROOT / "tests" / "data" / "banking.jsonl", Example))
    tokenizer = build_tokenizer([example])
    for part in (build_model(tokenizer), tokenizer):
        part.save_pretrained(folder / "model")
    name = f"model.name={json.dumps(str(folder / 'model'))}"
    recipe = load_recipe(recipes.FOLDER / "tiny.toml", [*CHANGES, name])
    place = RunFiles(folder / "run", gpus=1)
    place.folder.mkdir()
    list(write_rows([example], place.data, "verl"))
    place.agent.write_bytes(agent_file(recipe))
    said = folder / "script.json"
    said.write_text(json.dumps(script(example, Codec(tokenizer, recipe.limits.prompt), recipe)))
    return place.folder, fit(recipe, place, said)


def column(steps: list[Json], name: str) -> list[Any]:
    return [step[name] for step in steps]


def test_verl_takes_three_steps_and_saves_the_last(trained: tuple[Path, list[Json]]) -> None:
    folder, steps = trained
    assert column(steps, "training/global_step") == [1, 2, 3]
    assert (folder / "checkpoints" / "global_step_3" / "actor").is_dir()


def test_half_of_the_rollouts_are_paid_in_full(trained: tuple[Path, list[Json]]) -> None:
    for step in trained[1]:
        assert step["critic/score/max"] == pytest.approx(1.3)
        assert step["critic/score/min"] == pytest.approx(0.0)
        assert step["critic/advantages/max"] > 0 > step["critic/advantages/min"]


def test_the_limits_of_the_recipe_hold_for_every_rollout(trained: tuple[Path, list[Json]]) -> None:
    for step in trained[1]:
        assert step["response_length/max"] <= 1536  # one reply may have 2,048 by default


def test_the_model_learns_and_departs_from_its_reference(trained: tuple[Path, list[Json]]) -> None:
    steps = trained[1]
    assert min(column(steps, "actor/grad_norm")) > 0
    apart = column(steps, "actor/kl_loss")
    assert apart[0] == pytest.approx(0, abs=1e-6)
    assert apart[2] > 1e-6
