"""verl itself plays our examples and reads our commands, in an environment of its own.

A script of tokens stands for the model. What comes out must be what TRL is given for the same
tokens, id by id.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from provegym import recipes
from provegym.config import load_recipe
from provegym.corpus.exports import write_rows
from provegym.models.codec import Codec
from provegym.models.local import embedded, load_tokenizer
from provegym.models.source import Sampled
from provegym.players.local import opening, run
from provegym.trace import Example, Json, read
from provegym.train.recipe import Recipe
from provegym.train.roller import to_columns
from provegym.train.verl.launch import agent_file, command
from provegym.train.verl.overrides import RunFiles
from train.tiny import gold

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".envs" / "verl" / "bin" / "python"
DRIVE = Path(__file__).with_name("drive_verl.py")
RECIPES = {path.stem: path for path in sorted(recipes.FOLDER.glob("*.toml"))}
REFUSED = {"embedded-full"}  # cispo and lag
TRAINED = [n for n, path in RECIPES.items() if load_recipe(path).grpo and n not in REFUSED]
FILES = sorted((ROOT / "tests" / "data").glob("*.jsonl"))
EXAMPLES = [next(iter(read(path, Example))) for path in FILES[::4]]
CHANGES = (
    *("grpo.rollouts=2", "grpo.batch=2", "grpo.vllm_correction=token_truncate"),
    *("limits.prompt=8192", "limits.completion=4096", "limits.reply=256"),
)
ODD = "it's a run, 1=2"
Replies = list[list[int]]

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="make adapters builds .envs/verl")


def logprobs(ids: list[int]) -> list[float]:
    """What the scripted server gives for tokens, here and in verl."""
    return [-(token % 97) / 8 for token in ids]


def oracle(example: Example, codec: Codec) -> Replies:
    return [codec.say(reply) for reply in gold(example)]


def noop(example: Example, codec: Codec) -> Replies:
    return [codec.say({"role": "assistant", "content": "I see."})] * 10


def malformed(example: Example, codec: Codec) -> Replies:
    """Calls that are none, letters in place of words, and replies that never end."""
    letters = [token for letter in "Done it." for token in codec._encode(letter)]
    texts = [
        '<tool_call>{"name": "li',
        "<tool_call>[1, 2]</tool_call>",
        "<|tool_call|>[",
        "a " * 400,
    ]
    bad = [list(codec._encode(text)) for text in texts]
    return [*bad, [*bad[0], codec.end], letters, [], *bad]


def noise(example: Example, codec: Codec) -> Replies:
    """Tokens by chance, those that end a turn among them."""
    chance = Random(example.id)
    size = len(codec.tokenizer)
    return [[chance.randrange(size) for _ in range(chance.randrange(1, 300))] for _ in range(10)]


PLAYED: dict[str, tuple[Callable[[Example, Codec], Replies], tuple[str, ...]]] = {
    "oracle": (oracle, ()),
    "noop": (noop, ()),
    "malformed": (malformed, ()),
    "noise": (noise, ()),
    "short of room": (oracle, ("limits.completion=400", "reward.weights.name=1.0")),
    "hardened": (oracle, ("reward.scheme=hardened",)),
    "without log-probabilities": (oracle, ("grpo.vllm_correction=none",)),
}


LEARNT = {
    f"{kind} by {level}": (f"grpo.loss_type={kind}", f"grpo.importance_level={level}")
    for kind in ("dapo", "grpo", "dr_grpo")
    for level in ("token", "sequence")
}
CLIPPED = ("grpo.epsilon=0.1", "grpo.epsilon_high=0.3", "grpo.beta=0.05", "limits.completion=40")


def batch() -> dict[str, Any]:
    """Log-probabilities of three sequences by three models, and which tokens are the first's."""
    torch.manual_seed(4)
    now = -torch.rand(3, 8) * 2
    mask = torch.tensor([[1] * 8, [1, 1, 0, 0, 0, 1, 1, 0], [1, 1, 1, 0, 0, 0, 0, 0]])
    old, ref = now + torch.randn(3, 8) * 0.3, now + torch.randn(3, 8) * 0.3
    return {
        "now": now,
        "old": old,
        "ref": ref,
        "mask": mask.float(),
        "advantages": [1.2, -0.7, 0.4],
    }


def loss(recipe: Recipe, told: dict[str, Any]) -> tuple[float, list[list[float]]]:
    """What a recipe means by its loss, and what that does to each log-probability."""
    grpo, mask = recipe.grpo, told["mask"]
    assert grpo is not None
    now = told["now"].clone().requires_grad_()
    ratio = now - told["old"]
    if grpo.importance_level == "sequence":
        ratio = ((ratio * mask).sum(1) / mask.sum(1))[:, None]
    ratio, gain = ratio.exp(), torch.tensor(told["advantages"])[:, None]
    bounded = ratio.clamp(1 - grpo.epsilon, 1 + grpo.epsilon_high)
    apart = (told["ref"] - now).exp() - (told["ref"] - now) - 1
    each = (grpo.beta * apart - torch.min(ratio * gain, bounded * gain)) * mask
    whole = {
        "dapo": each.sum() / mask.sum(),
        "grpo": (each.sum(1) / mask.sum(1)).mean(),
        "dr_grpo": each.sum() / (len(mask) * recipe.limits.completion),
    }[grpo.loss_type]
    whole.backward()
    assert now.grad is not None
    return whole.item(), now.grad.tolist()


def as_trl(recipe: Recipe, example: Example, replies: Replies, codec: Codec) -> Json:
    """What TRL is given for a rollout in which this is said."""
    left = iter(replies)

    def generate(contexts: list[list[int]], most: int) -> list[Sampled]:
        ids = next(left)[:most]
        return [Sampled(ids, logprobs(ids))]

    played = run([example], generate, codec, recipe.limits, recipe.reward)
    columns = {name: column[0] for name, column in to_columns(played, codec.end).items()}
    return {**columns, "rollout": played[0].rollout}


def job(name: str, codec: Codec, place: RunFiles) -> tuple[Json, list[Json]]:
    """What verl is to play, and what TRL is given for it."""
    script, changes = PLAYED[name]
    recipe = load_recipe(
        RECIPES["tiny"], [*CHANGES, *changes, f"model.name={json.dumps(str(embedded()))}"]
    )
    place.folder.mkdir()
    list(write_rows(EXAMPLES, place.data, "verl"))
    place.agent.write_bytes(agent_file(recipe))
    told = [(example, script(example, codec)) for example in EXAMPLES]
    scripts = [{"prompt": opening(example, codec), "replies": replies} for example, replies in told]
    asked = {"do": "play", "arguments": command(recipe, place)[2:], "scripts": scripts}
    return asked, [as_trl(recipe, example, replies, codec) for example, replies in told]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All that verl answers, in one process, by name; of what it played, what TRL is given, too."""
    folder = tmp_path_factory.mktemp("verl")
    codec = Codec(load_tokenizer("embedded"), 8192)
    played = {
        name: job(name, codec, RunFiles(folder / str(at), gpus=1)) for at, name in enumerate(PLAYED)
    }
    jobs: dict[Any, Json] = {name: asked for name, (asked, _) in played.items()}
    jobs["broken"] = {**jobs["oracle"], "broken": True}
    told = {
        name: part if isinstance(part, list) else part.tolist() for name, part in batch().items()
    }
    for name, changes in LEARNT.items():
        recipe = load_recipe(RECIPES["qwen3-4b"], [*CLIPPED, *changes])
        line = command(recipe, RunFiles(folder))
        jobs[name] = {"do": "learn", "arguments": line[2:], "told": told}
    # Recipes that differ in reward alone have the same command.
    place = RunFiles(folder / ODD)
    lines = {name: tuple(command(load_recipe(RECIPES[name]), place)) for name in TRAINED}
    jobs |= {line: {"do": "accept", "arguments": line[2:]} for line in lines.values()}
    got = dict(zip(jobs, drive(list(jobs.values()), folder / "answers.json"), strict=True))
    both = {name: (got[name], want) for name, (_, want) in played.items()}
    return {**got, **both, **{name: got[line] for name, line in lines.items()}}


def drive(jobs: list[Json], out: Path) -> list[Any]:
    """What verl answers."""
    ended = subprocess.run(
        [PYTHON, DRIVE],
        input=json.dumps({"jobs": jobs, "out": str(out)}),
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_DATASETS_CACHE": str(out.parent / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    said: list[Any] = json.loads(out.read_text("utf-8"))
    return said


@pytest.mark.parametrize("name", PLAYED)
def test_verl_gets_what_trl_gets_token_for_token(answers: dict[str, Any], name: str) -> None:
    got, wants = answers[name]
    assert set(got["states"].values()) == {"finished"}
    assert len(got["rollouts"]) == 2 * len(EXAMPLES)
    for key, rollout in got["rollouts"].items():
        want = wants[int(key.partition("_")[0])]
        assert rollout["prompt"] == want["prompt_ids"]
        assert rollout["completion"] == want["completion_ids"]
        assert rollout["mask"] == want["env_mask"]
        if name == "without log-probabilities":
            assert rollout["logprobs"] is None
        else:
            assert rollout["logprobs"] == want["logprobs"]
        assert rollout["reward"] == pytest.approx(want["paid"], abs=1e-6)
        assert rollout["elsewhere"] == 0
        assert rollout["ended"] == want["rollout"].ended
        assert rollout["turns"] == len(want["rollout"].messages) - 1
        assert rollout["steps"] == 3


@pytest.mark.parametrize(("name", "paid"), [("oracle", 1.3), ("hardened", 1.3), ("noop", 0.0)])
def test_the_right_calls_are_paid_in_full_and_none_not_at_all(
    answers: dict[str, Any], name: str, paid: float
) -> None:
    rewards = [rollout["reward"] for rollout in answers[name][0]["rollouts"].values()]
    assert rewards == [pytest.approx(paid)] * len(rewards)


def test_the_parts_of_the_reward_come_with_it(answers: dict[str, Any]) -> None:
    weights = {"validity": 0.5, "coverage": 0.5, "efficiency": 0.15, "name": 0.2, "argument": 0.1}
    for name in ("oracle", "malformed", "noise"):
        for rollout in answers[name][0]["rollouts"].values():
            assert rollout["parts"].keys() == weights.keys()
            total = sum(weights[part] * (share or 0) for part, share in rollout["parts"].items())
            assert rollout["reward"] == pytest.approx(total, abs=1e-6)


def test_what_was_played_is_as_wrong_and_as_long_as_it_was_meant(answers: dict[str, Any]) -> None:
    errors = [call.error for want in answers["malformed"][1] for call in want["rollout"].calls]
    assert set(errors) == {"malformed"}
    short = [row["ended"] for row in answers["short of room"][0]["rollouts"].values()]
    assert "tokens" in short
    masks = [row["mask"] for row in answers["noise"][0]["rollouts"].values()]
    assert all(0 < sum(mask) < len(mask) for mask in masks)


def test_a_server_that_is_gone_is_no_rollout_that_failed(answers: dict[str, Any]) -> None:
    got = answers["broken"]
    assert got["rollouts"] == {}
    assert set(got["states"].values()) == {"failure"}


@pytest.mark.parametrize("name", TRAINED)
def test_verl_accepts_the_command_of_every_recipe(answers: dict[str, Any], name: str) -> None:
    got = answers[name]
    grpo = load_recipe(RECIPES[name]).grpo
    assert grpo is not None
    assert got == {
        "reference": True,
        "critic": False,
        "lr": grpo.lr,
        "mini_batch": grpo.prompts_per_step,
        "average": "token-mean",
        "kl": grpo.beta,
        "rollouts": grpo.rollouts,
        "agent": "provegym",
        "correction": "token" if grpo.vllm_correction == "token_truncate" else None,
        "estimator": "grpo",
        "run": ODD,
    }


@pytest.mark.parametrize("name", LEARNT)
def test_verls_loss_is_what_the_recipe_means(answers: dict[str, Any], name: str) -> None:
    recipe = load_recipe(RECIPES["qwen3-4b"], [*CLIPPED, *LEARNT[name]])
    lost, pull = loss(recipe, batch())
    assert answers[name]["loss"] == pytest.approx(lost, rel=1e-4)
    assert answers[name]["pull"] == [pytest.approx(row, rel=1e-3, abs=1e-7) for row in pull]


def test_what_verl_lacks_is_said_before_any_work(tmp_path: Path) -> None:
    ended = subprocess.run(
        [
            PYTHON,
            "-m",
            "provegym",
            "train",
            RECIPES["tiny"],
            "--backend",
            "verl",
            "--out",
            tmp_path,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr == "provegym: vllm is missing, which verl needs: pip install vllm\n"
    assert list(tmp_path.iterdir()) == []
