"""Every dialect reads its own calls, and what is no call is answered as malformed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provegym.models.dialects import Parse, granite, hermes, openai, pick
from provegym.trace import Reply, ToolCall

CALL = ToolCall(name="pay", arguments='{"amount":5}')


@pytest.mark.parametrize(
    ("text", "said", "calls"),
    [
        ("Just words.", "Just words.", ()),
        ('<tool_call>\n{"name": "pay", "arguments": {"amount": 5}}\n</tool_call>', "", (CALL,)),
        ('Sure.<tool_call>{"name": "pay", "arguments": {"amount": 5}}', "Sure.", (CALL,)),
        ('<think>pay <tool_call>{"name": "no"}</tool_call></think>Hi', "Hi", ()),
        ('<tool_call>{"name": "pay", "arguments": "{\\"amount\\":5}"}</tool_call>', "", (CALL,)),
        ("<tool_call>{broken}</tool_call>", "", (ToolCall(name="", arguments="{broken}"),)),
        ('<tool_call>["pay"]</tool_call>', "", (ToolCall(name="", arguments='["pay"]'),)),
        ('<tool_call>{"name": 5}</tool_call>', "", (ToolCall(name="", arguments='{"name": 5}'),)),
    ],
)
def test_hermes(text: str, said: str, calls: tuple[ToolCall, ...]) -> None:
    assert hermes.parse(text) == Reply(text=said, calls=calls)


def test_hermes_reads_parallel_calls() -> None:
    block = '<tool_call>{"name": "pay", "arguments": {"amount": 5}}</tool_call>'
    assert hermes.parse(f"{block}\n{block}").calls == (CALL, CALL)


@pytest.mark.parametrize(
    ("text", "said", "calls"),
    [
        ("Just words.", "Just words.", ()),
        ('<|tool_call|>[{"name": "pay", "arguments": {"amount": 5}}]', "", (CALL,)),
        ('Yes. <|tool_call|> {"name": "pay", "arguments": {"amount": 5}}', "Yes.", (CALL,)),
        ('<tool_call>{"name": "pay", "arguments": {"amount": 5}}</tool_call>', "", (CALL,)),
        ("<|tool_call|>[oops", "", (ToolCall(name="", arguments="[oops"),)),
        ("<|tool_call|>", "", (ToolCall(name="", arguments=""),)),
        ("<|tool_call|>5", "", (ToolCall(name="", arguments="5"),)),
        ('<|tool_call|>["pay"]', "", (ToolCall(name="", arguments='"pay"'),)),
        ('Hm. <tool_call>{"name": "pay"', "Hm.", (ToolCall(name="", arguments='{"name": "pay"'),)),
    ],
)
def test_granite(text: str, said: str, calls: tuple[ToolCall, ...]) -> None:
    assert granite.parse(text) == Reply(text=said, calls=calls)


def test_native_messages_go_there_and_back() -> None:
    reply = Reply(text="Sure.", calls=(ToolCall(name="pay", arguments='{"amount":5}', id="c1"),))
    assert openai.parse(openai.message(reply)) == reply


@pytest.mark.parametrize("item", [None, {}, {"function": "x"}, {"function": {"name": None}}])
def test_native_nonsense_is_a_call_nobody_can_read(item: object) -> None:
    assert openai.parse({"content": None, "tool_calls": [item]}).calls[0].name == ""


def test_the_dialect_goes_with_the_model() -> None:
    assert pick("ibm-granite/granite-4.1-8b-instruct") is granite.parse
    assert pick("Qwen/Qwen3-4B-Instruct-2507") is hermes.parse


def test_the_dialect_goes_with_the_template_where_a_folder_has_any_name() -> None:
    template = "{{ '<|start_of_role|>' + message['role'] + '<|end_of_role|>' }}"
    assert pick("base", template) is granite.parse
    assert pick("base", "{{ '<|im_start|>' + message['role'] }}") is hermes.parse


PIECES = [
    *("<tool_call>", "</tool_call>", "<|tool_call|>", "<think>", "</think>", "<|end_of_text|>"),
    *(
        '{"name": ',
        '"pay"',
        ', "arguments": ',
        "{",
        "}",
        "[",
        "]",
        '"',
        "5",
        "1e999",
        "NaN",
        "null",
    ),
    *('"\\ud800"', "\ud800", "\x00", "\ufffd", " ", "Sure.", "[" * 2_000, "9" * 5_000),
]


@pytest.mark.parametrize("parse", [hermes.parse, granite.parse], ids=["hermes", "granite"])
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_whatever_a_model_writes_is_a_reply(parse: Parse, text: str) -> None:
    reply = parse(text)
    if not any(mark in text for mark in ("<tool_call>", "<|tool_call|>")):
        assert reply.calls == ()
    assert all(isinstance(call.arguments, str) for call in reply.calls)
