"""Failure analysis: one cause for each rollout that did not succeed.

The cause is found at the first reference step that was not done right: no call serves it, its call
failed, has a wrong value, or came too early. So each failed rollout counts once. Under an alias the
cause is that of the plain twin.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from provegym.evals.measure import has_gold
from provegym.language.values import is_said, leaves
from provegym.rewards.align import resolve
from provegym.rewards.equality import equal
from provegym.rewards.success import in_plain_words, verdict_of
from provegym.trace import Call, Rollout, Served, Step, literals

BROKEN = "the policy or the server failed"
NEEDLESS = "called where no call is right"
CUT_OFF = "reached a limit first"
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
TOO_EARLY = "called too early"
FURTHER_WRITE = "made a further write"
ADDED = "added an argument"
NO_EVIDENCE = "did not look at the final state"
NOT_ENDED = "state right, but did not end"
REPLY = "state right, but a wrong reply"

LIMITS = ("turns", "calls", "tokens")
FAILURES = ("policy_error", "server_bug")
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
    if rollout.reward is None or rollout.ended in FAILURES:
        return BROKEN
    if not verdict.state:
        return _wrong_step(rollout) if has_gold(rollout.example) else NEEDLESS
    return REPLY if verdict.ended else NOT_ENDED


def _wrong_step(rollout: Rollout) -> str:
    """What is wrong with the first step that was not done right, or with what was done besides."""
    steps, pairs = _steps(rollout), _attempts(rollout)
    right = {pair.call for pair in pairs.values()}
    for at, step in enumerate(steps):
        if at not in pairs:
            is_skipped = not step.writes and _is_needed(at, steps, rollout.calls)
            return _unserved(step, rollout, right, is_skipped=is_skipped)
        call, is_equal = rollout.calls[pairs[at].call], pairs[at].equal == 1
        if is_equal and not pairs[at].in_order:
            return TOO_EARLY
        if not call.checks.ran:
            return _failed(call)
        if not is_equal:
            return _wrong_value(step, call, rollout)
    others = [call for at, call in enumerate(rollout.calls) if at not in right]
    if any(call.writes and call.checks.ran for call in others):
        return FURTHER_WRITE
    served = [(steps[at], rollout.calls[pair.call]) for at, pair in pairs.items()]
    if any(_has_more(call, step) for step, call in served):
        return ADDED
    return CUT_OFF if rollout.ended in LIMITS else NO_EVIDENCE


def _steps(rollout: Rollout) -> Sequence[Step]:
    """The steps of the path that was scored."""
    return rollout.example.paths[rollout.reward.path if rollout.reward else 0].steps


def _attempts(rollout: Rollout) -> dict[int, Served]:
    """By step, the call that serves it, or that tries to.

    A read of an earlier turn with other values was made for something else.
    """
    steps, pairs = _steps(rollout), rollout.reward.served if rollout.reward else ()
    return {
        pair.step: pair
        for pair in pairs
        if pair.equal == 1 or rollout.calls[pair.call].turn == steps[pair.step].turn
    }


def _is_needed(at: int, steps: Sequence[Step], calls: Sequence[Call]) -> bool:
    """Whether a whole call was made to the tool of a step that depends on this one."""
    later = {step.tool for step in steps if any(edge.step == at for edge in step.needs)}
    return any(call.tool in later and call.checks.fits for call in calls)


def _has_more(call: Call, step: Step) -> bool:
    """Whether a call of the step's tool has an argument that the step does not have."""
    given = {name for name, value in (call.arguments or {}).items() if value is not None}
    return call.tool == step.tool and bool(given - step.arguments.keys())


def _has_values(call: Call, step: Step) -> bool:
    """Whether a call has all values of a step."""
    given, right = call.arguments or {}, literals(step.arguments)
    return all(equal(value, given.get(name)) for name, value in right.items())


def _unserved(step: Step, rollout: Rollout, used: set[int], *, is_skipped: bool) -> str:
    """Why no call serves a step: its last attempt, or what was called in its place."""
    others = [call for at, call in enumerate(rollout.calls) if at not in used]
    tried = [call for call in others if call.tool == step.tool]
    own = [call for call in tried if call.turn == step.turn]
    if own:
        return _failed(own[-1]) if not own[-1].checks.ran else ARGUMENTS
    due = {each.turn for each in _steps(rollout) if each.tool == step.tool}
    early = [call for call in tried if call.writes and call.turn < step.turn]
    if any(call.turn not in due or _has_values(call, step) for call in early):
        return TOO_EARLY
    here = [call for call in rollout.calls if call.turn == step.turn]
    strange = [call for call in here if not call.checks.shown]
    if strange:
        return _failed(strange[-1])
    if here and is_skipped:
        return SKIPPED
    if _is_cut_off(rollout, step.turn):
        return CUT_OFF
    return OTHER_TOOL if here else NO_CALL


def _is_cut_off(rollout: Rollout, turn: int) -> bool:
    """Whether a limit ended the conversation in this turn or before it."""
    heard = sum(message["role"] == "user" for message in rollout.messages)
    return heard <= turn or (heard == turn + 1 and rollout.ended in LIMITS)


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
    served: list[int | None] = [None] * len(_steps(rollout))
    for at, pair in _attempts(rollout).items():
        served[at] = pair.call
    for name, value in step.arguments.items():
        known, right = resolve(value, rollout.calls, served)
        if not known or not equal(right, given.get(name)):
            return SAID if _is_said(step, name, rollout) else LOOKED_UP
    return SAID


def _is_said(step: Step, name: str, rollout: Rollout) -> bool:
    """Whether the user has said the right value of an argument, if in other words.

    A step that needs no value of an earlier one has only values that were said.
    """
    if all(edge.kind == "implicit" for edge in step.needs):
        return True
    example = in_plain_words(rollout).example
    for at, other in enumerate(example.paths[0].steps):
        is_alike = (other.tool, other.turn) == (step.tool, step.turn)
        if is_alike and f"{at}.{name}" in example.provenance.derived:
            return True
    said = " ".join(turn.text for turn in example.turns[: step.turn + 1])
    return all(is_said(value, said) for value in leaves(literals(step.arguments)[name]))
