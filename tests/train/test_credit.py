"""Credit per turn: potentials of real rollouts, and an unbiased gradient."""

import json
from itertools import product
from math import exp
from pathlib import Path

import pytest

from examples import pay_example
from provegym.players.scripted import SCRIPTS
from provegym.rewards import BEST, HARDENED, PAPER, Scheme, paid, score
from provegym.rollout import play_replies, play_script
from provegym.toolbox import aliased
from provegym.trace import Example, Reply, Rollout, ToolCall, read
from provegym.train.credit import TurnProver, credit, fit, per_token
from provegym.verify.complete import complete

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def oracle() -> Rollout:
    """A rollout that does everything right, one call per message."""
    return play_script(complete(pay_example()), SCRIPTS["oracle"])


@pytest.mark.parametrize("scheme", [PAPER, HARDENED])
def test_before_each_right_reply_the_best_reward_can_be_reached(
    oracle: Rollout, scheme: Scheme
) -> None:
    reach = TurnProver(oracle.example, scheme, 1.0).potentials(oracle)
    assert reach == pytest.approx([scheme.best] * len(reach))


@pytest.mark.parametrize("name", ["banking", "maps", "travel_booking"])
@pytest.mark.parametrize("scheme", [PAPER, HARDENED])
def test_right_rollouts_of_several_turns_never_lose_what_can_be_reached(
    name: str, scheme: Scheme
) -> None:
    """A lookup after a reply in words: what it found is there for the calls that finish it."""
    lengths = []
    for example in read(DATA / f"{name}.jsonl", Example):
        rollout = play_script(example, SCRIPTS["oracle"], scheme=scheme)
        reach = TurnProver(example, scheme, 1.0).potentials(rollout)
        assert reach == pytest.approx([paid(rollout)] * len(reach)), example.id
        lengths.append(len(example.turns))
    assert max(lengths) > 1


def test_what_is_paid_is_the_reward_of_the_calls_before_a_reply(oracle: Rollout) -> None:
    paid = TurnProver(oracle.example, PAPER, 0.0).potentials(oracle)
    replies = [message for message in oracle.messages if message["role"] == "assistant"]
    made = 0
    for found, reply in zip(paid, replies, strict=True):
        assert found == score(oracle.example, oracle.calls[:made]).total
        made += len(reply.get("tool_calls", ()))
    assert paid[0] == 0
    assert paid[-1] == pytest.approx(BEST)


def test_a_mistake_lowers_what_can_be_reached() -> None:
    wrong = play_script(complete(pay_example()), SCRIPTS["guesser"])
    reach = TurnProver(wrong.example, PAPER, 1.0).potentials(wrong)
    assert reach[0] == pytest.approx(BEST)
    assert min(reach) < BEST
    assert wrong.reward is not None
    assert wrong.reward.total <= min(reach) + 1e-9


@pytest.mark.parametrize("scheme", [PAPER, HARDENED])
def test_potentials_are_the_same_under_other_names(scheme: Scheme) -> None:
    example = complete(pay_example())
    for name in ("oracle", "guesser"):
        own, other = (play_script(e, SCRIPTS[name]) for e in (example, aliased(example, 3)))
        found = [TurnProver(each.example, scheme, 0.5).potentials(each) for each in (own, other)]
        assert found[0] == found[1]


def test_equal_beginnings_are_proven_once(oracle: Rollout) -> None:
    prover = TurnProver(oracle.example, HARDENED, 0.5)
    first = prover.potentials(oracle)
    count = len(prover.known)
    assert prover.potentials(oracle) == first
    assert len(prover.known) == count == len(set(prover.known))


def test_calls_in_one_message_are_not_known_from_calls_in_two(oracle: Rollout) -> None:
    """A call that needs a value counts only in a later message."""
    made = [ToolCall(name=each.tool, arguments=json.dumps(each.arguments)) for each in oracle.calls]
    first, second = ([each for each in oracle.calls if each.turn == turn] for turn in (0, 1))
    assert (len(first), len(second)) == (3, 1)
    apart = [Reply(calls=(call,)) for call in made[:3]]
    for other in ([Reply(calls=tuple(made[:3]))], [Reply(calls=tuple(made[:2])), apart[2]]):
        rollouts = [
            play_replies(oracle.example, [*replies, Reply(text="Done.")], name="test")
            for replies in (apart, other)
        ]
        fresh = [TurnProver(oracle.example, PAPER, 0.5).potentials(each) for each in rollouts]
        both = TurnProver(oracle.example, PAPER, 0.5)
        assert [both.potentials(each) for each in rollouts] == fresh
        again = TurnProver(oracle.example, PAPER, 0.5)
        assert [again.potentials(each) for each in reversed(rollouts)] == fresh[::-1]
        assert (fresh[0][3] == fresh[1][-2]) == (len(other) == 2)


def test_the_advantage_of_the_first_reply_is_the_plain_one() -> None:
    rewards = [1.0, 0.0, 0.5, None]
    potentials = [[0.2, 0.9], [0.2, 0.1], [0.2], []]
    made = credit(rewards, potentials, 4, 0.7, scaled=False)
    assert [each[0] for each in made.advantages[:3]] == pytest.approx([0.75, -0.75, 0.0])
    assert made.advantages[0][1] == pytest.approx(0.75 - 0.7 * 0.7)
    assert made.advantages[1][1] == pytest.approx(-0.75 + 0.7 * 0.1)
    assert made.advantages[3] == []


def test_the_slope_is_that_of_least_squares() -> None:
    assert fit([(1.0 + 2 * x, x) for x in (0.0, 0.3, 0.9)]) == pytest.approx(2)
    assert fit([(1.0, 0.5), (2.0, 0.5)]) == 0
    assert fit([]) == 0


def test_each_token_has_the_advantage_of_its_reply() -> None:
    assert per_token([0, 3], [1.0, -2.0], 5) == [1.0, 1.0, 1.0, -2.0, -2.0]
    assert per_token([], [], 2) == [0.0, 0.0]


def test_the_gradient_is_unbiased_and_less_noisy() -> None:
    """All pairs of rollouts of a policy with two binary replies, weighted by their probability.

    The potential after the first reply is what it is worth on average. The mean gradient over all
    pairs is that of the plain advantages, with any slope; its variance is lower with slope one.
    """
    chance = 1 / (1 + exp(-0.4))
    worth = {(0, 0): 0.0, (0, 1): 1.0, (1, 0): 0.6, (1, 1): 2.0}

    def likely(reply: int) -> float:
        return chance if reply else 1 - chance

    def slope_of(reply: int) -> float:
        """The derivative of the log-probability of a reply by the logit."""
        return 1 - chance if reply else -chance

    after = {a: sum(likely(b) * worth[a, b] for b in (0, 1)) for a in (0, 1)}
    start = sum(likely(a) * after[a] for a in (0, 1))

    def moments(slope: float) -> tuple[float, float]:
        mean = square = 0.0
        for one, two in product(worth, repeat=2):
            weight = likely(one[0]) * likely(one[1]) * likely(two[0]) * likely(two[1])
            potentials = [[start, after[each[0]]] for each in (one, two)]
            made = credit([worth[one], worth[two]], potentials, 2, slope, scaled=False)
            gradient = sum(
                advantage * slope_of(reply)
                for pair, advantages in zip((one, two), made.advantages, strict=True)
                for reply, advantage in zip(pair, advantages, strict=True)
            )
            mean += weight * gradient
            square += weight * gradient**2
        return mean, square - mean**2

    plain, noise = moments(0.0)
    for slope in (0.5, 1.0, 1.7):
        assert moments(slope)[0] == pytest.approx(plain, abs=1e-12)
    assert moments(1.0)[1] < noise
