"""Explains a reward in words: the checks each call passed and the step it served."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from provegym.rewards.align import can_serve, share
from provegym.rewards.success import PARTS
from provegym.trace import Call, Reward, Rollout, Step

# In the place of a tick where no reply has to say anything, and none claims something false.
NONE_DUE = "no answer due"


def explain(rollout: Rollout) -> Iterator[str]:
    """One line per call, and one per step that no call served."""
    reward = rollout.reward
    if reward is None:
        return
    serving = {served.call: served for served in reward.served}
    steps = rollout.example.paths[reward.path].steps if rollout.example.paths else ()
    for at, call in enumerate(rollout.calls):
        served = serving.get(at)
        if served is None:
            why = _misplaced(at, rollout.calls, steps, reward)
            yield f"call {at + 1} {call.tool or '?'}: {checks(call)}; serves no step{why}"
            continue
        order = "" if served.in_order else ", but not after what it needs"
        step = f"step {served.step + 1} ({steps[served.step].tool})"
        yield (
            f"call {at + 1} {call.tool}: {checks(call)}; serves {step} "
            f"with {served.equal:.0%} of its arguments equal{order}"
        )
    taken = {served.step for served in reward.served}
    for at, step_left in enumerate(steps):
        if at not in taken:
            yield f"step {at + 1} {step_left.tool}: not served"


def _misplaced(at: int, calls: Sequence[Call], steps: Sequence[Step], reward: Reward) -> str:
    """A note for a call that would be right in another turn and repeats no earlier call."""
    call, held = calls[at], {pair.step: pair.call for pair in reward.served}
    for number, step in enumerate(steps):
        if held.get(number, at) < at:
            continue
        served = [at if other == number else held.get(other) for other in range(len(steps))]
        fits = can_serve(replace(call, turn=step.turn), step) and not can_serve(call, step)
        if fits and share(number, steps, calls, served) == 1:
            name = f"step {number + 1} ({step.tool})"
            return f": it came in turn {call.turn + 1}, and {name} belongs to turn {step.turn + 1}"
    return ""


def checks(call: Call) -> str:
    """The three checks of a call: tool name, schema, execution."""
    if call.error == "malformed":
        return "malformed"
    marks = [
        ("name", call.checks.shown),
        ("schema", call.checks.fits),
        ("execution", call.checks.ran),
    ]
    text = ", ".join(f"{name} {'✓' if passed else '✗'}" for name, passed in marks)
    return f"{text} {call.error}" if call.error else text


def with_parts(total: float, parts: Mapping[str, float]) -> str:
    """A figure, followed by the parts that it is made of."""
    told = ", ".join(f"{name} {value:.3f}" for name, value in parts.items())
    return f"{total:.3f}" + (f" ({told})" if told else "")


def marks(verdict: Mapping[str, bool], is_answer_due: bool) -> str:
    """The three parts of success, each with a mark; none for an answer that nobody asked for."""
    told = {part: f"{part} {'✓' if verdict[part] else '✗'}" for part in PARTS}
    if verdict["answer"] and not is_answer_due:
        told["answer"] = NONE_DUE
    return ", ".join(told.values())


def success_line(rates: Mapping[str, float]) -> str:
    """The share of rollouts that succeeded, and the shares with each part of success."""
    parts = ", ".join(f"{part} {rates[part]:.1%}" for part in PARTS)
    return f"success {rates['success']:.1%} ({parts})"
