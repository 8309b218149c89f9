"""Players of the assistant: scripts that know the reference calls, local models, and endpoints."""
