"""The full quickstart: the whole job with a tiny model, after a kill, and without any model."""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from time import monotonic, sleep
from xml.etree import ElementTree

import msgspec
import pytest
from rich.console import Console

from provegym.evals.heldout import group
from provegym.models import optional as extra
from provegym.quickstart import pictures
from provegym.quickstart import run as quickstart
from provegym.servers import names
from provegym.toolbox import all_tools
from provegym.trace import Example, Rollout, read
from provegym.verify import verify
from quickstart.small import SMALL, Whole, missing, needs_models, swap

FILES = {"report.html", "steps.json", "tasks.jsonl", "corpus"}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A quickstart where nothing of the extra is installed, and what it said."""
    folder = tmp_path_factory.mktemp("bare") / "quick"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quickstart, "check", missing)
        patch.setattr(pictures, "need", missing)
        patch.setattr(quickstart, "LAPTOP", SMALL)
        return folder, told(folder)


@pytest.fixture(scope="module")
def whole(bare: Whole, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The same after the extra was installed, and what it said then."""
    folder = tmp_path_factory.mktemp("whole") / "quick"
    shutil.copytree(bare[0], folder)
    with pytest.MonkeyPatch.context() as patch:
        swap(models, patch.setattr)
        return folder, told(folder)


def told(folder: Path, fresh: bool = False) -> str:
    """Do a quickstart; what it said."""
    out = io.StringIO()
    quickstart.run(folder, Console(file=out, width=400), fresh, quickstart.FULL)
    return out.getvalue()


def history(folder: Path) -> list[dict[str, object]]:
    """What GRPO measured, times aside."""
    lines = (folder / "grpo" / "metrics.jsonl").read_bytes().splitlines()
    every = [msgspec.json.decode(line) for line in lines]
    return [{k: v for k, v in each.items() if "second" not in k} for each in every]


@needs_models
def test_every_step_says_what_it_measured(whole: Whole) -> None:
    folder, said = whole
    assert f"{len(names())} servers with {len(all_tools())} tools" in said
    assert "12 examples for training and 4 of held-out servers" in said
    assert "all 16 keep the contract on their worlds: the right calls are paid 1.3, doing" in said
    assert "1 on unseen servers and 1 on unseen worlds, 0 of them with nothing to call;" in said
    assert "as it comes: reward 0.00" in said
    assert "with the shipped adapter: reward" in said
    assert re.search(r"step 2/2: reward \d\.\d\d ± \d\.\d\d, success", said)
    assert "2 steps from that adapter, each on 1 new prompts with 2 rollouts each" in said
    assert "2 steps, each on new prompts, are too few to measure what they changed" in said
    assert said.count(" kept") == 4
    assert "left out" not in said
    assert str(folder / "report.html") in said


@needs_models
def test_what_it_leaves_can_be_used(whole: Whole) -> None:
    folder, _ = whole
    tasks = list(read(folder / "tasks.jsonl", Example))
    assert sorted(map(group, tasks)) == ["unseen servers", "unseen worlds"]
    assert [verify(task) for task in tasks] == [[], []]
    for name in ("base", "trained"):
        played = list(read(folder / f"{name}.jsonl", Rollout))
        assert {each.example.id for each in played} == {task.id for task in tasks}
    assert len(history(folder)) == SMALL.steps
    assert (folder / "grpo" / "adapter" / "adapter_config.json").exists()
    assert len(list(read(folder / "grpo" / "rollouts", Rollout))) == 4


@needs_models
def test_the_page_shows_the_scores_and_needs_no_other_file(whole: Whole) -> None:
    folder, _ = whole
    page = (folder / "report.html").read_text("utf-8")
    assert "$" not in re.sub(r"\$\d", "", page)
    for name in ("n", "does nothing", "base model", "shipped adapter", "right calls"):
        assert page.count(f"<th>{name}</th>") == 2
    pictures = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    for name, picture in zip(("scores", "grpo"), pictures, strict=True):
        assert ElementTree.fromstring(b64decode(picture)).tag.endswith("svg")
        assert (folder / "plots" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "One task, twice" in page
    assert "are too few to measure what they changed" in page
    rest = re.sub(r'src="data:[^"]+"', "", page)
    assert not re.findall("http|src=|href=|url\\(", rest)


@needs_models
def test_a_second_run_keeps_all_and_a_new_adapter_only_what_has_none(
    whole: Whole, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = whole
    swap(models, monkeypatch.setattr)
    before = (folder / "steps.json").read_bytes()
    said = told(folder)
    assert said.count(" kept") == len(quickstart.STEPS)
    assert (folder / "steps.json").read_bytes() == before
    redone: list[str] = []
    monkeypatch.setattr(quickstart, "_do", lambda desk, step, key: redone.append((step.name, key)))
    told(folder)
    old = dict(redone)
    redone.clear()
    monkeypatch.setattr(quickstart, "adapter", lambda: "another")
    steps = [
        step._replace(needs=quickstart.adapter) if step.name in ("trained", "grpo") else step
        for step in quickstart.STEPS
    ]
    monkeypatch.setattr(quickstart, "FULL", quickstart.FULL._replace(stages=steps))
    told(folder)
    assert {name for name, key in redone if old[name] != key} == {"trained", "grpo"}


@pytest.mark.long
@needs_models
def test_after_a_kill_it_goes_on_and_comes_to_the_same(
    bare: Whole, whole: Whole, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, metrics = tmp_path / "killed", tmp_path / "killed" / "grpo" / "metrics.jsonl"
    shutil.copytree(bare[0], folder)
    script = Path(__file__).with_name("small.py")
    process = subprocess.Popen(
        [sys.executable, str(script), str(models), "--full", "--out", str(folder)],
        env={**os.environ, "PYTHONPATH": str(script.parents[1])},
        stdout=subprocess.DEVNULL,
    )
    latest = monotonic() + 240
    while not (metrics.exists() and metrics.read_bytes()):
        assert process.poll() is None
        assert monotonic() < latest
        sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (folder / "grpo" / "adapter").exists()
    swap(models, monkeypatch.setattr)
    said = told(folder)
    assert said.count(" kept") == len(quickstart.STEPS) - 1
    assert history(folder) == history(whole[0])
    same = ("tasks.jsonl", "base.jsonl", "trained.jsonl")
    assert [(folder / name).read_bytes() for name in same] == [
        (whole[0] / name).read_bytes() for name in same
    ]


def test_without_models_the_rest_is_done_and_what_to_install_is_said(bare: Whole) -> None:
    folder, said = bare
    missing = [line for line in said.splitlines() if "missing" in line and "left out" in line]
    assert missing == [f"left out base, trained, grpo: torch is missing: {extra.INSTALL}"]
    left = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    assert left == FILES
    page = (folder / "report.html").read_text("utf-8")
    assert "<th>right calls</th>" in page
    assert "<th>base model</th>" not in page
    assert "<img" not in page
    assert "Steps of GRPO" not in page


def test_one_that_is_stopped_says_how_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(quickstart, "_do", stop)
    heard = io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        quickstart.run(tmp_path, Console(file=heard, width=80))
    assert heard.getvalue().endswith("stopped; the same command goes on from here\n")


def test_a_file_is_no_folder_for_it(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    command = [sys.executable, "-m", "provegym", "quickstart", "--out", str(tmp_path / "taken")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"provegym: {tmp_path / 'taken'} is a file; name a folder\n"
