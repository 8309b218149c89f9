"""ProveGym: train language models to use tools, in worlds where the tools actually work.

The names below are imported when they are first used, so `import provegym` is quick. What each does
is said in `provegym.api`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from provegym.api import (
        Env,
        Observation,
        StepResult,
        check_server,
        load,
        make,
        names,
        rollout,
        score,
        servers_from,
        synthesize,
        verify,
    )
    from provegym.kernel import Session
    from provegym.rewards import HARDENED, PAPER, Scheme
    from provegym.rollout import Policy
    from provegym.trace import Example, Reply, Rollout, ToolCall, read, write

_PLACES = {
    "provegym.api": (
        *("Env", "Observation", "StepResult", "load", "make", "names", "rollout"),
        *("check_server", "score", "servers_from", "synthesize", "verify"),
    ),
    "provegym.kernel": ("Session",),
    "provegym.rewards": ("HARDENED", "PAPER", "Scheme"),
    "provegym.rollout": ("Policy",),
    "provegym.trace": ("Example", "Reply", "Rollout", "ToolCall", "read", "write"),
}
# The framework verifiers takes a package as a taskset if it exports these.
_TASKSET = ("GymEnv", "GymTaskset")
_PLACES["provegym.adapters.verifiers"] = _TASKSET
_WHERE = {name: module for module, found in _PLACES.items() for name in found}

__all__ = [
    "HARDENED",
    "PAPER",
    "Env",
    "Example",
    "Observation",
    "Policy",
    "Reply",
    "Rollout",
    "Scheme",
    "Session",
    "StepResult",
    "ToolCall",
    "check_server",
    "load",
    "make",
    "names",
    "read",
    "rollout",
    "score",
    "servers_from",
    "synthesize",
    "verify",
    "write",
]
if find_spec("verifiers"):
    __all__ += _TASKSET


if not TYPE_CHECKING:  # a type checker knows the names above, and reports any other

    def __getattr__(name: str) -> Any:
        module = _WHERE.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(module), name)


def __dir__() -> list[str]:
    """What tab completion offers: the API, without what this module imports for itself."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
