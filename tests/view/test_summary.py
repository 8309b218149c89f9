"""The summary of a row: what the list knows of an example or a rollout without decoding it all."""

from provegym.rewards.success import succeeded
from provegym.trace import line
from provegym.view.summary import Summary, cut, summarise
from view.samples import HOSTILE, example_of, hostile, played, replace, some

ROLLOUTS = [
    *some(15),
    replace(played("oracle", 90), reward=None, ended="policy_error", reason="crashed"),
    *map(hostile, HOSTILE),
]


def test_a_summary_agrees_with_the_whole() -> None:
    for rollout in ROLLOUTS:
        seen = summarise(line(rollout), "rollouts")
        example = rollout.example
        assert (seen.id, seen.server, seen.kind) == (cut(example.id), "banking", example.kind)
        assert seen.calls == len(rollout.calls)
        assert seen.reward == (rollout.reward and rollout.reward.total)
        assert seen.success == succeeded(rollout)
        assert set(seen.errors) == {call.error for call in rollout.calls if call.error}
        assert seen.knobs == tuple(map(cut, example.knobs))
        assert (seen.policy, seen.ended) == (cut(rollout.policy), rollout.ended)
        assert len(seen.text) <= 160


def test_success_is_told_where_a_turn_asks_and_diffs_differ() -> None:
    asking = example_of(turns=tuple(replace(t, asks="amount") for t in example_of().turns))
    base = played("oracle")
    outcome = base.outcome
    cases = [
        replace(base, example=asking),
        replace(base, outcome=()),
        replace(base, outcome=outcome[::-1]),
        replace(base, outcome=(*outcome[1:], replace(outcome[0], key="other"))),
        replace(base, example=replace(base.example, outcome=outcome)),
    ]
    told = [summarise(line(case), "rollouts").success for case in cases]
    assert told == [succeeded(case) for case in cases]
    assert {True, False} == set(told)


def test_a_reward_about_what_is_not_there_leaves_success_open() -> None:
    rollout = played("oracle")
    assert rollout.reward is not None
    for changes in ({"path": 5}, {"path": -1}, {"served": (*rollout.reward.served, SERVED)}):
        wrong = replace(rollout, reward=replace(rollout.reward, **changes))
        assert summarise(line(wrong), "rollouts").success is None


SERVED = replace(played("oracle").reward.served[0], call=99)  # type: ignore[union-attr]


def test_an_example_in_brief() -> None:
    seen = summarise(line(example_of(knobs=("stripped",))), "examples")
    text = "Pay Harbour 20 from Freelance."
    assert seen[:5] == Summary("pay-1", "banking", "multi_turn", 4, text, "")[:5]
    assert (seen.reward, seen.success, seen.knobs) == (None, None, ("stripped",))
