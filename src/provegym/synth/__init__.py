"""From live servers to verified examples: what depends on what, and conversations from it."""
