"""Gold transcripts for supervised fine-tuning: an example played by a perfect assistant.

The calls run on the live world. Calls with no edge between them go into one message. A teacher's
failed attempts are played too, but are outside the loss: a model sees how to recover from an error
and does not learn to make it.
"""

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

import msgspec

from provegym.language.replies import Done, TurnEnd, words
from provegym.players.scripted import Plan, Script, tool_call
from provegym.rollout import Caps, Player, run_now
from provegym.trace import BadFile, Call, Example, Json, Reply, Step, ToolCall

# Numbers such as 6000.00 keep their digits, so that a reply says them as the tool does.
EXACT = msgspec.json.Decoder(float_hook=Decimal)
TOGETHER = 5
CAPS = Caps(assistant_turns=64)


class Transcript(NamedTuple):
    """Messages, and a loss mask: for each message, whether a model should learn to write it."""

    messages: list[Json]
    learn: list[bool]


def transcript(example: Example) -> Transcript:
    """The teacher's own transcript, or one made by playing the first path."""
    messages = example.provenance.transcript or play_gold(example)
    return Transcript(list(messages), lessons(messages))


def play_gold(example: Example) -> list[Json]:
    """Play the first path of an example and return the messages of the conversation."""
    player = Player(example, CAPS)
    assistant = GoldAssistant(player)
    run_now(player.play(assistant))
    for served, call in zip(assistant.script.sent, player.calls, strict=True):
        if call.checks.ran != (served is not None):
            what = f"fails: {call.result}" if served is not None else "works, but must fail"
            raise BadFile(f"{example.id}: {call.tool} {what}; see `provegym verify`")
    return player.messages


def lessons(messages: Sequence[Json]) -> list[bool]:
    """The loss mask: true for the assistant's messages whose calls had no error."""
    failed = {m["tool_call_id"] for m in messages if m["role"] == "tool" and _is_error(m)}
    return [
        message["role"] == "assistant"
        and failed.isdisjoint(call["id"] for call in message.get("tool_calls") or ())
        for message in messages
    ]


def _is_error(message: Json) -> bool:
    try:
        result = msgspec.json.decode(message["content"])
    except msgspec.DecodeError:
        return False
    return isinstance(result, dict) and result.keys() == {"error", "message"}


def plan(example: Example) -> Plan:
    """The messages of the first path per user turn. A failed attempt stands before its step."""
    attempts: dict[int, list[ToolCall]] = defaultdict(list)
    for attempt in example.provenance.attempts:
        attempts[attempt.before].append(tool_call(attempt.tool, attempt.arguments))
    planned: Plan = []
    for turn in range(len(example.turns)):
        planned.append([])
        for group in together(example.paths[0].steps, turn):
            planned[-1] += [[call] for at in group for call in attempts[at]]
            planned[-1].append([*group])
    return planned


def together(steps: Sequence[Step], turn: int) -> list[list[int]]:
    """The steps of a turn in as few messages as their edges allow.

    A read that answers the user comes after all writes before it.
    """
    level: dict[int, int] = {}
    for at, step in enumerate(steps):
        if step.turn == turn:
            before = [edge.step for edge in step.needs if edge.step in level]
            if step.answers:
                before += [number for number in level if steps[number].writes]
            level[at] = 1 + max((level[number] for number in before), default=-1)
    rows: dict[int, list[int]] = defaultdict(list)
    for at, row in level.items():
        rows[row].append(at)
    whole = [rows[row] for row in sorted(rows)]
    return [row[at : at + TOGETHER] for row in whole for at in range(0, len(row), TOGETHER)]


class GoldAssistant:
    """A scripted assistant that makes the calls of a plan and ends each turn with an answer."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.script = Script(player.example, plan(player.example))

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        """The next calls, or the answer that ends the turn."""
        reply = await self.script.reply(messages, tools)
        if reply.calls:
            return reply
        turn = sum(message["role"] == "user" for message in messages) - 1
        example, calls = self.player.example, self.player.calls
        steps = example.paths[0].steps
        scene = TurnEnd(
            example=example,
            turn=turn,
            now=self.player.session.now,
            done=[
                Done(steps[at], self._tellable(call), EXACT.decode(call.result))
                for at, call in zip(self.script.sent, calls, strict=True)
                if at is not None and steps[at].turn == turn
            ],
            results=[msgspec.json.decode(call.result) for call in calls],
            refusal=self._refusal(turn),
        )
        return Reply(text=words(scene, self.player.toolbox))

    def _tellable(self, call: Call) -> Json:
        """A call's arguments without secrets such as codes. Arguments that are ids are kept."""
        secret = self.player.session.tools[call.tool][0].arguments.sensitive
        given = (call.arguments or {}).items()
        return {n: v for n, v in given if n not in secret or n.endswith("_id")}

    def _refusal(self, turn: int) -> str:
        """The error message of an infeasible request, from a trial call on a fork of the world."""
        wanted = self.player.example.provenance.infeasible
        if wanted is None or wanted.turn != turn:
            return ""
        outcome = self.player.session.fork().call(wanted.tool, wanted.arguments)
        if outcome.ok:
            raise BadFile(f"{self.player.example.id}: {wanted.tool} works, but must fail")
        return str(outcome.value["message"])
