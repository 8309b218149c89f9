"""Task success: the right final state, the right replies, and a conversation that ended."""

from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from provegym import servers
from provegym.language.replies import past, slot_name
from provegym.rewards.align import is_same_call
from provegym.rewards.answers import asks_for, claims_deed, states_enough
from provegym.rewards.evidence import holds, shows
from provegym.rewards.outcome import same_outcome
from provegym.toolbox import Toolbox
from provegym.trace import Call, Example, Json, Path, Rollout, Step, Verdict, point


def judge(rollout: Rollout) -> Verdict:
    """Whether a rollout succeeded: state, answer and end."""
    if rollout.ended in ("policy_error", "server_bug"):
        return Verdict()
    replies = last_words(rollout)
    ended = rollout.ended == "done" and len(replies) == len(rollout.example.turns)
    return Verdict(
        state=is_right_state(rollout),
        answer=all(_answers(rollout, turn, text) for turn, text in enumerate(replies)),
        ended=ended and all(text.strip() for text in replies),
    )


def succeeded(rollout: Rollout) -> bool:
    """Whether a rollout succeeded in all three."""
    return judge(rollout).success


def last_words(rollout: Rollout) -> list[str]:
    """The text that ends each user turn; empty where a turn ends with a call."""
    found: list[str] = []
    for message in rollout.messages:
        if message["role"] == "user":
            found.append("")
        elif message["role"] == "assistant" and found:
            text = "" if message.get("tool_calls") else message.get("content")
            found[-1] = str(text or "")
    return found


def is_right_state(rollout: Rollout) -> bool:
    """Whether the final diff equals the reference's, and every answer's evidence was seen.

    Where nothing is to be called, whether nothing was called.
    """
    example = rollout.example
    if not any(path.steps for path in example.paths):
        return not rollout.calls
    if rollout.reward is None or not same_outcome(example.outcome, rollout.outcome):
        return False
    return all(evidence_of(rollout, at) for at, step in answering(rollout))


def answering(rollout: Rollout) -> Iterator[tuple[int, Step]]:
    """The steps of the scored path that answer a question, with their numbers."""
    for at, step in enumerate(_path(rollout).steps):
        if step.answers:
            yield at, step


def _path(rollout: Rollout) -> Path:
    return rollout.example.paths[rollout.reward.path if rollout.reward else 0]


def evidence_of(rollout: Rollout, at: int) -> Call | None:
    """The last call that shows the evidence of an answering step, or None."""
    path = _path(rollout)
    step = path.steps[at]
    assert rollout.reward is not None
    served: list[int | None] = [None] * len(path.steps)
    for pair in rollout.reward.served:
        served[pair.step] = pair.call
    for call in reversed(rollout.calls):
        if call.turn > step.turn or call.writes or not call.checks.ran:
            continue
        if shows(call, step.evidence) or _is_own(call, step, rollout.calls, served):
            return call
    return None


def _is_own(call: Call, step: Step, calls: Sequence[Call], served: Sequence[int | None]) -> bool:
    """Whether a call is the step's own, and its result shows the step's facts."""
    if not is_same_call(call, step, calls, served):
        return False
    return step.evidence is None or holds(call.result, step.evidence.facts)


def _answers(rollout: Rollout, turn: int, text: str) -> bool:
    """Whether the reply that ends a turn asks, states and claims what it should."""
    example = rollout.example
    asks = example.turns[turn].asks
    if asks is not None and not _asks(rollout, turn, text, asks):
        return False
    for at, step in answering(rollout):
        if step.turn == turn and step.values and not _states(rollout, at, step, text):
            return False
    return not _claims_too_much(rollout, turn, text)


def _asks(rollout: Rollout, turn: int, text: str, slot: str) -> bool:
    """Whether a turn ended with a question for the missing argument, and without a write."""
    if any(call.writes for call in rollout.calls if call.turn == turn):
        return False
    example = rollout.example
    names = (slot, slot_name(slot, example.server))
    return asks_for(text, names, _schema(example, turn, slot), example.turns[turn].text)


def _schema(example: Example, turn: int, slot: str) -> Json:
    """The schema of the argument that a turn leaves out; empty if no later step takes it."""
    for step in example.paths[0].steps:
        if step.turn > turn and slot in step.arguments:
            parts = Toolbox.of(example).schemas.get(step.tool, {}).get("properties", {})
            found: Json = parts.get(slot, {})
            return found
    return {}


def _states(rollout: Rollout, at: int, step: Step, text: str) -> bool:
    """Whether a reply states the answer, as the reference has it or as the model's call shows it."""
    if states_enough(text, step.answers, step.values):
        return True
    call = evidence_of(rollout, at) if rollout.reward else None
    if call is None or call.tool != step.tool:
        return False
    result = msgspec.json.decode(call.result)
    own = [point(result, pointer) for pointer in step.answers]
    return all(found for found, _ in own) and states_enough(
        text, step.answers, [value for _, value in own]
    )


def _claims_too_much(rollout: Rollout, turn: int, text: str) -> bool:
    """Whether a reply claims a deed in a turn in which no write was made."""
    if any(call.writes and call.checks.ran for call in rollout.calls if call.turn == turn):
        return False
    alone = not any(step.turn == turn for step in _path(rollout).steps)
    return claims_deed(text, deeds(rollout.example.server), alone=alone)


@cache
def deeds(server: str) -> frozenset[str]:
    """The past participles of what a server's writes do."""
    if not server or not servers.is_known(server):
        return frozenset()
    tools = servers.load(server).tools.values()
    return frozenset(past(tool.name.partition("_")[0]) for tool in tools if tool.writes)
