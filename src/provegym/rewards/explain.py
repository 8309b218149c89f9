"""A reward in words: what each call was worth and which step it served."""

from collections.abc import Iterator

from provegym.trace import Call, Reward, Rollout


def explain(rollout: Rollout) -> Iterator[str]:
    """One line per call, and one per step that nobody served."""
    reward = rollout.reward
    if reward is None:
        return
    serving = {served.call: served for served in reward.served}
    steps = rollout.example.paths[reward.path].steps if rollout.example.paths else ()
    for at, call in enumerate(rollout.calls):
        served = serving.get(at)
        if served is None:
            yield f"call {at + 1} {call.tool or '?'}: {checks(call)}; serves no step"
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


def checks(call: Call) -> str:
    """The three thirds of a call's validity."""
    if call.error == "malformed":
        return "malformed"
    marks = [
        ("name", call.checks.shown),
        ("schema", call.checks.fits),
        ("execution", call.checks.ran),
    ]
    text = ", ".join(f"{name} {'✓' if passed else '✗'}" for name, passed in marks)
    return f"{text} {call.error}" if call.error else text


def summary(reward: Reward) -> str:
    """The total and its parts in one line."""
    parts = ", ".join(f"{name} {value:.3f}" for name, value in reward.parts.items())
    return f"{reward.total:.3f}" + (f" ({parts})" if parts else "")
