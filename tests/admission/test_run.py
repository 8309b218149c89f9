"""Folders of worlds: drawn, admitted by several processes, resumed, with files that are wrong."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from admission.boats import FILE, boats
from admission.memory import judge_and_measure
from admission.test_admit import few_rules
from command import run as provegym
from provegym.admission import run
from provegym.admission.admit import METHOD
from provegym.admission.run import BATCH, PRELOAD, RECYCLE, admit_folder, draw_folder, judge_files
from provegym.workers import Processes
from provegym.worlds.files import Admission, new_file, read_world, world_files, write_world


def quiet() -> None:
    """Tells nobody about progress."""


def bytes_of(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def admission_of(file: Path) -> Admission:
    """What was found about a world."""
    found = read_world(file).admission
    assert found is not None
    return found


def some_boats(folder: Path, count: int) -> None:
    """Small worlds; every third breaks a rule."""
    for number in range(count):
        change = few_rules if number % 3 == 2 else lambda data: None
        write_world(folder, new_file(boats(f"boats_{number:02d}", change)))


def test_drawing_again_keeps_what_was_admitted(tmp_path: Path) -> None:
    assert draw_folder(2, 5, tmp_path, quiet) == (2, 0)
    first, _ = world_files(tmp_path)
    judged = msgspec.structs.replace(
        read_world(first), admission=Admission(method=METHOD, admitted=True)
    )
    write_world(tmp_path, judged)
    draw_folder(3, 5, tmp_path, quiet)
    assert len(world_files(tmp_path)) == 3
    assert admission_of(first).admitted


def test_one_and_two_workers_write_the_same_bytes(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    found = []
    for workers, folder in enumerate(folders, 1):
        folder.mkdir()
        some_boats(folder, 6)
        found.append(admit_folder(folder, workers, quiet))
    assert found[0] == found[1]
    assert (found[0].worlds, found[0].admitted) == (6, 4)
    assert found[0].reasons == {"too few rules refuse": 2}
    assert bytes_of(folders[0]) == bytes_of(folders[1])


def test_a_second_run_judges_nothing_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some_boats(tmp_path, 2)
    list(judge_files(world_files(tmp_path)))
    before = bytes_of(tmp_path)
    monkeypatch.setattr(run, "admit", lambda world, trim: pytest.fail("judged again"))
    assert [found.admitted for found, _ in judge_files(world_files(tmp_path))] == [True, True]
    assert bytes_of(tmp_path) == before


def test_another_method_judges_anew(tmp_path: Path) -> None:
    old = Admission(method=METHOD - 1, admitted=False, reasons=("old",))
    write_world(tmp_path, msgspec.structs.replace(new_file(boats()), admission=old))
    list(judge_files(world_files(tmp_path)))
    assert admission_of(tmp_path / "boat_hire.json").admitted


def test_a_spec_in_toml_gets_a_world_file_and_is_judged_once(tmp_path: Path) -> None:
    source = tmp_path / "boat_hire.toml"
    source.write_bytes(FILE.read_bytes())
    assert admit_folder(tmp_path, 1, quiet)[:2] == (1, 1)
    assert [file.name for file in world_files(tmp_path)] == ["boat_hire.json", "boat_hire.toml"]
    made = tmp_path / "boat_hire.json"
    before = made.stat().st_mtime_ns
    assert admit_folder(tmp_path, 1, quiet)[:2] == (1, 1)
    assert made.stat().st_mtime_ns == before
    changed = FILE.read_text("utf-8").replace("on a lake", "on a river")
    source.write_text(changed, "utf-8")
    assert admit_folder(tmp_path, 1, quiet)[:2] == (1, 1)
    assert "river" in read_world(made).spec.about, "a changed spec is judged anew"


def test_two_worlds_of_one_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    write_world(tmp_path, new_file(boats()))
    other = new_file(boats("boat_hire", few_rules))
    (tmp_path / "zebra.json").write_bytes(msgspec.json.encode(other))
    found = admit_folder(tmp_path, 1, quiet)
    assert (found.worlds, found.admitted) == (2, 1)
    assert found.reasons == {"another world has its name": 1}
    assert admission_of(tmp_path / "boat_hire.json").admitted
    assert read_world(tmp_path / "zebra.json").hash == other.hash


def test_a_file_under_another_name_is_renamed(tmp_path: Path) -> None:
    (tmp_path / "copy.json").write_bytes(msgspec.json.encode(new_file(boats())))
    admit_folder(tmp_path, 1, quiet)
    assert [file.name for file in world_files(tmp_path)] == ["boat_hire.json"]


def test_files_that_cannot_be_read_are_counted_and_stay(tmp_path: Path) -> None:
    write_world(tmp_path, new_file(boats()))
    (tmp_path / "half.json").write_text('{"hash": "1', "utf-8")
    (tmp_path / "noise.toml").write_bytes(b"\xff\xfe\x00")
    before = bytes_of(tmp_path)
    found = admit_folder(tmp_path, 1, quiet)
    assert (found.worlds, found.admitted) == (3, 1)
    assert found.reasons == {"the file holds no world": 2}
    assert [problem.split(":")[0] for problem in found.problems] == ["half.json", "noise.toml"]
    assert bytes_of(tmp_path)["half.json"] == before["half.json"]


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        folder.mkdir()
        some_boats(folder, 8)
    admit_folder(whole, 2, quiet)
    command = [sys.executable, "-m", "provegym", "worlds", "admit", str(cut)]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if sum(read_world(file).admission is not None for file in world_files(cut)) >= 1:
            break
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    judged = {
        file.name: file.stat().st_mtime_ns
        for file in world_files(cut)
        if read_world(file).admission is not None
    }
    assert judged
    admit_folder(cut, 2, quiet)
    assert bytes_of(whole) == {
        name: held for name, held in bytes_of(cut).items() if not name.startswith(".")
    }
    for name, written in judged.items():
        assert (cut / name).stat().st_mtime_ns == written, "it was judged twice"


def test_the_commands_tell_what_they_did(tmp_path: Path) -> None:
    drawn = provegym("worlds", "draw", "--count", 1, "--seed", 3, "--out", tmp_path)
    assert drawn.stdout.startswith(f"1 worlds in {tmp_path}")
    some_boats(tmp_path, 3)
    told = provegym("worlds", "admit", tmp_path).stdout
    assert "of 4 worlds admitted" in told
    assert "1: too few of its rules refuse a call" in told
    again = provegym("worlds", "admit", tmp_path, "--json")
    assert msgspec.json.decode(again.stdout)["worlds"] == 4


def test_an_empty_or_missing_folder_gets_one_sentence(tmp_path: Path) -> None:
    empty = provegym("worlds", "admit", tmp_path)
    assert (empty.returncode, "holds no worlds" in empty.stderr) == (2, True)
    missing = provegym("worlds", "admit", tmp_path / "nowhere")
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("count", "batch"),
    [pytest.param(12, 1, id="short"), pytest.param(36, BATCH, id="long", marks=pytest.mark.long)],
)
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_of_the_workers_is_flat(tmp_path: Path, count: int, batch: int) -> None:
    """The second half of the worlds needs hardly more memory than the first half."""
    draw_folder(count, 11, tmp_path, quiet)
    with closing(Processes(2, PRELOAD, RECYCLE)) as pool:
        used = list(pool.map(judge_and_measure, world_files(tmp_path), batch))
    half = count // 2
    assert max(used[half:]) < 1.25 * max(used[:half]), used
