"""Scoring in worker processes: the same results, one sentence for a failure, and no orphans."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import msgspec
import pytest

pytest.importorskip("torch")

from admission.boats import boats
from examples import pay_example
from provegym import servers
from provegym.kernel import Session
from provegym.models.codec import Codec
from provegym.models.source import Rounds
from provegym.players.local import Trajectory
from provegym.players.scripted import SCRIPTS
from provegym.rewards import HARDENED
from provegym.rollout import play_script
from provegym.toolbox import aliased
from provegym.trace import Example, Rollout, Step, Turn, read
from provegym.trace import Path as Road
from provegym.train import scoring_pool
from provegym.train.branches import play
from provegym.train.recipe import Grpo, Recipe
from provegym.train.run import TrainError
from provegym.train.scoring import Scoring
from provegym.train.scoring_pool import ScoringPool, count_workers
from provegym.worlds.files import new_file, write_world
from train.tiny import LIMITS, Doubtful, build_tokenizer, few_tools

DATA = Path(__file__).parents[1] / "data"
TURN = Grpo(rollouts=8, branches=2, forks=2, credit="turn", use_vllm=False)
# Some rollouts run out of tokens.
RECIPE = Recipe(grpo=TURN, limits=msgspec.structs.replace(LIMITS, completion=600), reward=HARDENED)
PATIENCE = 60
ENGINE = """
from pathlib import Path
from time import sleep
from provegym.train.scoring_pool import ScoringPool
from train.test_scoring import RECIPE
if __name__ == "__main__":
    print(*(worker.process.pid for worker in ScoringPool(RECIPE, 2).workers), flush=True)
    sleep(600)
"""


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    plain = [
        few_tools(each)
        for name in ("banking", "calendar", "shopping")
        for each in islice(read(DATA / f"{name}.jsonl", Example), 2)
    ]
    return [*plain, aliased(plain[0], 7)]


@pytest.fixture(scope="module")
def codec(examples: list[Example]) -> Codec:
    return Codec(build_tokenizer(examples), RECIPE.limits.prompt)


@pytest.fixture
def pool() -> Iterator[ScoringPool]:
    made = ScoringPool(RECIPE, 2)
    yield made
    made.close()


def ended(rollout: Rollout) -> Trajectory:
    """A finished rollout whose tokens do not matter."""
    return Trajectory(rollout.example, [], [], [], [], rollout)


def oracle(example: Example) -> Trajectory:
    """A rollout that does everything right, not scored yet."""
    played = play_script(example, SCRIPTS["oracle"])
    return ended(msgspec.structs.replace(played, reward=None, verdict=None))


def score(scoring: Scoring, trajectories: list[Trajectory]) -> list[list[float]]:
    """Score a batch of rollouts, and return their potentials."""
    scoring.begin()
    scoring.add(dict(enumerate(trajectories)))
    return scoring.collect(trajectories)


def in_bytes(played: list[Trajectory], potentials: list[list[float]]) -> bytes:
    """Everything that a batch of rollouts comes to."""
    return msgspec.json.encode([played, potentials])


@pytest.mark.parametrize("credit", ["turn", "rollout"])
def test_any_number_of_workers_gives_the_same_bytes(
    codec: Codec, examples: list[Example], credit: Any
) -> None:
    """Two batches each, and with credit per turn also branches."""
    branches = 2 if credit == "turn" else 0
    grpo = msgspec.structs.replace(TURN, credit=credit, branches=branches)
    recipe = msgspec.structs.replace(RECIPE, grpo=grpo)
    many = [each for each in examples for _ in range(grpo.rollouts)]

    def batches(scoring: Scoring) -> list[bytes]:
        made = []
        for seed in (0, 1):
            source = Rounds(Doubtful(codec, examples, seed).generate)
            played, potentials = play(many, source, codec, recipe, scoring)
            assert {each.rollout.ended for each in played} == {"done", "tokens"}
            assert len({each.rollout.reward.total for each in played if each.rollout.reward}) > 5
            assert any(map(any, potentials)) == (credit == "turn")
            made.append(in_bytes(played, potentials))
        return made

    here = batches(Scoring(recipe))
    assert here[0] != here[1]
    for count in (1, 3):
        there = ScoringPool(recipe, count)
        try:
            assert batches(there) == here
            assert len({worker.process.pid for worker in there.workers}) == count
        finally:
            there.close()


def test_all_rollouts_of_an_example_go_to_the_same_worker(
    pool: ScoringPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    trajectories = [oracle(pay_example(id=f"pay-{at % 3}")) for at in range(12)]
    pool.begin()
    with monkeypatch.context() as patch:
        patch.setattr(scoring_pool, "AHEAD", 0)
        pool.add(dict(enumerate(trajectories)))
    sent = [[task.rollout.example.id for task in worker.waiting] for worker in pool.workers]
    assert sent == [["pay-0", "pay-2"] * 4, ["pay-1"] * 4]
    found = pool.collect(trajectories)
    assert all(each == found[0] for each in found)
    assert all(each.rollout.reward for each in trajectories)


def test_a_worker_finds_the_worlds_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "_folders", [])
    write_world(tmp_path, new_file(boats()))
    servers.look_in(tmp_path)
    world = servers.load("boat_hire")
    example = pay_example(
        id="boats",
        server=world.name,
        server_version=world.version,
        seed=3,
        digest=Session([world], 3).digest(),
        turns=(Turn(text="Which boats do you have?"),),
        paths=(Road(steps=(Step(turn=0, tool="list_boats", arguments={}),)),),
    )
    here, there = Scoring(RECIPE), ScoringPool(RECIPE, 1)
    results = []
    try:
        for scoring in (here, there):
            trajectories = [oracle(example)]
            potentials = score(scoring, trajectories)
            results.append(in_bytes(trajectories, potentials))
    finally:
        there.close()
        servers.forget("boat_hire")
    assert results[0] == results[1]
    assert b'"total"' in results[0]


def test_a_worker_that_dies_is_one_sentence(pool: ScoringPool) -> None:
    os.kill(pool.workers[0].process.pid, signal.SIGKILL)
    pool.workers[0].process.join()
    with pytest.raises(TrainError, match="scores rollouts died, perhaps for lack of memory"):
        score(pool, [oracle(pay_example())])


def test_a_worker_that_fails_says_why(pool: ScoringPool) -> None:
    trajectory = oracle(pay_example())
    elsewhere = pay_example(server="nowhere")
    trajectory.rollout = msgspec.structs.replace(trajectory.rollout, example=elsewhere)
    with pytest.raises(TrainError, match=r"(?s)scores rollouts failed.*no server 'nowhere'"):
        score(pool, [trajectory])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_their_engine(tmp_path: Path, how: signal.Signals) -> None:
    script = tmp_path / "engine.py"
    script.write_text(ENGINE, "utf-8")
    engine = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert engine.stdout is not None
    pids = [int(word) for word in engine.stdout.readline().split()]
    assert len(pids) == 2
    assert all(map(is_running, pids))
    engine.send_signal(how)
    engine.wait(PATIENCE)
    engine.stdout.close()
    latest = monotonic() + PATIENCE
    while any(map(is_running, pids)):
        assert monotonic() < latest, "orphans are left"
        sleep(0.05)


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_small_machine_has_no_workers() -> None:
    assert [count_workers(cores) for cores in (0, 1, 2, 4, 15)] == [0, 0, 1, 3, 4]
