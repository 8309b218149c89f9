"""The quickstart: examples, rollouts, a few GRPO steps and a report, small enough for a laptop."""
