"""Work for processes of a pool, in a module that they can import; some of it kills its process."""

import os
import signal
from collections.abc import Sequence

FATAL = 13


def squares(items: Sequence[int]) -> list[int]:
    """Squares; one number kills the process that has it."""
    if FATAL in items:
        os.kill(os.getpid(), signal.SIGKILL)
    return [item * item for item in items]


def square(item: int) -> int:
    """The same for one number."""
    return squares([item])[0]


def leave(code: int) -> int:
    """End the process, as a library that aborts would."""
    os._exit(code)
