"""Our worlds in NeMo Gym: its agents and model server, with scripts in a model's place."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from adapters.scripts import DATA, POLICIES, TEN, examples
from provegym.adapters.episode import success
from provegym.rollout import play_script
from provegym.trace import Example, Json, Rollout, read

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".envs" / "nemo_gym" / "bin" / "python"
PAGE = ROOT / "docs" / "adapters" / "nemo_gym.md"
SINGLE = "shopping/gift-and-address"
BADLY = ("spammer", "clumsy", "stranger", "greedy")
JOBS = [
    *((each, policy, "provegym_agent") for each in TEN for policy in ("oracle", "noop", "spammer")),
    *((TEN[0], policy, "provegym_agent") for policy in ("oracle", "oracle", *BADLY, "endless")),
    *((SINGLE, policy, "simple") for policy in ("oracle", "oracle", "noop", *BADLY)),
    (TEN[0], "oracle", "simple"),
]

needs_nemo_gym = pytest.mark.skipif(
    not PYTHON.exists(), reason="make adapters builds .envs/nemo_gym"
)


def blocks(language: str) -> list[str]:
    """The code blocks of the page in one language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """What agents set up as the page says returned, all at once, each in its own session."""
    (config,) = blocks("yaml")
    return drive(config, JOBS, tmp_path_factory.mktemp("nemo_gym"))


def drive(config: str, jobs: list[tuple[str, str, str]], folder: Path) -> Json:
    """What the agents of a YAML returned for these jobs."""
    driver = Path(__file__).with_name("drive_nemo_gym.py")
    done = subprocess.run(
        [PYTHON, driver, config],
        cwd=folder,
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        timeout=120,
    )
    (line,) = re.findall(r"^FOUND (.*)$", done.stdout, re.MULTILINE) or [done.stderr]
    return dict(json.loads(line))


def own(example: str, policy: str) -> Rollout:
    """What our own loop makes of it."""
    return play_script(examples()[example], POLICIES[policy])


def paid(got: Json) -> dict[str, float]:
    """The parts of our own reward, once it is known that this is what the agent was paid."""
    assert got["said"]["reward"] == got["own"]["total"]
    assert len(got["own"]["parts"]) == 5
    return dict(got["own"]["parts"])


def results(said: Json) -> list[str]:
    """The results of calls that a model was shown."""
    items = said["response"]["output"]
    return [each["output"] for each in items if each["type"] == "function_call_output"]


@needs_nemo_gym
def test_oracle_is_paid_all_and_noop_nothing(found: Json) -> None:
    rewards: dict[str, list[float]] = {"oracle": [], "noop": []}
    for (_, policy, _), got in zip(JOBS[:-1], found["played"], strict=False):
        if policy in rewards:
            rewards[policy].append(got["said"]["reward"])
    assert rewards == {"oracle": [1.3] * 14, "noop": [0] * 11}


@needs_nemo_gym
def test_episodes_are_our_rollouts_word_by_word(found: Json) -> None:
    for (name, policy, agent), got in zip(JOBS, found["played"], strict=True):
        if agent != "provegym_agent":
            continue
        rollout, said, parts = own(name, policy), got["said"], paid(got)
        assert parts == pytest.approx(rollout.reward and rollout.reward.parts)
        verdict = success(rollout)
        assert said["info"] == {
            "reward_components": parts,
            "verdict": verdict,
            "ended": rollout.ended,
        }
        assert (said["terminated"], said["truncated"]) == (
            rollout.ended == "done",
            rollout.ended != "done",
        )
        # What ends an episode is not told any more.
        told = [m["content"] for m in rollout.messages if m["role"] == "tool"]
        assert results(said) == told[: len(results(said))]
        users = [m["content"] for m in rollout.messages if m["role"] == "user"]
        heard = [each for each in said["response"]["output"] if each.get("role") == "user"]
        assert [each["content"] for each in heard] == users[1:]
        if rollout.ended == "done":
            assert len(results(said)) == len(told)


@needs_nemo_gym
def test_the_plain_agent_is_paid_the_same_for_one_user_turn(found: Json) -> None:
    for (*_, agent), got in zip(JOBS[:-1], found["played"], strict=False):
        if agent != "simple":
            continue
        said, parts = got["said"], paid(got)
        assert said["reward_components"] == parts
        assert {part: said[part] for part in parts} == parts
        verdict = got["own"]["verdict"]
        assert {part: said[part] for part in verdict} == verdict


@needs_nemo_gym
def test_the_hardened_scheme_reads_the_replies_too(tmp_path: Path) -> None:
    (config,) = blocks("yaml")
    config = config.replace("domain: agent", "domain: agent\n      scheme: hardened")
    jobs = [
        (SINGLE, policy, agent)
        for agent in ("provegym_agent", "simple")
        for policy in ("oracle", "noop")
    ]
    for (_, policy, _), got in zip(jobs, drive(config, jobs, tmp_path)["played"], strict=True):
        assert got["said"]["reward"] == got["own"]["total"]
        assert got["own"]["verdict"]["success"] == (policy == "oracle")
        assert (got["said"]["reward"] == pytest.approx(1.3)) == (policy == "oracle")


@needs_nemo_gym
def test_the_plain_agent_is_told_that_it_plays_one_user_turn(found: Json) -> None:
    refused = found["played"][-1]
    assert refused["status"] == 500
    assert "has 2 user turns, and simple_agent plays one: use gymnasium_agent" in refused["said"]


@needs_nemo_gym
def test_writes_of_one_session_do_not_show_in_another(found: Json) -> None:
    mine, others = zip(found["apart"]["before"], found["apart"]["after"], strict=True)
    assert mine[0] == others[0] == others[1]
    assert mine[1] != mine[0]


@needs_nemo_gym
def test_what_goes_wrong_is_one_line(found: Json) -> None:
    lost, wrong = found["told"]
    assert lost == [409, "this session has no example: begin with a row of rows()"]
    assert wrong[0] == 422
    assert wrong[1].startswith("the row's example cannot be read: ")


@needs_nemo_gym
def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    (code,) = blocks("python")
    assert len(code.splitlines()) <= 12
    code = code.replace('"tests/data"', repr(str(DATA)))
    done = subprocess.run(
        [PYTHON, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "provegym.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(each)["example"]["id"] for each in lines] == [
        each.id for each in read(DATA, Example)
    ]


def test_a_missing_package_is_one_line() -> None:
    with pytest.raises(
        ImportError, match=r"^nemo-gym is missing: pip install 'nemo-gym==0\.4\.\*'$"
    ):
        import provegym.adapters.nemo_gym  # noqa: F401


def test_a_wrong_version_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("provegym.adapters.episode.version", lambda _: "0.3.0")
    with pytest.raises(ImportError, match=r"^this adapter is for nemo-gym 0\.4, not 0\.3\.0: pip"):
        import provegym.adapters.nemo_gym  # noqa: F401
