"""World files: a spec with its hash and admission; names never lead out of the folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from admission.boats import FILE, boats
from provegym import servers
from provegym.admission.run import admit_folder
from provegym.kernel import Session
from provegym.packages import BrokenServer
from provegym.worlds import files
from provegym.worlds.files import (
    Admission,
    WorldFile,
    admitted,
    install_file,
    new_file,
    read_world,
    world_files,
    write_world,
)
from provegym.worlds.spec import SpecError

HOSTILE = [
    "../outside",
    "../../etc/passwd",
    "/etc/passwd",
    "a/b",
    "a\\b",
    "..",
    ".hidden",
    "",
    "Upper",
    "with blank",
    "null\x00byte",
    "new\nline",
    "x" * 65,
    "x" * 5_000,
    "ünïcode",
]


def good() -> WorldFile:
    """A world that counts as admitted."""
    return msgspec.structs.replace(
        new_file(boats()), admission=Admission(method=1, admitted=True, figures={"tools": 6})
    )


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No folder of world files is known, and none afterwards."""
    monkeypatch.setattr(servers, "_folders", [])
    monkeypatch.setattr(files, "_installed", [])
    yield
    servers.forget("boat_hire")


def test_a_world_is_the_same_after_it_was_written_and_read(tmp_path: Path) -> None:
    file = write_world(tmp_path, good())
    assert file == tmp_path / "boat_hire.json"
    assert read_world(file) == good()
    written = file.read_bytes()
    assert msgspec.json.decode(written)["seal"] == good().sealed()
    assert write_world(tmp_path, read_world(file)).read_bytes() == written


def test_a_plain_spec_is_a_world_that_was_not_judged(tmp_path: Path) -> None:
    as_json = tmp_path / "boat_hire.json"
    as_json.write_bytes(msgspec.json.encode(boats()))
    for file in (FILE, as_json):
        assert read_world(file) == new_file(boats())
        assert read_world(file).hash == boats().hash()


def test_a_changed_spec_is_noticed(tmp_path: Path) -> None:
    file = write_world(tmp_path, good())
    file.write_bytes(file.read_bytes().replace(b"on a lake", b"on a pond"))
    with pytest.raises(SpecError, match="its spec was changed"):
        read_world(file)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "boat_hire.json"),
        (b"{", "boat_hire.json"),
        (b'{"hash":1}', "boat_hire.json"),
        (b'{"hash":"1","spec":{}}', "boat_hire.json"),
        (b'{"hash":"1","spec":' + b"[" * 100_000, "boat_hire.json"),
        (b"\xff\xfe", "boat_hire.json"),
        (b" " * (files.MAX_FILE + 1), "too many for a world"),
    ],
    ids=["empty", "half", "no hash", "no spec", "deep", "no text", "too large"],
)
def test_a_file_that_is_no_world_gets_one_sentence(
    tmp_path: Path, content: bytes, says: str
) -> None:
    file = tmp_path / "boat_hire.json"
    file.write_bytes(content)
    with pytest.raises(SpecError, match=says) as caught:
        read_world(file)
    assert "\n" not in str(caught.value)
    with pytest.raises(SpecError, match="cannot be read"):
        read_world(tmp_path / "nowhere.json")


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_reads_and_writes_nothing_outside(
    tmp_path: Path, folders: None, name: str
) -> None:
    inside = tmp_path / "deep" / "inside"
    inside.mkdir(parents=True)
    outside = write_world(tmp_path / "deep", good()).rename(tmp_path / "deep" / "outside.json")
    before = outside.read_bytes()
    bad = new_file(msgspec.structs.replace(boats(), name=name))
    bad = msgspec.structs.replace(bad, admission=good().admission)
    (inside / "world.json").write_bytes(msgspec.json.encode(bad))
    with pytest.raises(SpecError, match="the name of a world"):
        read_world(inside / "world.json")
    with pytest.raises(SpecError):
        list(admitted(inside))
    servers.look_in(inside)
    assert servers.world_file(name) is None
    assert not servers.is_known(name)
    with pytest.raises(BrokenServer, match="there is no server"):
        servers.load(name)
    assert admit_folder(inside, 1, lambda: None).reasons == {"the file holds no world": 1}
    assert outside.read_bytes() == before
    found = sorted(file.name for file in tmp_path.rglob("*") if file.is_file())
    assert found == ["outside.json", "world.json"]


def test_a_file_under_another_name_is_an_error(tmp_path: Path) -> None:
    file = write_world(tmp_path, good()).rename(tmp_path / "other.json")
    for act in (lambda: install_file(file), lambda: list(admitted(tmp_path))):
        with pytest.raises(SpecError, match="holds the world 'boat_hire'; rename it"):
            act()


def test_other_files_of_a_folder_are_left_alone(tmp_path: Path) -> None:
    write_world(tmp_path, good())
    for name in ("README.md", ".boat_hire.json.part", "notes.txt"):
        (tmp_path / name).write_text("{", "utf-8")
    assert [file.name for file in world_files(tmp_path)] == ["boat_hire.json"]
    assert [world.spec.name for world in admitted(tmp_path)] == ["boat_hire"]
    with pytest.raises(SpecError, match="there is no folder"):
        world_files(tmp_path / "nowhere")


def test_a_world_is_found_in_its_folder_and_beside_a_corpus(tmp_path: Path, folders: None) -> None:
    with pytest.raises(BrokenServer):
        servers.load("boat_hire")
    beside = tmp_path / servers.BESIDE
    beside.mkdir()
    write_world(beside, good())
    servers.look_beside(tmp_path / "train-00000.jsonl")
    assert servers.places().worlds == (beside,)
    servers.look_beside(tmp_path)
    assert servers.places().worlds == (beside,)
    server = servers.load("boat_hire")
    assert Session([server], 0).call("list_boats", {}).ok
    assert servers.asks("boat_hire")["asks"]["repair_boat"]


def test_only_the_last_worlds_stay_installed(
    tmp_path: Path, folders: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "INSTALLED", 2)
    names = ["boats_a", "boats_b", "boats_c"]
    for name in names:
        write_world(tmp_path, new_file(boats(name)))
    servers.look_in(tmp_path)
    for name in names:
        servers.load(name)
    assert [name for name in names if name in servers.known()] == names[1:]
    assert servers.load("boats_a").name == "boats_a"
    for name in names:
        servers.forget(name)


@pytest.mark.parametrize(
    ("before", "after"), [(b'"admitted":false', b'"admitted":true'), (b'"tools":6', b'"tools":600')]
)
def test_an_admission_that_was_changed_by_hand_does_not_count(
    tmp_path: Path, before: bytes, after: bytes
) -> None:
    judged = Admission(method=1, admitted=False, figures={"tools": 6})
    file = write_world(tmp_path, msgspec.structs.replace(good(), admission=judged))
    assert read_world(file).admission == judged
    assert before in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(before, after))
    assert read_world(file).admission is None
    assert not list(admitted(tmp_path))


def test_a_graph_that_was_changed_by_hand_does_not_count(tmp_path: Path) -> None:
    file = write_world(tmp_path, msgspec.structs.replace(good(), graph={"edges": ["a"]}))
    assert len(list(admitted(tmp_path))) == 1
    file.write_bytes(file.read_bytes().replace(b'["a"]', b'["b"]'))
    assert not list(admitted(tmp_path))


def test_a_pipe_or_a_device_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    for name in ("pipe.json", "zero.json"):
        with pytest.raises(SpecError, match="not a regular file"):
            read_world(tmp_path / name)
    found = admit_folder(tmp_path, 1, lambda: None)
    assert found.problems == [
        f"{name}.json: {name}.json is not a regular file" for name in ("pipe", "zero")
    ]
