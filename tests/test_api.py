"""The Python API: every name that `import provegym` offers works, and importing it is cheap."""

import subprocess
import sys
from collections.abc import Callable, Sequence

import pytest

import provegym
from provegym.api import as_reply
from provegym.players.scripted import oracle
from provegym.rollout import play_script
from provegym.trace import Example, Json, Reply


class Silent:
    """A policy that never calls a tool."""

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        return Reply(text="I cannot help with that.")


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return provegym.synthesize(4, servers=["banking"], mix="multi_turn")


def test_every_name_is_there() -> None:
    for name in provegym.__all__:
        assert getattr(provegym, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = provegym.nothing  # type: ignore[attr-defined]


def test_what_is_printed_says_what_it_is() -> None:
    banking = provegym.load("banking")
    assert repr(banking) == f"<Server banking: {len(banking.tools)} tools>"
    assert repr(provegym.Session([banking], seed=3)) == "<Session on banking, seed 3>"
    assert repr(provegym.make("banking", seed=3)).startswith("<Env of banking-")


def test_star_import_and_import_are_cheap() -> None:
    """Importing the package alone loads neither the kernel nor any framework."""
    heavy = "msgspec", "typer", "torch", "mcp", "jinja2", "rich"
    code = f"import sys, provegym; print([n for n in {heavy} if n in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
    code = "from provegym import *; print(load('maps').name, Session.__name__)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).split() == [
        "maps",
        "Session",
    ]


def test_functions_and_modules_of_one_name_both_work(examples: list[Example]) -> None:
    """`provegym.verify` is a package and a function, whichever was imported first."""
    from provegym.rollout import Player
    from provegym.verify.contract import problems

    assert provegym.verify(examples[0]) == []
    assert callable(provegym.rollout)
    assert Player is not None
    assert problems is not None


def test_a_policy_plays_examples(examples: list[Example]) -> None:
    played = provegym.rollout(examples, Silent())
    assert [rollout.example.id for rollout in played] == [each.id for each in examples]
    assert {rollout.policy for rollout in played} == {"Silent"}
    right = provegym.rollout(examples, oracle, scheme="hardened")
    assert [r.reward.total for r in provegym.rollout(examples, oracle) if r.reward] == [1.3] * 4
    again = [provegym.score(rollout, "paper") for rollout in right]
    assert [rollout.reward.total for rollout in again if rollout.reward] == [1.3] * 4


def test_an_environment_pays_what_the_loop_pays(examples: list[Example]) -> None:
    """Stepping through an example with recorded replies gives the reward of the loop."""
    example = examples[0]
    known = play_script(example, oracle)
    env = provegym.make(example)
    seen = env.reset()
    assert seen.messages[-1]["content"] == example.turns[0].text
    assert {tool["function"]["name"] for tool in seen.tools}
    said = [message for message in known.messages if message["role"] == "assistant"]
    results = [env.step(message) for message in said]
    assert [result.done for result in results] == [False] * (len(said) - 1) + [True]
    assert known.reward is not None
    assert results[-1].reward == known.reward.total
    assert results[-1].info["rollout"].messages == known.messages
    assert env.reset() == seen


def test_an_environment_of_a_server_draws_a_verified_task() -> None:
    first, second = provegym.make("maps", seed=3).example, provegym.make("maps", seed=3).example
    assert first == second
    assert first.server == "maps"
    assert provegym.verify(first) == []
    assert provegym.make("maps", seed=4).example != first


def test_mistakes_are_said_in_a_sentence(examples: list[Example]) -> None:
    with pytest.raises(ValueError, match="there is no server 'bank'; known are banking"):
        provegym.load("bank")
    with pytest.raises(ValueError, match="there is no scheme 'papers'"):
        provegym.make(examples[0], scheme="papers")  # type: ignore[arg-type]
    env = provegym.make(examples[0])
    while not env.step("Nothing.").done:
        pass
    with pytest.raises(RuntimeError, match=r"the episode is over; reset\(\)"):
        env.step("More.")


def test_tab_completion_offers_the_api_alone() -> None:
    offered = [name for name in dir(provegym) if not name.startswith("__")]
    assert offered == sorted(provegym.__all__)


def test_what_people_guess_works(examples: list[Example]) -> None:
    """One server without a list, a call without arguments, a script by its name."""
    session = provegym.Session(provegym.load("maps"), seed=2)
    assert session.call("search_places").ok
    assert provegym.make(provegym.load("maps"), seed=3).example.server == "maps"
    assert {made.server for made in provegym.synthesize(2, servers="vehicle")} == {"vehicle"}
    played = provegym.rollout(examples[0], "oracle")
    assert [(rollout.policy, bool(rollout.verdict)) for rollout in played] == [("oracle", True)]


class Called:
    """A policy whose reply is whatever it is given, not awaited."""

    def __init__(self, said: object) -> None:
        self.said = said

    def reply(self, messages: Sequence[Json], tools: list[Json]) -> object:
        return self.said


class Answering(Called):
    """The same with `async`."""

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> object:
        return self.said


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda e: provegym.load(3), "a text such as 'banking', not 3"),
        (lambda e: provegym.load("bankng"), "did you mean 'banking'"),
        (lambda e: provegym.Session("maps"), r"provegym.load\('maps'\)"),
        (lambda e: provegym.Session(["maps"]), r"provegym.load\('maps'\)"),
        (lambda e: provegym.Session(provegym.load("maps"), seed="7"), "whole number, not '7'"),
        (lambda e: provegym.make(5), "a server or its name, not 5"),
        (lambda e: provegym.make("maps", seed="a"), "seed is a whole number"),
        (lambda e: provegym.synthesize(["maps"]), "size is a whole number"),
        (lambda e: provegym.synthesize(0), "1 or more, not 0"),
        (lambda e: provegym.synthesize(2, mix="papers"), "no mix 'papers'; known are paper"),
        (lambda e: provegym.rollout(e, "orcle"), "no script 'orcle'; known are oracle"),
        (lambda e: provegym.rollout(e, Silent), r"pass an object, such as Silent\(\)"),
        (lambda e: provegym.rollout(e, 5), "async def reply"),
        (lambda e: provegym.rollout("some.jsonl", "oracle"), "expected one Example, not 'some"),
        (lambda e: provegym.score(e), "expected one Rollout"),
        (lambda e: provegym.verify([e]), "expected one Example, .* verify each"),
        (lambda e: provegym.make(e).step(5), "an OpenAI message, not 5"),
        (lambda e: provegym.make(e).step({"text": "Hello"}), "has 'content' or 'tool_calls'"),
        (lambda e: provegym.make(e).step({"tool_calls": [{"name": "f"}]}), "a call looks like"),
    ],
)
def test_a_wrong_argument_is_named(
    examples: list[Example], wrong: Callable[[Example], object], says: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        wrong(examples[0])


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (Called(Reply()), "reply() is not async; write `async def reply`"),
        (Answering("Hello"), "reply() returned 'Hello', not a provegym.Reply"),
        (
            Answering(Reply(calls=(provegym.ToolCall(name="f", arguments={}),))),
            "the arguments of f are not JSON text; use json.dumps",
        ),
    ],
)
def test_a_wrong_reply_is_told_in_the_rollout(
    examples: list[Example], policy: provegym.Policy, says: str
) -> None:
    (played,) = provegym.rollout(examples[0], policy)
    assert (played.ended, played.reason) == ("policy_error", f"TypeError: {says}")


def test_openai_messages_become_replies() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    reply = as_reply({"role": "assistant", "content": None, "tool_calls": [call]})
    assert (reply.text, [(c.name, c.arguments) for c in reply.calls]) == ("", [("f", "{}")])
