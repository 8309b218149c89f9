"""The teacher: an LLM that writes the user's turns of a planned conversation and plays it.

The plan is verified before; the model only writes its words. Every text is checked against the
plan. A text that does not fit is requested again, with the objections. The finished example is
verified again before it is kept.
"""

import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from typing import Protocol

from msgspec.structs import replace as put

from provegym import servers
from provegym.language.values import is_said, leaves
from provegym.models.endpoint import Endpoint, EndpointError
from provegym.rewards.success import succeeded
from provegym.rollout import in_order, play
from provegym.teacher.wording import Ask, Objection, kept, objections
from provegym.trace import Example, Json, Reply, Rollout, literals
from provegym.verify import verify
from provegym.verify.complete import complete

NO_ANSWER = "the teacher gave no answer"
NO_WORDS = "the teacher found no fitting words"
BROKEN = "breaks the contract in the teacher's words"
NO_TRANSCRIPT = "kept without a transcript"

PATIENCE = 10
MOST_ECHOED = 2_000


class TeacherError(Exception):
    """The teacher does not work; the message says why and what to do."""


class Teacher(Protocol):
    """The interface of a teacher: writes user turns and plays the assistant."""

    async def words(self, ask: Ask) -> str | None:
        """The text of a user turn; None if no text fits."""

    async def transcript(self, example: Example) -> tuple[Json, ...] | None:
        """The chat messages of a successful rollout of an example; None if it fails."""


@dataclass
class LLM:
    """A teacher that uses an LLM endpoint; it counts its tokens and the refused texts."""

    endpoint: Endpoint
    tries: int = 3
    spent: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    _heard: bool = field(default=False, init=False)
    _silent: int = field(default=0, init=False)
    _trouble: str = field(default="", init=False)

    async def words(self, ask: Ask) -> str | None:
        """The text of a user turn, requested again with the objections while there are any."""
        messages = opening(ask)
        for _ in range(self.tries):
            reply = await self.say(ask.example.id, messages, [])
            text = "" if reply.calls else tidy(reply.text)
            found = list(objections(text, ask))
            if not found:
                return text
            self.refused.update(objection.kind for objection in found)
            told = prompt("objection", objections="\n".join(map(_told, found)))
            messages += [
                {"role": "assistant", "content": text[:MOST_ECHOED] or "(nothing)"},
                {"role": "user", "content": told},
            ]
        return None

    async def transcript(self, example: Example) -> tuple[Json, ...] | None:
        """The messages of the first successful rollout of a few; None if all fail."""
        for _ in range(self.tries):
            rollout = await play(example, TeacherAssistant(self, example.id), name=self.model)
            if is_whole(rollout) and succeeded(rollout):
                return rollout.messages
            self.refused[rollout.reason or "the rollout did not do what was asked"] += 1
            if rollout.ended == "policy_error":
                break
        return None

    @property
    def model(self) -> str:
        """The name of the model at the endpoint."""
        return self.endpoint.config.model

    async def say(self, key: str, messages: Sequence[Json], tools: list[Json]) -> Reply:
        """The model's next message. Its tokens are counted under an example's id."""
        try:
            reply = await self.endpoint.reply(messages, tools)
        except EndpointError as problem:
            self._silent += 1
            self._trouble = str(problem)
            raise
        self._heard, self._silent = True, 0
        self.spent[key] += reply.tokens
        return reply

    def check(self) -> None:
        """Raise an error if the endpoint never answered, or has stopped answering."""
        if self._trouble and (not self._heard or self._silent >= PATIENCE):
            raise TeacherError(
                f"the teacher does not answer: {self._trouble}; see that its server runs and that "
                "URL, model and key are right, then run the same command again"
            )


@dataclass(frozen=True)
class TeacherAssistant:
    """The teacher as the assistant of one example, with extra instructions in its system prompt."""

    teacher: LLM
    key: str

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        """The next message. The extra instructions are not part of the transcript."""
        told = f"{messages[0]['content']}\n\n{prompt('assistant')}"
        system = {"role": "system", "content": told}
        return await self.teacher.say(self.key, [system, *messages[1:]], tools)


async def teach(example: Example, teacher: LLM, *, rephrase: bool) -> tuple[Example | None, str]:
    """The example in the teacher's words, verified again, and a reason if something failed.

    A dropped example is None with a reason. An example kept without a transcript has a reason too.
    """
    try:
        texts = await _all_words(example, teacher, rephrase=rephrase)
    except EndpointError:
        teacher.check()
        return None, NO_ANSWER
    if texts is None:
        return None, NO_WORDS
    turns = tuple(put(turn, text=text) for turn, text in zip(example.turns, texts, strict=True))
    taught = complete(put(example, turns=turns))
    if verify(taught):
        return None, BROKEN
    messages = await teacher.transcript(taught)
    made = put(
        example.provenance,
        made="rephrased" if rephrase else "llm",
        model=teacher.model,
        tokens=teacher.spent[example.id],
        transcript=messages or (),
    )
    taught = put(taught, provenance=made)
    return taught, "" if messages is not None else NO_TRANSCRIPT


async def _all_words(example: Example, teacher: Teacher, *, rephrase: bool) -> list[str] | None:
    """The texts of all turns, in order, because each depends on those before it."""
    texts: list[str] = []
    for number in range(len(example.turns)):
        text = await teacher.words(Ask(example, number, tuple(texts), rephrase))
        if text is None:
            return None
        texts.append(text)
    return texts


def teach_all(
    examples: Iterable[Example], teacher: LLM, *, rephrase: bool, concurrency: int = 8
) -> AsyncGenerator[tuple[Example | None, str], None]:
    """Teach many examples, `concurrency` at a time; the results come in the order of the examples.

    So a caller that was interrupted can resume after the last result.
    """
    return in_order(examples, partial(teach, teacher=teacher, rephrase=rephrase), concurrency)


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
    made = ask.example.provenance
    slots = {
        "manner": manner(made.persona or "plain"),
        "level": manner(_level(ask)),
        "said": data("\n".join(ask.said)),
        "plain": data(ask.plain),
        "kept": data("\n".join(kept(ask.example, ask.turn))),
    }
    if ask.rephrase:
        wanted = prompt("rephrase", **slots)
    else:
        setting, goals = data(ask.example.system), data("\n".join(_goals(ask)))
        wanted = prompt("plan", **slots, setting=setting, goals=goals)
    return [{"role": "system", "content": prompt("writer")}, {"role": "user", "content": wanted}]


def _level(ask: Ask) -> str:
    levels = ask.example.provenance.levels
    return levels[ask.turn] if ask.turn < len(levels) else "missing" if ask.asks else "complete"


def _goals(ask: Ask) -> Iterator[str]:
    """The descriptions of a turn's goals, with the values that the user says in it.

    Lookups are left out, because a user does not ask for them. So are ids and missing values.
    """
    made = ask.example.provenance
    turns = (ask.turn, ask.turn + 1) if ask.asks else (ask.turn,)
    calls = [
        (step.tool, literals(step.arguments))
        for step in ask.example.paths[0].steps
        if step.turn in turns and (step.writes or step.answers)
    ]
    for refused in (made.infeasible, made.unserved):
        if refused is not None and refused.turn == ask.turn:
            calls.append((refused.tool, refused.arguments))
    if not calls and made.unserved is None and _level(ask) != "aside":
        calls = [(tool, {}) for tool in made.would_serve]
    for tool, arguments in calls:
        yield servers.load(ask.example.server).tools[tool].description
        for name, value in arguments.items():
            said = [str(leaf) for leaf in leaves(value) if is_said(leaf, ask.plain)]
            if said:
                yield f"  {name.replace('_', ' ')}: {', '.join(said)}"


def _told(objection: Objection) -> str:
    return f"- {objection.kind}{':' if objection.part else '.'}" + (
        f"\n{data(objection.part)}" if objection.part else ""
    )


def tidy(text: str) -> str:
    """A text without enclosing quotation marks and non-breaking spaces."""
    text = text.translate({0xA0: " ", 0x202F: " "}).strip()
    inner = text[1:-1]
    if len(text) > 1 and (text[0], text[-1]) in (('"', '"'), ("“", "”")) and text[0] not in inner:
        return inner.strip()
    return text


def is_whole(rollout: Rollout) -> bool:
    """Whether a rollout ended normally and no message of the assistant is empty."""
    spoken = [message for message in rollout.messages if message["role"] == "assistant"]
    return rollout.ended == "done" and all(m["content"] or m.get("tool_calls") for m in spoken)
