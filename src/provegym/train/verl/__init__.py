"""GRPO with verl's trainer on many GPUs, from the same recipes and with the same rollouts."""
