"""The roles of a fake model (writer, reader, assistant), and what a good reader finds in a text."""

import json
import re
from typing import Any

from provegym.language.values import is_said
from provegym.teacher.ask import Ask, wishes
from provegym.teacher.messages import prompt
from teacher.fake_endpoint import Body


def role(body: Body) -> str:
    """Who is asked: the writer of a user turn, the reader of one, or the assistant."""
    system = body["messages"][0]["content"]
    roles = {prompt("writer"): "writer", prompt("reader"): "reader"}
    return roles.get(system, "assistant")


def blocks(body: Body) -> list[str]:
    """The blocks of data in a request."""
    text = body["messages"][1]["content"]
    return [found[1] for found in re.findall(r"(`{3,})data\n(.*?)\n\1", text, re.DOTALL)]


def calls_of(ask: Ask, text: str) -> list[dict[str, Any]]:
    """What a good reader finds in a text that says what the plan wants."""
    return [
        {"tool": wish.tools[0], "arguments": _voiced(wish.arguments or {}, ask, text)}
        for wish in wishes(ask)
    ]


def answer(calls: list[dict[str, Any]]) -> str:
    """The answer of a reader, as a model writes it."""
    return f"```json\n{json.dumps(calls)}\n```"


def _voiced(value: Any, ask: Ask, text: str) -> Any:
    """A value with the user's words in place of each id, where the user names the thing."""
    if isinstance(value, dict):
        return {name: _voiced(part, ask, text) for name, part in value.items()}
    if isinstance(value, list):
        return [_voiced(part, ask, text) for part in value]
    thing = ask.survey.things.get(value) if isinstance(value, str) else None
    names = thing.names if thing else ()
    return next((name for name in names if is_said(name, text)), value)
