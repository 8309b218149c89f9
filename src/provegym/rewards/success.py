"""Task success: the right final state, the right replies, and a conversation that ended."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta

import msgspec

from provegym import servers
from provegym.kernel import Change
from provegym.language.replies import missing_schema
from provegym.language.smalltalk import recognise
from provegym.language.vocabulary import slot_name
from provegym.rewards.acts import declines
from provegym.rewards.align import is_same_call
from provegym.rewards.answers import asserted, states_enough
from provegym.rewards.asking import asks_for
from provegym.rewards.deeds import Account, claims_too_much, denies
from provegym.rewards.evidence import holds, shows
from provegym.rewards.figures import figures, invents_figure
from provegym.rewards.listing import invents_item, labels_of, names_of
from provegym.rewards.outcome import same_outcome
from provegym.toolbox import Toolbox, example_view, plain
from provegym.trace import Call, Example, Json, Rollout, Step, Verdict, point

PARTS = ("state", "answer", "ended")
# How a rollout ends that has no reward.
FAILED = ("policy_error", "server_bug")
WORD = re.compile(r"[^\W\d_]+")
FEWEST_WORDS = 2
# A longer reply is no answer: nobody reads it, and judging it would take seconds.
LONGEST_REPLY = 100_000


@dataclass(frozen=True, slots=True)
class Judged:
    """What success is judged from: one path, the calls that serve its steps, and the replies.

    `stated` has which steps are stated, by their identity, and `right` which replies are right, by
    their turn, both as far as it was asked.
    """

    example: Example
    steps: Sequence[Step]
    calls: Sequence[Call]
    served: Sequence[int | None]
    outcome: Sequence[Change]
    replies: Sequence[str]
    ended: str = "done"
    stated: dict[int, tuple[Step, bool]] = field(default_factory=dict)
    right: dict[int, bool] = field(default_factory=dict)


def judge(rollout: Rollout) -> Verdict:
    """Whether a rollout succeeded: state, answer and end."""
    rollout = in_plain_words(rollout)
    reward = rollout.reward
    paths = rollout.example.paths
    steps = paths[reward.path if reward else 0].steps if paths else ()
    served: list[int | None] = [None] * len(steps)
    for pair in reward.served if reward else ():
        served[pair.step] = pair.call
    replies = last_words(rollout.messages)
    return verdict(
        Judged(
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


def verdict(judged: Judged) -> Verdict:
    """State, answer and end of a rollout."""
    if judged.ended in FAILED:
        return Verdict()
    return Verdict(
        state=is_right_state(judged), answer=is_right_answer(judged), ended=has_ended(judged)
    )


def has_succeeded(judged: Judged) -> bool:
    """Whether all parts of the verdict are true; the replies, which cost most, are read last."""
    return has_ended(judged) and is_right_state(judged) and is_right_answer(judged)


def has_ended(judged: Judged) -> bool:
    """Whether the conversation came to its end, with a reply to each turn."""
    replies = judged.replies
    whole = len(replies) == len(judged.example.turns) and all(text.strip() for text in replies)
    return judged.ended == "done" and whole


def is_right_answer(judged: Judged) -> bool:
    """Whether every reply says, asks and claims what it should."""
    turns = judged.example.turns[: len(judged.replies)]
    return all(is_right_reply(judged, turn) for turn, _ in enumerate(turns))


def is_answer_due(example: Example) -> bool:
    """Whether some reply has to state, ask, decline or respond to something.

    Where none has to, `answer` only means that no reply claims something false.
    """
    if any(step.answers for path in example.paths for step in path.steps):
        return True
    return any(
        turn.asks is not None or is_aside(example, at) or must_decline(example, at)
        for at, turn in enumerate(example.turns)
    )


def in_plain_words(rollout: Rollout) -> Rollout:
    """A rollout whose user and model speak in plain names, as its calls are recorded.

    Only an aliased example differs. Where its server is missing, the words stay as they are.
    """
    example = rollout.example
    if example.toolbox.alias is None or not servers.is_known(example.server):
        return rollout
    read = example_view(example).read_reply
    messages = tuple(
        {**message, "content": read(message["content"])}
        if message["role"] == "assistant" and isinstance(message.get("content"), str)
        else message
        for message in rollout.messages
    )
    return msgspec.structs.replace(rollout, example=plain(example), messages=messages)


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


def is_right_state(judged: Judged) -> bool:
    """Whether the final diff equals the reference's, and every answer's evidence was seen.

    Where nothing is to be called, whether nothing was called.
    """
    if not any(path.steps for path in judged.example.paths):
        return not judged.calls
    if not same_outcome(judged.example.outcome, judged.outcome):
        return False
    return all(seen_in(judged, step) for step in judged.steps if step.answers)


def seen_in(judged: Judged, step: Step) -> Call | None:
    """The last call that shows the evidence of an answering step, or None."""
    for call in reversed(judged.calls):
        if call.turn > step.turn or call.writes or not call.checks.ran:
            continue
        if shows(call, step.evidence) or _is_own(call, step, judged):
            return call
    return None


def _is_own(call: Call, step: Step, judged: Judged) -> bool:
    """Whether a call is the step's own, and its result shows the step's facts."""
    if not is_same_call(call, step, judged.calls, judged.served):
        return False
    return step.evidence is None or holds(call.result, step.evidence.facts)


def is_right_reply(judged: Judged, turn: int) -> bool:
    """Whether the reply that ends a turn asks, states and claims what it should."""
    if turn not in judged.right:
        judged.right[turn] = _is_right_reply(judged, turn)
    return judged.right[turn]


def _is_right_reply(judged: Judged, turn: int) -> bool:
    if not _has_reply(judged, turn):
        return False
    if judged.example.turns[turn].asks is not None and not has_asked(judged, turn):
        return False
    if must_decline(judged.example, turn):
        refused = judged.example.provenance.infeasible
        if not declines(judged.replies[turn], is_refused=refused is not None):
            return False
    elif not is_answered(judged, turn):
        return False
    if is_aside(judged.example, turn) and len(WORD.findall(judged.replies[turn])) < FEWEST_WORDS:
        return False
    account = _account(judged, turn)
    return not claims_too_much(account) and not denies(account)


def _has_reply(judged: Judged, turn: int) -> bool:
    """Whether a turn has ended with a reply that somebody would read."""
    return turn < len(judged.replies) and len(judged.replies[turn]) <= LONGEST_REPLY


def is_answered(judged: Judged, turn: int) -> bool:
    """Whether a reply states all answers of a turn, with no figure that nothing has shown."""
    asked = _asked(judged, turn)
    if not all(is_stated(judged, step) for step in asked):
        return False
    return not asked or not has_invented_figure(judged, turn)


def has_invented_figure(judged: Judged, turn: int) -> bool:
    """Whether the answer to a question has a number or a day that nothing has shown."""
    example = judged.example
    said = [each.text for each in example.turns[: turn + 1]]
    calls = [call for call in judged.calls if call.turn <= turn]
    known = figures(said, calls, time_of(example, turn))
    values = [value for step in _asked(judged, turn) for value in step.values]
    return invents_figure(judged.replies[turn], known.with_terms(values))


def _asked(judged: Judged, turn: int) -> list[Step]:
    """The steps that answer a question of a turn."""
    return [step for step in judged.steps if step.turn == turn and step.answers]


def _account(judged: Judged, turn: int) -> Account:
    """The reply to a turn, with what came before it."""
    return Account(
        judged.example.server,
        turn,
        judged.replies[turn],
        [each.text for each in judged.example.turns[: turn + 1]],
        [call for call in judged.calls if call.turn <= turn],
        [step for step in judged.steps if step.turn == turn],
        time_of(judged.example, turn),
    )


def must_decline(example: Example, turn: int) -> bool:
    """Whether a turn asks for what cannot be done here: the reply must say so."""
    made = example.provenance
    if made.infeasible is not None and made.infeasible.turn == turn:
        return True
    if made.unserved is not None and made.unserved.turn == turn:
        return True
    if is_aside(example, turn) and not made.why:
        asked = recognise(example.turns[turn].text)
        return asked is not None and asked.table == "beyond"
    return made.why in ("no_tool", "beyond") and example.kind in ("abstention", "irrelevance")


def is_aside(example: Example, turn: int) -> bool:
    """Whether a turn is beside the point: small talk, a question of knowledge, an odd request."""
    levels = example.provenance.levels
    return turn < len(levels) and levels[turn] == "aside"


def has_asked(judged: Judged, turn: int) -> bool:
    """Whether a turn ended with a question for the missing argument, and without a write."""
    if not _has_reply(judged, turn):
        return False
    if any(call.writes for call in judged.calls if call.turn == turn):
        return False
    said = judged.example.turns[turn]
    slot = said.asks or ""
    example = judged.example
    if not servers.is_known(example.server):
        return asks_for(judged.replies[turn], (slot,), {}, said.text)
    names = (slot, slot_name(slot, example.server))
    schema = missing_schema(example, turn, slot, Toolbox.of(example))
    return asks_for(judged.replies[turn], names, schema, said.text)


def is_stated(judged: Judged, step: Step) -> bool:
    """Whether a reply states an answer, as the reference has it or as the model's call shows it.

    An example made before answers were kept has no values; then nothing is compared.
    """
    known = judged.stated.get(id(step))
    if known is None:
        known = judged.stated[id(step)] = step, _states(judged, step)
    return known[1]


def _states(judged: Judged, step: Step) -> bool:
    if not _has_reply(judged, step.turn):
        return False
    now = time_of(judged.example, step.turn)
    seen = _account(judged, step.turn).seen
    text = asserted(judged.replies[step.turn], seen)
    call = seen_in(judged, step)
    result = msgspec.json.decode(call.result) if call and call.tool == step.tool else None
    if result is not None and invents_item(text, names_of(result, step.answers), seen):
        return False
    own = [point(result, pointer) for pointer in step.answers]
    values = [value for _, value in own]
    is_whole = all(found for found, _ in own)
    labels = labels_of(result, step.answers) if is_whole else {}
    same = labels if values == list(step.values) else {}
    if not step.values or states_enough(text, step.answers, step.values, now, seen, names=same):
        return True
    return is_whole and states_enough(text, step.answers, values, now, seen, names=labels)


def time_of(example: Example, turn: int) -> datetime | None:
    """When a turn is, if the system prompt says what time it is."""
    told = re.search(r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b", example.system or "")
    if told is None:
        return None
    waited = sum(each.minutes for each in example.turns[: turn + 1])
    try:
        now = datetime.fromisoformat(told[0]).replace(tzinfo=UTC) + timedelta(minutes=waited)
    except (ValueError, OverflowError):  # there is no such day
        return None
    return now if MINYEAR < now.year < MAXYEAR else None
