"""Transcripts that share a prompt: who may, what is shown, and that training learns the same."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

pytest.importorskip("trl")

import torch
from msgspec.structs import replace

from examples import pay_example
from provegym.config import load_recipe
from provegym.conversation.kinds import Place, candidate, shape
from provegym.corpus.transcript import transcript
from provegym.toolbox import Toolbox, aliased, gold_tools
from provegym.trace import Attempt, Example, Provenance, ToolboxSpec
from provegym.train import sft
from provegym.train.data import show
from provegym.train.packed import collate, use_packing
from provegym.train.prompt_groups import prompt_groups
from provegym.train.run import TrainError
from provegym.train.start import check
from train.test_packed import build

OTHERS = ("calendar", "email", "crm")


def drawn(count: int = 40, server: str = "banking") -> list[Example]:
    """Examples on two worlds of a server, of every kind."""
    places = [Place(server, number % 2, 5, number, OTHERS) for number in range(count)]
    found = [candidate(place, shape(place)) for place in places]
    return [show(example, 6) for example in found if example is not None]


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return drawn()


def test_groups_are_whole_even_and_of_one_world(examples: list[Example]) -> None:
    groups = list(prompt_groups(examples, 4))
    assert sorted(e.id for g in groups for e in g.examples) == sorted(e.id for e in examples)
    assert max(len(group.examples) for group in groups) > 1
    for group in groups:
        assert len(group.examples) <= 4
        assert len({(e.seed, e.server, e.digest, e.system) for e in group.examples}) == 1
    assert [len(g.examples) for g in prompt_groups(examples, 1)] == [1] * len(examples)


def test_every_call_of_a_group_is_to_a_tool_that_is_shown(examples: list[Example]) -> None:
    for group in prompt_groups(examples, 4):
        shown = {tool["function"]["name"] for tool in group.tools()}
        for example in group.examples:
            calls = [
                call["function"]["name"]
                for message in transcript(example).messages
                for call in message.get("tool_calls", ())
            ]
            assert shown.issuperset(calls)


def test_a_group_of_one_is_shown_its_own_tools(examples: list[Example]) -> None:
    for group in prompt_groups(examples, 1):
        assert group.tools() == Toolbox.of(group.examples[0]).openai()


def test_what_a_rule_refuses_is_a_tool_that_is_shown() -> None:
    """A give-up example's refused call is neither gold nor a failed attempt."""
    given_up = [e for e in drawn(160) if e.provenance.infeasible is not None]
    assert given_up
    for example in given_up:
        refused = example.provenance.infeasible
        assert refused is not None
        assert refused.tool in Toolbox.of(show(example, 1)).tools
        assert not any(
            "unknown tool" in message["content"]
            for message in transcript(show(example, 1)).messages
            if message["role"] == "tool"
        )


def test_calls_of_a_recorded_transcript_are_shown() -> None:
    first = pay_example(id="first", toolbox=ToolboxSpec(limit=6))
    said = list(transcript(first).messages)
    for called, alone in (("search_transactions", False), ("get_listing", True)):
        call = {"id": "call_9", "function": {"name": called, "arguments": "{}"}, "type": "function"}
        extra = [{"role": "assistant", "content": "", "tool_calls": [call]}]
        recorded = Provenance(made="teacher", transcript=(*said[:2], *extra, *said[2:]))
        second = replace(first, id="second", provenance=recorded)
        groups = list(prompt_groups([first, second], 2))
        assert (len(groups) == 2) is alone
        if not alone:
            assert called in {tool["function"]["name"] for tool in groups[0].tools()}


def test_a_failed_attempt_does_not_change_the_order_of_tools() -> None:
    attempt = Attempt(before=0, tool="search_transactions", arguments={}, error="rejected")
    example = pay_example(toolbox=ToolboxSpec(limit=6), provenance=Provenance(attempts=(attempt,)))
    (group,) = prompt_groups([example], 8)
    assert group.tools() == Toolbox.of(example).openai()


def test_who_shares_no_prompt() -> None:
    plain = [pay_example(id=f"pay-{number}", toolbox=ToolboxSpec(limit=4)) for number in range(2)]
    assert len(list(prompt_groups(plain, 2))) == 1
    hidden = ToolboxSpec(limit=4, hidden=("close_account",))
    for other in (
        replace(plain[1], toolbox=hidden),
        replace(plain[1], seed=8, digest="other"),
        replace(plain[1], system="You act for somebody else."),
        replace(plain[1], toolbox=ToolboxSpec(limit=5)),
        replace(plain[1], paths=()),
        replace(plain[1], server="nosuch"),
        aliased(plain[1], 3),
    ):
        assert len(list(prompt_groups([plain[0], other], 2))) == 2


def random_rows(chance: Random) -> Iterator[list[sft.SftRow]]:
    """Groups of transcripts whose prompts begin alike, and end in different users' words."""
    for _ in range(4):
        head = [chance.randrange(97) for _ in range(chance.randint(1, 30))]
        group = []
        for _ in range(chance.randint(1, 4)):
            if group and chance.random() < 0.3:
                group.append(group[-1])
                continue
            user = [chance.randrange(97) for _ in range(chance.randint(1, 4))]
            rest = [chance.randrange(97) for _ in range(chance.randint(1, 9))]
            learnt = [token if chance.random() < 0.6 else sft.IGNORED for token in rest[:-1]]
            labels = [sft.IGNORED] * (len(head) + len(user)) + [*learnt, rest[-1]]
            group.append(sft.SftRow([*head, *user, *rest], labels))
        yield group


@pytest.mark.parametrize("seed", range(8))
def test_shared_prompts_give_the_same_loss_and_gradients(seed: int) -> None:
    groups = list(random_rows(Random(seed)))
    model = build()
    plain = learn(model, [row for group in groups for row in group])
    use_packing(model)
    items = [sft.joined(group)._asdict() for group in groups]
    batch = collate(items)
    assert batch["input_ids"].numel() == sum(len(item["input_ids"]) for item in items)
    model.zero_grad()
    loss = -model(**batch, fused_lm_head=True).log_probs.sum()
    loss.backward()
    assert loss.item() == pytest.approx(plain[0], rel=1e-5)
    for one, parameter in zip(plain[1], model.parameters(), strict=True):
        assert torch.allclose(one, parameter.grad, atol=2e-4)


def learn(model: Any, rows: list[sft.SftRow]) -> tuple[float, list[torch.Tensor]]:
    """The loss over transcripts read one by one, and its gradients."""
    model.zero_grad()
    total = 0.0
    for row in rows:
        ids, labels = (torch.tensor([each]) for each in row)
        loss = -model(input_ids=ids, labels=labels, fused_lm_head=True).log_probs.sum()
        loss.backward()
        total += loss.item()
    return total, [parameter.grad.clone() for parameter in model.parameters()]


def test_a_prompt_is_read_once_and_no_label_is_lost() -> None:
    rows = [sft.SftRow([1, 2, 3, 4, 5], [-100, -100, -100, 4, 5])]
    rows.append(sft.SftRow([1, 2, 9, 4], [-100, -100, -100, 4]))
    item = sft.joined(rows)
    assert item.input_ids == [1, 2, 3, 4, 5, 9, 4]
    assert item.labels == [-100, -100, -100, 4, 5, -100, 4]
    assert item.seq_lengths == [2, 3, 2]
    # What is learnt is never shared, though it begins alike, nor is the token that predicts it.
    same = sft.joined([rows[0], rows[0]])
    assert same.input_ids == [1, 2, 3, 4, 5, 3, 4, 5]
    assert sft.joined(rows[:1]).seq_lengths == [0, 5]


def test_shared_prompts_need_packed_rows() -> None:
    recipe = load_recipe("embedded-full-sft", ["sft.share=4", "sft.packed=false"])
    with pytest.raises(TrainError, match=r"sft.share \(4\) needs packed rows"):
        check(recipe)


def test_sharing_shows_the_gold_tools_of_all(examples: list[Example]) -> None:
    several = [group for group in prompt_groups(examples, 4) if len(group.examples) > 1]
    for group in several:
        shown = {tool["function"]["name"] for tool in group.tools()}
        assert shown >= {name for example in group.examples for name in gold_tools(example)}
