"""Chat template and tokenizer: encodes messages as token ids, decodes sampled ids to messages.

Token ids are only appended. Sampled ids are never tokenised a second time. User messages and tool
results are rendered by the model's own chat template, so a model reads the format it was trained
on. Special tokens inside such texts are disarmed: a tool result cannot end a turn or start one.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from pathlib import Path
from time import perf_counter
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from provegym.models.dialects import pick
from provegym.trace import Json, Reply

MARK = "(here the reply ends)"
BEFORE: list[Json] = [{"role": "user", "content": "Hello."}]
KEPT = 4096
Given = ParamSpec("Given")
Made = TypeVar("Made")


class TooLong(Exception):
    """A prompt longer than the limit; no rollout can start from it."""


def harmless(tokenizer: Any) -> Callable[[Any], Any]:
    """Makes a function that disarms special tokens in JSON: <|im_end|> becomes < |im_end|>.

    Added tokens that the tokenizer does not mark as special, such as <tool_call>, stay unchanged.
    """
    added = tokenizer.added_tokens_decoder.values()
    special = {*tokenizer.all_special_tokens, *(each.content for each in added if each.special)}
    pattern = re.compile("|".join(map(re.escape, sorted(special, key=len, reverse=True))))

    def spell(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub(lambda found: f"{found[0][0]} {found[0][1:]}", value)
        if isinstance(value, dict):
            return {spell(name): spell(part) for name, part in value.items()}
        return [spell(part) for part in value] if isinstance(value, list) else value

    return spell


def reader(tokenizer: Any) -> Callable[[Sequence[int]], Reply]:
    """Makes a function that parses sampled ids as a message, in the dialect of the model."""
    parse = pick(Path(tokenizer.name_or_path).name, tokenizer.chat_template)
    special = frozenset(tokenizer.all_special_ids)

    def read(ids: Sequence[int]) -> Reply:
        kept = len(ids)
        while kept and ids[kept - 1] in special:
            kept -= 1
        text = tokenizer.decode(ids[:kept], clean_up_tokenization_spaces=False)
        return msgspec.structs.replace(parse(text), tokens=len(ids))

    return read


def counted(
    method: Callable[Concatenate["Codec", Given], Made],
) -> Callable[Concatenate["Codec", Given], Made]:
    """Decorator: adds the running time of a method to `Codec.seconds`."""

    @wraps(method)
    def count(self: "Codec", /, *args: Given.args, **settings: Given.kwargs) -> Made:
        began = perf_counter()
        try:
            return method(self, *args, **settings)
        finally:
            self.seconds += perf_counter() - began

    return count


class Codec:
    """A tokenizer with a chat template that shows tools, and the parser of its model's tool calls.

    `seconds` is the total time that rollouts have waited for it.
    """

    def __init__(self, tokenizer: Any, max_prompt: int) -> None:
        if "tools" not in (tokenizer.chat_template or ""):
            raise ValueError(
                f"the chat template of {tokenizer.name_or_path} shows no tools; "
                "call provegym.models.local.show_tools, which gives it one that does"
            )
        self.tokenizer = tokenizer
        self.max_prompt = max_prompt
        self.seconds = 0.0
        self.name = Path(tokenizer.name_or_path).name
        self.harmless = harmless(tokenizer)
        self._read = reader(tokenizer)
        # Rollouts of one group share their prompt and many messages: each is tokenised once.
        self._encode = lru_cache(maxsize=KEPT)(self._tokenise)
        self._opened = lru_cache(maxsize=KEPT)(self._open)
        self._between = lru_cache(maxsize=KEPT)(self._told)
        self.end: int = self._rest([])[0]
        special = self.end in tokenizer.all_special_ids
        self._mark = tokenizer.decode([self.end]) if special else ""

    @counted
    def open(self, system: str, user: str, tools: list[Json]) -> list[int]:
        """The token ids of the prompt: everything before the first reply."""
        ids = self._opened(system, user, msgspec.json.encode(tools))
        if len(ids) > self.max_prompt:
            raise TooLong(
                f"the prompt has {len(ids)} tokens, but at most {self.max_prompt} are allowed: "
                "show fewer tools or allow a longer prompt"
            )
        return list(ids)

    @counted
    def reply(self, ids: Sequence[int]) -> Reply:
        """Parses sampled ids as a message, whether the model ended it or was cut off."""
        return self._read(ids)

    def say(self, message: Json) -> list[int]:
        """The ids that a model should sample for this reply, including the end of the turn."""
        if message.get("tool_calls"):
            message = {**message, "tool_calls": [_decoded(call) for call in message["tool_calls"]]}
        prompt = self._render(BEFORE)
        whole = self._render([*BEFORE, message], reply=False)
        if not whole.startswith(prompt):
            raise ValueError(
                f"the chat template of {self.name} renders earlier messages differently once a"
                " reply follows; use a template that only appends"
            )
        # At the start of a text, some tokenizers add a space; after a special token, they do not.
        ids = self._encode(self._mark + whole[len(prompt) :])[1 if self._mark else 0 :]
        return list(ids[: _last(ids, self.end) + 1])

    @counted
    def after(self, messages: Sequence[Json], ended: bool = True) -> list[int]:
        """The ids between two replies: the messages after one reply, up to the start of the next.

        If the model was cut off (not `ended`), they begin with the end-of-turn token.
        """
        ids = self._rest(messages)
        return ids[1:] if ended else ids

    def _open(self, system: str, user: str, tools: bytes) -> tuple[int, ...]:
        first = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        return self._encode(self._render(first, msgspec.json.decode(tools)))

    def _rest(self, messages: Sequence[Json]) -> list[int]:
        return list(self._between(msgspec.json.encode(messages)))

    def _told(self, told: bytes) -> tuple[int, ...]:
        messages = msgspec.json.decode(told)
        spoken = [*BEFORE, {"role": "assistant", "content": MARK}, *messages]
        return self._encode(self._render(spoken, reply=bool(messages)).partition(MARK)[2])

    def _render(
        self, messages: list[Json], tools: list[Json] | None = None, reply: bool = True
    ) -> str:
        text: str = self.tokenizer.apply_chat_template(
            self.harmless(messages),
            tools=self.harmless(tools) or None,
            add_generation_prompt=reply,
            tokenize=False,
        )
        return text

    def _tokenise(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])


def _decoded(call: Json) -> Json:
    """A tool call with its arguments as an object: most chat templates expect that."""
    function = call["function"]
    arguments = function["arguments"]
    if isinstance(arguments, str):
        arguments = msgspec.json.decode(arguments)
    return {**call, "function": {**function, "arguments": arguments}}


def _last(ids: Sequence[int], wanted: int) -> int:
    return max(at for at, token in enumerate(ids) if token == wanted)
