"""`provegym rollout`: somebody's own policy, samples, tokens and their price, errors in full."""

import json
from pathlib import Path

import msgspec
import pytest

from command import run
from examples import pay_example
from provegym.evals.gateway import Gateway
from provegym.models.endpoint import EndpointConfig
from provegym.models.served import Refused
from provegym.trace import Json, Reply, Rollout, read, write
from provegym.verify.complete import complete

OWN = """
from provegym import Reply

class Polite:
    async def reply(self, messages, tools):
        return Reply(text="I cannot do that.", tokens=5, prompt_tokens=100)

class Told(Polite):
    def __init__(self, example):
        self.example = example

class Tuned(Polite):
    def __init__(self, warmth=0.5):
        assert warmth == 0.5

class Mute:
    pass

class Broken:
    async def reply(self, messages, tools):
        raise ValueError("the battery is empty")

def make(example):
    return Told(example)

ready = Polite()
number = 7
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two examples in the present folder, beside a module with policies."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = f"own_{tmp_path.name.replace('-', '_')}"
    Path(f"{module}.py").write_text(OWN)
    example = complete(pay_example())
    write(Path("data.jsonl"), [msgspec.structs.replace(example, id=f"pay-{n}") for n in range(2)])
    return Path(module)


def play(policy: object, *more: object, out: str = "out.jsonl") -> tuple[int, str, str]:
    """Play the two examples."""
    return run("rollout", "--policy", policy, "--data", "data.jsonl", "--out", out, *more)


@pytest.mark.parametrize("name", ["Polite", "Told", "Tuned", "make", "ready"])
def test_a_policy_of_ones_own_plays(data: Path, name: str) -> None:
    code, out, err = play(f"{data}:{name}")
    assert code == 0, err
    assert "2 rollouts in out.jsonl, mean reward 0.000, success 0.0%" in out
    assert "doing nothing: mean reward 0.000, success 0.0%" in out
    assert "tokens: 400 in, 20 out\n" in out
    assert err == "next: provegym score out.jsonl --explain\n"
    assert {rollout.policy for rollout in read(Path("out.jsonl"), Rollout)} == {f"{data}:{name}"}


def test_samples_and_their_price(data: Path) -> None:
    more = ("--samples", 3, "--price-in", 3, "--price-out", 15)
    _, out, _ = play(f"{data}:Polite", *more)
    assert "6 rollouts" in out
    assert "tokens: 1,200 in, 60 out; at this price: 0.0045\n" in out
    lines = Path("out.jsonl").read_bytes().splitlines(keepends=True)
    Path("out.jsonl").write_bytes(b"".join(lines[:4]))
    code, out, err = play(f"{data}:Polite", *more, "--json")
    report = json.loads(out)
    assert (code, err) == (0, "")
    assert report["rollouts"] == 6
    assert (report["prompt_tokens"], report["tokens"]) == (1_200, 60)
    assert report["cost"] == pytest.approx(0.0045)
    assert report["noop"] == {"reward": 0.0, "success": 0.0}
    assert Path("out.jsonl").read_bytes() == b"".join(lines)


@pytest.mark.parametrize(
    ("policy", "more", "says"),
    [
        ("{own}:Mute", [], "made a Mute; a policy has an `async def reply(self, messages, tools)`"),
        ("{own}:number", [], "is a int; a policy has"),
        ("{own}:Polit", [], "did you mean 'Polite'?"),
        ("{own}:", [], "write module:Class"),
        ("nowhere_at_all:Polite", [], "no module 'nowhere_at_all' in "),
        ("{own}:Broken", [], "2 rollouts went wrong and are played again next time; pay-0"),
        ("{own}:Broken", [], "ValueError: the battery is empty"),
        ("oracle", ["--timeout", 3, "--reply", 9], "reply, timeout: an option for endpoints"),
        ("oracle", ["--samples", 2], "2 samples of a script are all the same"),
        ("http://127.0.0.1:9", ["--samples", 2], "2 samples at temperature 0 are all the same"),
    ],
)
def test_what_cannot_play_is_told_in_one_line(
    data: Path, policy: str, more: list[object], says: str
) -> None:
    code, _, err = play(policy.format(own=data), *more)
    assert code == 2
    assert says in err
    assert err.count("\n") == 1


def test_the_options_of_an_endpoint_reach_it(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Json] = []

    async def answers(body: Json) -> Reply:
        seen.append(body)
        return Reply(text="Hello.", tokens=7, prompt_tokens=50)

    with Gateway(answers).open() as gateway:
        monkeypatch.setenv("PROVEGYM_API_KEY", gateway.key)
        asked = ("--temperature", 0.7, "--reply", 99, "--timeout", 9, "--retries", 1)
        code, out, err = play(gateway.url, *asked, "--samples", 2)
    assert code == 0, err
    assert "4 rollouts" in out
    assert "tokens: 400 in, 56 out\n" in out
    assert {(body["temperature"], body["max_tokens"]) for body in seen} == {(0.7, 99)}
    assert next(read(Path("out.jsonl"), Rollout)).policy.endswith(", temperature 0.7")


def test_the_options_are_those_of_the_configuration() -> None:
    from provegym.cli.rollouts import Asking

    given = Asking("m", 0.5, 100, 9.0, 2).given
    config = EndpointConfig("http://x", "m", **given)
    assert (config.temperature, config.max_tokens) == (0.5, 100)
    assert (config.timeout, config.retries) == (9.0, 2)
    assert Asking().given == {}


def test_an_endpoints_own_words_are_shown(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuses(body: Json) -> Reply:
        if "tools" in body:
            raise Refused("this model has a context of 512 tokens")
        return Reply(text="Hello.")

    with Gateway(refuses).open() as gateway:
        monkeypatch.setenv("PROVEGYM_API_KEY", gateway.key)
        code, _, err = play(gateway.url, "--retries", 0)
    assert code == 2
    assert "this model has a context of 512 tokens" in err
    assert gateway.key not in err
