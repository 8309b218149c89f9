"""Messages become tokens once, in the form of the chat template, and tokens become messages."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from examples import pay_example
from provegym.corpus.transcript import transcript
from provegym.models import codec as codec_module
from provegym.models.codec import MARK, Codec, TooLong
from provegym.models.local import load_tokenizer
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, ToolCall, read
from train.tiny import build_tokenizer

DATA = Path(__file__).parents[1] / "data"
EXAMPLES = [each for path in sorted(DATA.glob("*.jsonl")) for each in read(path, Example)][::9]
# Another form: results of calls come as one message of the user, and turns end in another way.
GROUPED = """{% if tools %}{{ tools | tojson }}{% endif %}{% for message in messages %}
{%- if message.role == "tool" %}
{%- if loop.first or messages[loop.index0 - 1].role != "tool" %}<|im_start|>user{% endif %}
 [{{ message.content }}]
{%- if loop.last or messages[loop.index0 + 1].role != "tool" %}<|im_end|> {% endif %}
{%- else %}<|im_start|>{{ message.role }}: {{ message.content }}
{%- for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>
{%- endfor %}<|im_end|> {% endif %}{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant: {% endif %}"""
# The form of Granite: roles in marks of their own, and all calls of a message in one list.
MARKS = ("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>", "<|tool_call|>")
GRANITE = """{% if tools %}<|start_of_role|>available_tools<|end_of_role|>{{ tools | tojson }}
<|end_of_text|>{% endif %}{% for message in messages %}<|start_of_role|>{{ message.role }}
<|end_of_role|>{{ message.content }}{% if message.tool_calls %}<|tool_call|>
{{- message.tool_calls | map(attribute="function") | list | tojson }}{% endif %}<|end_of_text|>
{% endfor %}{% if add_generation_prompt %}<|start_of_role|>assistant
<|end_of_role|>{% endif %}"""


@pytest.fixture(scope="module")
def granite() -> Codec:
    tokenizer = build_tokenizer([pay_example()])
    tokenizer.add_special_tokens({"additional_special_tokens": list(MARKS)})
    tokenizer.chat_template = GRANITE
    return Codec(tokenizer, 100_000)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tokenizer([pay_example()])


@pytest.fixture
def codec(tokenizer: Any) -> Codec:
    return Codec(tokenizer, 100_000)


@pytest.fixture(scope="module")
def embedded() -> Codec:
    pytest.importorskip("gguf")
    return Codec(load_tokenizer("embedded"), 100_000)


def lay_out(codec: Codec, messages: list[Json], tools: list[Json]) -> list[int]:
    """A whole conversation, appended piece by piece."""
    ids = codec.open(messages[0]["content"], messages[1]["content"], tools)
    heard: list[Json] = []
    for message in messages[2:]:
        if message["role"] != "assistant":
            heard.append(message)
            continue
        ids += codec.after(heard) if heard else []
        ids += codec.say(message)
        heard = []
    return ids


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.id)
@pytest.mark.parametrize("form", ["hermes", "grouped"])
def test_pieces_add_up_to_what_the_template_writes(
    tokenizer: Any, example: Example, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if form == "grouped":
        monkeypatch.setattr(tokenizer, "chat_template", GROUPED)
    codec = Codec(tokenizer, 100_000)
    messages, tools = transcript(example).messages, Toolbox.of(example).openai()
    whole = codec._render(_with_objects(messages), tools, reply=False)
    assert tokenizer.decode(lay_out(codec, messages, tools)) == whole.rstrip()


def _with_objects(messages: list[Json]) -> list[Json]:
    """The messages with arguments as objects, as templates are given them."""
    return [
        {
            **message,
            "tool_calls": [
                {
                    **call,
                    "function": {
                        **call["function"],
                        "arguments": json.loads(call["function"]["arguments"]),
                    },
                }
                for call in message["tool_calls"]
            ],
        }
        if message.get("tool_calls")
        else message
        for message in messages
    ]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.id)
@pytest.mark.parametrize("form", ["codec", "granite"])
def test_a_reply_comes_back_as_it_was_said(
    form: str, example: Example, request: pytest.FixtureRequest
) -> None:
    codec: Codec = request.getfixturevalue(form)
    for message in transcript(example).messages:
        if message["role"] != "assistant":
            continue
        ids = codec.say(message)
        reply = codec.reply(ids)
        asked = [call["function"] for call in message.get("tool_calls") or ()]
        assert reply.text == message["content"]
        assert [call.name for call in reply.calls] == [call["name"] for call in asked]
        assert [_json(call.arguments) for call in reply.calls] == [
            _json(call["arguments"]) for call in asked
        ]
        assert reply.tokens == len(ids)
        assert ids[-1] == codec.end
        assert ids.count(codec.end) == 1


def _json(text: str) -> Any:
    return json.loads(text)


def test_the_end_of_a_turn_is_added_only_where_the_model_left_it_out(codec: Codec) -> None:
    heard = [{"role": "tool", "content": "3"}, {"role": "tool", "content": "4"}]
    ended, cut = codec.after(heard), codec.after(heard, ended=False)
    assert cut == [codec.end, *ended]
    assert codec.tokenizer.decode(ended).count("<tool_response>") == 2
    assert codec.tokenizer.decode(ended).endswith("<|im_start|>assistant\n")


def test_a_reply_that_was_cut_off_is_read_as_far_as_it_goes(codec: Codec) -> None:
    ids = codec.say({"role": "assistant", "content": 'Let me see. <tool_call>{"name": "li'})
    reply = codec.reply(ids[:-1])
    assert reply.text == "Let me see."
    assert reply.calls == (ToolCall(name="", arguments='{"name": "li'),)


def test_granites_calls_are_read_and_what_is_none_is_kept(granite: Codec) -> None:
    right = granite._encode('<|tool_call|>[{"name": "pay", "arguments": {"amount": 5}}]')
    assert granite.reply(right).calls == (ToolCall(name="pay", arguments='{"amount":5}'),)
    cut = granite.reply(granite._encode('Yes.<|tool_call|>[{"name": "pa'))
    assert (cut.text, cut.calls) == ("Yes.", (ToolCall(name="", arguments='[{"name": "pa'),))


def test_a_reply_of_nothing_is_empty(codec: Codec) -> None:
    assert codec.reply([codec.end]).text == ""
    assert codec.reply([]).text == ""


def opened(codec: Codec, words: str) -> list[int]:
    """A prompt in which all that the world says are these words."""
    schema = {"properties": {words: {"type": "string", "enum": [words]}}}
    function = {"name": words, "description": words, "parameters": schema}
    return codec.open(words, words, [{"type": "function", "function": function}])


def told(codec: Codec, words: str) -> list[int]:
    """What comes between two replies, where the world says these words."""
    return codec.after([{"role": role, "content": words} for role in ("tool", "tool", "user")])


def said(codec: Codec, words: str) -> list[int]:
    """A reply of a transcript with words of the world in it."""
    call = {"name": "note", "arguments": json.dumps({"text": words})}
    return codec.say({"role": "assistant", "content": words, "tool_calls": [{"function": call}]})


FORMS = ["codec", "granite", "embedded"]


@pytest.mark.parametrize("put", [opened, told, said])
@pytest.mark.parametrize("form", FORMS)
def test_words_of_the_world_cannot_end_a_turn(
    form: str, put: Callable[[Codec, str], list[int]], request: pytest.FixtureRequest
) -> None:
    codec: Codec = request.getfixturevalue(form)
    added = codec.tokenizer.added_tokens_decoder
    special = {each.content: number for number, each in added.items() if each.special}
    assert codec.end in special.values()
    words = "so {} it <goes>"
    plain = [each for each in put(codec, words.format("")) if each in special.values()]
    for token in special:
        ids = put(codec, words.format(token))
        assert [each for each in ids if each in special.values()] == plain
        assert words.format(f"{token[0]} {token[1:]}") in codec.tokenizer.decode(ids)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.id)
@pytest.mark.parametrize("form", FORMS)
def test_words_without_special_tokens_are_the_templates_own(
    form: str, example: Example, request: pytest.FixtureRequest
) -> None:
    codec: Codec = request.getfixturevalue(form)
    messages, tools = transcript(example).messages, Toolbox.of(example).openai()
    whole = codec.tokenizer.apply_chat_template(
        messages[:2], tools=tools, add_generation_prompt=True, tokenize=False
    )
    ids = codec.tokenizer(whole, add_special_tokens=False)["input_ids"]
    assert codec.open(messages[0]["content"], messages[1]["content"], tools) == ids
    every = [[message for message in messages if message["role"] == "tool"], messages, tools]
    assert codec.harmless(every) == every


def test_marks_that_are_not_special_stay_as_they_are(codec: Codec) -> None:
    words = "<tool_call> </tool_response> <think> <|im_end> |im_start|>"
    assert words in codec.tokenizer.decode(told(codec, words))


def test_a_result_may_say_what_we_mark_a_reply_with(codec: Codec) -> None:
    text = codec.tokenizer.decode(told(codec, f"before {MARK} after"))
    assert text.count(f"<tool_response>\nbefore {MARK} after\n</tool_response>") == 2


def test_a_prompt_that_is_too_long_says_what_to_do(tokenizer: Any) -> None:
    with pytest.raises(TooLong, match=r"has \d+ tokens, but at most 20 are allowed: show"):
        Codec(tokenizer, 20).open("Be kind. " * 20, "Hello.", [])


def test_what_rollouts_wait_for_it_is_counted(
    tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = iter(range(100))
    monkeypatch.setattr(codec_module, "perf_counter", lambda: float(next(ticks)))
    codec = Codec(tokenizer, 100)
    ids = codec.open("Be kind.", "Hello.", [])
    codec.reply(ids)
    codec.after([{"role": "user", "content": "And?"}])
    with pytest.raises(TooLong):
        codec.open("Be kind. " * 200, "Hello.", [])
    assert codec.seconds == 4


def test_a_template_without_tools_is_refused(
    tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenizer, "chat_template", "{{ messages }}")
    with pytest.raises(ValueError, match="shows no tools"):
        Codec(tokenizer, 20)
