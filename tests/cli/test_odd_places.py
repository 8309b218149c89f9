"""Odd places for files: devices, names that are no UTF-8, links in a circle, somebody's corpus."""

import os
from pathlib import Path

import pytest

from command import run
from examples import pay_example
from provegym.files import CannotWrite, check_free, locked, locked_file, write_atomically
from provegym.trace import write


def test_a_device_or_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(CannotWrite, match="is a device or a pipe; name a file"):
        write_atomically(pipe, "text")
    with pytest.raises(CannotWrite, match="is a device or a pipe"), locked_file(pipe):
        pass
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_export_does_not_write_over_a_corpus(tmp_path: Path) -> None:
    corpus, plain = tmp_path / "train-00000.jsonl", tmp_path / "plain.jsonl"
    write(corpus, [pay_example()])
    held = corpus.read_bytes()
    plain.write_bytes(held)  # without checksums
    for source, out in ((corpus, corpus), (plain, corpus), (plain, plain)):
        done = run("export", source, "--format", "sft", "--out", out)
        assert done.returncode == 2
        assert "holds examples or rollouts, which would be lost" in done.stderr
    assert corpus.read_bytes() == plain.read_bytes() == held


def test_a_file_is_not_replaced_in_a_folder_that_another_process_writes_to(tmp_path: Path) -> None:
    file, folder = tmp_path / "in.jsonl", tmp_path / "corpus"
    write(file, [pay_example()])
    row = '{"query": "hi", "tools": "[]", "answers": "[]"}\n'
    rows = tmp_path / "rows.jsonl"
    rows.write_text(row)
    commands = (
        ("export", file, "--format", "sft", "--out", folder / "x.jsonl"),
        ("import", "xlam-irrelevance", rows, "--out", folder / "x.jsonl"),
        ("report", file, "--out", folder / "x.html"),
    )
    with locked(folder):
        for command in commands:
            done = run(*command)
            assert done.returncode == 2, command
            assert "another process writes to" in done.stderr, command
    check_free(folder / "x.jsonl")
    assert not list(folder.iterdir())


def test_a_name_that_is_no_utf8_is_shown_escaped(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"odd\xff")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip("this file system takes only UTF-8")
    for name in ("train-00000.jsonl", os.fsdecode(b"bad\xfe.jsonl")):
        write(folder / name, [pay_example()])
    with (folder / os.fsdecode(b"bad\xfe.jsonl")).open("ab") as file:
        file.write(b"{\n")
    done = run("report", folder, "--out", tmp_path / "r.html")
    assert done.returncode == 0, done.stderr
    assert "odd\\\\udcff" in (tmp_path / "r.html").read_text()


def test_links_in_a_circle_are_a_sentence(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.symlink_to(two)
    two.symlink_to(one)
    for command in (("verify", one), ("score", one)):
        done = run(*command)
        assert done.returncode == 2
        assert done.stderr.startswith("provegym: ")
        assert "Traceback" not in done.stderr
