"""The regression set: examples made by hand, on every server, of every kind."""

from collections import Counter
from pathlib import Path

import pytest

from data.draft import drafts, make
from provegym.players.scripted import oracle
from provegym.rollout import play_script
from provegym.servers import names
from provegym.trace import Example, read
from provegym.verify import verify

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*.jsonl"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_example_keeps_the_contract(path: Path) -> None:
    for example in read(path, Example):
        assert verify(example) == [], example.id


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_files_are_what_the_drafts_say(path: Path) -> None:
    assert list(read(path, Example)) == [make(path.stem, each) for each in drafts(path.stem)]


def test_every_server_and_every_kind_is_there() -> None:
    examples = list(read(DATA, Example))
    servers = Counter(example.server for example in examples)
    assert set(servers) == set(names())
    assert min(servers.values()) >= 3
    kinds = {"multi_turn", "clarification", "abstention", "irrelevance"}
    assert {example.kind for example in examples} == kinds
    assert any(turn.asks for example in examples for turn in example.turns)
    assert any(len(example.paths) > 1 for example in examples)
    assert any(example.toolbox.hidden for example in examples)
    steps = [step for e in examples for path in e.paths[:1] for step in path.steps]
    assert any(edge.kind == "implicit" for step in steps for edge in step.needs)
    assert sum(step.evidence is not None for step in steps) >= 100


def test_the_oracle_is_paid_the_maximum_on_all_of_them() -> None:
    for example in read(DATA, Example):
        reward = play_script(example, oracle).reward
        assert reward is not None
        assert reward.total == (1.3 if any(path.steps for path in example.paths) else 1.0)
