"""Files in trouble: kills, two writers, flipped bits, full disks and hostile files, measured.

`python docs/reliability.py measure [PART ...]` does what the rows say and writes
docs/reliability.json; `python docs/reliability.py` writes the tables of the page from it.
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
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from random import Random
from time import monotonic, process_time, sleep
from typing import Any
from unittest.mock import patch

HERE = Path(__file__).parent
FIGURES, PAGE = HERE / "reliability.json", HERE / "reliability.md"
sys.path.insert(0, str(HERE.parent / "tests"))
KILLS, ROUNDS, FLIPS, INPUTS = 14, 3, 1_200, 100_000
PATIENCE = 300
Command = list[str]
Found = dict[str, Any]


def commands(data: Path) -> dict[str, Callable[[Path], Command]]:
    """The commands that can be resumed, each with the place of its output."""
    read = ["--data", str(data)]
    small = ["--servers", "maps,banking", "--workers", "2", "--seed", "5", "--size", "60"]
    return {
        "synth": lambda out: ["synth", *small, "--out", str(out)],
        "rollout": lambda out: ["rollout", *read, "--policy", "oracle", "--out", f"{out}/r.jsonl"],
        "eval heldout": lambda out: (
            ["eval", "heldout", "--model", "oracle", *read, "--out", str(out)]
        ),
        "worlds draw": lambda out: ["worlds", "draw", "--count", "40", "--out", str(out)],
    }


def start(command: Command, most: int = 0) -> "subprocess.Popen[str]":
    """A command in a process group of its own; no file of it grows beyond `most` bytes."""

    def limit() -> None:
        if most:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return subprocess.Popen(
        [sys.executable, "-m", "provegym", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=limit,
    )


def end(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Wait for a command; its status, and the last line of what it said on stderr."""
    told = process.communicate(timeout=PATIENCE)[1]
    if "Traceback" in told:
        raise RuntimeError(told)
    lines = [line for line in told.splitlines() if line.startswith("provegym: ")]
    return process.returncode, lines[-1] if lines else ""


def bytes_of(folder: Path) -> dict[str, bytes]:
    """The files of a folder, but for locks and what a kill leaves of a temporary file."""
    files = (path for path in folder.rglob("*") if path.is_file())
    left_out = (".lock", ".part")
    return {
        str(path.relative_to(folder)): path.read_bytes().replace(str(folder).encode(), b"OUT")
        for path in files
        if path.suffix not in left_out and not path.name.endswith(".lock")
    }


def alone(make: Callable[[Path], Command], place: Path) -> tuple[dict[str, bytes], float]:
    """What a command writes if nothing disturbs it, and how long it takes."""
    place.mkdir()
    began = monotonic()
    status, told = end(start(make(place)))
    assert status == 0, told
    return bytes_of(place), monotonic() - began


def measure_kills(place: Path, data: Path) -> Found:
    """Kill each command at random moments, start it again, and compare the bytes."""
    found: Found = {}
    for name, make in commands(data).items():
        whole, seconds = alone(make, place / f"{name} alone")
        chance, out = Random(name), place / f"{name} killed"
        kills = runs = same = 0
        while kills < KILLS:
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            for _ in range(KILLS):
                process = start(make(out))
                sleep(chance.uniform(0.1, 1.0) * seconds)
                if process.poll() is not None:
                    break
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                kills += 1
            status, told = end(start(make(out)))
            assert status == 0, told
            runs, same = runs + 1, same + (bytes_of(out) == whole)
        found[name] = {"kills": kills, "runs": runs, "same": same}
        print(name, found[name], file=sys.stderr)
    return found


def measure_writers(place: Path, data: Path) -> Found:
    """Start each command twice at the same time on one place."""
    found: Found = {}
    for name, make in commands(data).items():
        whole, _ = alone(make, place / f"{name} once")
        tally: Counter[str] = Counter()
        for number in range(ROUNDS):
            out = place / f"{name} {number}"
            out.mkdir()
            ended = [end(each) for each in (start(make(out)), start(make(out)))]
            refused = ["another process writes to" in told for _, told in ended]
            tally["refused"] += sum(refused)
            tally["done"] += sum(status == 0 for status, _ in ended)
            tally["same"] += bytes_of(out) == whole
        found[name] = {"rounds": ROUNDS, **tally}
        print(name, found[name], file=sys.stderr)
    return found


def measure_full_disk(place: Path, data: Path) -> Found:
    """Let each command run into a limit on the size of files, then run it again without."""
    found: Found = {}
    for name, make in commands(data).items():
        whole, _ = alone(make, place / f"{name} fits")
        largest = max(map(len, whole.values()))
        out = place / f"{name} full"
        out.mkdir()
        status, told = end(start(make(out), largest * 2 // 3))
        assert status == 2, told
        again, _ = end(start(make(out)))
        found[name] = {
            "says": told.replace(str(place), "…"),
            "same": again == 0 and bytes_of(out) == whole,
        }
        print(name, found[name], file=sys.stderr)
    return found


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


PARTS: dict[str, Callable[[Path, Path], Found]] = {
    "kills": measure_kills,
    "writers": measure_writers,
    "disk": measure_full_disk,
    "flips": measure_flips,
    "hostile": measure_hostile,
}


def measure(names: list[str]) -> None:
    """Measure some parts, or all, and write their figures."""
    found = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    for name in names or PARTS:
        with tempfile.TemporaryDirectory(prefix="reliability-") as folder:
            place = Path(folder)
            data = place / "examples.jsonl"
            synth = ["synth", "--servers", "maps,banking", "--size", "60", "--out", f"{place}/c"]
            assert end(start(synth))[0] == 0
            shutil.copy(place / "c" / "train-00000.jsonl", data)
            shutil.copy(place / "c" / ".train-00000.jsonl.sums", place / ".examples.jsonl.sums")
            found[name] = PARTS[name](place, data)
        FIGURES.write_text(json.dumps(found, indent=1) + "\n")


def table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def tables(found: Found) -> dict[str, str]:
    """The tables of the page, by name."""
    hostile = [
        (
            name,
            f"{row['inputs']:,}",
            f"{row.get('refused', 0):,}",
            f"{row.get('read', 0):,}",
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
