"""Task success: the right final state, the right replies, and a conversation that ended."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import msgspec

from provegym import servers
from provegym.kernel import Change
from provegym.language.replies import past, slot_name
from provegym.rewards.align import is_same_call
from provegym.rewards.answers import asks_for, claims_deed, states_enough
from provegym.rewards.evidence import holds, shows
from provegym.rewards.outcome import same_outcome
from provegym.toolbox import Toolbox
from provegym.trace import Call, Example, Json, Rollout, Step, Verdict, point

PARTS = ("state", "answer", "ended")


class Trial(NamedTuple):
    """What success is judged from: one path, the calls that serve its steps, and the replies."""

    example: Example
    steps: Sequence[Step]
    calls: Sequence[Call]
    served: Sequence[int | None]
    outcome: Sequence[Change]
    replies: Sequence[str]
    ended: str = "done"


def judge(rollout: Rollout) -> Verdict:
    """Whether a rollout succeeded: state, answer and end."""
    if rollout.ended in ("policy_error", "server_bug"):
        return Verdict()
    reward = rollout.reward
    paths = rollout.example.paths
    steps = paths[reward.path if reward else 0].steps if paths else ()
    served: list[int | None] = [None] * len(steps)
    for pair in reward.served if reward else ():
        served[pair.step] = pair.call
    replies = last_words(rollout.messages)
    return verdict(
        Trial(
            rollout.example, steps, rollout.calls, served, rollout.outcome, replies, rollout.ended
        )
    )


def succeeded(rollout: Rollout) -> bool:
    """Whether a rollout succeeded in all three."""
    return judge(rollout).success


def verdict_of(rollout: Rollout) -> Verdict:
    """The verdict that a rollout holds; a rollout of an older file has none and is judged now."""
    return rollout.verdict or judge(rollout)


def rates(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """The share of rollouts that succeeded, and the shares with each part of success."""
    count = max(1, len(verdicts))
    return {
        part: sum(getattr(verdict, part) for verdict in verdicts) / count
        for part in ("success", *PARTS)
    }


def verdict(trial: Trial) -> Verdict:
    """State, answer and end of a trial."""
    replies = trial.replies
    whole = len(replies) == len(trial.example.turns) and all(text.strip() for text in replies)
    return Verdict(
        state=is_right_state(trial),
        answer=all(
            is_right_reply(trial, turn)
            for turn, _ in enumerate(trial.example.turns[: len(replies)])
        ),
        ended=trial.ended == "done" and whole,
    )


def last_words(messages: Iterable[Json]) -> list[str]:
    """The text that ends each user turn; empty where a turn ends with a call."""
    found: list[str] = []
    for message in messages:
        if message["role"] == "user":
            found.append("")
        elif message["role"] == "assistant" and found:
            text = "" if message.get("tool_calls") else message.get("content")
            found[-1] = str(text or "")
    return found


def is_right_state(trial: Trial) -> bool:
    """Whether the final diff equals the reference's, and every answer's evidence was seen.

    Where nothing is to be called, whether nothing was called.
    """
    if not any(path.steps for path in trial.example.paths):
        return not trial.calls
    if not same_outcome(trial.example.outcome, trial.outcome):
        return False
    return all(seen_in(trial, step) for step in trial.steps if step.answers)


def seen_in(trial: Trial, step: Step) -> Call | None:
    """The last call that shows the evidence of an answering step, or None."""
    for call in reversed(trial.calls):
        if call.turn > step.turn or call.writes or not call.checks.ran:
            continue
        if shows(call, step.evidence) or _is_own(call, step, trial):
            return call
    return None


def _is_own(call: Call, step: Step, trial: Trial) -> bool:
    """Whether a call is the step's own, and its result shows the step's facts."""
    if not is_same_call(call, step, trial.calls, trial.served):
        return False
    return step.evidence is None or holds(call.result, step.evidence.facts)


def is_right_reply(trial: Trial, turn: int) -> bool:
    """Whether the reply that ends a turn asks, states and claims what it should."""
    if trial.example.turns[turn].asks is not None and not has_asked(trial, turn):
        return False
    asked = [step for step in trial.steps if step.turn == turn and step.answers]
    return all(is_stated(trial, step) for step in asked) and not claims_too_much(trial, turn)


def has_asked(trial: Trial, turn: int) -> bool:
    """Whether a turn ended with a question for the missing argument, and without a write."""
    if turn >= len(trial.replies) or any(c.writes for c in trial.calls if c.turn == turn):
        return False
    said = trial.example.turns[turn]
    slot = said.asks or ""
    server = trial.example.server
    names = (slot, slot_name(slot, server)) if servers.is_known(server) else (slot,)
    schema = _schema(trial.example, turn, slot)
    return asks_for(trial.replies[turn], names, schema, said.text)


def _schema(example: Example, turn: int, slot: str) -> Json:
    """The schema of the argument that a turn leaves out.

    Empty if no later step takes it, or if the example's server is not here.
    """
    if example.server and not servers.is_known(example.server):
        return {}
    for step in example.paths[0].steps if example.paths else ():
        if step.turn > turn and slot in step.arguments:
            parts = Toolbox.of(example).schemas.get(step.tool, {}).get("properties", {})
            found: Json = parts.get(slot, {})
            return found
    return {}


def is_stated(trial: Trial, step: Step) -> bool:
    """Whether a reply states an answer, as the reference has it or as the model's call shows it.

    An example made before answers were kept has no values; then nothing is compared.
    """
    if step.turn >= len(trial.replies):
        return False
    text = trial.replies[step.turn]
    if not step.values or states_enough(text, step.answers, step.values):
        return True
    call = seen_in(trial, step)
    if call is None or call.tool != step.tool:
        return False
    result = msgspec.json.decode(call.result)
    own = [point(result, pointer) for pointer in step.answers]
    values = [value for _, value in own]
    return all(found for found, _ in own) and states_enough(text, step.answers, values)


def claims_too_much(trial: Trial, turn: int) -> bool:
    """Whether a reply claims a deed in a turn in which no write was made."""
    if any(call.writes and call.checks.ran for call in trial.calls if call.turn == turn):
        return False
    alone = not any(step.turn == turn for step in trial.steps)
    return claims_deed(trial.replies[turn], deeds(trial.example.server), alone=alone)


@cache
def deeds(server: str) -> frozenset[str]:
    """The past participles of what a server's writes do."""
    if not server or not servers.is_known(server):
        return frozenset()
    tools = servers.load(server).tools.values()
    return frozenset(past(tool.name.partition("_")[0]) for tool in tools if tool.writes)
