"""The whole job once, small enough for a laptop: examples, rollouts, GRPO, and a report."""
