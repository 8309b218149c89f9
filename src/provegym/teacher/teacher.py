"""The teacher: an LLM that writes the user's turns of a planned conversation and plays it.

The plan is verified before; the model only writes its words. Every text is checked offline, then
read back into calls by the model (back-translation) and compared with the plan. A text that does
not fit is requested again, with the objections. The finished example is verified again, and kept
only if the model then plays it successfully.
"""

import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace as put

from provegym.corpus.transcript import play_gold
from provegym.errors import UserError
from provegym.language.values import fold
from provegym.models.endpoint import Endpoint, EndpointError
from provegym.rewards.success import succeeded
from provegym.rollout import in_order, play
from provegym.teacher.ask import Ask
from provegym.teacher.messages import objecting, opening, prompt, reading
from provegym.teacher.readback import UNREADABLE, disagreement, parse
from provegym.teacher.wording import Objection, objections, references
from provegym.trace import Example, Json, Reply, Rollout
from provegym.verify import verify
from provegym.verify.complete import complete
from provegym.verify.replay import replay

NO_ANSWER = "the teacher gave no answer"
NO_WORDS = "the teacher found no fitting words"
VETOED = "the teacher vetoed the plan"
BROKEN = "breaks the contract in the teacher's words"
NOT_ASKED = "the rollout did not do what was asked"
NOT_PLAYED = "no rollout of the teacher did what was asked"

PATIENCE = 10
MOST_ECHOED = 2_000
MOST_REASON = 200
VETO = re.compile(r"VETO:\s*(.*)")


class TeacherError(UserError):
    """The teacher does not work; the message says why and what to do."""


class Veto(Exception):
    """The model finds a plan senseless; the message is its reason."""


class Wording(NamedTuple):
    """The text of a turn, and for each phrase that must be kept the form that the text has."""

    text: str
    forms: dict[str, str]


@dataclass
class LLM:
    """A teacher that uses an LLM endpoint. It counts its tokens and why texts were refused.

    `vetoes` are the reasons for its vetoes, by example id.
    """

    endpoint: Endpoint
    tries: int = 3
    spent: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    vetoes: dict[str, str] = field(default_factory=dict)
    _heard: bool = field(default=False, init=False)
    _silent: int = field(default=0, init=False)
    _trouble: str = field(default="", init=False)

    async def words(self, ask: Ask) -> Wording | None:
        """The text of a user turn, requested again with the objections while there are any.

        None if no text fits. Raises Veto if the model finds the plan senseless.
        """
        messages = opening(ask)
        for _ in range(self.tries):
            reply = await self.say(ask.example.id, messages, [])
            text = "" if reply.calls else tidy(reply.text)
            if veto := VETO.match(text):
                raise Veto(veto[1][:MOST_REASON])
            found = list(objections(text, ask)) or await self.misread(text, ask)
            if not found:
                said = references(text, ask).items()
                return Wording(text, {phrase: form for phrase, form in said if form is not None})
            self.refused.update({objection.kind for objection in found})
            messages += [
                {"role": "assistant", "content": text[:MOST_ECHOED] or "(nothing)"},
                {"role": "user", "content": objecting(found)},
            ]
        return None

    async def misread(self, text: str, ask: Ask) -> list[Objection]:
        """The objection to a text that, read back, asks for other calls than the plan."""
        calls = parse(await self.say(ask.example.id, reading(text, ask), []))
        problem = UNREADABLE if calls is None else disagreement(calls, text, ask)
        return [Objection(problem)] if problem else []

    async def transcript(self, example: Example) -> tuple[Json, ...] | None:
        """The messages of the first successful rollout of a few; None if all fail."""
        for _ in range(self.tries):
            rollout = await play(example, TeacherAssistant(self, example.id), name=self.model)
            if is_whole(rollout) and succeeded(rollout):
                return rollout.messages
            if rollout.ended == "policy_error":
                raise EndpointError(rollout.reason)
            self.refused[rollout.reason or NOT_ASKED] += 1
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
    """The example in the teacher's words, verified again; or None, and why it is dropped."""
    try:
        wordings = await _all_words(example, teacher, rephrase=rephrase)
        if wordings is None:
            return None, NO_WORDS
        taught = complete(reworded(example, wordings))
        if verify(taught):
            return None, BROKEN
        messages = await teacher.transcript(taught)
    except Veto as veto:
        teacher.vetoes[example.id] = str(veto)
        return None, VETOED
    except EndpointError:
        teacher.check()
        return None, NO_ANSWER
    if messages is None:
        return None, NOT_PLAYED
    made = put(
        taught.provenance,
        made="rephrased" if rephrase else "llm",
        model=teacher.model,
        tokens=teacher.spent[example.id],
        transcript=messages,
    )
    return put(taught, provenance=made), ""


async def _all_words(example: Example, teacher: LLM, *, rephrase: bool) -> list[Wording] | None:
    """The texts of all turns, in order, because each depends on those before it."""
    wordings: list[Wording] = []
    worlds, replies = replay(example, example.paths[0]).worlds, _replies(example)
    for number in range(len(example.turns)):
        said = tuple(wording.text for wording in wordings)
        ask = Ask(example, number, said, rephrase, tuple(replies[:number]), worlds[number])
        wording = await teacher.words(ask)
        if wording is None:
            return None
        wordings.append(wording)
    return wordings


def _replies(example: Example) -> list[str]:
    """What the assistant replies at the end of each turn, if it plays the plan."""
    replies = [""] * len(example.turns)
    turn = -1
    for message in play_gold(example):
        turn += message["role"] == "user"
        if message["role"] == "assistant" and not message.get("tool_calls"):
            replies[turn] = str(message["content"])
    return replies


def reworded(example: Example, wordings: Sequence[Wording]) -> Example:
    """The example with other texts; where a thing has another name, slots and names say so."""
    made, turns = example.provenance, zip(example.turns, wordings, strict=True)
    slots = [
        tuple(wording.forms.get(slot, slot) for slot in each)
        for each, wording in zip(made.slots, wordings, strict=False)
    ]
    names = [
        tuple((_renamed(phrase, wording), key) for phrase, key in each)
        for each, wording in zip(made.names, wordings, strict=False)
    ]
    return put(
        example,
        turns=tuple(put(turn, text=wording.text) for turn, wording in turns),
        provenance=put(made, slots=tuple(slots), names=tuple(names)),
    )


def _renamed(phrase: str, wording: Wording) -> str:
    forms = {fold(kept): form for kept, form in wording.forms.items() if fold(form) != fold(kept)}
    return forms.get(fold(phrase), phrase)


def teach_all(
    examples: Iterable[Example], teacher: LLM, *, rephrase: bool, concurrency: int = 8
) -> AsyncGenerator[tuple[Example | None, str], None]:
    """Teach many examples, `concurrency` at a time; the results come in the order of the examples.

    So a caller that was interrupted can resume after the last result.
    """
    return in_order(examples, partial(teach, teacher=teacher, rephrase=rephrase), concurrency)


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
