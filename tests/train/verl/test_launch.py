"""A run of verl: what is missing is said in a line, and what it reads is there when it starts."""

import json
import shlex
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.progress import Progress

pytest.importorskip("torch")

from examples import pay_example
from provegym.cli import main
from provegym.config import load_recipe, write_recipe
from provegym.models.codec import Codec
from provegym.models.local import load, load_tokenizer
from provegym.trace import Example, write
from provegym.train import trl
from provegym.train.data import load as load_examples
from provegym.train.run import TrainError
from provegym.train.verl import launch
from provegym.train.verl.overrides import RunFiles
from train.tiny import build_model, build_tokenizer

ROOT = Path(__file__).parents[3]
TINY = "tiny"
DATA = ROOT / "tests" / "data"
READY = {"verl": "0.9.1", "transformers": "5.9.0"}


def here(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], modules: set[str]) -> None:
    """Have these packages installed, as far as a launch can see."""

    def version(package: str) -> str:
        if package not in versions:
            raise PackageNotFoundError(package)
        return versions[package]

    monkeypatch.setattr(launch, "version", version)
    monkeypatch.setattr(launch, "find_spec", lambda name: name if name in modules else None)


@pytest.mark.parametrize(
    ("versions", "modules", "problem"),
    [
        ({}, set(), "verl is not installed: pip install 'verl"),
        ({"verl": "0.8.2"}, set(), r"verl 0\.8\.2 is not supported, only 0\.9\.x"),
        ({**READY, "transformers": "5.14.1"}, set(), r"transformers 5\.14\.1 is too new for verl"),
        ({**READY, "transformers": "6.0.0"}, set(), r"transformers 6\.0\.0 is too new for verl"),
        (READY, {"transfer_queue"}, "vllm is missing, which verl needs: pip install vllm"),
        (READY, {"vllm"}, "transfer_queue is missing, .*: pip install TransferQueue"),
        (
            {**READY, "trl": "1.16.0"},
            {"vllm", "transfer_queue", "trl"},
            r"trl 1\.16\.0 is too new for verl 0\.9\.1, which needs none: pip uninstall trl",
        ),
    ],
)
def test_what_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], modules: set[str], problem: str
) -> None:
    here(monkeypatch, versions, modules)
    with pytest.raises(TrainError, match=problem) as raised:
        launch.check_installed()
    assert "\n" not in str(raised.value)


def test_nothing_is_said_where_all_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    here(monkeypatch, READY, {"vllm", "transfer_queue"})
    launch.check_installed()
    here(monkeypatch, {**READY, "trl": "1.12.0"}, {"vllm", "transfer_queue", "trl"})
    launch.check_installed()


def test_flash_attention_is_used_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recipe, place = load_recipe(TINY), RunFiles(tmp_path, gpus=1)
    here(monkeypatch, READY, {"flash_attn"})
    packed = launch.command(recipe, place)
    here(monkeypatch, READY, set())
    padded = launch.command(recipe, place)
    assert padded[: len(packed)] == packed
    assert padded[len(packed) :] == [
        "+actor_rollout_ref.model.override_config.attn_implementation=sdpa",
        "actor_rollout_ref.model.use_remove_padding=false",
    ]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model with an adapter, in folders of their own."""
    from peft import LoraConfig, get_peft_model

    folder = tmp_path_factory.mktemp("model")
    tokenizer = build_tokenizer([pay_example()])
    small = build_model(tokenizer, seed=2)
    small.save_pretrained(folder / "small")
    tokenizer.save_pretrained(folder / "small")
    lora = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    get_peft_model(small, lora).save_pretrained(folder / "adapter")
    return folder


def settings(model: Path, corpus: Path, *changes: str) -> Any:
    """The tiny recipe on this model and these examples."""
    named = {"model.name": str(model / "small"), "data.corpus": str(corpus)}
    quoted = [f"{key}={json.dumps(value)}" for key, value in named.items()]
    return load_recipe(TINY, [*quoted, "limits.prompt=8192", "data.split=", *changes])


def test_verl_reads_the_examples_that_trl_would_in_its_order(model: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    recipe = settings(model, DATA / "banking.jsonl")
    place = RunFiles(tmp_path / "run")
    launch.prepare(recipe, place, write_recipe(recipe), Progress(disable=True))
    rows = parquet.read_table(place.data).to_pylist()
    shown = {each.id: each for each in load_examples(recipe.data, tmp_path, Progress(disable=True))}
    ids = trl.choose(recipe, Codec(load_tokenizer(model / "small"), 8192), shown)
    held = [msgspec.json.decode(row["extra_info"]["example"], type=Example) for row in rows]
    assert held == [shown[each] for each in ids]
    assert {each.toolbox.limit for each in held} == {4}
    assert load_recipe(place.folder / "recipe.toml") == recipe
    assert place.agent.read_bytes() == launch.agent_file(recipe)
    assert not place.base.exists()
    with pytest.raises(TrainError, match="holds a run; continue it with --resume"):
        launch.prepare(recipe, place, "", Progress(disable=True))


def test_the_base_of_a_run_is_the_model_with_its_adapter(model: Path, tmp_path: Path) -> None:
    import torch

    recipe = settings(model, DATA / "banking.jsonl", f"model.adapter={model / 'adapter'}")
    place = RunFiles(tmp_path)
    launch.save_base(recipe, place)
    base, tokenizer = load(place.base, None, "cpu")
    adapted, _ = load(model / "small", model / "adapter", "cpu")
    plain, _ = load(model / "small", None, "cpu")
    ids = torch.tensor([[5, 6, 7, 8]])
    assert torch.allclose(base(ids).logits, adapted(ids).logits, atol=1e-5)
    assert not torch.allclose(base(ids).logits, plain(ids).logits, atol=1e-2)
    assert "tools" in tokenizer.chat_template


def test_an_adapter_that_is_not_there_is_missed(model: Path, tmp_path: Path) -> None:
    recipe = settings(model, DATA / "banking.jsonl", "model.adapter=nowhere")
    with pytest.raises(TrainError, match=r"model\.adapter: there is no nowhere"):
        launch.save_base(recipe, RunFiles(tmp_path))


def test_verl_is_started_on_what_was_prepared(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here(monkeypatch, READY, {"vllm", "transfer_queue"})
    started: list[list[str]] = []

    def start(line: list[str], env: dict[str, str], check: bool) -> Any:
        started.append(line)
        assert env["TENSORBOARD_DIR"] == str(tmp_path / "run" / "tensorboard")
        assert (tmp_path / "run" / "agent.yaml").exists()
        return type("Ended", (), {"returncode": len(started) - 1})

    monkeypatch.setattr(launch.subprocess, "run", start)
    write(tmp_path / "one.jsonl", [pay_example(id=f"pay-{at}") for at in range(4)])
    recipe = settings(model, tmp_path / "one.jsonl")
    place = RunFiles(tmp_path / "run", gpus=2)
    launch.start(recipe, place, "", Progress(disable=True))
    (line,) = started
    assert line[1:] == launch.command(recipe, place)
    with pytest.raises(TrainError, match="verl stopped with status 1"):
        launch.start(recipe, place._replace(resume=True), "", Progress(disable=True))
    assert "trainer.resume_mode=auto" in started[1]
    place.agent.unlink()  # as a kill leaves it that came before the last file
    with pytest.raises(TrainError, match="verl stopped with status 2"):
        launch.start(recipe, place._replace(resume=True), "", Progress(disable=True))


def test_the_command_prints_what_a_shell_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "a run"
    told = ["--backend", "verl", "--print", "--gpus", "2", "--out", str(out)]
    monkeypatch.setattr("sys.argv", ["provegym", "train", str(TINY), *told])
    with pytest.raises(SystemExit, match="None"):
        main()
    words = shlex.split(capsys.readouterr().out)
    assert words[:3] == ["python", "-m", "verl.trainer.main_ppo"]
    assert "trainer.n_gpus_per_node=2" in words
    assert "trainer.experiment_name='a run'" in words
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--backend", "verll"], "no backend 'verll'; did you mean 'verl'?"),
        (["--backend", "verl", "--dry-run"], "--dry-run is TRL's; --backend verl has --print"),
        (["--print"], "--print is for --backend verl; TRL has --dry-run"),
        (
            ["--gpus", "2"],
            "--gpus and --nodes are for --backend verl; start TRL by accelerate launch",
        ),
        (
            ["--nodes", "1"],
            "--gpus and --nodes are for --backend verl; start TRL by accelerate launch",
        ),
        (["--dry-run", "--resume"], "--dry-run looks at no run; leave --resume out"),
        (
            ["--backend", "verl", "--print", "--set", "grpo.loss_type=cispo"],
            "verl cannot do grpo.loss_type = cispo: take one of dapo, grpo, dr_grpo",
        ),
    ],
)
def test_what_does_not_go_together_is_said(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    problem: str,
) -> None:
    monkeypatch.setattr("sys.argv", ["provegym", "train", str(TINY), *options])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert capsys.readouterr().err == f"provegym: {problem}\n"
