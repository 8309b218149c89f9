"""A reward of your own: another number from the parts of ProveGym's reward.

    python own_reward.py

A rollout keeps the parts of its reward (`reward.parts`), its verdict (did it succeed, and in which
respects) and every call with its checks. So a reward of your own is a plain function of a rollout.
"""

from own_policy import Looker

import provegym
from provegym.players.scripted import oracle

# The same parts with other weights need no function at all.
WEIGHTS = provegym.Scheme(weights={"name": 0.0, "efficiency": 0.3})


def careful(rollout: provegym.Rollout) -> float:
    """At most 1: half for success, half for the steps done; each wasted call costs 0.05."""
    if rollout.reward is None or rollout.verdict is None:
        return 0.0  # the policy or its endpoint broke: no reward, no blame
    used = {pair.call for pair in rollout.reward.served}
    wasted = len(rollout.calls) - len(used)
    done = rollout.reward.parts.get("coverage", 0.0)
    return 0.5 * rollout.verdict.success + 0.5 * done - 0.05 * wasted


def main() -> None:
    """Score the right calls, and a policy that only looks around."""
    examples = provegym.synthesize(3, servers=["banking"], mix="multi_turn")
    for name, policy in {"oracle": oracle, "looker": Looker()}.items():
        for played in provegym.rollout(examples, policy):
            paper, other = played.reward, provegym.score(played, WEIGHTS).reward
            assert paper
            assert other
            print(
                f"{name}  careful {careful(played):5.2f} of 1.00   "
                f"paper {paper.total:5.2f} of 1.30   "
                f"other weights {other.total:5.2f} of {WEIGHTS.best:.2f}"
            )


if __name__ == "__main__":
    main()
