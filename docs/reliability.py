"""Files in trouble: kills, two writers, flipped bits, full disks and hostile files, measured.

`python docs/reliability.py measure [PART ...] [COMMAND ...]` does what the rows say and writes
docs/reliability.json; `python docs/reliability.py` writes the tables of the page from it. With
names of commands, such as `"train grpo"`, the other rows keep their figures.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from random import Random
from time import monotonic, process_time, sleep
from typing import Any
from unittest.mock import patch

HERE = Path(__file__).parent
FIGURES, PAGE = HERE / "reliability.json", HERE / "reliability.md"
TESTS = HERE.parent / "tests"
sys.path.insert(0, str(TESTS))
KILLS, ROUNDS, FLIPS, INPUTS = 14, 3, 1_200, 100_000
PATIENCE = 300
Command = list[str]
Found = dict[str, Any]


Process = subprocess.Popen[str]


def wait_and_kill(process: Process, out: Path, chance: Random, seconds: float) -> bool:
    """Kill a command at a random moment of its time; whether it was still going on."""
    sleep(chance.uniform(0.1, 1.0) * seconds)
    if process.poll() is not None:
        return False
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return True


def bytes_of(folder: Path) -> dict[str, bytes]:
    """The files of a folder, but for locks and what a kill leaves of a temporary file."""
    files = (path for path in folder.rglob("*") if path.is_file())
    left_out = (".lock", ".part")
    return {
        str(path.relative_to(folder)): path.read_bytes().replace(str(folder).encode(), b"OUT")
        for path in files
        if path.suffix not in left_out and not path.name.endswith(".lock")
    }


@dataclass(frozen=True)
class Case:
    """A command that can be resumed: how it is started, and what must be the same at the end.

    `make` gives its words for a folder, which `fill` has filled. The words of another program than
    `provegym` begin with the path of its file.
    """

    make: Callable[[Path], Command]
    outcome: Callable[[Path], dict[str, Any]] = bytes_of
    fill: Callable[[Path], None] = Path.mkdir
    kill: Callable[[Process, Path, Random, float], bool] = wait_and_kill
    kills: int = KILLS
    rounds: int = ROUNDS


@contextmanager
def cases(place: Path, data: Path, names: list[str]) -> Iterator[dict[str, Case]]:
    """The commands that can be resumed, by name; all of them if none is named."""
    from provegym.evals.environments import BFCL

    read = ["--data", str(data)]
    small = ["--servers", "maps,banking", "--workers", "2", "--seed", "5", "--size", "60"]
    heldout = ["eval", "heldout", "--model", "oracle", *read]
    known: dict[str, Callable[[ExitStack], Case]] = {
        "synth": lambda _: Case(lambda out: ["synth", *small, "--out", str(out)]),
        "rollout": lambda _: Case(
            lambda out: ["rollout", *read, "--policy", "oracle", "--out", f"{out}/r.jsonl"]
        ),
        "eval heldout": lambda _: Case(lambda out: [*heldout, "--out", str(out)]),
        "worlds draw": lambda _: Case(
            lambda out: ["worlds", "draw", "--count", "40", "--out", str(out)]
        ),
        "worlds admit": lambda _: admitting(place),
        "synth --teacher": lambda stack: stack.enter_context(teaching(place)),
        "eval teval": lambda _: asking(place),
        "eval bfcl": lambda _: playing_bfcl(),
        "train sft": lambda _: training(place, "sft"),
        "train grpo": lambda _: training(place, "grpo"),
        "quickstart": lambda _: hurrying(place),
    }
    with ExitStack() as stack:
        if not BFCL.is_ready():
            del known["eval bfcl"]
        yield {name: make(stack) for name, make in known.items() if not names or name in names}


def admitting(place: Path) -> Case:
    """`worlds admit` on a folder of drawn worlds."""
    drawn = place / "drawn"
    assert end(start(["worlds", "draw", "--count", "12", "--out", str(drawn)]))[0] == 0

    def fill(out: Path) -> None:
        shutil.copytree(drawn, out)

    return Case(lambda out: ["worlds", "admit", str(out)], fill=fill, kills=8)


@contextmanager
def teaching(place: Path) -> Iterator[Case]:
    """`synth --teacher` with a scripted model, which says each request with a courtesy."""
    from provegym.teacher.ask import Ask
    from provegym.trace import Example, read
    from teacher.actors import answer, blocks, calls_of, role
    from teacher.fake_endpoint import Body, fake_model

    options = ["--servers", "maps,banking", "--workers", "1", "--size", "24", "--rephrase"]
    plans: list[Example] = []

    def say(body: Body) -> str:
        if role(body) == "assistant":
            return "Sorry, there is nothing I can do about that."
        if role(body) == "writer":
            return f"Hello again! {blocks(body)[-2]}"
        text = blocks(body)[-1]
        asks = [Ask(e, at) for e in plans for at, turn in enumerate(e.turns) if turn.text in text]
        return answer(calls_of(asks[0], text)) if asks else "[]"

    made = place / "plans"
    assert end(start(["synth", *options[:-1], "--out", str(made)]))[0] == 0
    plans.extend(read(made, Example))
    with fake_model(say) as model:
        words = ["synth", *options, "--teacher", model.url]
        yield Case(lambda out: [*words, "--out", str(out)], lessons_of, kills=8)


def lessons_of(out: Path) -> dict[str, Any]:
    """The files of a corpus in a teacher's words.

    How often a text was refused is left out: lessons that a kill has cut short count twice.
    """
    found: dict[str, Any] = dict(bytes_of(out))
    progress = json.loads(found["lessons.json"])
    return {**found, "lessons.json": {**progress, "refused": None}}


def asking(place: Path) -> Case:
    """`eval teval` with right answers; they are written in the order in which they come."""
    from evals.test_teval import ASKED, TASKS

    tasks = place / "teval"
    tasks.mkdir()
    for part, task in TASKS.items():
        some = {str(number): {**task, "origin_prompt": ASKED} for number in range(60)}
        (tasks / f"{part}.json").write_text(json.dumps(some))
    words = ["eval", "teval", "--data", str(tasks), "--endpoint", "oracle"]

    return Case(lambda out: [*words, "--out", str(out)], scores_of("answers.jsonl"), kills=8)


def playing_bfcl() -> Case:
    """`eval bfcl`, multi-turn, with a script that calls nothing; its environment must be set up."""
    words = ["eval", "bfcl", "--endpoint", "noop", "--limit", "6", "--at-once", "2"]
    return Case(lambda out: [*words, "--out", str(out)], scores_of("results.jsonl"), kills=8)


def scores_of(file: str) -> Callable[[Path], dict[str, Any]]:
    """The results of a benchmark without times, in any order: they are written as they come."""

    def untimed(line: bytes) -> str:
        return json.dumps({k: v for k, v in json.loads(line).items() if k != "seconds"})

    def outcome(out: Path) -> dict[str, Any]:
        scores = json.loads((out / "report.json").read_bytes())["scores"]
        return {
            "lines": sorted(map(untimed, (out / file).read_bytes().splitlines())),
            "results": sorted(map(untimed, (out / "results.jsonl").read_bytes().splitlines())),
            "scores": scores,
        }

    return outcome


def training(place: Path, name: str) -> Case:
    """`train` with a model of two layers, which learns."""
    from train import small_runs

    given = place / "training"
    if not given.exists():
        small_runs.prepare(given)

    def kill(process: Process, out: Path, chance: Random, _: float) -> bool:
        return small_runs.kill(process, out, chance)

    def make(out: Path) -> Command:
        return small_runs.command(given, name, out)

    return Case(make, small_runs.outcome, kill=kill, kills=6, rounds=1)


def hurrying(place: Path) -> Case:
    """The short quickstart with a model of two layers in the place of the embedded one."""
    from quickstart import small
    from quickstart.test_short import outcome

    models = place / "models"
    if not models.exists():
        models.mkdir()
        small.build_models(models)
    words = [small.__file__, str(models), "--out"]
    return Case(lambda out: [*words, str(out)], outcome, kills=6, rounds=1)


def start(command: Command, most: int = 0) -> Process:
    """A command in a process group of its own; no file of it grows beyond `most` bytes."""

    def limit() -> None:
        if most:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    program = [] if command[0].endswith(".py") else ["-m", "provegym"]
    return subprocess.Popen(
        [sys.executable, *program, *command],
        env={**os.environ, "PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=limit,
    )


def end(process: Process) -> tuple[int, str]:
    """Wait for a command; its status, and the last line of what it said on stderr."""
    told = process.communicate(timeout=PATIENCE)[1]
    if "Traceback" in told:
        raise RuntimeError(told)
    lines = [line for line in told.splitlines() if line.startswith("provegym: ")]
    return process.returncode, lines[-1] if lines else ""


def alone(case: Case, place: Path) -> tuple[dict[str, Any], float]:
    """What a command comes to if nothing disturbs it, and how long it takes."""
    case.fill(place)
    began = monotonic()
    status, told = end(start(case.make(place)))
    assert status == 0, told
    return case.outcome(place), monotonic() - began


def measure_kills(place: Path, name: str, case: Case) -> Found:
    """Kill a command at random moments, start it again, and compare the outcome."""
    whole, seconds = alone(case, place / f"{name} alone")
    chance, out = Random(name), place / f"{name} killed"
    kills = runs = same = 0
    while kills < case.kills:
        shutil.rmtree(out, ignore_errors=True)
        case.fill(out)
        for _ in range(case.kills - kills):
            process = start(case.make(out))
            if not case.kill(process, out, chance, seconds):
                end(process)
                break
            kills += 1
        status, told = end(start(case.make(out)))
        assert status == 0, told
        runs, same = runs + 1, same + (case.outcome(out) == whole)
    return {"kills": kills, "runs": runs, "same": same}


def measure_writers(place: Path, name: str, case: Case) -> Found:
    """Start a command twice at the same time on one place."""
    whole, _ = alone(case, place / f"{name} once")
    tally: Counter[str] = Counter()
    for number in range(case.rounds):
        out = place / f"{name} {number}"
        case.fill(out)
        ended = [end(each) for each in (start(case.make(out)), start(case.make(out)))]
        refused = ["another process writes to" in told for _, told in ended]
        tally["refused"] += sum(refused)
        tally["done"] += sum(status == 0 for status, _ in ended)
        tally["same"] += case.outcome(out) == whole
    return {"rounds": case.rounds, **tally}


def measure_full_disk(place: Path, name: str, case: Case) -> Found:
    """Let a command run into a limit on the size of files, then run it again without."""
    fits, out = place / f"{name} fits", place / f"{name} full"
    whole, _ = alone(case, fits)
    largest = max(path.stat().st_size for path in fits.rglob("*") if path.is_file())
    case.fill(out)
    status, told = end(start(case.make(out), largest * 2 // 3))
    assert status == 2, told
    again, _ = end(start(case.make(out)))
    return {
        "says": told.replace(str(place), "…"),
        "same": again == 0 and case.outcome(out) == whole,
    }


def here(*arguments: object) -> tuple[int, str]:
    """A command in this process; its status, and what it said."""
    from provegym.cli import main

    said = StringIO()
    argv = patch.object(sys, "argv", ["provegym", *map(str, arguments)])
    with argv, redirect_stdout(said), redirect_stderr(said):
        try:
            main()
        except SystemExit as ended:
            return int(ended.code or 0), said.getvalue()
    return 0, said.getvalue()


def measure_flips(place: Path, data: Path) -> Found:
    """Flip one random bit of a file at a time, and read it with each command."""
    from provegym.lines import sums_file

    played = place / "rollouts.jsonl"
    assert here("rollout", "--data", data, "--policy", "oracle", "--out", played)[0] == 0
    out = place / "out.jsonl"
    readers: dict[str, tuple[Path, tuple[object, ...]]] = {
        "verify": (data, ("verify", data)),
        "export": (data, ("export", data, "--format", "trl", "--out", out)),
        "score": (played, ("score", played)),
        "compare": (played, ("compare", played, played)),
    }
    found: Found = {}
    for name, (file, command) in readers.items():
        good, chance = file.read_bytes(), Random(name)
        tally: Counter[str] = Counter()
        for _ in range(FLIPS // len(readers)):
            at = chance.randrange(len(good))
            file.write_bytes(
                good[:at] + bytes([good[at] ^ 1 << chance.randrange(8)]) + good[at + 1 :]
            )
            status, told = here(*command)
            line = good[:at].count(b"\n") + 1
            named = f"{file}:{line} differs from its checksum" in told
            tally["named"] += named and status == 2
            kept, _ = sums_file(file).rename(place / "sums"), None
            seen = any(_refuses(file, kind) for kind in (name,))
            tally["without"] += seen
            kept.rename(sums_file(file))
        file.write_bytes(good)
        found[name] = {"flips": FLIPS // len(readers), **tally}
        print(name, found[name], file=sys.stderr)
    return found


def _refuses(file: Path, name: str) -> bool:
    """Whether a file without checksums is refused when it is read."""
    from provegym.errors import UserError
    from provegym.trace import Example, Rollout, read

    try:
        list(read(file, Rollout if name in ("score", "compare") else Example))
    except UserError:
        return True
    return False


def measure_hostile(place: Path, data: Path) -> Found:
    """Give each reader so many broken and hostile inputs (tests/fuzz)."""
    from fuzz.mutations import mutants
    from fuzz.readers import readers
    from provegym.errors import UserError

    found: Found = {}
    for name, reader in readers().items():
        file = place / ("input.toml" if name == "recipes" else "input.jsonl")
        tally, slowest = Counter[str](), 0.0
        every = max(1, INPUTS // 10_000)
        for number, text in enumerate(mutants(reader.seeds, INPUTS, Random(f"page {name}"))):
            file.write_bytes(text)
            began = process_time()
            try:
                given = reader.read(file)
                tally["read"] += 1
                if number % every == 0:
                    reader.use(given)
                    tally["used"] += 1
            except UserError:
                tally["refused"] += 1
            slowest = max(slowest, process_time() - began)
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        found[name] = {"inputs": INPUTS, "slowest": slowest, "megabytes": largest, **tally}
        print(name, found[name], file=sys.stderr)
    return found


# Parts that are measured for each command, and parts of their own.
EACH: dict[str, Callable[[Path, str, Case], Found]] = {
    "kills": measure_kills,
    "writers": measure_writers,
    "disk": measure_full_disk,
}
PARTS: dict[str, Callable[[Path, Path], Found]] = {
    "flips": measure_flips,
    "hostile": measure_hostile,
}


def measure_each(
    part: str, place: Path, data: Path, names: list[str]
) -> Iterator[tuple[str, Found]]:
    """Measure a part for some commands, or for all; the seconds of CPU time are printed."""
    with cases(place, data, names) as chosen:
        for name, case in chosen.items():
            began = resource.getrusage(resource.RUSAGE_CHILDREN)
            found = EACH[part](place, name, case)
            spent = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = spent.ru_utime + spent.ru_stime - began.ru_utime - began.ru_stime
            print(part, name, found, f"{seconds:.0f} s of CPU", file=sys.stderr)
            yield name, found


def measure(names: list[str]) -> None:
    """Measure some parts, or all, and write their figures."""
    found = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    every = [*EACH, *PARTS]
    chosen = [name for name in names if name not in every]
    for name in [name for name in names if name in every] or every:
        with tempfile.TemporaryDirectory(prefix="reliability-") as folder:
            place = Path(folder)
            data = place / "examples.jsonl"
            synth = ["synth", "--servers", "maps,banking", "--size", "60", "--out", f"{place}/c"]
            assert end(start(synth))[0] == 0
            shutil.copy(place / "c" / "train-00000.jsonl", data)
            shutil.copy(place / "c" / ".train-00000.jsonl.sums", place / ".examples.jsonl.sums")
            if name in EACH:
                rows = found[name] = found.get(name, {}) if chosen else {}
                for command, row in measure_each(name, place, data, chosen):
                    rows[command] = row
                    FIGURES.write_text(json.dumps(found, indent=1) + "\n")
            else:
                found[name] = PARTS[name](place, data)
        FIGURES.write_text(json.dumps(found, indent=1) + "\n")


def table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def tables(found: Found) -> dict[str, str]:
    """The tables of the page, by name. A traceback ends the measurement, so there are none."""
    hostile = [
        (
            name,
            f"{row['inputs']:,}",
            f"{row.get('refused', 0):,}",
            f"{row['inputs'] - row.get('refused', 0):,}",
            0,
            f"{1000 * row['slowest']:.0f} ms",
        )
        for name, row in found["hostile"].items()
    ]
    return {
        "kills": table(
            ("command", "kills", "runs to the end", "with the same bytes"),
            [(f"`{n}`", r["kills"], r["runs"], r["same"]) for n, r in found["kills"].items()],
        ),
        "writers": table(
            ("command, started twice", "rounds", "refused", "done", "with the same bytes"),
            [
                (f"`{n}`", r["rounds"], r.get("refused", 0), r.get("done", 0), r.get("same", 0))
                for n, r in found["writers"].items()
            ],
        ),
        "disk": table(
            ("command", "what it says", "the same bytes when run again"),
            [
                (f"`{n}`", r["says"].removeprefix("provegym: "), "yes" if r["same"] else "no")
                for n, r in found["disk"].items()
            ],
        ),
        "flips": table(
            ("command", "flipped bits", "file and line named", "seen without checksums"),
            [(f"`{n}`", r["flips"], r["named"], r["without"]) for n, r in found["flips"].items()],
        ),
        "hostile": table(
            ("reader", "inputs", "refused in a sentence", "read", "tracebacks", "slowest"), hostile
        ),
    }


def write() -> None:
    """Write the tables into the page."""
    text = PAGE.read_text("utf-8")
    for name, block in tables(json.loads(FIGURES.read_text())).items():
        begin, end_mark = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        pattern = f"{begin}.*?{end_mark}"
        whole = f"{begin}\n{block}\n{end_mark}"
        text, count = re.subn(pattern, lambda _, whole=whole: whole, text, flags=re.DOTALL)
        assert count == 1, name
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2:])
    else:
        write()
