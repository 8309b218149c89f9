"""Training: supervised fine-tuning (SFT), GRPO against live worlds, and the files of a run."""
