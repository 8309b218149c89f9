"""What is found in folders: corpora, rollouts, runs, what grows, and what cannot be shown."""

import gzip
import os
from pathlib import Path
from time import monotonic, sleep

import msgspec
import pytest

from provegym.trace import line, write
from provegym.view.library import Library
from provegym.view.sources import DataSource, Missing, Rows, RunFolder
from view.samples import add_step, example_of, folder, make_run, played, some


def only(path: Path) -> DataSource:
    """The one source of a file or folder, read to its end."""
    [source] = Library([path]).settle().sources
    return source


def test_a_folder_holds_corpora_rollouts_and_runs(tmp_path: Path) -> None:
    library = Library([folder(tmp_path / "all")]).settle()
    told = {each["name"]: (each["kind"], each["count"]) for each in library.describe()}
    assert told == {
        "all/corpus/train": ("examples", 4),
        "all/left.jsonl": ("rollouts", 10),
        "all/right.jsonl": ("rollouts", 10),
        "all/run": ("run", 3),
        "all/run/rollouts/step-000001.jsonl": ("rollouts", 2),
        "all/run/rollouts/step-000003.jsonl": ("rollouts", 2),
    }
    run = next(each for each in library.sources if isinstance(each, RunFolder))
    assert [(sample.step, sample.describe()["run"]) for sample in run.samples] == [
        (1, run.id),
        (3, run.id),
    ]
    assert all(each["done"] and not each["problem"] for each in library.describe())


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.jsonl", b"", "is empty"),
        ("blank.jsonl", b"\n\n", "no whole line yet"),
        ("table.csv", b"id,reward\n1,0.5\n", "is not JSON lines"),
        ("binary.jsonl", b"\x00\x01\x02\n" * 9, "is binary"),
        ("packed.jsonl.gz", gzip.compress(b"{}\n", mtime=0), "is compressed"),
        ("other.jsonl", b'{"prompt": "hi"}\n', "neither examples nor rollouts"),
        ("list.jsonl", b"[1, 2]\n", "neither examples nor rollouts"),
        ("pretty.jsonl", b'{\n  "a": 1\n}\n', "is not JSON lines"),
        ("metrics-of-a-run.jsonl", b'{"step": 1}\n', "name the folder of the run"),
        ("newer.jsonl", b'{"schema": 9, "turns": []}\n', "reads schema 1"),
        ("latin.jsonl", '{"turns": "é"\n'.encode("latin-1"), "is not JSON lines"),
        ("word.jsonl", b"hello", "is not JSON lines"),
        ("deep.jsonl", b'{"turns":' + b"[" * 100_000 + b"\n", "is not JSON lines"),
        ("cut.jsonl", b'{"schema":1,"exam', "no whole line yet"),
    ],
)
def test_what_cannot_be_shown_says_why(
    tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(content)
    source = only(tmp_path)
    assert (source.kind, source.count, source.done) == ("problem", 0, True)
    assert name in source.problem
    assert says in source.problem


def test_what_is_no_file_says_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert "is no file that could be read" in only(tmp_path / "pipe.jsonl").problem


def test_a_cut_last_line_is_left_out_and_named(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    rollouts = some(3)
    path.write_bytes(b"".join(map(line, rollouts))[:-40])
    source = only(path)
    assert (source.kind, source.count) == ("rollouts", 2)
    assert "line 3 of cut.jsonl is cut off" in source.problem


def test_a_whole_last_line_without_an_end_counts(tmp_path: Path) -> None:
    path = tmp_path / "open.jsonl"
    path.write_bytes(b"".join(map(line, some(3)))[:-1])
    library = Library([path]).settle()
    source = library.rows(0)
    assert (source.count, source.problem) == (3, "")
    with path.open("ab") as out:
        out.write(b"\n" + line(played("noop", 9)))
    library.settle()
    assert [source.columns.place(at).line for at in range(4)] == [1, 2, 3, 4]
    assert msgspec.json.decode(source.line(3))["example"]["id"] == "pay-9"


def test_a_broken_line_in_the_middle_is_passed_over_and_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    good = [line(each) for each in some(2)]
    path.write_bytes(good[0] + b"{oops\n" + line(example_of()) + good[1])
    source = only(path)
    assert source.count == 2
    assert "line 2 of broken.jsonl" in source.problem
    assert "and 1 more" in source.problem


def test_files_are_read_on_as_they_grow(tmp_path: Path) -> None:
    path, new = tmp_path / "live.jsonl", tmp_path / "new.jsonl"
    lines = [line(each) for each in some(4)]
    path.write_bytes(lines[0] + lines[1][:50])
    library = Library([tmp_path]).settle()
    source = library.rows(0)
    assert source.count == 1
    with path.open("ab") as out:
        out.write(lines[1][50:] + lines[2])
    new.write_bytes(lines[3])
    library.settle()
    assert (source.count, source.problem, library.rows(1).count) == (3, "", 1)


def test_an_empty_file_becomes_what_is_written_to_it(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    path.touch()
    library = Library([path]).settle()
    assert library[0].kind == "problem"
    write(path, some(1))
    assert library.settle()[0].describe()["kind"] == "rollouts"
    assert library[0].problem == ""


def test_a_file_that_is_rewritten_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    write(path, some(3))
    library = Library([path]).settle()
    write(path, [played("noop", 7)])
    source = library.settle().rows(0)
    assert source.count == 1
    assert msgspec.json.decode(source.line(0))["example"]["id"] == "pay-7"


def test_a_file_may_go_and_come_back(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    write(path, some(3))
    library = Library([path]).settle()
    path.unlink()
    source = library.settle().rows(0)
    assert (source.kind, source.count) == ("problem", 0)
    assert "moved or deleted" in source.problem
    with pytest.raises(Missing):
        source.line(0)
    write(path, some(2))
    library.settle()
    assert (source.kind, source.count, source.problem) == ("rollouts", 2, "")


def test_a_corpus_that_loses_a_shard_shows_the_others(tmp_path: Path) -> None:
    write(tmp_path / "train-00000.jsonl", [example_of(id="one")])
    write(tmp_path / "train-00001.jsonl", [example_of(id="two")])
    library = Library([tmp_path]).settle()
    assert library[0].count == 2
    (tmp_path / "train-00000.jsonl").unlink()
    source = library.settle().rows(0)
    assert source.count == 1
    assert msgspec.json.decode(source.line(0))["id"] == "two"


def test_links_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    write(outside / "secret.jsonl", some(1))
    write(inside / "mine.jsonl", some(1))
    (inside / "file.jsonl").symlink_to(outside / "secret.jsonl")
    (inside / "folder").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    (inside / "near.jsonl").symlink_to(inside / "mine.jsonl")
    names = [each["name"] for each in Library([inside]).settle().describe()]
    assert names == ["inside/mine.jsonl", "inside/near.jsonl"]


def test_hidden_folders_and_checkpoints_are_passed(tmp_path: Path) -> None:
    for name in (".cache", "checkpoints", "a/b/c"):
        (tmp_path / name).mkdir(parents=True)
        write(tmp_path / name / "x.jsonl", some(1))
    names = [each["name"] for each in Library([tmp_path]).settle().describe()]
    assert names == [f"{tmp_path.name}/a/b/c/x.jsonl"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    write(path, some(1))
    path.chmod(0)
    assert "Permission denied" in only(path).problem


def test_a_run_grows_and_may_be_taken_back(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run")
    library = Library([path]).settle()
    run = library.run(0)
    generation = run.generation
    add_step(path, 4)
    with (path / "metrics.jsonl").open("ab") as out:
        out.write(b'{"step": 5, "rew')
    write(path / "rollouts" / "step-000004.jsonl", some(1))
    library.settle()
    assert (run.count, run.generation, len(run.samples)) == (4, generation, 3)
    lines = (path / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (path / "metrics.jsonl").write_bytes(b"".join(lines[:2]))
    library.settle()
    assert (run.count, run.generation) == (2, generation + 1)


def test_somebody_elses_metrics_are_no_run(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"loss": 1}\n{"loss": 2}\n', "utf-8")
    source = only(tmp_path)
    assert source.kind == "problem"
    assert "not of a run of provegym" in source.problem


def test_it_is_read_in_the_background_and_stops(tmp_path: Path) -> None:
    path = tmp_path / "live.jsonl"
    write(path, some(2))
    library = Library([path])
    library.start()
    try:
        source = library.rows(0)
        library.await_rows(source, 2, seconds=20)
        assert source.count == 2
        with path.open("ab") as out:
            out.write(line(played("noop", 9)))
        until = monotonic() + 20
        while source.count < 3 and monotonic() < until:
            sleep(0.02)
        assert source.count == 3
    finally:
        library.stop()


def test_reading_stands_back_while_somebody_waits(tmp_path: Path) -> None:
    write(tmp_path / "live.jsonl", some(5) * 200)
    library = Library([tmp_path])
    with library.answering():
        library.start()
        sleep(0.3)
        before = library[0].count
    library.stop()
    assert isinstance(library[0], Rows)
    assert before < 1_000
