"""Files that grow, are cut, rewritten or taken away while they are read."""

from pathlib import Path

import pytest

from provegym.view import growing_file
from provegym.view.growing_file import GrowingFile, Unreadable


def texts(reader: GrowingFile) -> list[bytes]:
    """Everything that can be read now."""
    reader.is_rewritten()
    found: list[bytes] = []
    while not reader.is_at_end:
        lines = reader.lines()
        found += [line.text for line in lines]
        if not lines:
            break
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.jsonl"
    path.write_bytes(b"one\ntwo\nthr")
    return path


def test_a_cut_line_waits_for_its_end(file: Path) -> None:
    reader = GrowingFile(file, file)
    assert texts(reader) == [b"one", b"two"]
    assert reader.rest == b"thr"
    with file.open("ab") as out:
        out.write(b"ee\nfour\n")
    assert texts(reader) == [b"three", b"four"]
    assert (reader.rest, reader.number) == (b"", 4)


def test_a_line_is_where_it_says(file: Path) -> None:
    reader = GrowingFile(file, file)
    reader.is_rewritten()
    for line in reader.lines():
        assert reader.read(line.start, len(line.text)) == line.text


def test_a_last_line_without_an_end_may_count(file: Path) -> None:
    reader = GrowingFile(file, file)
    texts(reader)
    assert reader.take_rest().number == 3
    with file.open("ab") as out:
        out.write(b"\nfour\n")
    reader.is_rewritten()
    assert [(line.number, line.text) for line in reader.lines()] == [(3, b""), (4, b"four")]


@pytest.mark.parametrize("text", [b"other", b"one\nTWO\nthree\nfour\n"])
def test_a_file_that_was_rewritten_starts_again(file: Path, text: bytes) -> None:
    reader = GrowingFile(file, file)
    texts(reader)
    file.write_bytes(text)
    assert reader.is_rewritten()
    assert reader.position == 0


def test_a_file_that_was_replaced_starts_again(file: Path, tmp_path: Path) -> None:
    reader = GrowingFile(file, file)
    texts(reader)
    assert not reader.is_rewritten()
    (tmp_path / "new").write_bytes(file.read_bytes())
    (tmp_path / "new").replace(file)
    assert reader.is_rewritten()


def test_a_line_beyond_the_bound_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing_file, "CHUNK", 16)
    monkeypatch.setattr(growing_file, "LONGEST", 64)
    path = tmp_path / "long.jsonl"
    path.write_bytes(b"a\n" + b"x" * 1_000 + b"\nb\n")
    found = texts(GrowingFile(path, path))
    assert (found[0], found[-1], len(found)) == (b"a", b"b", 3)
    assert len(found[1]) == 64


def test_a_file_that_went_away_says_so(file: Path) -> None:
    reader = GrowingFile(file, file)
    file.unlink()
    with pytest.raises(Unreadable, match="moved or deleted"):
        reader.is_rewritten()


def test_a_link_that_turns_outside_is_not_followed(file: Path, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    link = inside / "link.jsonl"
    link.write_bytes(b"mine\n")
    reader = GrowingFile(link, inside.resolve())
    assert texts(reader) == [b"mine"]
    link.unlink()
    link.symlink_to(file)
    with pytest.raises(Unreadable, match="leads out"):
        reader.read(0, 3)
