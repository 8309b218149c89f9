"""A corpus on worlds that are data: exact shares, the same bytes, and readable anywhere."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
import pytest
from rich.progress import Progress

from admission.boats import boats, judged
from command import run as provegym
from provegym import servers
from provegym.corpus.corpus import Corpus
from provegym.corpus.order import Order
from provegym.corpus.quotas import share_out
from provegym.graph import dependency
from provegym.trace import BadFile, Example, read
from provegym.worlds.files import read_world, write_world
from provegym.worlds.grammar import draw_specs

SIZE, SEED = 44, 5
SERVERS = ("banking", "maps", "payments")
SMALL = [f"a_boat_hire_{letter}" for letter in "abcdefgh"]
# The reward of the right calls, and of none where none is right.
MAXIMUM, MAXIMUM_WITHOUT_CALLS = 1.3, 1.0


@pytest.fixture(scope="module", autouse=True)
def _no_folders() -> Iterator[None]:
    """The folders of world files that these tests look in are forgotten afterwards."""
    known = list(servers._folders)
    yield
    servers._folders[:] = known
    dependency.admitted.cache_clear()


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eleven admitted worlds: eight small ones made by hand, and three that were drawn."""
    folder = tmp_path_factory.mktemp("worlds")
    drawn = (judged(spec) for spec in islice(draw_specs(21), 8))
    good = (world for world, admission in drawn if admission.admitted)
    for world in (*(judged(boats(name))[0] for name in SMALL), *islice(good, 3)):
        write_world(folder, world)
    return folder


def order(out: Path, worlds: Path, **changes: object) -> Order:
    """A small corpus, a tenth of its worlds held out."""
    fields = {"size": SIZE, "seed": SEED, "out": out, "servers": SERVERS, "split": "servers"}
    return Order(**{**fields, "worlds": worlds, **changes})  # type: ignore[arg-type]


def make(wanted: Order) -> Corpus:
    """Make a corpus in this process."""
    corpus = Corpus(wanted)
    corpus.make(Progress(disable=True))
    assert corpus.missing() == ""
    return corpus


def shards(folder: Path) -> dict[str, bytes]:
    """The examples of a corpus, as they are written."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.jsonl"))}


@pytest.fixture(scope="module")
def base(worlds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus with half of its examples on drawn worlds."""
    out = tmp_path_factory.mktemp("corpus")
    make(order(out, worlds))
    return out


def test_shares_are_exact_and_a_tenth_of_the_worlds_is_held_out(base: Path, worlds: Path) -> None:
    names = sorted(file.stem for file in worlds.iterdir())
    known, unknown = names[:-2], names[-2:]  # a tenth of eleven, rounded up
    train = Counter(example.server for example in read(base / "train-00000.jsonl", Example))
    assert train.total() == SIZE
    on_worlds = {name: train[name] for name in names if train[name]}
    assert on_worlds == share_out(SIZE // 2, dict.fromkeys(known, 1))
    assert sum(train[name] for name in SERVERS) == SIZE // 2
    held_out = Counter(example.server for example in read(base / "heldout-00000.jsonl", Example))
    assert sum(held_out[name] for name in unknown) == held_out.total() // 2
    assert set(held_out) <= {*unknown, "payments"}


def test_held_out_worlds_occur_in_no_training_example(base: Path, worlds: Path) -> None:
    unknown = [read_world(file).spec for file in sorted(worlds.iterdir())[-2:]]
    train = (base / "train-00000.jsonl").read_text("utf-8")
    for spec in unknown:
        assert spec.name not in train
        assert not [each.tool for each in spec.operations if f'"{each.tool}"' in train]


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_the_share_is_that_of_the_order(tmp_path: Path, worlds: Path, share: float) -> None:
    make(order(tmp_path, worlds, size=12, split="", worlds_share=share, mix="multi_turn"))
    names = Counter(example.server for example in read(tmp_path, Example))
    assert sum(n for name, n in names.items() if name not in SERVERS) == round(12 * share)


def test_two_workers_write_the_same_bytes(base: Path, tmp_path: Path, worlds: Path) -> None:
    make(order(tmp_path, worlds, workers=2))
    assert shards(tmp_path) == shards(base)


def test_a_resumed_run_writes_the_same_bytes(
    base: Path, tmp_path: Path, worlds: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = iter(range(3))
    plain = Corpus._run

    def cut_short(self: Corpus, ahead: object) -> None:
        if next(rounds, None) is None:
            raise KeyboardInterrupt
        plain(self, ahead)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Corpus, "_run", cut_short)
        with pytest.raises(KeyboardInterrupt):
            make(order(tmp_path, worlds))
    assert shards(tmp_path) != shards(base)
    make(order(tmp_path, worlds))
    assert shards(tmp_path) == shards(base)


def test_the_files_of_the_worlds_travel_with_the_corpus(base: Path, worlds: Path) -> None:
    copies = {file.name: file.read_bytes() for file in (base / "worlds").iterdir()}
    assert copies == {file.name: file.read_bytes() for file in worlds.iterdir()}


def test_other_worlds_are_another_corpus(base: Path, tmp_path: Path, worlds: Path) -> None:
    fewer = tmp_path / "fewer"
    shutil.copytree(worlds, fewer)
    (fewer / f"{SMALL[0]}.json").unlink()
    with pytest.raises(BadFile, match="made with other options"):
        make(order(base, fewer))


@pytest.mark.parametrize("content", ["", "{", '{"hash":"1","spec":{}}'])
def test_a_broken_file_among_the_worlds_is_one_line(tmp_path: Path, content: str) -> None:
    folder = tmp_path / "worlds"
    folder.mkdir()
    asked = ("synth", "--size", 4, "--out", tmp_path / "out", "--worlds", folder)
    none = provegym(*asked)
    assert (none.returncode, "no admitted world" in none.stderr) == (2, True)
    (folder / "broken.json").write_text(content, "utf-8")
    broken = provegym(*asked)
    assert (broken.returncode, broken.stderr.count("\n")) == (2, 1)
    assert "broken.json" in broken.stderr


@pytest.fixture(scope="module")
def copy(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same corpus elsewhere, far from the folder of worlds that it was made with."""
    out = tmp_path_factory.mktemp("elsewhere") / "corpus"
    return Path(shutil.copytree(base, out))


def elsewhere(*arguments: object) -> str:
    """The output of a command in a fresh process, in another working directory."""
    source = str(Path(servers.__file__).parents[2])
    paths = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "provegym", *map(str, arguments)],
        cwd="/",
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_copy_is_verified_and_played_in_another_process(copy: Path, tmp_path: Path) -> None:
    count = len(list(read(copy, Example)))
    told = f"{count} examples checked, every one keeps all rules\n"
    assert elsewhere("verify", copy) == f"{told}every line agrees with its checksum\n"
    rollouts = tmp_path / "rollouts.jsonl"
    elsewhere("rollout", "--data", copy, "--policy", "oracle", "--out", rollouts)
    scored = msgspec.json.decode(elsewhere("score", rollouts, "--json"))
    assert (scored["rollouts"], scored["success"]) == (count, 1)
    assert {each["total"] for each in scored["each"]} == {MAXIMUM, MAXIMUM_WITHOUT_CALLS}


def test_a_copy_is_exported_and_shown_in_another_process(copy: Path, tmp_path: Path) -> None:
    for form in ("sft", "trl"):
        elsewhere("export", copy, "--format", form, "--out", tmp_path / f"{form}.jsonl")
        assert len((tmp_path / f"{form}.jsonl").read_bytes().splitlines()) == SIZE
    shown = elsewhere("samples", copy, "--count", 48)
    assert all(name in shown for name in SMALL)


def test_one_file_of_the_corpus_finds_the_worlds_too(copy: Path) -> None:
    elsewhere("verify", copy / "heldout-00000.jsonl")
