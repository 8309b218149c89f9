"""Branches: they go on from a fork as if they had been played from the start."""

from itertools import islice, product
from math import exp, prod
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("torch")

import torch

from provegym.models.codec import Codec
from provegym.models.source import Rounds, Sampled
from provegym.players.local import ForkPoint, Trajectory
from provegym.rollout import play_replies
from provegym.toolbox import aliased
from provegym.trace import Example, Reply, Rollout, ToolCall, read
from provegym.train.branches import choose, play, spreads
from provegym.train.credit import credit
from provegym.train.recipe import Grpo, Recipe
from provegym.train.run import TrainError
from provegym.train.start import check
from train.tiny import LIMITS, Doubtful, build_tokenizer, few_tools

DATA = Path(__file__).parents[1] / "data"
SERVERS = ("banking", "calendar", "filesystem", "shopping")
SETTINGS = Grpo(rollouts=8, branches=2, forks=2, credit="turn", use_vllm=False)


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    plain = [
        few_tools(each)
        for name in SERVERS
        for each in islice(read(DATA / f"{name}.jsonl", Example), 3)
    ]
    return [*plain, *(aliased(each, 7) for each in plain[:4])]


@pytest.fixture(scope="module")
def codec(examples: list[Example]) -> Codec:
    return Codec(build_tokenizer(examples), LIMITS.prompt)


@pytest.fixture(scope="module")
def played(codec: Codec, examples: list[Example]) -> list[Trajectory]:
    return batch(codec, examples, SETTINGS)[0]


def batch(
    codec: Codec, examples: list[Example], grpo: Grpo, seed: int = 0
) -> tuple[list[Trajectory], list[list[float]]]:
    many = [each for each in examples for _ in range(grpo.rollouts)]
    source = Rounds(Doubtful(codec, examples, seed).generate)
    return play(many, source, codec, Recipe(grpo=grpo, limits=LIMITS))


def trunk_of(played: list[Trajectory], at: int) -> Trajectory:
    fork = played[at].fork
    assert fork is not None
    return played[at - at % SETTINGS.rollouts + fork.trunk]


def replies(rollout: Rollout) -> list[Reply]:
    """What the assistant said, as it was said."""
    return [
        Reply(
            text=message["content"] or "",
            calls=tuple(
                ToolCall(name=call["function"]["name"], arguments=call["function"]["arguments"])
                for call in message.get("tool_calls", ())
            ),
        )
        for message in rollout.messages
        if message["role"] == "assistant"
    ]


def test_a_group_has_trunks_and_then_branches(
    played: list[Trajectory], examples: list[Example]
) -> None:
    assert len(played) == len(examples) * SETTINGS.rollouts
    for at, each in enumerate(played):
        assert each.example == examples[at // SETTINGS.rollouts]
        assert each.fork is None or at % SETTINGS.rollouts >= SETTINGS.trunks
    deep = [each.fork.reply for each in played if each.fork]
    assert len(set(deep)) > 2


def test_a_branch_has_the_beginning_of_its_trunk_and_does_not_learn_it(
    played: list[Trajectory],
) -> None:
    for at, each in enumerate(played):
        if each.fork is None:
            continue
        trunk, end = trunk_of(played, at), each.starts[each.fork.reply]
        assert each.prompt == trunk.prompt
        assert each.completion[:end] == trunk.completion[:end]
        assert each.logprobs[:end] == trunk.logprobs[:end]
        assert each.starts[: each.fork.reply + 1] == trunk.starts[: each.fork.reply + 1]
        assert not any(each.mask[:end])
        assert all(each.mask[start] for start in each.starts[each.fork.reply :])
        assert each.rollout.tokens == sum(each.mask)


def test_a_branch_is_what_its_replies_give_from_the_start(played: list[Trajectory]) -> None:
    """Calls with their results, changes and digests; messages, outcome, reward and verdict."""
    whole = [each for each in played if each.rollout.ended in ("done", "turns")]
    assert sum(each.fork is not None for each in whole) > 30
    for each in whole:
        again = play_replies(each.example, replies(each.rollout), name="again")
        assert again.calls == each.rollout.calls
        assert again.messages == each.rollout.messages
        assert again.outcome == each.rollout.outcome
        assert again.reward == each.rollout.reward
        assert again.verdict == each.rollout.verdict


def test_branches_leave_trunks_as_they_were(codec: Codec, examples: list[Example]) -> None:
    """With the same chance, the trunks are those of a batch without branches."""
    grpo = Grpo(rollouts=SETTINGS.trunks, credit="turn", use_vllm=False)
    alone, potentials = batch(codec, examples, grpo)
    both, found = batch(codec, examples, SETTINGS)
    trunks = [at for at in range(len(both)) if at % SETTINGS.rollouts < SETTINGS.trunks]
    assert [both[at] for at in trunks] == alone
    assert [found[at] for at in trunks] == potentials


def test_what_was_due_in_the_beginning_is_the_same(codec: Codec, examples: list[Example]) -> None:
    played, found = batch(codec, examples, SETTINGS, seed=3)
    for at, each in enumerate(played):
        if each.fork is not None:
            trunk = at - at % SETTINGS.rollouts + each.fork.trunk
            shared = each.fork.reply + 1
            assert found[at][:shared] == found[trunk][:shared]


def test_the_reply_that_spoilt_most_is_chosen() -> None:
    rewards = [1.3, 0.1, 0.4]
    # The second rollout was spoilt by its second reply, the third by its last one.
    potentials = [[0.6, 0.9, 1.3], [0.6, 0.7, 0.1], [0.6, 0.6, 0.8]]
    assert choose(rewards, potentials, 1) == [ForkPoint(1, 1)]
    assert choose(rewards, potentials, 3) == [ForkPoint(1, 1), ForkPoint(2, 2)]
    assert choose([None, 0.1], [[0.0, 0.0], [0.4]], 2) == [ForkPoint(1, 0)]
    assert choose([None, None], [[0.0], []], 2) == []


def test_a_branch_is_compared_with_the_other_branches() -> None:
    branch = ForkPoint(1, 1)
    rewards = [1.0, 0.0, 0.5, 0.8]
    potentials = [[0.2, 0.4], [0.2, 0.6], [0.2, 0.6, 0.7], [0.2, 0.6]]
    made = credit(rewards, potentials, 4, 0.5, scaled=False, forked=[None, None, branch, branch])
    assert made.advantages[0] == pytest.approx([1.0, 1.0 - 0.5 * 0.2])
    assert made.advantages[1][0] == pytest.approx(-1.0)
    assert made.advantages[2][1:] == pytest.approx([-0.3, -0.3 - 0.5 * 0.1])
    assert made.advantages[3][1] == pytest.approx(0.3)
    alone = credit(rewards[:2], potentials[:2], 2, 0.5, scaled=False)
    assert (made.slope, made.variance) == (alone.slope, alone.variance)


def test_the_gradient_of_branches_is_that_of_their_reply() -> None:
    """All pairs of trunks with two binary replies, and all pairs of branches at the second.

    Whatever beginning was chosen: on average over its branches, the gradient is twice that of the
    beginning's value, with any slope.
    """
    chance = 1 / (1 + exp(-0.4))
    worth = {(0, 0): 0.0, (0, 1): 1.0, (1, 0): 0.6, (1, 1): 2.0}
    likely = {1: chance, 0: 1 - chance}
    slope_of = {1: 1 - chance, 0: -chance}
    count = 0
    for one, two, slope in product(worth, worth, (0.0, 0.7)):
        potentials = [[0.9, 0.95 + each[0]] for each in (one, two)]
        chosen = choose([worth[one], worth[two]], potentials, 1)
        if not chosen:
            continue
        (fork,) = chosen
        assert fork.reply == 1
        first = (one, two)[fork.trunk][0]
        count += 1
        mean = 0.0
        for pair in product((0, 1), repeat=2):
            rewards = [worth[one], worth[two], *(worth[first, reply] for reply in pair)]
            known = [*potentials, *[potentials[fork.trunk]] * 2]
            forked = [None, None, fork, fork]
            made = credit(rewards, known, 4, slope, scaled=False, forked=forked)
            gradient = sum(
                advantages[1] * slope_of[reply]
                for reply, advantages in zip(pair, made.advantages[2:], strict=True)
            )
            mean += likely[pair[0]] * likely[pair[1]] * gradient
        value = chance * (1 - chance) * (worth[first, 1] - worth[first, 0])
        assert mean == pytest.approx(2 * value)
    assert count > 10


@pytest.mark.parametrize("slope", [0.0, 0.8])
def test_the_gradient_of_rollouts_from_the_start_is_that_of_the_policy(slope: float) -> None:
    """All groups of two trunks of two binary replies, and of what is played after them.

    If no trunk goes wrong, two more rollouts are played from the start: how many there are depends
    on the trunks. The mean gradient of a rollout from the start must be that of its reward.
    """
    chances = (0.5, 0.3)  # of saying 1 at the first and at the second reply
    worth = {(0, 0): 0.0, (0, 1): 1.0, (1, 0): 0.6, (1, 1): 2.0}
    after = {a: chances[1] * worth[a, 1] + (1 - chances[1]) * worth[a, 0] for a in (0, 1)}
    start = chances[0] * after[1] + (1 - chances[0]) * after[0]

    def likely(said: tuple[int, int], since: int = 0) -> float:
        """The probability of the replies from this one on."""
        return prod(
            chance if reply else 1 - chance
            for chance, reply in list(zip(chances, said, strict=True))[since:]
        )

    def gradient(said: tuple[int, int], advantages: list[float]) -> Any:
        """Advantages times the derivatives of the log-probabilities by the logits."""
        return torch.tensor(advantages) * (torch.tensor(said) - torch.tensor(chances))

    found, count = torch.zeros(2), 0.0
    for trunks in product(worth, worth):
        due = [[start, after[each[0]]] for each in trunks]
        fork = next(iter(choose([worth[each] for each in trunks], due, 1)), None)
        since, begun = (fork.reply, trunks[fork.trunk]) if fork else (0, (0, 0))
        possible = [each for each in worth if each[:since] == begun[:since]]
        for grown in product(possible, possible):
            said = [*trunks, *grown]
            made = credit(
                [worth[each] for each in said],
                [[start, after[each[0]]] for each in said],
                4,
                slope,
                scaled=False,
                forked=[None, None, fork, fork],
                trunks=2,
            )
            chance = prod([*map(likely, trunks), *(likely(each, since) for each in grown)])
            for each, advantages in list(zip(said, made.advantages, strict=True))[
                : 2 if fork else 4
            ]:
                found += chance * gradient(each, advantages)
                count += chance
    assert 2 < count < 3
    wanted = sum(likely(each) * gradient(each, [worth[each]] * 2) for each in worth)
    assert torch.allclose(found / count, wanted, atol=1e-6)


def test_a_bug_of_a_server_leaves_rollouts_from_the_start(
    codec: Codec, examples: list[Example], monkeypatch: pytest.MonkeyPatch
) -> None:
    from provegym.kernel import Bug, Session

    def broken(*_: Any) -> Any:
        raise Bug("broken")

    def right_call(self: Doubtful, context: list[int]) -> Sampled:
        (right,) = self.right.values()
        ids = self.codec.say(next(each for each in right if each.get("tool_calls")))
        return Sampled(ids, [-1.0] * len(ids))

    source = Rounds(Doubtful(codec, examples[:1], 0).generate)
    monkeypatch.setattr(Doubtful, "answer", right_call)
    monkeypatch.setattr(Session, "call", broken)
    recipe = Recipe(grpo=SETTINGS, limits=LIMITS)
    played, found = play(examples[:1] * SETTINGS.rollouts, source, codec, recipe)
    assert len(played) == len(found) == SETTINGS.rollouts
    assert all(each.rollout.reward is None and each.fork is None for each in played)


def test_how_much_rewards_differ_is_told_apart(played: list[Trajectory]) -> None:
    found = spreads(played, SETTINGS)
    assert found["trunk_spread"] > 0
    assert found["branch_spread"] > 0


def test_settings_that_do_not_fit_are_refused() -> None:
    for changes, what in (
        ({"credit": "rollout"}, 'grpo.credit="turn"'),
        ({"branches": 4}, "leave 0 of grpo.rollouts"),
        ({"branches": 2, "forks": 3}, "at least 3 are needed"),
        ({"branches": 1}, "set 2 or more, or 0"),
    ):
        grpo = msgspec.structs.replace(SETTINGS, report=(), **changes)
        with pytest.raises(TrainError, match=what):
            check(Recipe(grpo=grpo))
