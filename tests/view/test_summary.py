"""The summary of a row: what the list knows of an example or a rollout without decoding it all."""

import pytest

from provegym.rewards.success import judge
from provegym.trace import Verdict, line
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
        assert seen.verdict == (rollout.verdict or judge(rollout))
        assert set(seen.errors) == {call.error for call in rollout.calls if call.error}
        assert seen.knobs == tuple(map(cut, example.knobs))
        assert (seen.policy, seen.ending) == (cut(rollout.policy), rollout.ended)
        assert len(seen.text) <= 160


@pytest.mark.parametrize("verdict", [Verdict(), Verdict(answer=True, ended=True)])
def test_a_stored_verdict_is_read_as_it_is(verdict: Verdict) -> None:
    rollout = replace(played("oracle"), verdict=verdict)
    assert summarise(line(rollout), "rollouts").verdict == verdict


def test_a_line_of_an_older_file_is_judged() -> None:
    asking = example_of(turns=tuple(replace(t, asks="amount") for t in example_of().turns))
    base = replace(played("oracle"), verdict=None)
    outcome = base.outcome
    cases = [
        replace(base, example=asking),
        replace(base, outcome=()),
        replace(base, outcome=outcome[::-1]),
        replace(base, outcome=(*outcome[1:], replace(outcome[0], key="other"))),
        replace(base, example=replace(base.example, outcome=outcome)),
    ]
    told = [summarise(line(case), "rollouts").verdict for case in cases]
    assert told == [judge(case) for case in cases]
    assert {True, False} == {verdict.success for verdict in told if verdict}


def test_a_line_that_cannot_be_judged_has_no_verdict() -> None:
    rollout = replace(played("oracle"), verdict=None)
    assert rollout.reward is not None
    for changes in ({"path": 5}, {"path": -1}, {"served": (*rollout.reward.served, SERVED)}):
        wrong = replace(rollout, reward=replace(rollout.reward, **changes))
        assert summarise(line(wrong), "rollouts").verdict is None
    silent = replace(rollout, messages=({"content": "who said this"},))
    assert summarise(line(silent), "rollouts").verdict is None
    newer = line(rollout).replace(b'"policy"', b'"mood":"good","policy"', 1)
    assert summarise(newer, "rollouts").verdict is None


SERVED = replace(played("oracle").reward.served[0], call=99)  # type: ignore[union-attr]


def test_an_example_in_brief() -> None:
    seen = summarise(line(example_of(knobs=("stripped",))), "examples")
    text = "Pay Harbour 20 from Freelance."
    assert seen[:5] == Summary("pay-1", "banking", "multi_turn", 4, text, "")[:5]
    assert (seen.reward, seen.verdict, seen.knobs) == (None, None, ("stripped",))
