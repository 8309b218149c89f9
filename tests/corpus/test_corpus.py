"""A corpus: the same bytes for the same seed, whatever the workers and however often killed."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import msgspec
import pytest
from rich.progress import Progress

from conversation.talks import candidates
from provegym import cli
from provegym.conversation import kinds
from provegym.conversation.kinds import KINDS, SHARES, Place, Shape
from provegym.corpus import candidates as drawing
from provegym.corpus import corpus as making
from provegym.corpus import near_copies
from provegym.corpus.candidates import Made
from provegym.corpus.corpus import Corpus, Saved
from provegym.corpus.order import Order
from provegym.corpus.quotas import Quotas, shape_of, share_out
from provegym.corpus.split import HELD_OUT
from provegym.files import appending
from provegym.lines import sums_file
from provegym.servers import load
from provegym.trace import Attempt, BadFile, Example, Provenance, line, read
from provegym.verify import verify
from provegym.workers import Workers

SIZE, SEED = 40, 3
SERVERS = ("banking", "iot_devices", "maps", "payments")


def order(out: Path, **changes: object) -> Order:
    """A small corpus, four held-out examples among it."""
    fields = {"size": SIZE, "seed": SEED, "out": out, "servers": SERVERS, "split": "servers"}
    return Order(**{**fields, **changes})  # type: ignore[arg-type]


def make(wanted: Order) -> Corpus:
    """Make a corpus in this process."""
    corpus = Corpus(wanted)
    corpus.make(Progress(disable=True))
    return corpus


def command(out: Path, workers: int = 1, **changes: object) -> list[str]:
    """The command that makes the same."""
    options = {"size": SIZE, "seed": SEED, "servers": ",".join(SERVERS), "split": "servers"}
    options |= {"out": out, "workers": workers, **changes}
    flags = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    return [sys.executable, "-m", "provegym", "synth", *flags]


def shards(folder: Path) -> dict[str, bytes]:
    """The examples of a corpus, as they are written."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.jsonl"))}


def noted(folder: Path) -> Saved:
    """How far a corpus is."""
    return msgspec.json.decode((folder / "progress.json").read_bytes(), type=Saved)


class Base:
    """A corpus that was made without any trouble, and the scenes that were looked at for it."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.scenes: set[tuple[str, bool]] = set()
        setting = kinds.scene

        def watched(name: str, world: int) -> object:
            self.scenes.add((name, world >= 900))
            return setting(name, world)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kinds, "scene", watched)
            self.corpus = make(order(out))
        self.shards = shards(out)
        self.train = list(read(out / "train-00000.jsonl", Example))
        self.held_out = list(read(out / "heldout-00000.jsonl", Example))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    """The corpus that others are compared with."""
    return Base(tmp_path_factory.mktemp("base") / "corpus")


def test_every_example_that_is_kept_is_verified(base: Base) -> None:
    assert (len(base.train), len(base.held_out)) == (SIZE, SIZE // 10)
    assert base.corpus.missing() == ""
    for example in (*base.train, *base.held_out):
        assert verify(example) == []


def test_counts_are_the_ones_that_were_asked_for(base: Base) -> None:
    assert Counter(e.kind for e in base.train) == Counter(share_out(SIZE, SHARES))
    for part, examples in zip(base.corpus.order.parts, (base.train, base.held_out), strict=True):
        assert Counter(e.server for e in examples) == Quotas(part).of_server
    funnel = base.corpus.funnel
    assert funnel["train"]["kept"] == SIZE
    assert sum(funnel["train"].values()) >= SIZE
    assert noted(base.out).funnel == funnel


def test_held_out_tools_and_topics_occur_nowhere_in_training(base: Base) -> None:
    apart = {tool for name in HELD_OUT for tool in load(name).tools}
    for example in base.train:
        spec, said = example.toolbox, example.provenance
        tools = {*spec.distractors, *spec.hidden, *(mark.split(".")[0] for mark in spec.stripped)}
        for path in example.paths:
            for step in path.steps:
                tools |= {step.tool, *(other.tool for other in step.alternatives)}
        tools |= {tried.tool for tried in said.attempts}
        assert not tools & apart
        assert example.server not in HELD_OUT
        assert example.seed < 900
    assert not {name for name, held_out in base.scenes if not held_out} & set(HELD_OUT)
    for example in base.held_out:
        assert example.server in HELD_OUT
        assert example.seed >= 900


@pytest.mark.parametrize("servers", [(), ("banking", "payments"), ("email", "crm", "maps")])
def test_a_training_part_knows_nobody_that_is_held_out(servers: tuple[str, ...]) -> None:
    train, heldout = order(Path("x"), servers=servers).parts
    assert train.others
    assert not set(HELD_OUT) & {*train.servers, *train.others}
    assert set(heldout.servers) <= set(HELD_OUT)


def test_kin_alone_are_no_trouble(tmp_path: Path) -> None:
    """Distractors and requests for elsewhere come from servers that were not asked for."""
    wanted = order(tmp_path / "kin", size=10, servers=("banking", "budget"), split="")
    assert make(wanted).missing() == ""


def test_a_server_named_twice_counts_once(tmp_path: Path) -> None:
    twice = order(tmp_path / "twice", size=3, servers=("payments", "payments"), split="")
    once = order(tmp_path / "once", size=3, servers=("payments",), split="")
    make(twice)
    make(once)
    assert shards(tmp_path / "twice") == shards(tmp_path / "once")


def test_workers_do_not_change_a_byte(base: Base, tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path / "two", 2), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert shards(tmp_path / "two") == base.shards
    assert noted(tmp_path / "two") == noted(base.out)


def test_another_seed_gives_another_corpus(base: Base, tmp_path: Path) -> None:
    make(order(tmp_path / "other", seed=SEED + 1, size=4, servers=("payments",), split=""))
    texts = {example.turns[0].text for example in base.held_out if example.server == "payments"}
    assert not texts & {e.turns[0].text for e in read(tmp_path / "other", Example)}


def test_a_large_corpus_has_wide_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three worlds of a server at a time, no example twice, and the same bytes after a stop."""
    monkeypatch.setattr(near_copies, "MOST_TOOL", 9)
    monkeypatch.setattr(near_copies, "MOST_SEQUENCE", 9)
    monkeypatch.setattr(making, "WIDE", 6)
    monkeypatch.setattr(making, "PER_WORLD", 2)
    wanted = {"size": 18, "servers": ("payments",), "split": ""}
    whole = make(order(tmp_path / "whole", **wanted))
    made = list(read(tmp_path / "whole", Example))
    assert len({example.id for example in made}) == 18
    assert len({example.seed for example in made}) > whole.round
    rounds = iter(range(2))

    def some(corpus: Corpus, workers: Workers, go_on: object = Corpus._run) -> None:
        if next(rounds, None) is None:
            raise Crash
        go_on(corpus, workers)  # type: ignore[operator]

    monkeypatch.setattr(Corpus, "_run", some)
    with pytest.raises(Crash):
        make(order(tmp_path / "cut", **wanted))
    monkeypatch.undo()
    monkeypatch.setattr(near_copies, "MOST_TOOL", 9)
    monkeypatch.setattr(near_copies, "MOST_SEQUENCE", 9)
    monkeypatch.setattr(making, "WIDE", 6)
    monkeypatch.setattr(making, "PER_WORLD", 2)
    make(order(tmp_path / "cut", **wanted))
    assert shards(tmp_path / "cut") == shards(tmp_path / "whole")


class Crash(BaseException):
    """The process is gone."""


def make_slowly(out: Path, shard: int = making.SHARD) -> Corpus:
    """Make a smaller corpus in many rounds, two candidates of each server at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "PER_WORLD", 2)
        patch.setattr(making, "SHARD", shard)
        return make(order(out, size=16))


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus that was made in many rounds."""
    out = tmp_path_factory.mktemp("slow") / "corpus"
    make_slowly(out)
    assert noted(out).part == 1
    return out


def crash_after(patch: pytest.MonkeyPatch, moments: int) -> None:
    """Let the process end at some moment: before an example is kept, or a note is written."""
    left = [moments]

    def counted(name: str) -> None:
        method = getattr(Corpus, name)

        def step(self: Corpus, *arguments: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise Crash
            return method(self, *arguments)

        patch.setattr(Corpus, name, step)

    counted("_take")
    counted("_save")


def crashes(out: Path, moments: int, shard: int = making.SHARD) -> bool:
    """Whether a corpus ends too early when the process ends at some moment."""
    with pytest.MonkeyPatch.context() as patch:
        crash_after(patch, moments)
        try:
            make_slowly(out, shard)
        except Crash:
            return True
    return False


def test_it_goes_on_to_the_same_bytes_from_every_kind_of_moment(slow: Path, tmp_path: Path) -> None:
    chance, out = Random("crashes"), tmp_path / "crashed"
    places: Counter[tuple[int, int]] = Counter()
    while crashes(out, chance.randint(4, 9)):
        if (out / "progress.json").exists():
            places[noted(out).part, noted(out).round] += 1
        assert places.total() < 200
    assert len(places) > 5
    assert {part for part, _ in places} == {0, 1}
    assert shards(out) == shards(slow)
    assert noted(out) == noted(slow)


def test_what_a_part_began_before_it_was_noted_is_cut(
    slow: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first round of the held-out part is written, and the note of it is not."""
    out, save = tmp_path / "between", Corpus._save

    def until_the_second_part(self: Corpus) -> None:
        if self.at == 1 and self.round == 1:
            raise Crash
        save(self)

    monkeypatch.setattr(Corpus, "_save", until_the_second_part)
    with pytest.raises(Crash):
        make_slowly(out)
    monkeypatch.undo()
    assert shards(out)["heldout-00000.jsonl"]
    make_slowly(out)
    assert shards(out) == shards(slow)


def test_shards_are_filled_one_after_the_other(slow: Path, tmp_path: Path) -> None:
    """The same examples in the same order, in more files; and after crashes as well."""
    out = tmp_path / "shards"
    assert crashes(out, 25, shard=5)
    assert crashes(out, 12, shard=5)
    make_slowly(out, shard=5)
    parts = sorted(name for name in shards(out) if name.startswith("train"))
    assert len(parts) > 2
    whole = b"".join(shards(out)[name] for name in parts)
    assert whole == shards(slow)["train-00000.jsonl"]


@pytest.mark.long
def test_a_process_that_is_killed_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    chance, out = Random("kill"), tmp_path / "killed"
    fields = {"size": 20, "servers": "payments,maps", "split": ""}
    for workers in (2, 1):
        process = subprocess.Popen(
            command(out, workers, **fields),
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        while not (out / "progress.json").exists() and process.poll() is None:
            time.sleep(0.02)
        time.sleep(1.5 * chance.random())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert is_gone(process.pid), "workers outlive the process that started them"
    done = subprocess.run(command(out, 1, **fields), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    make(order(tmp_path / "whole", size=20, servers=("payments", "maps"), split=""))
    assert shards(out) == shards(tmp_path / "whole")


def is_gone(group: int) -> bool:
    """Whether the last process of a group ends soon."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_a_finished_corpus_is_left_as_it_is(base: Base) -> None:
    again = make(order(base.out))
    assert again.missing() == ""
    assert shards(base.out) == base.shards
    assert again.funnel == base.corpus.funnel


@pytest.mark.parametrize("kind", KINDS)
def test_the_shape_of_a_kept_example_is_the_one_it_was_drawn_for(kind: str) -> None:
    """Otherwise a corpus that goes on would count otherwise than one that was never stopped."""
    for each in candidates(kind):
        assert shape_of(each.example) == each.shape


@pytest.fixture
def copy(base: Base, tmp_path: Path) -> Path:
    """A finished corpus to spoil."""
    out = tmp_path / "copy"
    out.mkdir()
    for path in base.out.iterdir():
        (out / path.name).write_bytes(path.read_bytes())
    return out


def spoil(path: Path, content: bytes) -> None:
    """Put something else into a file."""
    path.write_bytes(content)


def says(wanted: Order) -> str:
    """The sentence with which making a corpus is refused."""
    with pytest.raises(BadFile) as refusal:
        make(wanted)
    text = str(refusal.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    "change", [{"seed": 4}, {"size": 41}, {"mix": "multi_turn"}, {"split": ""},
               {"servers": ("banking", "payments")}],
)  # fmt: skip
def test_a_folder_asked_for_differently_is_refused(copy: Path, change: dict[str, object]) -> None:
    before = shards(copy)
    assert says(order(copy, **change)) == (
        f"{copy} holds a corpus made with other options; choose another folder"
    )
    assert shards(copy) == before


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"asked": 1}', b'{"asked": "\xff"}', b"\x00" * 40]
)
def test_a_corrupt_note_is_refused(copy: Path, content: bytes) -> None:
    spoil(copy / "progress.json", content)
    text = says(order(copy))
    assert "progress.json" in text
    assert "remove the folder to start anew" in text


def test_a_cut_shard_is_refused(copy: Path) -> None:
    shard = copy / "heldout-00000.jsonl"
    spoil(shard, shard.read_bytes()[:-100])
    assert says(order(copy)) == (
        f"{copy}: 100 bytes of heldout are gone; remove the folder to start anew"
    )


def test_a_cut_shard_of_an_earlier_part_is_refused(copy: Path) -> None:
    shard = copy / "train-00000.jsonl"
    content = shard.read_bytes()
    spoil(shard, content[:-100])
    assert "train-00000.jsonl:40" in says(order(copy))
    spoil(shard, b"".join(content.splitlines(keepends=True)[:-1]))
    assert "train-00000.jsonl has 39 lines, but 40 checksums" in says(order(copy))
    sums_file(shard).unlink()
    assert says(order(copy)) == f"{copy} holds 39 train examples, not 40; remove it to start anew"


@pytest.mark.parametrize("byte", [b"{", b"\xff"])
def test_a_garbled_line_is_refused_and_named(copy: Path, byte: bytes) -> None:
    shard = copy / "heldout-00000.jsonl"
    lines = shard.read_bytes().splitlines(keepends=True)
    lines[1] = byte * (len(lines[1]) - 1) + b"\n"
    spoil(shard, b"".join(lines))
    assert "heldout-00000.jsonl:2" in says(order(copy))


def test_examples_without_a_note_are_refused(copy: Path) -> None:
    (copy / "progress.json").unlink()
    before = shards(copy)
    assert says(order(copy)) == f"{copy} has examples already; choose another folder"
    assert shards(copy) == before


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    assert says(order(Path("/proc/nowhere"))).startswith("/proc/nowhere: ")
    (tmp_path / "file").write_text("")
    assert says(order(tmp_path / "file")) == f"{tmp_path / 'file'}: File exists"


@pytest.mark.parametrize("servers", [("banking",), ("payments",)])
def test_a_split_needs_servers_on_both_sides(servers: tuple[str, ...]) -> None:
    with pytest.raises(BadFile, match="name some of them and some other servers"):
        _ = order(Path("x"), servers=servers).parts


def test_a_mistake_is_one_line_of_the_command(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", command(copy, seed=9)[2:])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    told = capsys.readouterr().err.strip()
    assert told == (
        f"provegym: {copy} holds a corpus made with other options; choose another folder"
    )


def test_a_file_in_the_place_of_the_folder_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(sys, "argv", command(tmp_path / "file")[2:])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"provegym: {tmp_path / 'file'} is a file; name a folder\n"


def nothing(place: Place, wanted: Shape) -> None:
    """No candidate at all."""


def test_a_size_that_cannot_be_filled_says_how_far_it_got_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(making, "IDLE_ROUNDS", 2)
    monkeypatch.setattr(making, "PER_WORLD", 3)
    monkeypatch.setattr(drawing, "candidate", nothing)
    out = tmp_path / "empty"
    arguments = command(out, servers="payments,maps", split="", size=9)
    monkeypatch.setattr(sys, "argv", arguments[2:])
    told = (
        "provegym: 0 of 9 train examples were found, then 2 rounds gave no more"
        " (24 no goal found); too few came from payments, maps:"
        " ask for fewer examples, or name more servers"
    )
    for _ in range(2):
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 2
        assert capsys.readouterr().err.strip() == told


def test_what_a_server_cannot_give_others_give_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it is stopped at that very moment."""
    candidate = kinds.candidate

    def without_maps(place: Place, wanted: Shape) -> Example | None:
        return None if place.server == "maps" else candidate(place, wanted)

    monkeypatch.setattr(making, "IDLE_ROUNDS", 2)
    monkeypatch.setattr(drawing, "candidate", without_maps)
    monkeypatch.setattr(near_copies, "MOST_TOOL", 9)
    monkeypatch.setattr(near_copies, "MOST_SEQUENCE", 9)
    wanted = {"size": 12, "servers": ("payments", "maps"), "split": ""}
    corpus = make(order(tmp_path / "whole", **wanted))
    assert corpus.missing() == ""
    assert {example.server for example in read(tmp_path / "whole", Example)} == {"payments"}
    kinds_made = Counter(example.kind for example in read(tmp_path / "whole", Example))
    assert kinds_made == {kind: n for kind, n in share_out(12, SHARES).items() if n}

    def stop(corpus: Corpus, workers: Workers, go_on: object = Corpus._run) -> None:
        if corpus.quotas.free:
            raise Crash
        go_on(corpus, workers)  # type: ignore[operator]

    with monkeypatch.context() as patch:
        patch.setattr(Corpus, "_run", stop)
        with pytest.raises(Crash):
            make(order(tmp_path / "cut", **wanted))
    make(order(tmp_path / "cut", **wanted))
    assert shards(tmp_path / "cut") == shards(tmp_path / "whole")


def test_what_runs_dry_midway_keeps_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a while every candidate is one that is there already."""
    made: list[Example] = []
    candidate = kinds.candidate

    def repeating(place: Place, wanted: Shape) -> Example | None:
        if len(made) >= 6:
            return made[0]
        example = candidate(place, wanted)
        if example is not None:
            made.append(example)
        return example

    monkeypatch.setattr(making, "IDLE_ROUNDS", 2)
    monkeypatch.setattr(drawing, "candidate", repeating)
    wanted = order(tmp_path / "dry", size=30, servers=("payments",), split="")
    corpus = make(wanted)
    kept = list(read(wanted.out, Example))
    assert 0 < len(kept) == corpus.kept < 30
    assert corpus.missing().startswith(f"{len(kept)} of 30 train examples were found, then 2")
    assert "the same words twice" in corpus.missing()
    assert all(verify(example) == [] for example in kept)


def test_too_many_failed_attempts_are_dropped(base: Base) -> None:
    example = next(e for e in base.train if len(e.paths[0].steps) == 2)
    tried = Attempt(before=0, tool="x", arguments={}, error="rejected")
    put = msgspec.structs.replace
    for count, rate in ((0, 0.0), (1, 1 / 3), (2, 0.5)):
        failed = put(example, provenance=Provenance(attempts=(tried,) * count))
        assert drawing._error_rate(failed) == pytest.approx(rate)


def test_the_same_candidates_are_kept_once(base: Base, tmp_path: Path) -> None:
    corpus = Corpus(order(tmp_path))
    corpus.quotas, corpus.bar = Quotas(corpus.part), Progress(disable=True)
    corpus.task = corpus.bar.add_task("examples")
    made = [Made(shape_of(example), example, "") for example in base.train[:5]]
    with appending(tmp_path / "out") as append:
        for objection in ("", "the same words twice"):
            for example, each in zip(base.train, made, strict=False):
                told = corpus._take(example.server, each, append)
                assert told in (objection, objection and "of a kind that was complete")
    assert (tmp_path / "out").read_bytes() == b"".join(line(e) for e in base.train[:5])
