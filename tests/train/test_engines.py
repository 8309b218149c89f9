"""Engine processes that die, and where the weights for them lie."""

from collections.abc import Callable
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch

from provegym.train import engines
from provegym.train.engines import Engines
from provegym.train.recipe import Data, Grpo, Model, Recipe
from provegym.train.run import TrainError
from train.engine_deaths import die_at_once, die_before_playing, die_while_playing, wait

RECIPE = Recipe(model=Model(name="none"), data=Data(), grpo=Grpo(rollouts=1, engines=1))
WEIGHTS = {"a": torch.ones(1000)}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that stands for the one in memory."""
    monkeypatch.setattr(engines, "MEMORY", tmp_path / "memory")
    (tmp_path / "memory").mkdir()
    return tmp_path / "memory"


@pytest.mark.parametrize("death", [die_at_once, die_before_playing, die_while_playing])
def test_an_engine_that_dies_is_a_sentence(
    death: Callable[..., None], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_serve", death)

    def play() -> None:
        found.append(Engines(RECIPE, {}, 1))
        found[0].load(WEIGHTS)
        if death is die_before_playing:
            found[0].processes[0].join()
        found[0].submit(["one"], 0)
        found[0].collect()

    found: list[Engines] = []
    with pytest.raises(TrainError, match="an engine process died"):
        play()
    for each in found:
        each.close()
    assert not active_children()
    assert not list(place.iterdir())


def test_ctrl_c_ends_engines_that_are_starting(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_serve", wait)

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Engines, "_hear", stop)
    with pytest.raises(KeyboardInterrupt):
        Engines(RECIPE, {}, 2)
    assert not active_children()


def test_weights_lie_in_memory_if_there_is_room(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_serve", die_before_playing)
    first = Engines(RECIPE, {}, 1)
    first.load(WEIGHTS)
    (folder,) = place.iterdir()
    for _ in range(3):
        first.load(WEIGHTS)
    assert len(list(folder.glob("*.safetensors"))) == 2
    first.close()
    assert not list(place.iterdir())
    full = type("Usage", (), {"free": 5_999})
    monkeypatch.setattr(engines, "disk_usage", lambda _: full)
    second = Engines(RECIPE, {}, 1)
    second.load(WEIGHTS)
    assert not list(place.iterdir())
    assert second._file(1).exists()
    second.close()


def test_weights_of_a_killed_trainer_are_swept(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = place / "provegym-weights-old"
    left.mkdir()
    (left / "lock").touch()
    (left / "7.safetensors").touch()
    monkeypatch.setattr(engines, "_serve", die_before_playing)
    engine = Engines(RECIPE, {}, 1)
    engine.load(WEIGHTS)
    assert not left.exists()
    engine.close()
