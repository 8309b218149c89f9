"""Rollouts advance together, and their tokens are exactly what was sampled and what was said."""

from typing import Any

import msgspec
import pytest

pytest.importorskip("torch")

from examples import pay_example
from provegym.models.codec import Codec
from provegym.models.sampler import Sampler
from provegym.models.source import Generate, Sampled, Source
from provegym.players.local import Limits, Trajectory, run
from provegym.rewards import PAPER, Scheme, score
from provegym.trace import Example, Json
from train.tiny import LIMITS, Script, build_model, build_tokenizer, gold, play

EXAMPLE = pay_example()


@pytest.fixture(scope="module")
def codec() -> Codec:
    return Codec(build_tokenizer([EXAMPLE]), LIMITS.prompt)


def pieces(trajectory: Trajectory) -> list[tuple[int, list[int]]]:
    """The completion in runs of tokens by the same author."""
    found: list[tuple[int, list[int]]] = []
    for token, own in zip(trajectory.completion, trajectory.mask, strict=True):
        if not found or found[-1][0] != own:
            found.append((own, []))
        found[-1][1].append(token)
    return found


def call(name: str, **arguments: Any) -> Json:
    """A reply that makes one call."""
    text = msgspec.json.encode(arguments).decode()
    function = {"name": name, "arguments": text}
    return {"role": "assistant", "content": "", "tool_calls": [{"function": function}]}


def test_everything_right_is_paid_in_full(codec: Codec) -> None:
    trajectory, _ = play(EXAMPLE, gold(EXAMPLE), codec)
    assert trajectory.rollout.ended == "done"
    assert trajectory.rollout.reward is not None
    assert trajectory.rollout.reward.total == pytest.approx(1.3)


def test_ids_are_appended_and_never_tokenised_again(codec: Codec) -> None:
    replies = [codec.say(each) for each in gold(EXAMPLE)]
    # The same words in other tokens, letter by letter: tokenised again, they would change.
    letters = [token for letter in "Done it." for token in codec._encode(letter)]
    assert list(codec._encode("Done it.")) != letters
    replies[-1] = [*letters, codec.end]
    script = Script([replies])
    trajectory = run([EXAMPLE], script.generate, codec, LIMITS)[0]
    asked = script.asked[0]
    assert len(asked) == len(replies)
    for before, said, then in zip(asked, replies, [*asked[1:], None], strict=True):
        if then is not None:
            assert then[: len(before) + len(said)] == before + said
            assert then[len(before) + len(said) :]
    assert trajectory.prompt + trajectory.completion == asked[-1] + replies[-1]


def test_the_mask_tells_the_models_tokens_from_the_worlds(codec: Codec) -> None:
    replies = gold(EXAMPLE)
    trajectory, _ = play(EXAMPLE, replies, codec)
    runs = pieces(trajectory)
    assert [ids for own, ids in runs if own] == [codec.say(each) for each in replies]
    told = [codec.tokenizer.decode(ids) for own, ids in runs if not own]
    heard = [m for m in trajectory.rollout.messages[2:] if m["role"] != "assistant"]
    assert all(any(message["content"] in text for text in told) for message in heard)
    assert len(trajectory.completion) == len(trajectory.mask) == len(trajectory.logprobs)
    assert {
        value for value, own in zip(trajectory.logprobs, trajectory.mask, strict=True) if not own
    } == {0.0}
    assert trajectory.rollout.tokens == sum(trajectory.mask)


@pytest.mark.parametrize("short", range(1, 60, 7))
def test_what_does_not_fit_is_left_out_whole(codec: Codec, short: int) -> None:
    whole, _ = play(EXAMPLE, gold(EXAMPLE), codec)
    said, told = pieces(whole)[0][1], pieces(whole)[1][1]
    room = len(said) + len(told) - short
    cut, _ = play(EXAMPLE, gold(EXAMPLE), codec, Limits(4096, max(room, len(said)), 256))
    assert cut.completion == said
    assert set(cut.mask) == {1}
    assert cut.rollout.ended == "tokens"
    assert cut.rollout.messages[-1]["role"] == "tool"
    assert len(cut.rollout.calls) == len(gold(EXAMPLE)[0]["tool_calls"])
    assert cut.rollout.reward == score(EXAMPLE, cut.rollout.calls, PAPER)


def test_a_reply_without_room_is_cut_but_its_calls_count(codec: Codec) -> None:
    ids = codec.say(call("list_accounts"))
    cut, _ = play(EXAMPLE, [call("list_accounts")], codec, Limits(4096, len(ids) - 1, 256))
    assert cut.completion == ids[:-1]
    assert cut.rollout.ended == "tokens"
    assert [each.tool for each in cut.rollout.calls] == ["list_accounts"]


def test_a_reply_over_its_limit_is_ended_by_the_world(codec: Codec) -> None:
    long = {"role": "assistant", "content": "Well, " * 50}
    replies = [long, {"role": "assistant", "content": "Done."}]
    trajectory, _ = play(EXAMPLE, replies, codec, Limits(4096, 2048, 8))
    (own, said), (other, told), _ = pieces(trajectory)
    assert (own, other) == (1, 0)
    assert len(said) == 8
    assert told == codec.after([{"role": "user", "content": "Freeze my card."}], ended=False)
    assert told[0] == codec.end
    assert trajectory.rollout.ended == "done"


def test_every_rollout_has_a_world_of_its_own(codec: Codec) -> None:
    card = EXAMPLE.paths[0].steps[3].arguments["card_id"]
    freeze, look = call("set_card_status", card_id=card, status="frozen"), call("list_cards")
    done = {"role": "assistant", "content": "Done."}
    one, two = [freeze, look, done, done], [look, look, done, done]
    script = Script([[codec.say(each) for each in replies] for replies in (one, two)])
    first, second = run([EXAMPLE, EXAMPLE], script.generate, codec, LIMITS)
    assert first.prompt == second.prompt
    assert [c.key for c in first.rollout.outcome if c.server == "banking"] != []
    assert second.rollout.outcome == ()
    assert '"frozen"' in first.rollout.calls[1].result
    assert first.rollout.calls[1].result != second.rollout.calls[1].result


def test_rewards_are_those_of_the_recorded_rollout(codec: Codec) -> None:
    scheme = Scheme(weights={"efficiency": 0.0, "name": 1.0})
    replies = gold(EXAMPLE)
    scripts = [replies, replies[1:], [call("list_cards"), *replies], [replies[-1], replies[-1]]]
    script = Script([[codec.say(each) for each in lines] for lines in scripts])
    played = run([EXAMPLE] * 4, script.generate, codec, LIMITS, scheme)
    rewards = [each.rollout.reward for each in played]
    assert rewards == [score(EXAMPLE, t.rollout.calls, scheme) for t in played]
    assert len({reward.total for reward in rewards if reward}) == 4


def test_a_batch_of_unequal_lengths_plays_as_one_by_one(codec: Codec) -> None:
    model = build_model(codec.tokenizer, seed=3)
    longer = pay_example(system="You act for a bank's customer. " * 9, id="pay-2")
    fewer = msgspec.structs.replace(EXAMPLE.toolbox, hidden=("open_account", "list_payees"))
    examples = [EXAMPLE, longer, pay_example(toolbox=fewer, id="pay-3")]
    limits = Limits(4096, 400, 24)

    def played(some: list[Example]) -> list[Trajectory]:
        return run(some, Sampler(model, codec.tokenizer, 0.0, 0).generate, codec, limits)

    assert len({len(each.prompt) for each in played(examples)}) == 3
    for together, alone in zip(
        played(examples), [played([each])[0] for each in examples], strict=True
    ):
        assert together.completion == alone.completion
        assert together.rollout == alone.rollout
        assert together.logprobs == pytest.approx(alone.logprobs, abs=1e-4)


class OneByOne(Source):
    """Gives one reply at a time, to the rollout that asked last."""

    def __init__(self, generate: Generate) -> None:
        self.generate = generate
        self.open: list[tuple[int, list[int], int]] = []

    def ask(self, seat: int, context: list[int], most: int) -> None:
        self.open.append((seat, context, most))

    def take(self) -> dict[int, Sampled]:
        seat, context, most = self.open.pop()
        return {seat: self.generate([context], most)[0]}


def test_rollouts_that_go_on_one_by_one_are_those_of_rounds(codec: Codec) -> None:
    model = build_model(codec.tokenizer, seed=3)
    examples = [EXAMPLE, pay_example(id="pay-2", system="You act for somebody else. " * 5)]
    generate = Sampler(model, codec.tokenizer, 0.0, 0).generate
    limits = Limits(4096, 300, 24)
    rounds = run(examples, generate, codec, limits)
    singly = run(examples, OneByOne(generate), codec, limits)
    assert [each.rollout for each in singly] == [each.rollout for each in rounds]
    assert [each.completion for each in singly] == [each.completion for each in rounds]


def test_a_prompt_that_is_too_long_ends_its_own_rollout_only(codec: Codec) -> None:
    short = Codec(codec.tokenizer, len(play(EXAMPLE, gold(EXAMPLE), codec)[0].prompt))
    long = pay_example(system="Be patient. " * 200, id="pay-2")
    script = Script([[codec.say(each) for each in gold(EXAMPLE)]])
    failed, played = run([long, EXAMPLE], script.generate, short, LIMITS)
    assert failed.rollout.ended == "policy_error"
    assert "are allowed" in failed.rollout.reason
    assert failed.completion == []
    assert played.rollout.ended == "done"


def test_turns_and_calls_are_limited(codec: Codec) -> None:
    endless = [call("list_cards")] * 9
    few, _ = play(EXAMPLE, endless, codec, Limits(4096, 2048, 256, assistant_turns=3))
    assert (few.rollout.ended, len(few.rollout.calls)) == ("turns", 3)
    fewer, _ = play(EXAMPLE, endless, codec, Limits(4096, 2048, 256, calls=2))
    assert (fewer.rollout.ended, len(fewer.rollout.calls)) == ("calls", 2)
    once, _ = play(EXAMPLE, [gold(EXAMPLE)[-1]], codec, Limits(4096, 2048, 256, user_turns=1))
    assert sum(message["role"] == "user" for message in once.rollout.messages) == 1


def test_the_model_is_asked_for_no_more_than_there_is_room_for(codec: Codec) -> None:
    asked: list[int] = []

    def generate(contexts: list[list[int]], most: int) -> list[Sampled]:
        asked.append(most)
        return [Sampled([5] * most, [-1.0] * most) for _ in contexts]

    played = run([EXAMPLE], generate, codec, Limits(4096, 60, 40))[0]
    assert asked[0] == 40
    assert asked[1] < 20
    assert len(played.completion) == 60
