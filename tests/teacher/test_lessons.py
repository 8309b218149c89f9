"""Lessons: a corpus in a teacher's words, which can be stopped and taken up again."""

import asyncio
import shutil
from collections import Counter
from pathlib import Path

import pytest
from rich.progress import Progress

from provegym.teacher import teacher
from provegym.teacher.lessons import PLANS, Classroom, Lessons
from provegym.teacher.teacher import NO_TRANSCRIPT, TeacherError
from provegym.trace import BadFile, Example, read, write

from .fake_endpoint import Answer, Body, Failure, fake_model

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a few plans that have no right calls, so that any good words will do."""
    (tmp_path / PLANS).mkdir()
    plans = [e for e in read(DATA, Example) if e.kind in ("abstention", "irrelevance")][:6]
    write(tmp_path / PLANS / "train-00000.jsonl", plans)
    return tmp_path


def hold(lessons: Lessons) -> Counter[str]:
    """Hold the lessons without a bar."""
    return asyncio.run(Classroom(lessons, Progress(disable=True)).hold())


def say(body: Body) -> Answer:
    """A teacher with some words of its own for every request."""
    if body.get("tools"):
        return "Sorry, there is nothing I can do about that."
    return f"What I have in mind is a long story, chapter {chr(97 + len(str(body)) % 26)}."


def test_every_plan_is_said_anew_or_counted(folder: Path) -> None:
    with fake_model(say) as model:
        counts = hold(Lessons(folder, model.url, "fake"))
    taught = list(read(folder / "train-00000.jsonl", Example))
    assert counts.total() == 6
    assert counts["kept"] + counts[NO_TRANSCRIPT] == len(taught)
    assert all(example.provenance.model == "fake" for example in taught)


def test_lessons_go_on_where_they_were_stopped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teacher, "PATIENCE", 2)
    said = 0

    def failing(body: Body) -> Answer:
        nonlocal said
        said += 1
        return say(body) if said < 4 else Failure(401)

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
