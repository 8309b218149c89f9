"""ProveGym: train language models to use tools, in worlds where the tools actually work."""

from typing import Any

__version__ = "0.3.0"
# A package is a taskset of verifiers, by its own name, if it exports one; asked for, not before.
__all__ = ["GymEnv", "GymTaskset"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from provegym.adapters import verifiers

    return getattr(verifiers, name)
