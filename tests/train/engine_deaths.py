"""What engine processes do in tests: die, at several moments. Another process imports this."""

import os
from typing import Any


def die_while_playing(pipe: Any, *_: Any, **__: Any) -> None:
    """Be ready, take a job, and be gone."""
    pipe.send(True)
    pipe.recv()
    os._exit(9)


def die_before_playing(pipe: Any, *_: Any, **__: Any) -> None:
    """Be ready, then be gone before a job comes."""
    pipe.send(True)
    os._exit(9)


def die_at_once(*_: Any, **__: Any) -> None:
    """Never be ready."""
    os._exit(9)


def wait(pipe: Any, *_: Any, **__: Any) -> None:
    """Start for ever."""
    pipe.recv()
