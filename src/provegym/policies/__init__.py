"""Who plays the assistant: scripts that know the answer, and models that do not."""
