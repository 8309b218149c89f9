"""Rollouts that were kept, scored again under other schemes; no world and no model is needed.

    provegym synth --servers banking --size 20 --out corpus
    provegym rollout --policy oracle --data corpus --out rollouts.jsonl
    python rescore.py rollouts.jsonl

A rollout contains its example and every call, so its reward can be computed again at any time.
"""

import sys
from pathlib import Path
from statistics import fmean

import provegym

SCHEMES = {
    "paper": provegym.PAPER,
    "hardened": provegym.HARDENED,
    "paper, one path only": provegym.Scheme(strict=True),
    "paper, no efficiency": provegym.Scheme(weights={"efficiency": 0.0}),
}


def mean_rewards(file: Path) -> dict[str, float]:
    """The mean reward of the rollouts of a file, under each scheme."""
    kept = [each for each in provegym.read(file, provegym.Rollout) if each.reward]
    means = {}
    for name, scheme in SCHEMES.items():
        rewards = [provegym.score(each, scheme).reward for each in kept]
        means[name] = fmean(reward.total for reward in rewards if reward)
    return means


def main(file: Path) -> None:
    """Print the mean reward under each scheme."""
    for name, mean in mean_rewards(file).items():
        print(f"{name:22} {mean:.3f} of {SCHEMES[name].best:.2f}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
