"""How messages become tokens and tokens messages, for one tokenizer: ids are only ever appended.

What a model sampled is never tokenised again. The tokens of the world are cut out of the chat
template's own rendering, so that every model reads the form that it was trained on. What the world
says is text and nothing else: it cannot end a turn or open one.
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
    """Takes the power from special tokens in words, names and schemas: <|im_end|> is < |im_end|>.

    Marks that a tokenizer knows and does not call special, such as <tool_call>, stay as they are.
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
    """Reads the message that sampled ids spell, in the dialect of the tokenizer's model."""
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
    """Count the seconds of a method."""

    @wraps(method)
    def count(self: "Codec", /, *args: Given.args, **settings: Given.kwargs) -> Made:
        began = perf_counter()
        try:
            return method(self, *args, **settings)
        finally:
            self.seconds += perf_counter() - began

    return count


class Codec:
    """A tokenizer with a chat template that shows tools, and the dialect its model writes in.

    `seconds` is how long rollouts have waited for it.
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
        # Rollouts of a group open alike and hear much that is the same: each is put in tokens once.
        self._encode = lru_cache(maxsize=KEPT)(self._tokenise)
        self._opened = lru_cache(maxsize=KEPT)(self._open)
        self._between = lru_cache(maxsize=KEPT)(self._told)
        self.end: int = self._rest([])[0]

    @counted
    def open(self, system: str, user: str, tools: list[Json]) -> list[int]:
        """The ids of everything before the first reply."""
        ids = self._opened(system, user, msgspec.json.encode(tools))
        if len(ids) > self.max_prompt:
            raise TooLong(
                f"a prompt of {len(ids)} tokens, and {self.max_prompt} are allowed: "
                "show fewer tools or allow a longer prompt"
            )
        return list(ids)

    @counted
    def reply(self, ids: Sequence[int]) -> Reply:
        """The message that sampled ids spell, whether the model ended it or was cut off."""
        return self._read(ids)

    def say(self, message: Json) -> list[int]:
        """The ids of a reply as its model should write it, the end of the turn included."""
        if message.get("tool_calls"):
            message = {**message, "tool_calls": [_decoded(call) for call in message["tool_calls"]]}
        prompt = self._render(BEFORE)
        whole = self._render([*BEFORE, message], reply=False)
        if not whole.startswith(prompt):
            raise ValueError(f"the chat template of {self.name} changes what came before a reply")
        ids = self._encode(whole[len(prompt) :])
        return list(ids[: _last(ids, self.end) + 1])

    @counted
    def after(self, messages: Sequence[Json], ended: bool = True) -> list[int]:
        """The ids from the end of a reply to the start of the next, with what was said between.

        The end of the turn comes first where the model did not write it itself.
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
    """A call with its arguments as an object, which is what templates write best."""
    function = call["function"]
    arguments = function["arguments"]
    if isinstance(arguments, str):
        arguments = msgspec.json.decode(arguments)
    return {**call, "function": {**function, "arguments": arguments}}


def _last(ids: Sequence[int], wanted: int) -> int:
    return max(at for at, token in enumerate(ids) if token == wanted)
