"""The files of examples/: each is short, runs, and prints what it promises."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import notebook
import provegym
from command import run
from provegym.trace import Example, read, write

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples"
FILES = sorted([*FOLDER.glob("*.py"), *FOLDER.glob("tea_shop/*.py")])
BANKING = ROOT / "tests" / "data" / "banking.jsonl"
VERIFIERS = ROOT / ".envs" / "verifiers" / "bin" / "python"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The examples of the tests' data in which a call is right."""
    chosen = [each for each in read(BANKING, Example) if each.kind == "multi_turn"]
    write(tmp_path / "examples.jsonl", chosen)
    return tmp_path / "examples.jsonl"


def shown(file: str, *arguments: object) -> str:
    """What an example prints, run as a program in its folder."""
    command = [sys.executable, file, *map(str, arguments)]
    paths = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.check_output(command, cwd=FOLDER, env=paths, text=True)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_an_example_is_short_and_in_the_table(file: Path) -> None:
    assert len(file.read_text("utf-8").splitlines()) <= 60
    table = (FOLDER / "README.md").read_text("utf-8")
    assert f"]({file.name})" in table or f"]({file.parent.name})" in table


def test_links_of_the_table_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)]+)\)", (FOLDER / "README.md").read_text("utf-8")):
        assert (FOLDER / link.partition("#")[0]).exists(), link


def test_own_policy_plays_three_tasks() -> None:
    assert len(re.findall(r"\d calls, reward \d\.\d\d of 1\.3", shown("own_policy.py"))) == 3


def test_own_policy_plays_from_the_command_line(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    options = ("--data", data, "--out", data.with_name("rollouts.jsonl"))
    done = run("rollout", "--policy", "own_policy:Looker", *options)
    assert done.returncode == 0, done.stderr
    assert "rollouts in " in done.stdout


def test_own_reward_pays_the_right_calls_most() -> None:
    lines = shown("own_reward.py").splitlines()
    assert [line.startswith("oracle  careful  1.00") for line in lines] == [True] * 3 + [False] * 3
    assert not any("careful  1.00" in line for line in lines[3:])


def test_own_server_is_called_and_has_tasks() -> None:
    told = shown("own_server.py")
    assert "'error': 'rejected'" in told
    assert "order less" in told
    assert told.count("\n\nuser: ") == 2


def test_own_server_is_found_by_the_command_line() -> None:
    command = [sys.executable, "-m", "provegym", "--servers-from", str(FOLDER)]
    command += ["call", "tea_shop", "list_teas", '{"name": "Assam"}']
    told = subprocess.check_output(command, text=True)
    assert '"name":"Assam ' in told


@pytest.mark.parametrize("file", ["rescore.py", "trl_grpo.py"])
def test_an_example_without_its_arguments_says_how_to_start_it(file: str) -> None:
    if file == "trl_grpo.py":
        pytest.importorskip("trl")
    command = [sys.executable, file]
    paths = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=FOLDER, env=paths, text=True, capture_output=True)
    assert done.returncode == 1
    assert f"    python {file} " in done.stderr
    assert "Traceback" not in done.stderr


def test_rescore_pays_kept_rollouts_again(data: Path) -> None:
    out = data.with_name("rollouts.jsonl")
    run("rollout", "--policy", "oracle", "--data", data, "--out", out)
    lines = shown("rescore.py", out).splitlines()
    assert len(lines) == 4
    assert all(re.search(r" +1\.300 of 1\.30$", line) for line in lines[:2])


def test_the_tour_runs_and_its_outputs_are_up_to_date() -> None:
    kept = notebook.read()
    assert notebook.executed(kept) == kept, "run python tests/notebook.py"


def test_the_tour_is_a_notebook() -> None:
    """What Jupyter asks of a file: version, cell ids, outputs."""
    kept = notebook.read()
    assert (kept["nbformat"], kept["nbformat_minor"]) == (4, 5)
    names = [cell["id"] for cell in kept["cells"]]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", name) for name in names)
    code = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] for cell in code)


@pytest.mark.filterwarnings("ignore")
def test_trl_trains_with_our_worlds(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One step with a model of random weights: it writes nonsense, and is paid for it."""
    pytest.importorskip("torch")
    pytest.importorskip("trl")
    from trl.chat_template_utils import qwen3_chat_template

    from train.tiny import build_model, build_tokenizer

    monkeypatch.syspath_prepend(FOLDER)
    from trl_grpo import build  # type: ignore[import-not-found]

    examples, folder = list(read(data, Example)), data.parent
    monkeypatch.setattr(provegym, "synthesize", lambda *_, **__: examples)
    tokenizer = build_tokenizer(examples)
    tokenizer.chat_template = qwen3_chat_template
    tokenizer.save_pretrained(folder / "model")
    build_model(tokenizer, width=16).save_pretrained(folder / "model")
    few = {"num_generations": 2, "per_device_train_batch_size": 2, "max_completion_length": 8}
    here = {"use_cpu": True, "bf16": False, "report_to": [], "save_strategy": "no"}
    changes = {"output_dir": str(folder / "run"), "max_steps": 1, "disable_tqdm": True}
    trainer = build(str(folder / "model"), **few, **here, **changes)
    trainer.train()
    logged = {name for entry in trainer.state.log_history for name in entry}
    assert logged >= {"provegym/validity", "rewards/reward/mean", "rewards/brief/mean"}


@pytest.mark.skipif(not VERIFIERS.exists(), reason="make adapters builds .envs/verifiers")
def test_verifiers_plays_our_tasks(tmp_path: Path) -> None:
    """Against an endpoint that is a script, as in tests/adapters."""
    from threading import Thread

    from adapters.test_verifiers import Endpoint, examples

    chosen = examples("banking/what-is-left")
    write(tmp_path / "examples.jsonl", chosen)
    known = {**os.environ, "PATH": f"{VERIFIERS.parent}:{os.environ['PATH']}"}
    with Endpoint(chosen) as endpoint:
        Thread(target=endpoint.serve_forever, daemon=True).start()
        command = [VERIFIERS, FOLDER / "verifiers_eval.py", tmp_path / "examples.jsonl"]
        told = subprocess.check_output([*command, endpoint.url, "oracle"], env=known, text=True)
        endpoint.shutdown()
    assert "mean reward 1.300 over 1 tasks" in told
