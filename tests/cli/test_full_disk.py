"""A full disk and a place that cannot be written to: a sentence, and nothing good is destroyed."""

import errno
import os
from pathlib import Path

import pytest

from command import run
from examples import pay_example
from files_in_trouble import full_disk
from provegym.trace import Example, read, write

MAPS = ("synth", "--servers", "maps", "--workers", 1, "--seed", 3)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "examples.jsonl"
    write(path, [pay_example(), pay_example(id="pay-2")])
    return path


def test_synth_on_a_full_disk_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert run(*MAPS, "--size", 12, "--out", whole).returncode == 0
    (shard,) = whole.glob("*.jsonl")
    with full_disk(shard.stat().st_size * 2 // 3):
        done = run(*MAPS, "--size", 12, "--out", out)
    assert done.returncode == 2
    assert "train-00000.jsonl: File too large; " in done.stderr
    assert run(*MAPS, "--size", 12, "--out", out).returncode == 0
    assert files(out) == files(whole)


def files(folder: Path) -> dict[str, bytes]:
    """The files of a corpus but for its card, which names the folder."""
    found = sorted(path for path in folder.iterdir() if path.name != "README.md")
    return {path.name: path.read_bytes() for path in found}


def test_old_files_survive_a_full_disk(data: Path, tmp_path: Path) -> None:
    rollouts, page, sft = (tmp_path / name for name in ("r.jsonl", "page.html", "sft.jsonl"))
    play = ("rollout", "--policy", "oracle", "--data", data, "--out", rollouts)
    report = ("report", data, "--out", page, "--force")
    export = ("export", data, "--format", "sft", "--out", sft)
    for command in (play, report, export):
        assert run(*command).returncode == 0
    before = {path: path.read_bytes() for path in (page, sft)}
    for command in (report, export):
        with full_disk(1_000):
            done = run(*command)
        assert done.returncode == 2
        assert "File too large; files may not be that large here" in done.stderr
        assert "Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in before} == before
    assert not list(tmp_path.glob("*.part"))


def test_rollouts_on_a_full_disk_are_played_on(data: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    play = ("rollout", "--policy", "oracle", "--data", data, "--out")
    assert run(*play, whole).returncode == 0
    with full_disk(whole.stat().st_size * 2 // 3):
        assert "File too large" in run(*play, out).stderr
    assert run(*play, out).returncode == 0
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_whatever_the_file_system_says_is_a_sentence(
    number: int, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    commands = (
        (*MAPS, "--size", 2, "--out", tmp_path / "corpus"),
        ("export", data, "--format", "trl", "--out", tmp_path / "x.jsonl"),
        ("report", data, "--out", tmp_path / "x.html"),
        ("rollout", "--policy", "noop", "--data", data, "--out", tmp_path / "r.jsonl"),
        ("eval", "heldout", "--model", "noop", "--data", data, "--out", tmp_path / "eval"),
    )
    for command in commands:
        done = run(*command)
        assert done.returncode == 2, command
        assert f": {os.strerror(number)}; " in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to any folder")
def test_a_folder_without_rights_is_named(data: Path, tmp_path: Path) -> None:
    shut = tmp_path / "shut"
    shut.mkdir(mode=0o500)
    done = run("export", data, "--format", "trl", "--out", shut / "x.jsonl")
    assert "Permission denied; choose a place that you may read and write" in done.stderr


def test_a_place_that_nobody_can_write_to_is_named(data: Path) -> None:
    for out in ("/proc/x.jsonl", "/dev/null/x.jsonl"):
        done = run("export", data, "--format", "trl", "--out", out)
        assert done.returncode == 2
        assert done.stderr.startswith(f"provegym: {out}: ")
    assert len(list(read(data, Example))) == 2
