"""The view of an example: what the model is shown, and what its calls and words mean.

A plain view changes nothing. An aliased view gives the tools, arguments, enum values, ids and
results of some servers other names and forms. Everything behind the view stays plain: the world,
the recorded calls, the reward.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import msgspec

from provegym.aliases.bijection import Renaming
from provegym.aliases.descriptions import argument_description, tool_description
from provegym.aliases.ids import Ids
from provegym.aliases.names import argument_names, enum_values, field_names, tool_names
from provegym.aliases.questions import Questions
from provegym.aliases.schemas import ANYTHING, Translator, enums_of, names_of
from provegym.aliases.sentences import Rewriter, is_code, legend
from provegym.aliases.shapes import EXACT, is_error, unwrap, wrap, wrap_error
from provegym.kernel import AnyServer, Tool
from provegym.kernel.errors import quote, suggest
from provegym.kernel.state import ENCODE
from provegym.trace import Alias, Call, Checks, Json, Reply, ToolCall

VIEWS = 128
WORD = re.compile("[a-z]+(?:_[a-z]+)*[a-z]")
Exposed = tuple[tuple[str, Tool], ...]


class PlainView:
    """The view in which everything has its own name. `AliasedView` has the same methods."""

    def show_reply(self, reply: Reply) -> Reply:
        """A reply in plain words, as somebody says it who knows this view."""
        return reply

    def show_result(self, asked: ToolCall, made: Call, shown: list[str]) -> str:
        """The result of a call as the model sees it; `shown` are the plain names of its tools."""
        return made.result

    def show_text(self, text: str) -> str:
        """A text of the user."""
        return text

    def read_tool(self, name: str) -> str:
        """The plain name of a tool."""
        return name

    def read_arguments(self, tool: str, arguments: Json) -> Json:
        """The plain arguments of a call of this plain tool."""
        return arguments

    def read_text(self, text: str) -> str:
        """The plain text of the user's words."""
        return text

    def read_reply(self, text: str) -> str:
        """The plain text of a model's words."""
        return text

    def read_result(self, tool: str, text: str) -> str:
        """The plain result of this plain tool, from what the model was shown."""
        return text


class AliasedView:
    """The view in which some servers have the names and forms of an alias.

    Two servers may have a tool of the same name. `exposed` has the tools that are shown under a
    name which is not theirs, or which another server's tool has too.
    """

    def __init__(self, servers: Iterable[AnyServer], alias: Alias, exposed: Exposed = ()) -> None:
        servers = list(servers)
        self.alias = alias
        self.plain: dict[str, Tool] = {**tools_of(servers), **dict(exposed)}
        known = {name: names_of(tool) for name, tool in self.plain.items()}
        fields = {name for each in known.values() for name in each.fields}
        takes = {name for each in known.values() for name in each.arguments}
        enums = {v for each in known.values() for values in each.enums for v in _words(values)}
        ids = Ids((spec for s in servers for spec in s.state.tables.values()), alias)
        self.tools = Renaming(tool_names(((n, t.server) for n, t in self.plain.items()), alias))
        self.enums = Renaming(enum_values(enums, alias))
        named = field_names(takes | fields, alias)
        self.arguments = Translator(Renaming(argument_names(takes, named, alias)), self.enums, ids)
        self.results = Translator(Renaming({n: named[n] for n in fields}), self.enums, ids)
        self.ids = ids
        self._takes = {name: each.takes for name, each in known.items()}
        self._gives = {name: each.gives for name, each in known.items()}
        self._schemas: dict[str, Json] = {}

    @cached_property
    def sentences(self) -> Rewriter:
        """Rewrites descriptions and errors. A name of a tool comes before one of an argument."""
        names = {
            **self.enums.shown,
            **self.results.keys.shown,
            **self.arguments.keys.shown,
            **self.tools.shown,
        }
        return Rewriter(names, self.arguments.keys, self.enums, self.ids)

    def schema(self, tool: str) -> Json:
        """The schema of a tool's arguments, as it is shown."""
        if tool not in self._schemas:
            plain = self.plain[tool].input_schema
            needed = plain.get("required", ())
            style = self.alias.descriptions
            parts = {
                name: self._told(
                    part, argument_description(name, part, style, required=name in needed)
                )
                for name, part in plain["properties"].items()
            }
            self._schemas[tool] = self.arguments.show_schema({**plain, "properties": parts})
        return self._schemas[tool]

    def _told(self, part: Json, text: str) -> Json:
        """An argument's schema with a description in other names, and with what its codes mean."""
        values = [value for enum in enums_of(part) for value in enum]
        told = f"{self.sentences.describe(text)} {legend(values, self.enums)}".strip()
        part = {name: value for name, value in part.items() if name != "description"}
        part = self._within(part)
        return {"description": told, **part} if told else part

    def _within(self, part: Any) -> Any:
        """A part of a schema; the descriptions within it have other names."""
        if isinstance(part, list):
            return [self._within(each) for each in part]
        if not isinstance(part, dict):
            return part
        return {
            name: self.sentences.describe(value)
            if name == "description" and isinstance(value, str)
            else self._within(value)
            for name, value in part.items()
        }

    def description(self, tool: str) -> str:
        """What a tool does, in other names, and what the codes in its result mean."""
        style, needed = self.alias.descriptions, self.schema(tool)["required"]
        text = self.sentences.describe(tool_description(self.plain[tool], style))
        if style == "wordy" and needed:
            text = f"{text} It cannot be called without {' and '.join(needed)}."
        values = [v for enum in enums_of(self.plain[tool].output_schema) for v in enum]
        codes = legend(list(dict.fromkeys(values)), self.enums)
        return f"{text} In its result, {codes}".strip() if codes else text

    def show_call(self, call: ToolCall) -> ToolCall:
        """A plain call in other names. Arguments that are no JSON stay as they are."""
        name = self.tools.show(call.name)
        try:
            given = EXACT(call.arguments)
        except msgspec.DecodeError:
            return msgspec.structs.replace(call, name=name)
        shown = self.arguments.show(given, self._takes.get(call.name, ANYTHING))
        return msgspec.structs.replace(call, name=name, arguments=ENCODE(shown).decode())

    def show_reply(self, reply: Reply) -> Reply:
        """A reply in plain words, as somebody says it who knows this view.

        Enum values are said in the user's words, and so they stay as they are.
        """
        return Reply(
            text=self.ids.show(reply.text),
            calls=tuple(map(self.show_call, reply.calls)),
            tokens=reply.tokens,
            prompt_tokens=reply.prompt_tokens,
        )

    def show_text(self, text: str) -> str:
        """A text of the user, with other ids."""
        return self.ids.show(text)

    def show_result(self, asked: ToolCall, made: Call, shown: list[str]) -> str:
        """The result of a call as the model sees it: its result or error in other names."""
        if made.error == "malformed":
            text = msgspec.json.decode(made.result)["message"]
            return wrap_error(made.error, text, self.alias.results)
        if not made.checks.shown:
            hint = suggest(asked.name, [self.tools.show(name) for name in shown])
            text = f"unknown tool {quote(asked.name)}; {hint}"
            return wrap_error("not_found", text, self.alias.results)
        value = EXACT(made.result)
        if made.error is None:
            return wrap(self.results.show(value, self._gives[made.tool]), self.alias.results)
        text = value["message"]
        if made.error == "invalid_argument":
            given = msgspec.json.decode(asked.arguments)
            text = self.sentences.explain(text, given, self.schema(made.tool))
        else:
            text = self.sentences.say(text, asked.arguments)
        return wrap_error(made.error, text, self.alias.results)

    def show_messages(self, messages: Sequence[Json]) -> Iterator[Json]:
        """A recorded conversation in plain names, as it would have been in this view."""
        calls: dict[str, ToolCall] = {}
        for message in messages:
            told = {**message, "content": self.ids.show(message.get("content") or "")}
            for call in message.get("tool_calls") or ():
                function = call["function"]
                calls[call["id"]] = ToolCall(
                    name=function["name"], arguments=function["arguments"], id=call["id"]
                )
            if message.get("tool_calls"):
                own = (self.show_call(calls[call["id"]]) for call in message["tool_calls"])
                told["tool_calls"] = [
                    {**call, "function": {"name": each.name, "arguments": each.arguments}}
                    for call, each in zip(message["tool_calls"], own, strict=True)
                ]
            if message["role"] == "tool":
                asked = calls[message["tool_call_id"]]
                told["content"] = self._show_recorded(asked, message["content"])
            yield told

    def _show_recorded(self, asked: ToolCall, result: str) -> str:
        """The recorded result of a plain call in other names."""
        error = msgspec.json.decode(result)["error"] if is_error(result) else None
        checks = Checks(shown=asked.name in self.plain, ran=error is None)
        made = Call(turn=0, message=0, tool=asked.name, arguments={}, checks=checks)
        made = msgspec.structs.replace(made, error=error, result=result)
        return self.show_result(self.show_call(asked), made, list(self.plain))

    def read_tool(self, name: str) -> str:
        """The plain name of a tool; a name that is not shown is nobody's plain name."""
        return self.tools.read(name)

    def read_arguments(self, tool: str, arguments: Json) -> Json:
        """The plain arguments of a call."""
        shape = self._takes.get(tool)
        if shape is None:
            return arguments
        found: Json = self.arguments.read(arguments, shape)
        return found

    def read_text(self, text: str) -> str:
        """The plain text of the user's words."""
        return self.ids.read(text)

    def read_reply(self, text: str) -> str:
        """The plain text of a model's words: ids, enum values that are no words, and questions."""
        text = self.ids.read(text)
        found = self._unspoken
        any_of = "|".join(sorted(found, key=len, reverse=True)) or "(?!)"
        text = re.sub(rf"\b(?:{any_of})\b", lambda code: found[code[0]], text)
        return self._questions.read(text)

    @cached_property
    def _questions(self) -> Questions:
        """Reads questions to the user. Nobody says an opaque name."""
        return Questions({} if self.alias.names == "opaque" else self.arguments.keys.shown)

    @cached_property
    def _unspoken(self) -> dict[str, str]:
        """The enum values that nobody says: codes and words that are written together."""
        return {
            alias: plain.replace("_", " ")
            for plain, alias in self.enums.shown.items()
            if is_code(alias) or alias.casefold() not in (plain, plain.replace("_", " "))
        }

    def read_result(self, tool: str, text: str) -> str:
        """The plain result of a tool, from what the model was shown; an error stays as it is."""
        if is_error(text):
            return text
        value = unwrap(text, self.alias.results)
        return ENCODE(self.results.read(value, self._gives[tool])).decode()


View = PlainView | AliasedView


def tools_of(servers: Iterable[AnyServer]) -> dict[str, Tool]:
    """The tools of some servers by their names; of two with the same name, the later one."""
    return {tool.name: tool for server in servers for tool in server.tools.values()}


def _words(values: Sequence[Any]) -> list[str]:
    """The values of an enum if they are names in lower case; none if they are not all.

    Others mean something as they are: currencies, days, modes such as 644.
    """
    texts = [value for value in values if isinstance(value, str) and WORD.fullmatch(value)]
    return texts if len(texts) == len(values) else []


@lru_cache(maxsize=VIEWS)
def view_of(servers: tuple[AnyServer, ...], alias: Alias, exposed: Exposed = ()) -> AliasedView:
    """The view of an alias on some servers. It is kept, because many rollouts share it."""
    return AliasedView(servers, alias, exposed)
