"""Failure analysis: one cause for each rollout that did not succeed.

The cause is found at the first reference step that was not done right: no call serves it, its call
failed, has a wrong value, or came too early. So each failed rollout counts once.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from provegym.evals.measure import has_gold
from provegym.rewards.equality import equal
from provegym.rewards.success import verdict_of
from provegym.trace import Call, Rollout, Step, literals

BROKEN = "the policy or the server failed"
NEEDLESS = "called where no call is right"
CUT_OFF = "reached a limit before the request"
NO_CALL = "made no call"
OTHER_TOOL = "called other tools only"
SKIPPED = "skipped a lookup, and called what needs it"
UNKNOWN_TOOL = "named a tool that is not shown"
MALFORMED = "wrote a malformed call"
ARGUMENTS = "missing, unknown or mistyped argument"
BAD_VALUE = "value that the tool does not accept"
UNKNOWN_ID = "id or name that does not exist"
REFUSED = "refused by a rule of the world"
SAID = "wrong value, which the user had said"
LOOKED_UP = "wrong value, which had to be looked up"
TOO_EARLY = "called before what it depends on"
FURTHER_WRITE = "made a further write"
NO_EVIDENCE = "did not look at the final state"
NOT_ENDED = "state right, but did not end"
REPLY = "state right, but a wrong reply"

BY_ERROR = {
    "malformed": MALFORMED,
    "not_found": UNKNOWN_ID,
    "rejected": REFUSED,
    "denied": REFUSED,
    "invalid_argument": BAD_VALUE,
}


def causes(rollouts: Iterable[Rollout]) -> dict[str, int]:
    """How many rollouts failed by each cause, the most frequent cause first."""
    found = Counter(why for rollout in rollouts if (why := cause(rollout)) is not None)
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def cause(rollout: Rollout) -> str | None:
    """Why a rollout failed; None if it succeeded."""
    verdict = verdict_of(rollout)
    if verdict.success:
        return None
    if rollout.reward is None:
        return BROKEN
    if not verdict.state:
        return _wrong_step(rollout) if has_gold(rollout.example) else NEEDLESS
    return REPLY if verdict.ended else NOT_ENDED


def _wrong_step(rollout: Rollout) -> str:
    """What is wrong with the first step that was not done right, or with what was done besides."""
    reward = rollout.reward
    assert reward is not None  # `cause` has looked
    pairs = {pair.step: pair for pair in reward.served}
    right = {pair.call for pair in pairs.values()}
    steps = rollout.example.paths[reward.path].steps
    for at, step in enumerate(steps):
        if at not in pairs:
            is_skipped = not step.writes and _is_needed(at, steps, rollout.calls)
            return _unserved(step, rollout, right, SKIPPED if is_skipped else OTHER_TOOL)
        call = rollout.calls[pairs[at].call]
        if not call.checks.ran:
            return _failed(call)
        if pairs[at].equal < 1:
            return _wrong_value(step, call, rollout)
        if not pairs[at].in_order:
            return TOO_EARLY
    others = [call for at, call in enumerate(rollout.calls) if at not in right]
    return FURTHER_WRITE if any(call.writes and call.checks.ran for call in others) else NO_EVIDENCE


def _is_needed(at: int, steps: Sequence[Step], calls: Sequence[Call]) -> bool:
    """Whether the tool of a step that depends on this one was called."""
    later = {step.tool for step in steps if any(edge.step == at for edge in step.needs)}
    return any(call.tool in later for call in calls)


def _unserved(step: Step, rollout: Rollout, used: set[int], instead: str) -> str:
    """Why no call serves a step: its last attempt, or what was called in its place."""
    others = [call for at, call in enumerate(rollout.calls) if at not in used]
    own = [call for call in others if call.tool == step.tool and call.turn == step.turn]
    if own:
        return _failed(own[-1]) if not own[-1].checks.ran else ARGUMENTS
    here = [call for call in rollout.calls if call.turn == step.turn]
    strange = [call for call in here if not call.checks.shown]
    if strange:
        return _failed(strange[-1])
    if here:
        return instead
    return CUT_OFF if _turns_seen(rollout) <= step.turn else NO_CALL


def _turns_seen(rollout: Rollout) -> int:
    """How many requests of the user the model has seen."""
    return sum(message["role"] == "user" for message in rollout.messages)


def _failed(call: Call) -> str:
    """Why a call did not run."""
    if call.error == "malformed":
        return MALFORMED
    if not call.checks.shown:
        return UNKNOWN_TOOL
    return BY_ERROR[call.error or "invalid_argument"] if call.checks.fits else ARGUMENTS


def _wrong_value(step: Step, call: Call, rollout: Rollout) -> str:
    """Whether the first wrong value of a call was said by the user or had to be looked up."""
    given = call.arguments or {}
    right = literals(step.arguments)
    wrong = [value for name, value in right.items() if not equal(value, given.get(name))]
    said = _said(rollout, step.turn)
    return LOOKED_UP if wrong and not _is_said(wrong[0], said) else SAID


def _said(rollout: Rollout, turn: int) -> str:
    return " ".join(each.text for each in rollout.example.turns[: turn + 1]).casefold()


def _is_said(value: object, said: str) -> bool:
    parts: Sequence[object] = value if isinstance(value, list) else [value]
    return all(str(part).casefold() in said for part in parts)
