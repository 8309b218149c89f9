"""The replay of a path: variants are played once, and what is known of steps can grow."""

from dataclasses import FrozenInstanceError

import pytest
from msgspec.structs import replace as put

from examples import pay_example
from provegym.trace import Example, Path
from provegym.verify.complete import complete, complete_and_replay
from provegym.verify.replay import Replay, replay


def gold(example: Example) -> Replay:
    """The first path, played."""
    return replay(example, example.paths[0])


@pytest.fixture(scope="module")
def example() -> Example:
    """An example of four steps in two turns."""
    return complete(pay_example())


def test_a_variant_is_played_once(example: Example) -> None:
    played = gold(example)
    without = played.other({0})
    assert [each.at for each in without.played] == [each.at for each in played.played if each.at]
    assert played.other([0]) is without
    assert played.other(range(len(played.path.steps))).outcome != played.outcome


def test_what_is_known_of_steps_grows_and_the_replay_before_stays(example: Example) -> None:
    played = gold(example)
    without = played.other({0})
    bare = Path(steps=tuple(put(step, needs=(), alternatives=()) for step in played.path.steps))
    other = played.annotated(put(example, paths=(bare,)), bare)
    assert [each.step for each in other.played] == list(bare.steps)
    assert [each.step for each in played.played] == list(example.paths[0].steps)
    assert [each.outcome for each in other.played] == [each.outcome for each in played.played]
    assert other.other({0}) is without
    with pytest.raises(FrozenInstanceError):
        other.path = example.paths[0]  # type: ignore[misc]


def test_completing_an_example_gives_the_replay_of_its_first_path(example: Example) -> None:
    completed, played = complete_and_replay(example)
    assert played is not None
    assert played.example == completed
    assert [each.step for each in played.played] == list(completed.paths[0].steps)
    again = gold(completed)
    assert [each.arguments for each in again.played] == [each.arguments for each in played.played]
    assert again.outcome == played.outcome == completed.outcome
