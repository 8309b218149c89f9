"""The short quickstart with a tiny model: what it shows, what it leaves, and how it goes on."""

import io
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from rich.console import Console

from examples import pay_example
from provegym import cli
from provegym.cli import viewing, worlds
from provegym.evals.heldout import group
from provegym.models import optional as extra
from provegym.players.scripted import SCRIPTS
from provegym.quickstart import run as quickstart
from provegym.quickstart.curve import curve
from provegym.quickstart.lesson import ends
from provegym.quickstart.side_by_side import streamed, ticks
from provegym.rollout import play_script
from provegym.trace import BadFile, Example, Rollout, read
from provegym.verify import verify
from provegym.verify.complete import complete
from quickstart.small import SMALL, Whole, missing, needs_models, swap

KILLS, PATIENCE = 3, 300


def told(folder: Path, fresh: bool = False, terminal: bool = False) -> str:
    """Do a short quickstart; what it said."""
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=terminal or None)
    quickstart.run(folder, console, fresh)
    return re.sub(r"\s+", " ", out.getvalue())


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """One where nothing of the extra is installed."""
    folder = tmp_path_factory.mktemp("bare") / "quick"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quickstart, "check", missing)
        patch.setattr(quickstart, "LAPTOP", SMALL)
        return folder, told(folder)


@pytest.fixture(scope="module")
def whole(bare: Whole, models: Path, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """The same after the extra was installed, and without matplotlib."""
    folder = tmp_path_factory.mktemp("whole") / "quick"
    shutil.copytree(bare[0], folder)
    with pytest.MonkeyPatch.context() as patch:
        swap(models, patch.setattr)
        patch.setattr(quickstart, "check", without_plots)
        return folder, told(folder)


def without_plots(module: str) -> None:
    """A check of packages that does not find matplotlib."""
    if module == "matplotlib":
        raise extra.NotInstalled("matplotlib is missing")
    extra.check(module)


def test_without_models_it_tells_a_story_makes_examples_and_says_what_to_install(
    bare: Whole,
) -> None:
    folder, said = bare
    assert said.index("minutes on two free cores") < said.index("story: a task")
    assert re.search(r"\d+ calls on a live world of filesystem, 1 refused, \d+ records", said)
    assert "one of 12 examples, filesystem-" in said
    assert re.search(r"user .+ → \w+\(.+ assistant ", said)
    assert "12 examples on filesystem from" in said
    assert f"left out models, grpo: torch is missing: {extra.INSTALL}" in said
    assert "The answer is right, too, where nothing had to be said" in said
    left = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    assert left == {"report.html", "steps.json", "tasks.jsonl", "lessons.jsonl", "corpus"}


def test_it_starts_where_nothing_for_training_is_installed() -> None:
    """An adapter checks its framework when it is imported, and would end the command."""
    code = "import sys, provegym.quickstart.run; print('provegym.adapters.trl' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_nonsense_gets_no_tick_for_an_answer_that_was_not_due() -> None:
    nonsense = play_script(complete(pay_example()), SCRIPTS["noop"])
    assert ticks(nonsense).plain == "✗ state  no answer due  ✓ ended  reward 0.00 of 1.30"


def test_tasks_are_of_one_turn_on_unseen_worlds_and_lessons_of_one_call(bare: Whole) -> None:
    tasks = list(read(bare[0] / "tasks.jsonl", Example))
    lessons = list(read(bare[0] / "lessons.jsonl", Example))
    assert {group(task) for task in tasks} == {"unseen worlds"}
    assert {group(lesson) for lesson in lessons} == {"training worlds"}
    for each in (*tasks, *lessons):
        assert verify(each) == []
        assert len(each.turns) == 1
    assert {len(path.steps) for each in lessons for path in each.paths} == {1}


@needs_models
def test_two_models_play_side_by_side_and_grpo_shows_each_step(whole: Whole) -> None:
    folder, said = whole
    assert said.count(" base model ") >= 2
    answer = r"([✓✗] answer|no answer due)"
    assert re.search(rf"[✓✗] state {answer} [✓✗] ended reward 0\.\d\d of 1\.30", said)
    assert "with the shipped adapter: reward" in said
    assert re.search(r"step 3/3 reward 0\.\d\d", said)
    assert re.search(r"3 steps on 1 tasks with 2 rollouts each.+ in the last", said)
    assert "left out" not in said
    for name in ("base", "trained"):
        assert len(list(read(folder / f"{name}.jsonl", Rollout))) == 2
    page = (folder / "report.html").read_text("utf-8")
    assert "Requests of one turn on worlds that training never saw" in page
    assert "The answer is right, too, where nothing had to be said" in page
    assert "too few to measure what they changed" not in page
    assert page.count("<img") == 1


@needs_models
def test_it_claims_a_rise_only_where_the_run_had_one(whole: Whole) -> None:
    page = (whole[0] / "report.html").read_text("utf-8")
    assert "The mean reward did not rise in this run: 0.00 in the first third" in page


@needs_models
def test_after_a_stop_only_what_is_missing_is_played(
    whole: Whole, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "again"
    shutil.copytree(whole[0], folder)
    state = (folder / "steps.json").read_text("utf-8")
    cut = re.sub(r'("models": \{\s+"key": "\w+",\s+"done": )true', r"\1false", state)
    assert cut != state
    (folder / "steps.json").write_text(cut, "utf-8")
    first, second = (folder / "trained.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "trained.jsonl").write_bytes(first + second[:40])
    before = (folder / "base.jsonl").read_bytes()
    swap(models, monkeypatch.setattr)
    said = told(folder)
    assert said.count(" kept") == len(quickstart.SHORT_STEPS) - 1
    assert (folder / "base.jsonl").read_bytes() == before
    assert (folder / "trained.jsonl").read_bytes() == first + second


@pytest.mark.long
@needs_models
def test_after_kills_at_random_moments_it_comes_to_the_same(
    whole: Whole, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, chance = tmp_path / "killed", Random("short")
    for _ in range(KILLS):
        process = begin(models, folder)
        count, latest = chance.randint(1, len(quickstart.SHORT_STEPS)), monotonic() + PATIENCE
        while process.poll() is None and begun(folder) < count:
            assert monotonic() < latest
            sleep(0.02)
        sleep(chance.uniform(0, 4))
        process.kill()
        process.wait()
    swap(models, monkeypatch.setattr)
    told(folder)
    assert outcome(folder) == outcome(whole[0])


def begin(models: Path, folder: Path) -> "subprocess.Popen[bytes]":
    """Start the small quickstart in a process of its own."""
    script = Path(__file__).with_name("small.py")
    return subprocess.Popen(
        [sys.executable, str(script), str(models), "--out", str(folder)],
        env={**os.environ, "PYTHONPATH": str(script.parents[1])},
        stdout=subprocess.DEVNULL,
    )


def begun(folder: Path) -> int:
    """How many steps of a quickstart have begun."""
    state = folder / "steps.json"
    return len(msgspec.json.decode(state.read_bytes())) if state.exists() else 0


def outcome(folder: Path) -> dict[str, object]:
    """What a short quickstart leaves, times aside."""
    names = ("tasks.jsonl", "lessons.jsonl", "base.jsonl", "trained.jsonl", "corpus/*.jsonl")
    names = (*names, "start/*", "grpo/adapter/*", "grpo/rollouts/*.jsonl")
    files = {path.relative_to(folder): path for name in names for path in folder.glob(name)}
    lines = (folder / "grpo" / "metrics.jsonl").read_bytes().splitlines()
    every = [msgspec.json.decode(line) for line in lines]
    untimed = [{k: v for k, v in each.items() if "second" not in k} for each in every]
    return {"metrics": untimed, **{str(name): path.read_bytes() for name, path in files.items()}}


@needs_models
def test_in_a_terminal_the_conversations_are_columns(
    whole: Whole, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "columns"
    shutil.copytree(whole[0], folder)
    state = (folder / "steps.json").read_text("utf-8")
    cut = re.sub(r'("models": \{\s+"key": "\w+",\s+"done": )true', r"\1false", state)
    (folder / "steps.json").write_text(cut, "utf-8")
    (folder / "base.jsonl").unlink()
    (folder / "trained.jsonl").unlink()
    swap(models, monkeypatch.setattr)
    import torch

    before = torch.get_num_threads()
    said = re.sub(r"\x1b\[[0-9;?]*\w", "", told(folder, terminal=True))
    assert re.search("base model +┃ with the shipped adapter", said)
    assert re.search(r"[✓✗] state.+│ [✓✗] state", said)
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(torch.get_num_threads).result() == before


def test_a_folder_of_the_other_job_is_left_alone(bare: Whole) -> None:
    before = (bare[0] / "steps.json").read_bytes()
    with pytest.raises(BadFile, match="holds a short quickstart"):
        quickstart.run(bare[0], Console(file=io.StringIO()), job=quickstart.FULL)
    assert (bare[0] / "steps.json").read_bytes() == before


def test_what_is_being_said_is_shown_without_marks_and_results_are_cut() -> None:
    text = (
        '<tool_call>\n{"name": "look"}\n</tool_call><|im_end|>\n<|im_start|>tool\n<tool_response>\n'
        + "x" * 500
        + "\n</tool_response><|im_end|>\n<|im_start|>assistant\nIt is"
    )
    assert [line.plain for line in streamed(text)] == ['{"name": "look"}', "x" * 120, "It is"]


def test_the_curve_has_a_point_for_each_step_and_higher_rewards_stand_higher() -> None:
    picture = ElementTree.fromstring(curve([0.2, 0.9, 1.3]))
    circles = [each for each in picture if each.tag.endswith("circle")]
    heights = [float(each.attrib["cy"]) for each in circles]
    assert len(heights) == 3
    assert heights == sorted(heights, reverse=True)
    assert len(ElementTree.fromstring(curve([0.5]))) > 0


def test_the_ends_of_a_run_are_its_first_and_last_third() -> None:
    assert ends([1.0, 2.0, 0.0, 0.0, 0.0, 3.0, 5.0]) == (1.5, 4.0)
    assert ends([1.0, 2.0]) == (1.0, 2.0)


def test_the_page_opens_on_the_comparison_where_there_is_a_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[list[Path], str]] = []
    monkeypatch.setattr(quickstart, "run", lambda *_: None)
    monkeypatch.setattr(viewing, "has_screen", lambda: True)
    monkeypatch.setattr(viewing, "show_page", lambda paths, at: opened.append((paths, at)))
    files = [tmp_path / "base.jsonl", tmp_path / "trained.jsonl"]
    for file in files:
        file.touch()

    def start(terminal: bool, *options: str) -> None:
        def console(**settings: Any) -> Console:
            return Console(**settings, force_terminal=terminal)

        monkeypatch.setattr(worlds, "SafeConsole", console)
        monkeypatch.setattr(
            "sys.argv", ["provegym", "quickstart", "--out", str(tmp_path), *options]
        )
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert not end.value.code

    start(False)
    start(True, "--no-open")
    assert opened == []
    start(True)
    assert opened == [([*files, tmp_path], "#/compare?left=0&right=1")]
