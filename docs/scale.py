"""Discrete-event simulation of large jobs on many machines, from measured service times.

`python docs/scale.py measure` measures on this machine and writes docs/scale.json;
`python docs/scale.py` prints the tables of docs/scale.md from it.
"""

import heapq
import json
import pickle
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

FIGURES = Path(__file__).with_suffix(".json")
PER_WORLD, SERVERS, WIDE = 8, 20, 20_000  # as in corpus/; a test compares them
MANY = ((64, 0), (256, 0), (1_024, 0))
Replies = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Load:
    """The time of a job, and the shares of it in which workers and driver are busy."""

    seconds: float
    workers: float
    driver: float


def make(rounds: Sequence[Sequence[float]], workers: int, merge: float) -> Load:
    """Simulate a corpus: rounds of jobs on some workers; one driver merges results in order.

    A job goes to the first free worker. While a round is merged, jobs of coming rounds are begun:
    as many rounds as it takes to have one job for each worker. All of them are foreseen rightly.
    """
    free = [0.0] * workers
    ended: list[list[float]] = []
    now = 0.0
    for number in range(len(rounds)):
        while len(ended) < len(rounds) and _is_begun(rounds, number, len(ended), workers):
            ended.append([])
            for seconds in rounds[len(ended) - 1]:
                ended[-1].append(max(now, heapq.heappop(free)) + seconds)
                heapq.heappush(free, ended[-1][-1])
        for moment in ended[number]:
            now = max(now, moment) + merge
    busy = sum(map(sum, rounds))
    merging = merge * sum(map(len, rounds))
    return Load(now, busy / (workers * now), merging / now)


def _is_begun(rounds: Sequence[Sequence[float]], now: int, coming: int, workers: int) -> bool:
    """Whether a coming round is begun while another round is merged."""
    ahead = sum(len(jobs) for jobs in rounds[now + 1 : coming])
    return coming == now or (workers > 1 and ahead < workers)


@dataclass(frozen=True)
class Gpu:
    """Seconds of generation: per forward pass, per sequence in it, and per prompt token."""

    step: float
    sequence: float
    heard: float


@dataclass(frozen=True)
class Step:
    """The time to play rollouts, and the shares of it in which GPU and worlds are busy."""

    seconds: float
    gpu: float
    worlds: float


def play(rollouts: Sequence[Replies], gpu: Gpu, call: float, most: int) -> Step:
    """Simulate rollouts on one GPU, at most `most` sequences at a time, and one core for worlds.

    A reply takes one forward pass per token. Then the core runs its calls, one reply after the
    other, and the rollout waits for the GPU again, with new tokens to read.
    """
    waiting = [(at, 0) for at in range(len(rollouts))]
    ends: dict[int, list[tuple[int, int]]] = defaultdict(list)
    back: list[tuple[float, int, int]] = []
    now = core = busy = called = 0.0
    passes = active = 0
    while waiting or active or back:
        while back and (back[0][0] <= now or not (active or waiting)):
            moment, at, reply = heapq.heappop(back)
            now = max(now, moment)
            waiting.append((at, reply))
        reading = 0
        while waiting and active < most:
            at, reply = waiting.pop()
            said, heard = rollouts[at][reply]
            ends[passes + said].append((at, reply))
            reading += heard
            active += 1
        took = gpu.step + gpu.sequence * active + gpu.heard * reading
        now, busy, passes = now + took, busy + took, passes + 1
        for at, reply in ends.pop(passes, ()):
            active -= 1
            if reply + 1 < len(rollouts[at]):
                core = max(core, now) + call
                called += call
                heapq.heappush(back, (core, at, reply + 1))
    return Step(now, busy / now, called / now)


def sums(jobs: Sequence[Sequence[float]]) -> list[float]:
    """The seconds of each job, from those of its candidates."""
    return [sum(seconds) for seconds in jobs]


def measure(size: int = 1_200) -> dict[str, Any]:
    """Make a corpus with two workers, then with one while timing every candidate.

    The seconds of one worker are CPU time, so that other programs on the machine count less.
    """
    from rich.console import Console
    from rich.progress import Progress

    from provegym.corpus import candidates, corpus, lookahead, order

    rounds: list[list[list[float]]] = []
    weights: list[int] = []
    attempt_all, run_round = lookahead.attempt_all, corpus.Corpus._run

    def timed(aims: lookahead.Aims) -> list[candidates.Made]:
        rounds[-1].append([])
        made = []
        for aim in aims:
            begun = process_time()
            made += attempt_all([aim])
            rounds[-1][-1].append(round(process_time() - begun, 5))
            weights.append(len(pickle.dumps(made[-1])))
        return made

    def counted(made: corpus.Corpus, ahead: lookahead.Lookahead) -> None:
        rounds.append([])
        run_round(made, ahead)

    def run(workers: int, out: Path, clock: Callable[[], float]) -> float:
        made = corpus.Corpus(order.Order(size, 0, out, workers=workers))
        with Progress(console=Console(stderr=True)) as bar:
            made._prove(bar)
            begun = clock()
            made.make(bar)
        return clock() - begun

    with TemporaryDirectory() as folder:
        two = run(2, Path(folder) / "two", perf_counter)
        lookahead.attempt_all = timed
        corpus.Corpus._run = counted  # type: ignore[method-assign]
        one = run(1, Path(folder) / "one", process_time)
        written = sum(file.stat().st_size for file in (Path(folder) / "one").glob("*.jsonl"))
    return {
        "size": size,
        "bytes": written,
        "one_worker": one,
        "two_workers": two,
        "driver": (one - sum(map(sum, map(sums, rounds)))) / len(weights),
        "sent": round(sum(weights) / len(weights)),
        "rounds": rounds,
    }


def check(figures: dict[str, Any]) -> str:
    """A table of the two measured runs beside their simulated times."""
    rows = ["| workers | measured | simulated |", "|---|---|---|"]
    for workers, name in ((1, "one_worker"), (2, "two_workers")):
        jobs = [sums(each) for each in figures["rounds"]]
        seconds = make(jobs, workers, PER_WORLD * figures["driver"]).seconds
        rows.append(f"| {workers} | {figures[name]:.0f} s | {seconds:.0f} s |")
    return "\n".join(rows)


def bill(figures: dict[str, Any], size: int = 1_000_000) -> str:
    """A table of the simulated time of many examples on 1 to 1,024 cores."""
    rows = [
        "| cores | worlds in a round | examples/s | hours | cores busy | driver busy |",
        "|---|---|---|---|---|---|",
    ]
    tried = [job for each in figures["rounds"] for job in each]
    candidates = sum(map(len, tried))
    kept = figures["size"] / candidates
    usual = candidates / len(tried)
    wide = SERVERS * (size // WIDE)
    for workers, count in ((1, SERVERS), (2, SERVERS), (16, SERVERS), (64, SERVERS), *MANY):
        chance = Random("rounds")
        count = count or wide
        some = [sums(chance.choices(tried, k=count)) for _ in range(600 // count or 5)]
        done = usual * sum(map(len, some))
        load = make(some, workers, figures["driver"] * usual)
        rate = kept * done / load.seconds
        rows.append(
            f"| {workers:,} | {count:,} | {rate:,.0f} | {size / rate / 3600:,.1f} |"
            f" {load.workers:.0%} | {load.driver:.0%} |"
        )
    return "\n".join(rows)


def fitted(found: dict[str, Any]) -> Gpu:
    """Fit the GPU's costs by bisection to two measurements.

    They are the tokens per second of many equal sequences, and the seconds of a training step.
    """
    count, rate = found["full"]
    some = Random("step").choices(found["replies"], k=found["rollouts"])
    low, high = 0.0, count / rate
    for _ in range(20):
        each = (low + high) / 2
        gpu = Gpu(each, (count / rate - each) / count, found["heard"])
        slow = play(some, gpu, found["reply"], count).seconds > found["seconds"]
        low, high = (low, each) if slow else (each, high)
    return gpu


def fleet(found: dict[str, Any], gpu: Gpu, count: int = 10_000) -> str:
    """A table of the simulated time of many rollouts on 1 to 40 GPUs, one core each."""
    rows = [
        "| GPUs | rollouts on each | seconds | generated tokens/s, all | worlds' core busy |",
        "|---|---|---|---|---|",
    ]
    for gpus in (1, 4, 10, 40):
        some = Random("fleet").choices(found["replies"], k=count // gpus)
        step = play(some, gpu, found["reply"], found["full"][0])
        rate = sum(said for each in some for said, _ in each) * gpus / step.seconds
        rows.append(
            f"| {gpus} | {len(some):,} | {step.seconds:.1f} | {rate:,.0f} | {step.worlds:.1%} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        known = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
        FIGURES.write_text(json.dumps({**known, **measure()}) + "\n", "utf-8")
    figures = json.loads(FIGURES.read_text("utf-8"))
    gpu = fitted(figures["training"])
    print(check(figures), bill(figures), fleet(figures["training"], gpu), gpu, sep="\n\n")
