"""Training: the warm-up, GRPO against live worlds, and what a run leaves behind."""
