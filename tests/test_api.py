"""The Python API: every name that `import provegym` offers works, and importing it is cheap."""

import subprocess
import sys
from collections.abc import Sequence

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
    with pytest.raises(RuntimeError, match="the episode is over"):
        env.step("More.")


def test_openai_messages_become_replies() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    reply = as_reply({"role": "assistant", "content": None, "tool_calls": [call]})
    assert (reply.text, [(c.name, c.arguments) for c in reply.calls]) == ("", [("f", "{}")])
