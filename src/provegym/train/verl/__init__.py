"""GRPO on verl: the same recipes and rollouts, driven by its trainer."""
