"""Long runs over files: they resume, say what is wrong, and score again without a world."""

import json
from pathlib import Path

import msgspec
import pytest

from command import run
from examples import pay_example
from provegym.evals.gateway import Gateway
from provegym.lines import write_lines
from provegym.models.served import Refused
from provegym.trace import BadFile, Example, Json, Reply, Rollout, line, read, write
from provegym.verify.complete import complete


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Five examples in a file."""
    example = complete(pay_example())
    path = tmp_path / "examples.jsonl"
    write(path, [msgspec.structs.replace(example, id=f"pay-{n}") for n in range(5)])
    return path


def test_a_run_resumes_by_example_and_survives_a_cut_line(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "rollouts.jsonl"
    first = run("rollout", "--policy", "oracle", "--data", data, "--out", out)
    assert (first.returncode, first.stderr.count("\n")) == (0, 1)
    whole = out.read_bytes()
    assert "5 rollouts" in first.stdout
    told = "success 100.0% (state 100.0%, answer 100.0%, ended 100.0%)"
    assert f"mean reward 1.300, {told}" in first.stdout
    lines = whole.splitlines(keepends=True)
    out.write_bytes(b"".join(lines[:2]) + lines[2][:100])
    assert run("rollout", "--policy", "oracle", "--data", data, "--out", out).returncode == 0
    assert out.read_bytes() == whole


def test_an_endpoint_that_is_down_is_noticed_before_anything_is_played(
    data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "rollouts.jsonl"
    done = run("rollout", "--policy", "http://127.0.0.1:9/v1", "--data", data, "--out", out)
    assert done.returncode == 2
    assert "http://127.0.0.1:9/v1 gave no answer after one try: ConnectError" in done.stderr
    assert "nothing was played" in done.stderr
    assert not out.exists()


def test_an_endpoint_that_goes_down_gives_no_result_and_is_asked_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def greets(body: Json) -> Reply:
        if "tools" in body and not up:
            raise Refused("gone")
        return Reply(text="Hello.")

    out, up = tmp_path / "rollouts.jsonl", False
    with Gateway(greets).open() as gateway:
        monkeypatch.setenv("PROVEGYM_API_KEY", gateway.key)
        arguments = ("rollout", "--policy", gateway.url, "--data", data, "--out", out)
        done = run(*arguments)
        held = list(read(out, Rollout))
        up = True
        assert run(*arguments).returncode == 0
        asked = gateway.asked
        assert "5 rollouts" in run(*arguments).stdout
        assert gateway.asked == asked  # nothing is left to play
    assert done.returncode == 2
    assert "5 rollouts went wrong" in done.stderr
    assert all(rollout.reward is None and rollout.ended == "policy_error" for rollout in held)
    assert "mean reward 0.000" in done.stdout


def test_that_a_server_is_not_connected_is_said(tmp_path: Path) -> None:
    data = tmp_path / "examples.jsonl"
    write(data, [pay_example(server="theirs")])
    done = run("rollout", "--policy", "oracle", "--data", data, "--out", tmp_path / "out.jsonl")
    assert done.returncode == 2
    assert "was made on theirs, which is not ours" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_belongs_to_one_policy(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "rollouts.jsonl"
    run("rollout", "--policy", "oracle", "--data", data, "--out", out)
    other = run("rollout", "--policy", "noop", "--data", data, "--out", out)
    assert other.returncode == 2
    assert "holds rollouts of oracle" in other.stderr


def test_one_bad_example_does_not_end_the_others(data: Path, tmp_path: Path) -> None:
    lines = data.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"server":"banking"', b'"server":"bankin"')
    write_lines(data, lines)
    out = tmp_path / "rollouts.jsonl"
    done = run("rollout", "--policy", "oracle", "--data", data, "--out", out)
    assert "4 rollouts" in done.stdout
    assert "Traceback" not in done.stderr
    assert "there is no server 'bankin'" in run("verify", data).stdout


def test_recorded_rollouts_are_scored_again(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "rollouts.jsonl"
    run("rollout", "--policy", "guesser", "--data", data, "--out", out)
    report = json.loads(run("score", out, "--json").stdout)
    assert report["rollouts"] == 5
    assert 0 < report["total"] < 1.3
    assert report["parts"]["argument"] < 1
    less = json.loads(run("score", out, "--json", "--weights", "coverage=0").stdout)
    assert less["total"] < report["total"]
    assert [one["id"] for one in report["each"]] == [f"pay-{number}" for number in range(5)]
    assert sum(one["total"] for one in report["each"]) / 5 == pytest.approx(report["total"])
    told = run("score", out, "--explain").stdout
    assert ", state ✗, no answer due, ended ✓\n" in told
    assert "serves step 1 (list_accounts)" in told
    assert "execution ✗ not_found" in told


def test_success_is_scored_in_three_parts(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "rollouts.jsonl"
    run("rollout", "--policy", "oracle", "--data", data, "--out", out)
    rollouts = list(read(out, Rollout))
    cut = msgspec.structs.replace(rollouts[0], ended="turns")
    undone = msgspec.structs.replace(rollouts[1], outcome=())
    write(out, [cut, undone, *rollouts[2:]])
    report = json.loads(run("score", out, "--json").stdout)
    found = {name: report[name] for name in ("success", "state", "answer", "ended")}
    assert found == pytest.approx({"success": 0.6, "state": 0.8, "answer": 1, "ended": 0.8})
    assert [one["success"] for one in report["each"]] == [False, False, True, True, True]
    assert "success 60.0% (state 80.0%, answer 100.0%, ended 80.0%)" in run("score", out).stdout


def test_a_scheme_is_chosen_by_name(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "rollouts.jsonl"
    run("rollout", "--policy", "guesser", "--data", data, "--out", out, "--scheme", "hardened")
    held = [rollout.reward for rollout in read(out, Rollout)]
    hard = json.loads(run("score", out, "--scheme", "hardened", "--json").stdout)
    paper = json.loads(run("score", out, "--json").stdout)
    assert hard["total"] == pytest.approx(sum(reward.total for reward in held if reward) / 5)
    assert list(hard["parts"]) == ["efficiency", "success", "progress", "waste"]
    assert list(paper["parts"]) == ["validity", "coverage", "efficiency", "name", "argument"]
    recipe = ("--recipe", "reward-hardened")
    both = run("score", out, "--scheme", "hardened", *recipe)
    assert (both.returncode, both.stdout) == (2, "")
    assert "give --recipe or --scheme, not both" in both.stderr
    by_name = run("audit", "--data", data, "--scheme", "hardened", "--json").stdout
    assert by_name == run("audit", "--data", data, *recipe, "--json").stdout


def test_verify_says_what_fails_and_why(data: Path, tmp_path: Path) -> None:
    good = run("verify", data)
    assert "nothing says that card_id" in good.stdout
    assert good.returncode == 1
    report = json.loads(run("verify", data, "--json").stdout)
    assert report["examples"] == 5
    assert list(report["failed"]) == [f"pay-{n}" for n in range(5)]


def test_the_audit_shows_what_failing_is_paid(data: Path) -> None:
    paper = json.loads(run("audit", "--data", data, "--json").stdout)
    recipe = "reward-hardened"
    hard = json.loads(run("audit", "--data", data, "--recipe", recipe, "--json").stdout)
    assert max(paper["best_failing"]) > max(hard["best_failing"])
    assert "pad with an easy read" in paper["exploits"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["verify", "nowhere.jsonl"], "nowhere.jsonl: No such file"),
        (["score", "nowhere.jsonl"], "nowhere.jsonl: No such file"),
        (["score", "{data}"], "examples.jsonl:1 is an example, not a rollout; `provegym rollout`"),
        (["compare", "{data}", "{data}"], "examples.jsonl:1 is an example, not a rollout"),
        (
            ["verify", "{rollouts}"],
            "rollouts.jsonl:1 is a rollout, not an example; `provegym score`",
        ),
        (["eval", "heldout", "--model", "noop", "--data", "{rollouts}"], "is a rollout, not an"),
        (
            ["rollout", "--policy", "noop", "--data", "{rollouts}", "--out", "x"],
            "rollouts.jsonl:1 is a rollout, not an example",
        ),
        (["verify", "{empty}"], "empty.jsonl holds no examples; `provegym synth` makes some"),
        (["audit", "--data", "{empty}"], "empty.jsonl holds no examples"),
        (["eval", "heldout", "--model", "noop", "--data", "{empty}"], "holds no examples"),
        (["rollout", "--policy", "noop", "--data", "{empty}", "--out", "x"], "holds no examples"),
        (["score", "{empty}"], "empty.jsonl holds no rollouts; `provegym rollout` plays some"),
        (["compare", "{empty}", "{rollouts}"], "empty.jsonl holds no rollouts"),
        (["score", "{data}", "--weights", "nme=1"], "no reward part 'nme'"),
        (["score", "{data}", "--weights", "name"], "is no weight"),
        (["score", "{data}", "--weights", "name=nan"], "must be a number"),
        (["score", "{data}", "--recipe", "nowhere.toml"], "nowhere.toml: No such file"),
        (
            ["rollout", "--policy", "orcle", "--data", "{data}", "--out", "x"],
            "did you mean 'oracle'",
        ),
        (["rollout", "--policy", "noop", "--data", "{data}", "--out", "/nowhere/x"], "/nowhere/x"),
    ],
)
def test_a_mistake_is_one_line(data: Path, arguments: list[str], says: str) -> None:
    files = {name: data.with_name(f"{name}.jsonl") for name in ("rollouts", "empty")}
    rollout = Rollout(example=pay_example(), policy="p", messages=())
    write(files["rollouts"], [rollout])
    write(files["empty"], [])
    done = run(*(part.format(data=data, **files) for part in arguments))
    assert done.returncode == 2
    assert says in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"schema":2}', "$.schema` (this version reads schema 1)"),
        (b"{", "truncated"),
        (b'{"schema":1,"id":5}', "$.id"),
        (b'{"schema":1,"surprise":5}', "unknown field `surprise`"),
    ],
)
def test_a_bad_line_is_named_by_file_line_and_field(tmp_path: Path, text: bytes, says: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(line(pay_example()) + text + b"\n")
    with pytest.raises(BadFile) as problem:
        list(read(path, Example))
    assert str(problem.value).startswith(f"{path}:2: ")
    assert says in str(problem.value)


def test_examples_and_rollouts_go_to_file_and_back(tmp_path: Path) -> None:
    example = complete(pay_example())
    path = tmp_path / "one.jsonl"
    write(path, [example])
    assert list(read(path, Example)) == [example]
    assert path.read_bytes().startswith(b'{"schema":1,')
    rollout = Rollout(example=example, policy="p", messages=({"role": "user", "content": "x"},))
    write(path, [rollout])
    assert list(read(path, Rollout)) == [rollout]
    assert list(read(tmp_path, Rollout)) == [rollout]
