"""Who plays the assistant: scripts that know the answer, models on this machine, and endpoints."""
