"""Candidates that are drawn before their round: workers are busy, and the bytes stay the same."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from rich.progress import Progress

from examples import pay_example
from provegym import servers
from provegym.conversation.kinds import Place, Shape
from provegym.corpus import candidates as drawing
from provegym.corpus import shared_worlds
from provegym.corpus.candidates import Aim, Made
from provegym.corpus.corpus import Corpus
from provegym.corpus.lookahead import Lookahead
from provegym.corpus.order import Order
from provegym.corpus.quotas import CorpusPart, Quotas
from provegym.corpus.shared_worlds import attempt_on_shared, draw_shared, read_or_draw
from provegym.kernel import Session
from provegym.workers import HERE, Promise, Workers

A = TypeVar("A")
B = TypeVar("B")
SERVERS = ("banking", "maps", "payments")


class Eager(Workers):
    """Workers that do each task at once, in this process, and count the tasks nobody has used."""

    def __init__(self, count: int, folder: Path | None = None) -> None:
        self.workers, self.folder = count, folder
        self.tasks: list[object] = []
        self.unused: set[int] = set()
        self.least_unused: list[int] = []

    @property
    def count(self) -> int:
        return self.workers

    def submit(self, work: Callable[[A], B], item: A) -> Promise[B]:
        number, done = len(self.tasks), work(item)
        self.tasks.append(item)
        self.unused.add(number)

        def result() -> B:
            self.unused.discard(number)
            self.least_unused.append(len(self.unused))
            return done

        return Promise(result, lambda seconds: seconds > 0 or number not in self.unused)


def make(out: Path, workers: Workers | None = None) -> Corpus:
    """Make a small corpus."""
    corpus = Corpus(Order(30, 5, out, SERVERS))
    corpus.make(Progress(disable=True), workers)
    return corpus


def test_what_is_drawn_early_does_not_change_a_byte(tmp_path: Path) -> None:
    alone = make(tmp_path / "alone")
    for count in (2, 16):
        workers = Eager(count)
        many = make(tmp_path / str(count), workers)
        (one, other) = (tmp_path / name / "train-00000.jsonl" for name in ("alone", str(count)))
        assert one.read_bytes() == other.read_bytes()
        assert many.funnel == alone.funnel
    drawn = {aim for aims in workers.tasks for aim in aims}  # type: ignore[attr-defined]
    assert len(drawn) > alone.funnel["train"].total(), "nothing was drawn early"


def nothing(place: Place, wanted: Shape) -> None:
    """No candidate at all."""


def test_each_worker_has_a_task_while_a_round_is_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds in vain are foreseen, once it is known that they are: no worker waits."""
    monkeypatch.setattr(drawing, "candidate", nothing)
    workers = Eager(8)
    corpus = make(tmp_path / "empty", workers)
    assert corpus.round == 50
    calls = len(workers.least_unused)
    assert min(workers.least_unused[calls // 5 : calls // 3]) >= 8
    assert len(workers.tasks) < 1.25 * 50 * len(SERVERS), "little is drawn in vain"


def test_this_process_draws_only_what_is_asked_for() -> None:
    done: list[int] = []
    first, second = (HERE.submit(lambda n: done.append(n) or n, n) for n in (1, 2))  # type: ignore[func-returns-value]
    assert (second.get(), second.get()) == (2, 2)
    assert done == [2]
    assert first.get() == 1


def no_objection(server: str, made: Made, quotas: Quotas) -> str:
    """Everything is kept."""
    return ""


def test_quotas_are_expected_to_fill_as_they_did_before() -> None:
    part = CorpusPart("train", 100, SERVERS)
    shape = Shape("multi_turn", (), "complete")
    aims: list[Aim] = [(Place("maps", 0, 0, number, ()), shape) for number in range(10)]
    for kept, taken in ((True, 10), (False, 0)):
        ahead, quotas = Lookahead(Eager(2)), Quotas(part)
        for _ in range(200):
            ahead.note("maps", kept)
        before = quotas.owed("maps")
        assert ahead.expect(quotas, [aims], no_objection) is kept
        assert before - quotas.owed("maps") == taken


@pytest.mark.parametrize("name", servers.names())
def test_a_world_that_is_read_is_the_one_that_was_drawn(name: str, tmp_path: Path) -> None:
    server = servers.load(name)
    read_or_draw(server, tmp_path, 7)
    read, drawn = read_or_draw(server, tmp_path, 7), server.world(7)
    assert shared_worlds._json(read) == shared_worlds._json(drawn)
    assert read.digest() == drawn.digest()
    mine, theirs = Session.over(server, read), Session([server], 7)
    mine.advance(600)
    theirs.advance(600)
    assert mine.diff() == theirs.diff()


def test_a_world_is_drawn_once_for_all_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = servers.load("payments")
    first = read_or_draw(server, tmp_path, 7)
    assert [file.name for file in (tmp_path / "7").iterdir()] == ["payments"]
    monkeypatch.setattr(server, "_world", None)
    assert read_or_draw(server, tmp_path, 7).digest() == first.digest()
    monkeypatch.undo()
    assert read_or_draw(server, tmp_path / "gone", 7).digest() == first.digest()


def test_what_is_known_of_a_candidate_decides_what_is_expected_of_it(tmp_path: Path) -> None:
    """The share of its server that is kept does not matter, once it is drawn."""
    shape = Shape("multi_turn", (), "complete")
    for example in (None, pay_example()):
        ahead, quotas = Lookahead(Eager(2)), Quotas(CorpusPart("train", 100, SERVERS))
        ahead.attempt = lambda aims, made=example: [Made(shape, made, "") for _ in aims]  # type: ignore[misc]
        aims: list[Aim] = [(Place("maps", 0, 0, number, ()), shape) for number in range(10)]
        ahead.begin([aims])
        ahead.made(aims, lambda: iter(()))
        before = quotas.owed("maps")
        is_bad = lambda server, made, quotas: "" if made.example else "none"  # noqa: E731
        assert ahead.expect(quotas, [aims], is_bad) is (example is not None)
        assert before - quotas.owed("maps") == (10 if example else 0)


def test_a_job_is_cut_into_tasks_where_worlds_are_shared(tmp_path: Path) -> None:
    shape = Shape("multi_turn", (), "complete")
    aims: list[Aim] = [(Place("maps", 0, 0, number, ()), shape) for number in range(8)]
    for folder, of_round, sizes in [
        (None, 8, [8]),
        (tmp_path, 8, [1] * 8),
        (tmp_path, 32, [4, 4]),
        (tmp_path, 24, [3, 3, 2]),
        (tmp_path, 640, [8]),
    ]:
        ahead = Lookahead(Eager(2, folder))
        assert [len(task) for task in ahead._tasks(aims, of_round)] == sizes
        assert ahead._tasks([], of_round) == []


def test_a_world_that_another_process_draws_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = servers.load("payments")
    (tmp_path / "first").mkdir()
    drawn = read_or_draw(server, tmp_path / "first", 7)
    claim, file = tmp_path / "7" / "payments.claim", tmp_path / "7" / "payments"
    claim.parent.mkdir()
    claim.touch()
    waits: list[float] = []

    def other_process(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            file.write_bytes((tmp_path / "first" / "7" / "payments").read_bytes())

    monkeypatch.setattr(shared_worlds, "sleep", other_process)
    monkeypatch.setattr(server, "_world", None)
    assert read_or_draw(server, tmp_path, 7).digest() == drawn.digest()
    assert len(waits) == 3
    monkeypatch.undo()
    monkeypatch.setattr(shared_worlds, "sleep", waits.append)
    file.unlink()
    assert read_or_draw(server, tmp_path, 7).digest() == drawn.digest(), "a process that died"
    assert not claim.exists()


def test_worlds_of_a_new_round_are_drawn_first_and_then_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[object] = []
    monkeypatch.setattr(shared_worlds, "_share", lambda folder: None)
    monkeypatch.setattr(shared_worlds, "attempt_all", lambda aims: order.append(aims) or [])
    monkeypatch.setattr(
        "provegym.corpus.lookahead.draw_shared", lambda folder, place: order.append(place)
    )
    shape = Shape("multi_turn", (), "complete")
    jobs = [[(Place(name, 3, 0, 0, ()), shape)] for name in SERVERS]
    ahead = Lookahead(Eager(2, tmp_path))
    ahead.begin(jobs)
    assert order == [*(aims[0][0] for aims in jobs), *jobs]
    ahead.begin(jobs)
    assert len(order) == 6, "nothing is begun twice"
    (tmp_path / "3").mkdir()
    ahead.begin([[(Place("maps", 4, 0, 0, ()), shape)]])
    assert list(tmp_path.iterdir()) == []
    assert len(order) == 7, "a job alone draws its world itself"


def test_processes_share_worlds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a worker process: the task lets the servers of its process look into the folder."""
    for server in servers.load_all():
        monkeypatch.setattr(server, "world", server.world)  # so that it is put back
    place = Place("payments", 11, 0, 0, ())
    draw_shared(tmp_path, place)
    assert (tmp_path / "11" / "payments").exists()
    made: list[Made] = attempt_on_shared(tmp_path, [(place, Shape("multi_turn", (), "complete"))])
    assert len(made) == 1
