"""Held-out tasks: which they are, that they are new, and how they are played."""

import asyncio
import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from time import sleep
from typing import Any

import msgspec
import pytest

from command import run as run_here
from evals.ready import command, run
from examples import pay_example
from provegym.cli.evaluation import HeldoutPlayer
from provegym.corpus.split import HELD_OUT, TRAIN_WORLDS
from provegym.evals.environments import BenchmarkError
from provegym.evals.gateway import Gateway
from provegym.evals.heldout import (
    SERVERS,
    TRAINING,
    WORLDS,
    HeldoutFolder,
    drawn,
    evaluate,
    group,
    marked,
    report,
    tasks,
)
from provegym.evals.journal import Journal, Result
from provegym.models.codec import TooLong
from provegym.models.served import Refused
from provegym.models.source import Sampled
from provegym.players.local import Limits, Local
from provegym.players.remote import Play, Remote, played
from provegym.players.scripted import SCRIPTS
from provegym.rollout import play_script
from provegym.trace import BadFile, Example, Json, Reply, Rollout, ToolCall, line, read, write
from provegym.trace import Path as Road
from provegym.verify import verify
from provegym.verify.complete import complete
from provegym.workers import Processes


@pytest.fixture(scope="module")
def example() -> Example:
    """A payment on a world of training."""
    return complete(pay_example())


def some(example: Example, count: int = 5) -> list[Example]:
    """So many tasks."""
    return [msgspec.structs.replace(example, id=f"pay-{n}") for n in range(count)]


ORACLE = Remote("oracle", SCRIPTS["oracle"], 2)


def test_what_is_new_about_a_task(example: Example) -> None:
    assert group(example) == TRAINING
    assert group(msgspec.structs.replace(example, seed=TRAIN_WORLDS)) == WORLDS
    assert group(msgspec.structs.replace(example, server=HELD_OUT[0])) == SERVERS


def test_drawn_tasks_are_verified_and_on_worlds_that_training_never_uses() -> None:
    found = drawn(("budget", "banking"), 6)
    assert len(found) == 6
    assert {example.server for example in found} == {"budget", "banking"}
    assert all(group(example) == WORLDS for example in found)
    assert [verify(example) for example in found] == [[]] * 6
    assert drawn(("budget", "banking"), 6) == found


def test_a_file_gives_so_many_of_each_group(example: Example, tmp_path: Path) -> None:
    seen = [msgspec.structs.replace(example, id=f"seen-{n}") for n in range(5)]
    new = [msgspec.structs.replace(e, id=f"new-{n}", seed=900) for n, e in enumerate(seen)]
    write(tmp_path / "some.jsonl", [*seen, *new])
    found = tasks(tmp_path / "some.jsonl", 3)
    assert sorted(group(each) for each in found) == [TRAINING] * 3 + [WORLDS] * 3
    assert tasks(tmp_path / "some.jsonl", 3) == found
    with pytest.raises(BadFile, match="heldout"):
        tasks(tmp_path, 3)


def test_the_noop_stands_beside_every_score(example: Example) -> None:
    empty = msgspec.structs.replace(example, id="empty", kind="abstention", paths=(Road(),))
    rollouts = [play_script(each, SCRIPTS["oracle"]) for each in (example, empty)]
    found = report(rollouts)[TRAINING]
    assert (found["tasks"], found["rollouts"], found["broken"]) == (2, 2, 0)
    assert found["scores"]["success"]["model"].mean == 1
    assert found["scores"]["success"]["noop"].mean == 0.5
    idle = {name: both["noop"].mean for name, both in found["scores"].items()}
    assert (idle["state"], idle["answer"], idle["ended"]) == (0.5, 1, 1)
    assert all(both.keys() == {"model", "noop"} for both in found["scores"].values())


def test_a_remote_policy_is_asked_and_its_rollouts_are_kept(
    example: Example, tmp_path: Path
) -> None:
    found = evaluate(some(example), ORACLE, 2, HeldoutFolder(tmp_path, {}))
    assert found == evaluate(some(example), ORACLE, 2, None)
    assert found[TRAINING]["scores"]["reward"]["model"].mean == pytest.approx(1.3)
    kept = [(each.example.id, each.policy) for each in read(tmp_path, Rollout)]
    assert kept == [(f"pay-{n // 2}", "oracle") for n in range(10)]


def test_other_processes_play_to_the_same_bytes() -> None:
    """What equals a default is left out of a line, and pickling would make it another object."""
    data = Path(__file__).parents[1] / "data" / "banking.jsonl"
    examples = [each for each in read(data, Example) for _ in range(12)]
    player = Remote("guesser", SCRIPTS["guesser"])
    with closing(Processes(2)) as workers:
        there = [line(rollout) for rollout in played(examples, player, workers)]
    assert there == [line(rollout) for rollout in player(examples)]


class Words:
    """A codec without a tokenizer: a reply is the number of a line in a script."""

    name, end = "words", 0
    lines: tuple[Reply, ...] = (
        Reply(text="Done."),
        Reply(calls=(ToolCall(name="list_accounts", arguments='{"name": "Freelance"}'),)),
    )

    def open(self, system: str, user: str, tools: list[Json]) -> list[int]:
        """The shorter the better."""
        if not tools:
            raise TooLong("no room")
        return [9]

    def reply(self, ids: Sequence[int]) -> Reply:
        """The line a number stands for."""
        return self.lines[ids[0]]

    def after(self, messages: Sequence[Json], ended: bool = True) -> list[int]:
        """One token, whatever is said."""
        return [8]


def local(generate: Callable[[list[list[int]], int], list[Sampled]]) -> Local:
    """A model that is played two rollouts at a time."""
    codec: Any = Words()
    return Local("mine", generate, codec, Limits(), batch=2)


def test_a_model_here_plays_in_batches(example: Example) -> None:
    sizes: list[int] = []

    def generate(contexts: list[list[int]], most: int) -> list[Sampled]:
        sizes.append(len(contexts))
        # Look something up first, then say so; in the next turn say so at once.
        return [Sampled([1 if len(each) == 1 else 0, 0], [0.0, 0.0]) for each in contexts]

    model = local(generate)
    rollouts = list(model([example] * 3))
    assert sizes == [2, 2, 2, 1, 1, 1]
    assert [rollout.policy for rollout in rollouts] == ["mine"] * 3
    assert [[call.tool for call in each.calls] for each in rollouts] == [["list_accounts"]] * 3
    assert model.takes(example)
    toolless = msgspec.structs.replace(example, server="")
    assert not model.takes(toolless)


def says_done(contexts: list[list[int]], most: int) -> list[Sampled]:
    """A model that never calls."""
    return [Sampled([0, 0], [0.0, 0.0]) for _ in contexts]


def test_weights_under_one_name_are_told_apart(tmp_path: Path) -> None:
    names = set()
    for weights in (b"first", b"second"):
        (tmp_path / "adapter_model.safetensors").write_bytes(weights)
        names.add(marked(str(tmp_path)))
    assert len(names) == 2
    assert all(name.startswith(f"{tmp_path}, weights ") for name in names)
    assert marked("embedded") == "embedded"
    assert marked("shipped").startswith("shipped, weights ")


class Stopped(Exception):
    """What ends a run early."""


def stopping(play: Play, after: int) -> Play:
    """A player that is stopped after so many rollouts."""

    def shown(examples: Sequence[Example]) -> Iterator[Rollout]:
        for at, rollout in enumerate(play(examples)):
            if at == after:
                raise Stopped
            yield rollout

    return shown


def noting(play: Play, asked: list[str]) -> Play:
    """A player that notes which tasks it was asked for."""

    def shown(examples: Sequence[Example]) -> Iterator[Rollout]:
        asked.extend(example.id for example in examples)
        return play(examples)

    return shown


def files(folder: Path) -> dict[str, bytes]:
    """Every file of a run."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(("play", "half"), [(ORACLE, b""), (local(says_done), b'{"schema":1,"ex')])
def test_a_run_that_was_stopped_goes_on_to_the_same_bytes(
    example: Example, tmp_path: Path, play: Play, half: bytes
) -> None:
    examples, out, asked = some(example), tmp_path / "out", list[str]()
    evaluate(examples, play, 2, HeldoutFolder(tmp_path / "whole", {}))
    with pytest.raises(Stopped):
        evaluate(examples, stopping(play, 3), 2, HeldoutFolder(out, {}))
    with (out / "rollouts.jsonl").open("ab") as cut:
        cut.write(half)
    evaluate(examples, noting(play, asked), 2, HeldoutFolder(out, {}))
    assert asked == ["pay-1", "pay-2", "pay-2", "pay-3", "pay-3", "pay-4", "pay-4"]
    assert files(out) == files(tmp_path / "whole")
    made = {".rollouts.jsonl.sums", "report.json", "rollouts.jsonl", "settings.json"}
    assert made == files(out).keys()
    evaluate(examples, noting(play, asked := []), 2, HeldoutFolder(out, {}))
    assert asked == []
    assert files(out) == files(tmp_path / "whole")


def test_what_went_wrong_is_played_again(example: Example, tmp_path: Path) -> None:
    def broken(examples: Sequence[Example]) -> Iterator[Rollout]:
        for rollout in ORACLE(examples):
            gone = rollout.example.id in ("pay-1", "pay-3")
            yield msgspec.structs.replace(rollout, reward=None) if gone else rollout

    asked: list[str] = []
    found = evaluate(some(example), broken, 1, HeldoutFolder(tmp_path, {}))
    assert found[TRAINING]["broken"] == 2
    found = evaluate(some(example), noting(ORACLE, asked), 1, HeldoutFolder(tmp_path, {}))
    assert asked == ["pay-1", "pay-3"]
    assert found == evaluate(some(example), ORACLE, 1, None)
    assert len(list(read(tmp_path, Rollout))) == 5


def test_a_folder_of_something_else_is_refused(example: Example, tmp_path: Path) -> None:
    held, bench, corpus = (tmp_path / name for name in ("held", "bench", "corpus"))
    evaluate(some(example), ORACLE, 1, HeldoutFolder(held, {"count": 5}))
    with pytest.raises(BenchmarkError, match=r"held holds a run with another count \(5, not 6\)"):
        HeldoutFolder(held, {"count": 6})
    with pytest.raises(BenchmarkError, match=r"other tasks, such as pay-4; name another --out"):
        evaluate(some(example)[:4], ORACLE, 1, HeldoutFolder(held, {"count": 5}))
    Journal(bench, {"benchmark": "bfcl"}).keep(Result(id="t", group="g"))
    with pytest.raises(BenchmarkError, match=r"another benchmark \('bfcl', not 'heldout'\)"):
        HeldoutFolder(bench, {})
    corpus.mkdir()
    write(corpus / "train-00000.jsonl", [example])
    with pytest.raises(BenchmarkError, match="corpus holds no run; name another --out"):
        HeldoutFolder(corpus, {})
    made = {".train-00000.jsonl.sums", "train-00000.jsonl"}
    assert {path.name for path in corpus.iterdir()} == made


def heldout(*arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run the command."""
    return run("eval", "heldout", *arguments)


def settings(folder: Path) -> Json:
    """What a run says makes it this one."""
    found: Json = json.loads((folder / "settings.json").read_text())
    return found


def test_the_commands_report_and_compare(example: Example, tmp_path: Path) -> None:
    data, noop, oracle = tmp_path / "data.jsonl", tmp_path / "noop", tmp_path / "oracle.jsonl"
    write(data, some(example))
    done = heldout("--model", "noop", "--data", data, "--out", noop, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[TRAINING]["scores"]["success"]["model"][0] == 0
    assert done.stdout == (noop / "report.json").read_text()
    assert settings(noop).keys() == {"benchmark", "model", "count", "samples", "tools"}
    write(oracle, [play_script(each, SCRIPTS["oracle"]) for each in read(data, Example)])
    shown = run("compare", noop, oracle)
    assert shown.returncode == 0, shown.stderr
    assert "+1.300 [+1.300, +1.300]" in shown.stdout
    # Success and reward by kind and server, and no table of the parts of success.
    assert "success by kind" in shown.stdout
    assert "state by kind" not in shown.stdout
    assert "state" in json.loads(run("compare", noop, oracle, "--json").stdout)["kinds"]
    assert "task" in run("compare", noop, noop).stdout
    assert "is a file; name a folder" in heldout("--model", "noop", "--out", oracle).stderr
    assert heldout("--model", "spammer", "--data", data, "--out", noop).stderr == (
        f"provegym: {noop} holds a run with another model ('noop', not 'spammer');"
        " name another --out, or delete the folder\n"
    )
    assert "heldout" in run("eval", "heldot", "--model", "noop").stderr


@pytest.mark.long
def test_a_run_that_is_killed_goes_on(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow(body: Json) -> Reply:
        await asyncio.sleep(0.02)
        return Reply(text="Done.", tokens=1)

    data, out, whole = tmp_path / "data.jsonl", tmp_path / "out", tmp_path / "whole"
    write(data, some(example, 30))
    with Gateway(slow).open() as gateway:
        monkeypatch.setenv("PROVEGYM_API_KEY", gateway.key)
        arguments = ("--model", gateway.url, "--data", data, "--batch", 1)
        process = subprocess.Popen(command("eval", "heldout", *arguments, "--out", out))
        file = out / "rollouts.jsonl"
        while process.poll() is None and (not file.exists() or file.read_bytes().count(b"\n") < 5):
            sleep(0.01)
        process.kill()
        process.wait()
        before = file.read_bytes()
        gateway.asked = 0
        assert heldout(*arguments, "--out", out).returncode == 0
        assert gateway.asked == 1 + 2 * (30 - before.count(b"\n"))
        gateway.asked = 0
        assert heldout(*arguments, "--out", out).returncode == 0
        assert gateway.asked == 0
        assert 5 <= before.count(b"\n") < 30
        assert heldout(*arguments, "--out", whole).returncode == 0
    assert file.read_bytes().startswith(before)
    assert files(out) == files(whole)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("noop --adapter /no/such --vllm --prompt 3 --completion 5", "a script takes no --adapter"),
        ("noop --vllm --prompt 3 --completion 5", "no --prompt, --completion, --vllm: it would"),
        ("noop --reply 5 --name x --temperature 1", "takes no --name, --temperature, --reply"),
        ("noop --samples 2", "2 samples of a script are all the same; leave --samples out"),
        ("http://no.where --vllm --prompt 3", "an endpoint takes no --prompt, --vllm"),
        ("embedded --name x", "a model of this machine takes no --name"),
        ("embedded --adapter /no/such", "/no/such is no adapter: it has no adapter_config.json"),
        ("embeded", "no model 'embeded'; did you mean 'embedded'?"),
        ("orcle", "no model 'orcle'; did you mean 'oracle'?"),
    ],
)
def test_what_is_of_no_effect_or_not_there_is_refused_in_a_line(
    arguments: str, told: str, tmp_path: Path
) -> None:
    rest = ("--data", str(tmp_path / "no"), "--count", "1")
    done = run_here("eval", "heldout", "--model", *arguments.split(), *rest)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_model_that_is_nowhere_is_sought_and_refused_in_a_line_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    done = heldout("--model", "nosuch/model", "--data", tmp_path / "no", "--count", 1)
    assert done.returncode == 2
    sought, why = done.stderr.splitlines()
    assert sought == "nosuch/model is no folder here; it is sought on the model hub"
    assert why.startswith("provegym: cannot load nosuch/model: ")


def test_an_endpoint_keeps_to_its_limits(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    async def calls(body: Json) -> Reply:
        asked.append(body["max_tokens"])
        return Reply(calls=(ToolCall(name="list_accounts", arguments="{}"),), tokens=10)

    data, out = tmp_path / "data.jsonl", tmp_path / "out"
    write(data, [example])
    with Gateway(calls).open() as gateway:
        monkeypatch.setenv("PROVEGYM_API_KEY", gateway.key)
        arguments = ("--model", gateway.url, "--data", data)
        assert heldout(*arguments, "--out", tmp_path / "free").returncode == 0
        assert asked == [2048] * 11
        limits = ("--reply", 7, "--completion", 25)
        assert heldout(*arguments, *limits, "--out", out).returncode == 0
    assert asked[11:] == [7] * 4
    assert [(each.ended, each.tokens) for each in read(out, Rollout)] == [("tokens", 30)]
    assert settings(out)["reply"] == 7
    assert settings(out)["completion"] == 25
    assert settings(out).keys().isdisjoint(("prompt", "adapter", "vllm"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of random weights."""
    pytest.importorskip("torch")
    from train.tiny import build_model, build_tokenizer

    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = build_tokenizer([pay_example()])
    build_model(tokenizer, seed=1).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_model_here_says_no_more_than_it_may(
    example: Example, tmp_path: Path, tiny: Path
) -> None:
    data, out = tmp_path / "data.jsonl", tmp_path / "out"
    write(data, [example])
    done = heldout(*("--model", tiny, "--data", data, "--prompt", 9999, "--reply", 5, "--out", out))
    assert done.returncode == 0, done.stderr
    [rollout] = read(out, Rollout)
    assert 0 < rollout.tokens <= 5 * len(example.turns)
    assert settings(out)["reply"] == 5
    assert settings(out)["prompt"] == 9999


@pytest.mark.parametrize(
    ("model", "limits"), [("embedded", (2048, 256)), ("http://no.where", (16_384, 2048))]
)
def test_what_is_not_said_suits_the_model(model: str, limits: tuple[int, int]) -> None:
    found = HeldoutPlayer(model, None, "", 0, None, None, None, False).limits
    assert (found.completion, found.reply) == limits


def test_vllm_needs_the_tokenizer_alone(tmp_path: Path, tiny: Path) -> None:
    if find_spec("vllm"):
        pytest.skip("vLLM is installed, and would look for the weights")
    for file in tiny.iterdir():
        if file.suffix != ".safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    assert "vllm is missing" in heldout("--model", tmp_path, "--vllm").stderr


def test_an_endpoint_that_is_not_there_is_noticed_before_tasks_are_drawn() -> None:
    done = heldout("--model", "http://127.0.0.1:9/v1", "--count", 100_000)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "http://127.0.0.1:9/v1 gave no answer after one try: ConnectError" in done.stderr


def test_an_endpoint_that_goes_down_is_no_score(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def greets(body: Json) -> Reply:
        if "tools" in body or not up:
            raise Refused("gone")
        return Reply(text="Hello.")

    data, out, up = tmp_path / "data.jsonl", tmp_path / "out", True
    write(data, some(example))
    with Gateway(greets).open() as gateway:
        monkeypatch.setenv("PROVEGYM_API_KEY", gateway.key)
        arguments = ("--model", gateway.url, "--data", data, "--out", out)
        done = heldout(*arguments)
        assert done.returncode == 2
        assert "5 rollouts went wrong and count as nothing; does default at" in done.stderr
        one = play_script(some(example)[0], SCRIPTS["oracle"])
        write(out / "rollouts.jsonl", [one])
        up = False
        assert "after one try: status 400: gone; nothing was played" in heldout(*arguments).stderr
    assert len(list(read(out, Rollout))) == 1
