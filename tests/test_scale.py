"""The simulation behind docs/scale.md: what must hold of any machine, and what the page says."""

import importlib.util
import json
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from provegym import servers
from provegym.corpus import candidates, corpus

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def scale() -> ModuleType:
    """The script beside the page."""
    spec = importlib.util.spec_from_file_location("scale", DOCS / "scale.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_says_what_the_simulation_says(scale: ModuleType) -> None:
    page, figures = (DOCS / "scale.md").read_text("utf-8"), json.loads(scale.FIGURES.read_text())
    gpu = scale.fitted(figures["training"])
    tables = scale.check(figures), scale.bill(figures), scale.fleet(figures["training"], gpu)
    for told in tables:
        assert told in page, "run docs/scale.py and put its tables on the page"


def test_its_rounds_are_those_of_a_corpus(scale: ModuleType) -> None:
    ours = candidates.PER_WORLD, len(servers.names()), corpus.WIDE
    assert ours == (scale.PER_WORLD, scale.SERVERS, scale.WIDE)


def test_work_is_never_lost_nor_done_faster_than_it_can_be(scale: ModuleType) -> None:
    chance = Random("work")
    for _ in range(200):
        rounds = [[chance.random() for _ in range(chance.randint(1, 9))] for _ in range(4)]
        workers, merge = chance.randint(1, 5), chance.choice([0.0, 0.05])
        load = scale.make(rounds, workers, merge)
        whole = sum(map(sum, rounds))
        jobs = sum(map(len, rounds))
        assert load.seconds >= whole / workers - 1e-9
        assert load.seconds >= max(max(each) for each in rounds) + merge * len(rounds) - 1e-9
        assert load.seconds <= whole + merge * jobs + 1e-9
        assert load.workers * workers * load.seconds == pytest.approx(whole)
        assert load.driver * load.seconds == pytest.approx(merge * jobs)
        alone = scale.make(rounds, 1, 0.0)
        assert alone.seconds == pytest.approx(whole)


def test_workers_that_wait_for_a_round_begin_the_next(scale: ModuleType) -> None:
    """Each round has one long job. Two rounds at a time take half the time of one by one."""
    rounds = [[1.0, 8.0]] * 10
    assert scale.make(rounds, 2, 0.0).seconds < 0.65 * 10 * 8.0


def test_sixteen_cores_are_ten_times_as_fast_as_one(scale: ModuleType) -> None:
    """With the measured seconds of jobs, on rounds of twenty worlds."""
    figures = json.loads(scale.FIGURES.read_text())
    rounds = [scale.sums(each) for each in figures["rounds"] if len(each) == scale.SERVERS]
    one, many = (scale.make(rounds, workers, figures["driver"]).seconds for workers in (1, 16))
    assert one / many >= 10


def test_every_token_of_every_rollout_is_generated(scale: ModuleType) -> None:
    """A pass of one unit, and nothing else costs: as many passes as the longest has tokens."""
    chance = Random("tokens")
    for _ in range(50):
        rollouts = [
            [(chance.randint(1, 30), 5) for _ in range(chance.randint(1, 4))] for _ in range(20)
        ]
        longest = max(sum(said for said, _ in each) for each in rollouts)
        assert scale.play(rollouts, scale.Gpu(1.0, 0.0, 0.0), 0.0, 99).seconds == longest
        every = sum(said for each in rollouts for said, _ in each)
        one_by_one = scale.play(rollouts, scale.Gpu(1.0, 0.0, 0.0), 0.0, 1)
        assert one_by_one.seconds == every
        full = scale.play(rollouts, scale.Gpu(0.0, 1.0, 0.0), 0.0, 99)
        assert full.seconds == pytest.approx(every), "each sequence of a pass costs its share"


def test_worlds_that_are_slow_keep_a_gpu_waiting(scale: ModuleType) -> None:
    rollouts = [[(10, 0), (10, 0)] for _ in range(8)]
    step = scale.play(rollouts, scale.Gpu(0.001, 0.0, 0.0), 1.0, 99)
    assert step.worlds > 0.95
    assert step.gpu < 0.05
    assert step.seconds == pytest.approx(8 * 1.0 + 0.02, abs=0.01)
