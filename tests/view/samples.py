"""Small files of every sort for the tests of the page's server, and a client that speaks to it."""

from pathlib import Path
from typing import Any

import msgspec
from starlette.testclient import TestClient

from examples import pay_example
from provegym.kernel import Change
from provegym.players.scripted import SCRIPTS
from provegym.rollout import play_script
from provegym.trace import Example, Rollout, Turn, write
from provegym.view.app import build_app
from provegym.view.library import Library

PORT, TOKEN = 8123, "the token of this start"
SCRIPTED = ("oracle", "noop", "spammer", "shuffler", "guesser")
HOSTILE = ("<script>alert(1)</script>", "</script>", "a\u2028b\u2029c", "\u202etfel", "W" * 3_000)
OUTCOME = play_script(pay_example(), SCRIPTS["oracle"]).outcome
replace = msgspec.structs.replace


def played(script: str, number: int = 0, **changes: object) -> Rollout:
    """A rollout of the payment by a script, under an id of its own."""
    example = example_of(**{"id": f"pay-{number}", **changes})
    return replace(play_script(example, SCRIPTS[script]), policy=script)


def example_of(**changes: object) -> Example:
    """The payment's example, with what it comes to."""
    return pay_example(**{"outcome": OUTCOME, **changes})


def some(count: int) -> list[Rollout]:
    """Rollouts by one script after the other, of which every third has a knob."""
    return [
        played(SCRIPTED[at % len(SCRIPTED)], at, knobs=("distractors",) if at % 3 == 0 else ())
        for at in range(count)
    ]


def hostile(text: str) -> Rollout:
    """A rollout with the same text wherever a model, a tool or a user may write."""
    rollout = played("oracle")
    messages = tuple({**message, "content": text} for message in rollout.messages)
    change = Change(text, text, text, None, {text: text})
    calls = tuple(
        replace(call, tool=text, arguments={text: text}, result=text, diff=(change,))
        for call in rollout.calls
    )
    example = replace(rollout.example, id=text, turns=(Turn(text=text),), knobs=(text,))
    return replace(
        rollout, example=example, policy=text, messages=messages, calls=calls, reason=text
    )


def folder(path: Path) -> Path:
    """A corpus of two shards, two files of rollouts and a run of three steps."""
    examples = [example_of(id=f"pay-{number}") for number in range(4)]
    (path / "corpus").mkdir(parents=True)
    write(path / "corpus" / "train-00000.jsonl", examples[:3])
    write(path / "corpus" / "train-00001.jsonl", examples[3:])
    write(path / "left.jsonl", some(10))
    write(path / "right.jsonl", [played("oracle", number) for number in range(2, 12)])
    make_run(path / "run")
    return path


def make_run(path: Path) -> Path:
    """A run's folder with three steps and two samples."""
    (path / "rollouts").mkdir(parents=True)
    (path / "recipe.toml").write_text("[grpo]\nsteps = 5\n[reward.weights]\nname = 0.0\n", "utf-8")
    (path / "versions.json").write_text('{"python": "3.11"}', "utf-8")
    for step in (1, 2, 3):
        add_step(path, step)
    write(path / "rollouts" / "step-000001.jsonl", [played("noop", 0), played("noop", 1)])
    write(path / "rollouts" / "step-000003.jsonl", [played("oracle", 0), played("oracle", 7)])
    return path


def add_step(run: Path, step: int) -> None:
    """One more line of metrics."""
    with (run / "metrics.jsonl").open("ab") as out:
        line = {"step": step, "reward": step / 10, "seconds": 2.0}
        out.write(msgspec.json.encode(line) + b"\n")


def client(library: Library) -> TestClient:
    """A browser on this machine, as far as headers go."""
    return TestClient(
        build_app(library, PORT, TOKEN),
        base_url=f"http://127.0.0.1:{PORT}",
        headers={"x-provegym-token": TOKEN},
        raise_server_exceptions=False,
    )


def get(asked: TestClient, path: str, **query: Any) -> Any:
    """An answer that must be there."""
    response = asked.get(f"/api/{path}", params=query)
    assert response.status_code == 200, response.text
    return response.json()


def numbers(asked: TestClient) -> dict[str, int]:
    """The sources' numbers by their names."""
    return {source["name"]: source["id"] for source in get(asked, "sources")["sources"]}
