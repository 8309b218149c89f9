"""Work in several processes: a killed process is a sentence, and no wait without an end."""

import os
import signal
from contextlib import closing
from multiprocessing import active_children, process
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import pytest
from rich.progress import Progress

from killed_work import FATAL, leave, square, squares
from provegym.corpus.corpus import Corpus
from provegym.corpus.order import Order
from provegym.pool_watch import WorkerKilled
from provegym.train import data
from provegym.workers import Processes

SOON = 60.0


def test_results_come_in_order_and_processes_are_replaced() -> None:
    with closing(Processes(2, recycle=1)) as workers:
        assert list(workers.map(squares, range(12), 2)) == [item * item for item in range(12)]
        assert [workers.submit(square, item).get() for item in (4, 5)] == [16, 25]


def test_a_killed_process_ends_a_map() -> None:
    with closing(Processes(2)) as workers, pytest.raises(WorkerKilled, match="SIGKILL"):
        list(workers.map(squares, range(40), 1))


def test_a_killed_process_ends_the_wait_for_what_was_submitted() -> None:
    begun = monotonic()
    with closing(Processes(2)) as workers:
        promises = [workers.submit(square, item) for item in (2, FATAL)]
        with pytest.raises(WorkerKilled, match=r"ended with SIGKILL; if memory ran out"):
            [promise.get() for promise in promises]
    assert monotonic() - begun < SOON


@pytest.mark.parametrize("number", [0, 1])
def test_a_killed_process_that_waited_for_work_does_not_keep_the_pool_open(number: int) -> None:
    """One of the waiting processes holds the lock of the queue."""
    with closing(Processes(2)) as workers:
        assert workers.submit(square, 2).get() == 4
        pool = sorted(each.pid or 0 for each in active_children() if "PoolWorker" in each.name)
        sleep(0.3)
        os.kill(pool[number], signal.SIGKILL)
        with pytest.raises(WorkerKilled):
            list(workers.map(squares, [3] * 5_000, 1))
    assert not [each for each in active_children() if each.pid in pool]


def test_a_process_that_exits_is_told_by_its_code() -> None:
    with closing(Processes(2)) as workers:
        promise = workers.submit(leave, 3)
        with pytest.raises(WorkerKilled, match="exit code 3"):
            promise.get()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_killed_process_ends_the_encoding_of_transcripts() -> None:
    with pytest.raises(WorkerKilled, match="SIGKILL"):
        data.spread(square, list(range(4 * data.CHUNK)))


def test_a_corpus_whose_worker_is_killed_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    def order(out: str, workers: int) -> Order:
        return Order(120, 5, tmp_path / out, ("banking", "crm", "email"), workers)

    def kill() -> None:
        """Kill a process of the pool when there are some examples."""
        pool: list[int] = []
        while not pool or not any(
            file.stat().st_size for file in (tmp_path / "cut").glob("*.jsonl")
        ):
            sleep(0.01)
            # Not active_children(), which asks for exit codes in this thread, too.
            known = tuple(process._children)  # type: ignore[attr-defined]
            pool = [each.pid for each in known if "PoolWorker" in each.name]
        os.kill(pool[0], signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    with pytest.raises(WorkerKilled):
        Corpus(order("cut", 2)).make(Progress(disable=True))
    killer.join()
    for out in ("cut", "whole"):
        Corpus(order(out, 1)).make(Progress(disable=True))
    cut, whole = (
        {file.name: file.read_bytes() for file in (tmp_path / out).glob("*.jsonl")}
        for out in ("cut", "whole")
    )
    assert cut == whole
