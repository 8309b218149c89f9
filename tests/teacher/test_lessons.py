"""Lessons: a corpus in a teacher's words, which can be stopped and taken up again."""

import asyncio
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from rich.progress import Progress

from provegym.teacher import teacher
from provegym.teacher.ask import Ask
from provegym.teacher.lessons import PLANS, Classroom, Lessons
from provegym.teacher.teacher import VETOED, TeacherError
from provegym.trace import BadFile, Example, read, write
from teacher.actors import answer, blocks, calls_of, role
from teacher.fake_endpoint import Answer, Body, Failure, fake_model

DATA = Path(__file__).parents[1] / "data"
PLANNED = [e for e in read(DATA, Example) if e.kind in ("abstention", "irrelevance")][:6]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a few plans that have no right calls, so that any good words will do."""
    (tmp_path / PLANS).mkdir()
    write(tmp_path / PLANS / "train-00000.jsonl", PLANNED)
    return tmp_path


def hold(lessons: Lessons) -> Counter[str]:
    """Hold the lessons without a bar."""
    return asyncio.run(Classroom(lessons, Progress(disable=True)).hold())


def say(body: Body) -> Answer:
    """A teacher that says every request with a courtesy, and plays without a call."""
    if role(body) == "assistant":
        return "Sorry, there is nothing I can do about that."
    if role(body) == "writer":
        return f"Hello again! {blocks(body)[-2]}"
    plan = next(e for e in PLANNED if e.turns[0].text in blocks(body)[-1])
    return answer(calls_of(Ask(plan, 0), blocks(body)[-1]))


def test_every_plan_is_said_anew_or_counted(folder: Path) -> None:
    with fake_model(say) as model:
        counts = hold(Lessons(folder, model.url, "fake"))
    taught = list(read(folder / "train-00000.jsonl", Example))
    assert counts.total() == 6
    assert counts["kept"] == len(taught) == 6
    assert all(example.provenance.model == "fake" for example in taught)
    assert all(example.provenance.transcript for example in taught)


def test_vetoes_and_refusals_are_in_the_progress_file(folder: Path) -> None:
    def choosy(body: Body) -> Answer:
        if role(body) == "writer" and PLANNED[0].turns[0].text in str(body):
            return "VETO: nobody says that"
        return "Never mind." if role(body) == "writer" else say(body)

    with fake_model(choosy) as model:
        counts = hold(Lessons(folder, model.url, "fake"))
    assert counts[VETOED] == 1
    written = json.loads((folder / "lessons.json").read_text())
    assert written["vetoes"] == {PLANNED[0].id: "nobody says that"}
    assert written["refused"]["it negates something, where the plan does not"] == 15


def test_lessons_go_on_where_they_were_stopped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teacher, "PATIENCE", 2)
    said = 0

    def failing(body: Body) -> Answer:
        nonlocal said
        said += 1
        return say(body) if said < 8 else Failure(401)

    with fake_model(failing) as model, pytest.raises(TeacherError):
        hold(Lessons(folder, model.url, "fake", concurrency=1))
    with fake_model(say) as model:
        counts = hold(Lessons(folder, model.url, "fake", concurrency=1))
    taught = [example.id for example in read(folder / "train-00000.jsonl", Example)]
    assert counts.total() == 6
    assert taught == _undisturbed(folder)
    with fake_model(say) as model:
        hold(Lessons(folder, model.url, "fake"))
        assert not model.seen


def _undisturbed(folder: Path) -> list[str]:
    """What is kept of the same plans by lessons that nothing interrupts."""
    other = folder / "undisturbed"
    shutil.copytree(folder / PLANS, other / PLANS)
    with fake_model(say) as model:
        hold(Lessons(other, model.url, "fake"))
    return [example.id for example in read(other / "train-00000.jsonl", Example)]


def test_another_teacher_needs_another_folder(folder: Path) -> None:
    with fake_model(say) as model:
        hold(Lessons(folder, model.url, "fake"))
        with pytest.raises(BadFile, match="was taught by fake"):
            hold(Lessons(folder, model.url, "other"))
    (folder / "lessons.json").write_text("{")
    with pytest.raises(BadFile, match="start the lessons anew"):
        hold(Lessons(folder, "http://127.0.0.1:1", "fake"))
