"""ProveGym: train language models to use tools, in worlds where the tools actually work."""

__version__ = "0.1.0"
