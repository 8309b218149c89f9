"""The chat messages that are sent to the teacher's model: prompts with their slots filled.

Text from a server or a model is in a fenced block, so that nothing in it can pass for the prompt.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import msgspec

from provegym import servers
from provegym.language.values import is_said, leaves
from provegym.teacher.ask import Ask, wishes
from provegym.teacher.wording import Objection, kept
from provegym.toolbox import Toolbox
from provegym.trace import Json


@cache
def _file(name: str) -> str:
    return files(__package__).joinpath("prompts", f"{name}.md").read_text("utf-8").strip()


def prompt(name: str, **slots: str) -> str:
    """A prompt with its slots filled. Text from a server must be wrapped by `data`."""
    return _file(name).format(**slots)


def manner(name: str) -> str:
    """The description of a persona's style, or of an information level."""
    return dict(line.split(": ", 1) for line in _file("manners").splitlines()).get(name, name)


def data(text: str) -> str:
    """Untrusted text in a fenced block whose fence is longer than any inside it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}data\n{text or '(nothing)'}\n{fence}"


def opening(ask: Ask) -> list[Json]:
    """The messages that ask a model for the text of a turn."""
    lines = [(phrase, *ask.other_names(phrase)) for phrase in kept(ask.example, ask.turn)]
    slots = {
        "manner": manner(ask.example.provenance.persona or "plain"),
        "level": manner(ask.level),
        "before": data(_before(ask)),
        "plain": data(ask.plain),
        "kept": data("\n".join(map(" | ".join, lines))),
    }
    if ask.rephrase:
        wanted = prompt("rephrase", **slots)
    else:
        setting, goals = data(ask.example.system), data("\n".join(_goals(ask)))
        wanted = prompt("plan", **slots, setting=setting, goals=goals)
    return [{"role": "system", "content": prompt("writer")}, {"role": "user", "content": wanted}]


def reading(text: str, ask: Ask) -> list[Json]:
    """The messages that ask a model which calls a text wants."""
    slots = {
        "setting": data(ask.example.system),
        "tools": data("\n".join(_tools(ask))),
        "before": data(_before(ask)),
        "text": data(text),
    }
    return [
        {"role": "system", "content": prompt("reader")},
        {"role": "user", "content": prompt("read", **slots)},
    ]


def objecting(found: Sequence[Objection]) -> str:
    """The message that tells a model what is wrong with its text."""
    return prompt("objection", objections="\n".join(map(_told, found)))


def _before(ask: Ask) -> str:
    """The conversation so far. Where the assistant's replies are unknown, only the user speaks."""
    spoken = []
    for number, text in enumerate(ask.said):
        spoken.append(f"Person: {text}")
        if number < len(ask.replies):
            spoken.append(f"Assistant: {ask.replies[number]}")
    return "\n".join(spoken)


def _tools(ask: Ask) -> Iterator[str]:
    """The tools that are shown, and those that the turn asks for, one JSON object per line."""
    shown = [tool["function"] for tool in Toolbox.of(ask.example).openai()]
    names = {tool["name"] for tool in shown}
    for name in dict.fromkeys(name for wish in wishes(ask) for name in wish.tools):
        if name not in names:
            tool = servers.load(ask.example.server).tools[name]
            hidden = {"description": tool.description, "parameters": tool.input_schema}
            shown.append({"name": name, **hidden})
    for tool in sorted(shown, key=lambda tool: str(tool["name"])):
        yield msgspec.json.encode(tool).decode()


def _goals(ask: Ask) -> Iterator[str]:
    """The descriptions of a turn's goals, with the values that the user says in it.

    Lookups are left out, because a user does not ask for them. So are ids and missing values.
    """
    for wish in wishes(ask):
        if wish.arguments is None and wish.missing:
            continue
        for tool in wish.tools:
            yield servers.load(ask.example.server).tools[tool].description
        for name, value in (wish.arguments or {}).items():
            said = [str(leaf) for leaf in leaves(value) if is_said(leaf, ask.plain)]
            if said:
                yield f"  {name.replace('_', ' ')}: {', '.join(said)}"


def _told(objection: Objection) -> str:
    return f"- {objection.kind}{':' if objection.part else '.'}" + (
        f"\n{data(objection.part)}" if objection.part else ""
    )
