"""Synthesis of one conversation: planned on a live world, with user turns and reference calls."""
