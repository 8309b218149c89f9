"""The loop: turns, clock, parallel calls, caps, and what goes wrong on the way."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from time import process_time

import anyio
import msgspec
import pytest

from examples import pay_example
from provegym.kernel import Bug, Session
from provegym.players.scripted import SCRIPTS, oracle
from provegym.rewards import rescore
from provegym.rollout import Caps, in_order, play
from provegym.servers import load
from provegym.trace import Example, Json, Reply, Rollout, ToolboxSpec, ToolCall, read, write


class Says:
    """A policy that says the same thing again and again."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = replies
        self.asked = 0

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        """The next reply; the last one repeats."""
        self.asked += 1
        return self.replies[min(self.asked, len(self.replies)) - 1]


def roll(example: Example, policy: object, **options: object) -> Rollout:
    """One rollout."""

    async def run() -> Rollout:
        return await play(example, policy, name="test", **options)  # type: ignore[arg-type]

    return anyio.run(run)


def call(name: str, **arguments: object) -> ToolCall:
    """A call as a model writes it."""
    return ToolCall(name=name, arguments=msgspec.json.encode(arguments).decode())


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_are_paid_as_they_deserve(script: str) -> None:
    example = pay_example()
    reward = roll(example, SCRIPTS[script](example)).reward
    assert reward is not None
    if script in ("oracle", "eager"):
        assert reward.total == 1.3
    else:
        assert 0 <= reward.total < 1.3
    assert (reward.total == 0) == (script == "noop")


def test_a_rollout_tells_what_was_said_and_what_it_did() -> None:
    example = pay_example()
    rollout = roll(example, oracle(example))
    roles = [message["role"] for message in rollout.messages]
    assert roles == [
        "system",
        "user",
        *["assistant", "tool"] * 3,
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    paid = rollout.calls[2]
    assert [change.table for change in paid.diff] == ["accounts", "transactions"]
    assert paid.digest != rollout.calls[1].digest == example.digest
    assert {change.table for change in rollout.outcome} == {"accounts", "transactions", "cards"}
    assert rescore(rollout) == rollout


def test_time_passes_between_user_turns_only() -> None:
    example = pay_example()
    rollout = roll(example, Says(Reply(calls=(call("list_cards"),)), Reply(text="ok")))
    session = Session([load("banking")], example.seed)
    session.advance(5)
    assert rollout.ended == "done"
    assert [change.key for change in rollout.outcome] == [change.key for change in session.diff()]


def test_calls_of_one_message_share_its_number() -> None:
    both = Reply(calls=(call("list_cards"), call("list_payees")))
    rollout = roll(pay_example(), Says(both, Reply(text="ok")))
    assert [each.message for each in rollout.calls] == [1, 1]
    assert [m["tool_call_id"] for m in rollout.messages if m["role"] == "tool"] == [
        "call_0",
        "call_1",
    ]


@pytest.mark.parametrize(
    ("caps", "ended"),
    [
        (Caps(assistant_turns=3), "turns"),
        (Caps(calls=5), "calls"),
        (Caps(tokens=20), "tokens"),
        (Caps(user_turns=1, assistant_turns=100, calls=7), "calls"),
    ],
)
def test_a_rollout_stops_at_its_caps(caps: Caps, ended: str) -> None:
    busy = Reply(calls=(call("list_cards"), call("list_cards")), tokens=8)
    rollout = roll(pay_example(), Says(busy), caps=caps)
    assert rollout.ended == ended
    assert len(rollout.calls) <= caps.calls


def test_sixty_four_calls_are_the_most() -> None:
    flood = Reply(calls=tuple(call("list_cards") for _ in range(200)))
    rollout = roll(pay_example(), Says(flood))
    assert len(rollout.calls) == 64
    assert rollout.ended == "calls"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', '{"a": 1} trailing', "[" * 5000])
def test_what_is_no_call_is_recorded_as_malformed(text: str) -> None:
    broken = ToolCall(name="list_cards", arguments=text)
    rollout = roll(pay_example(), Says(Reply(calls=(broken,)), Reply(text="sorry")))
    assert rollout.calls[0].error == "malformed"
    assert rollout.calls[0].arguments is None
    assert rollout.reward is not None
    assert rollout.reward.parts["validity"] == 0


ODD = {
    "a nested argument": Reply(
        calls=(ToolCall(name="list_cards", arguments='{"a":' * 40 + "1" + "}" * 40),)
    ),
    "a large number": Reply(
        calls=(ToolCall(name="list_cards", arguments='{"a": 1' + "0" * 400 + "}"),)
    ),
    "a long name": Reply(calls=(ToolCall(name="\x1b[2J\x00" + "n" * 5_000, arguments="{}"),)),
    "a long text": Reply(text="7 " * 499_999),
    "a text that is too long": Reply(text="7 " * 500_001),
    "half of a character": Reply(text="a\ud800b"),
    "half of a character in a name": Reply(calls=(ToolCall(name="a\udc00", arguments="{}"),)),
    "long arguments": Reply(calls=(ToolCall(name="list_cards", arguments=" " * 1_000_001),)),
}


@pytest.mark.parametrize("said", ODD.values(), ids=list(ODD))
def test_whatever_a_policy_says_its_rollout_can_be_read_again(said: Reply, tmp_path: Path) -> None:
    rollout = roll(pay_example(), Says(said, Reply(text="sorry")))
    write(tmp_path / "rollouts.jsonl", [rollout])
    assert list(read(tmp_path / "rollouts.jsonl", Rollout)) == [rollout]
    if rollout.reward is None:
        assert rollout.ended == "policy_error"
        assert "characters, not 1,00" in rollout.reason or "surrogates" in rollout.reason


def test_a_reply_that_nobody_would_read_is_no_answer() -> None:
    began = process_time()
    rollout = roll(pay_example(), Says(Reply(text="1/" * 499_999)))
    assert rollout.verdict is not None
    assert not rollout.verdict.answer
    assert process_time() - began < 2


def test_what_is_not_shown_does_not_exist() -> None:
    hidden = pay_example(toolbox=ToolboxSpec(hidden=("list_cards",)))
    rollout = roll(hidden, Says(Reply(calls=(call("list_cards"), call("search_menu"))), Reply()))
    assert [each.error for each in rollout.calls] == ["not_found", "not_found"]
    assert not any(each.checks.shown for each in rollout.calls)


def test_a_crashing_policy_ends_its_own_rollout_only() -> None:
    class Crash:
        async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
            raise RuntimeError("out of ideas")

    async def run() -> list[Rollout]:
        made = iter([Crash(), oracle(pay_example()), Crash()])
        batch = in_order([pay_example()] * 3, lambda e: play(e, next(made), name="t"), 2)
        return [rollout async for rollout in batch]

    rollouts = anyio.run(run)
    assert [r.ended for r in rollouts] == ["policy_error", "done", "policy_error"]
    assert rollouts[0].reason == "RuntimeError: out of ideas"


class Raises:
    """A policy that raises."""

    def __init__(self, problem: BaseException) -> None:
        self.problem = problem

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        """Nothing."""
        raise self.problem


def test_a_group_of_errors_of_a_policy_is_its_error() -> None:
    rollout = roll(pay_example(), Raises(ExceptionGroup("two", [KeyError("a"), OSError("b")])))
    assert rollout.ended == "policy_error"
    assert rollout.reason == "ExceptionGroup: two (2 sub-exceptions)"
    assert rollout.reward is None


@pytest.mark.parametrize(
    "problem",
    [
        asyncio.CancelledError(),
        KeyboardInterrupt(),
        BaseExceptionGroup("cancelled", [asyncio.CancelledError(), KeyError("a")]),
    ],
    ids=repr,
)
def test_what_is_no_error_of_a_policy_is_raised(problem: BaseException) -> None:
    rolling = play(pay_example(), Raises(problem), name="test")
    with pytest.raises(type(problem)):
        rolling.send(None)


def explode(*_: object) -> None:
    """Raise what no tool may raise."""
    raise KeyError("a bug")


def test_a_bug_in_a_tool_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    example = pay_example()
    monkeypatch.setattr("provegym.kernel.server.Tool.run", explode)
    rollout = roll(example, Says(Reply(text="Let me see.", calls=(call("list_cards"),), tokens=7)))
    assert rollout.ended == "server_bug"
    assert rollout.reason == "Bug: banking: list_cards raised KeyError: 'a bug'"
    assert [message["role"] for message in rollout.messages] == ["system", "user", "assistant"]
    assert (rollout.tokens, rollout.calls, rollout.reward) == (7, (), None)


def test_a_bug_while_time_passes_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    example = pay_example()
    assert example.turns[1].minutes
    state = type(Session([load("banking")]).state(load("banking")))
    monkeypatch.setattr(state, "next_event", explode)
    rollout = roll(example, Says(Reply(calls=(call("list_cards"),)), Reply(text="ok")))
    assert rollout.ended == "server_bug"
    assert rollout.reason == "Bug: banking: letting 5 minutes pass raised KeyError: 'a bug'"
    assert len(rollout.calls) == 1
    load("banking").later.cache_clear()
    unseen = roll(example, Says(Reply(text="ok")))
    assert unseen.reason == "Bug: banking: drawing its world raised KeyError: 'a bug'"


def test_a_server_that_is_missing_ends_its_own_rollout_only() -> None:
    example = pay_example(server="theirs")
    rollout = roll(example, Says(Reply(text="ok")))
    assert rollout.ended == "server_bug"
    assert rollout.reason.startswith("BadFile: ")
    assert "there is no server 'theirs'" in rollout.reason


def test_the_bug_of_a_server_that_a_policy_meets_is_the_servers() -> None:
    rollout = roll(pay_example(), Raises(Bug("banking: list_cards raised KeyError: 'a bug'")))
    assert rollout.ended == "server_bug"


@pytest.mark.parametrize("ours", ["provegym.rollout.rescore", "provegym.toolbox.Toolbox.fits"])
def test_a_mistake_of_ours_is_nobody_elses(ours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    example = pay_example()
    monkeypatch.setattr(ours, explode)
    with pytest.raises(KeyError, match="a bug"):
        roll(example, oracle(example))


def test_a_world_nobody_calls_is_never_drawn() -> None:
    example = pay_example()
    others = ToolboxSpec(distractors=("search_emails",))
    turns = tuple(msgspec.structs.replace(turn, minutes=0) for turn in example.turns)
    example = msgspec.structs.replace(example, toolbox=others, turns=turns)
    load("email").world.cache_clear()
    rollout = roll(example, oracle(example))
    assert rollout.calls[0].digest == example.digest
    assert load("email").world.cache_info().misses == 0
