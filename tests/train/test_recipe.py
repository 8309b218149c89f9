"""Recipes: what they inherit, what may be changed, and what is refused with which sentence."""

from pathlib import Path

import msgspec
import pytest

from provegym import recipes
from provegym.config import BadRecipe, load_recipe, write_recipe
from provegym.rewards import PAPER, WEIGHTS

RECIPES = recipes.FOLDER
FILES = sorted(RECIPES.glob("*.toml"))
PAPER_LR = {"qwen3-4b": 1e-6, "qwen3-8b": 5e-8, "qwen2.5-7b": 3e-7, "granite-4.1-8b": 3e-7}


def write(folder: Path, text: str, name: str = "r.toml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_recipe_loads_and_is_written_as_it_was_read(path: Path, tmp_path: Path) -> None:
    recipe = load_recipe(path)
    written = write_recipe(recipe)
    assert load_recipe(write(tmp_path, written)) == recipe
    assert f"assistant_turns = {recipe.limits.assistant_turns}\n" in written


@pytest.mark.parametrize(("name", "lr"), PAPER_LR.items())
def test_the_four_models_have_the_papers_settings(name: str, lr: float) -> None:
    recipe = load_recipe(RECIPES / f"{name}.toml")
    grpo, limits = recipe.grpo, recipe.limits
    assert grpo is not None
    assert (grpo.lr, grpo.beta, grpo.steps) == (lr, 0.01, 350)
    assert (grpo.prompts_per_step, grpo.rollouts) == (16, 16)
    assert (limits.prompt, limits.completion) == (12_384, 16_384)
    assert (limits.user_turns, limits.assistant_turns) == (5, 10)
    assert recipe.model.lora is None
    assert recipe.reward == PAPER


@pytest.mark.parametrize("part", ["validity", "coverage", "efficiency", "name", "argument"])
def test_an_ablation_differs_in_one_weight(part: str) -> None:
    base, ablation = (
        load_recipe(RECIPES / "qwen3-4b.toml"),
        load_recipe(RECIPES / f"minus-{part}.toml"),
    )
    weights = {each: ablation.reward.weight(each) for each in WEIGHTS}
    assert weights == {**WEIGHTS, part: 0}
    assert ablation.grpo == base.grpo
    assert ablation.model == base.model


def test_beta_zero_is_the_rewards_and_not_the_kl_terms() -> None:
    for name in ("beta-zero", "embedded-beta-zero"):
        recipe = load_recipe(RECIPES / f"{name}.toml")
        assert recipe.reward.beta == 0
        assert recipe.grpo is not None
        assert recipe.grpo.beta == 0.01


def test_what_is_not_said_is_inherited_table_by_table(tmp_path: Path) -> None:
    write(tmp_path, "[grpo]\nlr = 3e-7\nsteps = 9\n[reward.weights]\nname = 0.4", "base.toml")
    recipe = load_recipe(
        write(tmp_path, 'extends = "base.toml"\n[grpo]\nsteps = 3\n[reward.weights]\nvalidity = 1')
    )
    assert recipe.grpo is not None
    assert (recipe.grpo.lr, recipe.grpo.steps) == (3e-7, 3)
    assert recipe.reward.weights == {"name": 0.4, "validity": 1.0}


def test_a_limit_alone_leaves_the_others_as_they_were(tmp_path: Path) -> None:
    path = write(tmp_path, "[grpo]\nsteps = 9")
    plain, fewer = load_recipe(path).limits, load_recipe(path, ["limits.user_turns=3"]).limits
    assert fewer == msgspec.structs.replace(plain, user_turns=3)
    assert (plain.prompt, plain.completion, plain.reply) == (12_384, 16_384, 2_048)


def test_changes_come_last_and_names_need_no_quotes(tmp_path: Path) -> None:
    path = write(tmp_path, "[grpo]\nsteps = 9")
    changes = [
        "grpo.steps=20",
        "model.name=Qwen/Qwen3-8B",
        "model.lora.r=4",
        "data.servers=['maps']",
    ]
    recipe = load_recipe(path, changes)
    assert recipe.grpo is not None
    assert recipe.grpo.steps == 20
    assert recipe.model.name == "Qwen/Qwen3-8B"
    assert recipe.model.lora is not None
    assert recipe.model.lora.r == 4
    assert recipe.data.servers == ("maps",)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("grpo.step=3", "no setting 'grpo.step'; did you mean 'grpo.steps'?"),
        ("grp.steps=3", "no setting 'grp'; did you mean 'grpo'?"),
        ("limits.promt=3", "did you mean 'limits.prompt'?"),
        ("grpo.steps=many", "grpo.steps: expected `int`, got `str`"),
        ("grpo.steps=0", "grpo.steps: expected `int` >= 1"),
        ("grpo.rollouts=1", "grpo.rollouts: expected `int` >= 2"),
        ("grpo.lr=-1e-6", "grpo.lr: expected `float` > 0"),
        ("grpo.batch=7", "(256) must be a multiple of grpo.batch (7)"),
        ("limits.reply=0", "limits.reply is 0; it must be at least 1"),
        ("reward.weights.vality=1", "no reward part 'vality'"),
        ("grpo.loss_type=ppo", "grpo.loss_type: invalid enum value 'ppo'"),
        ("sft.lr=1e-5", "has [sft] or [grpo], not both"),
        ("steps", "--set takes key=value"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(tmp_path: Path, change: str, sentence: str) -> None:
    with pytest.raises(BadRecipe) as caught:
        load_recipe(write(tmp_path, "[grpo]\nsteps = 9"), [change])
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_circle_is_refused(tmp_path: Path) -> None:
    write(tmp_path, 'extends = "b.toml"', "a.toml")
    path = write(tmp_path, 'extends = "a.toml"', "b.toml")
    with pytest.raises(BadRecipe, match="extends itself"):
        load_recipe(path)


def test_a_recipe_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadRecipe, match="no recipe 'tyni'; `provegym recipes` lists them"):
        recipes.find("tyni")
    with pytest.raises(BadRecipe, match=r"gone\.toml: No such file"):
        load_recipe(write(tmp_path, 'extends = "gone.toml"'))
