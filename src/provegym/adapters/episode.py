"""A step-by-step episode: another framework's loop plays one example, message by message."""

from collections.abc import Generator, Sequence
from importlib.metadata import PackageNotFoundError, version
from types import coroutine
from typing import Literal

from provegym.rewards import PAPER, Scheme
from provegym.rewards.success import rates, verdict_of
from provegym.rollout import play
from provegym.trace import Example, Json, Reply, Rollout

SchemeName = Literal["paper", "hardened"]


class Episode:
    """The coroutine of `rollout`, suspended whenever the assistant must reply.

    The caller passes the assistant's replies to `say`. The episode ends under the same rules as a
    rollout; `rollout` then holds the record and its reward.
    """

    def __init__(self, example: Example, scheme: Scheme = PAPER) -> None:
        self.rollout: Rollout | None = None
        self.messages: Sequence[Json] = ()
        self.tools: list[Json] = []
        self._loop = play(example, self, name="agent", scheme=scheme)
        self._go_on(None)

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        """Suspend the loop until `say` passes a reply."""
        self.messages, self.tools = messages, tools
        return await _wait()

    def say(self, reply: Reply) -> Sequence[Json]:
        """Pass the assistant's next message; return the messages of tools and user after it."""
        if self.rollout is not None:
            raise RuntimeError("the episode is over: make a new Episode")
        heard = len(self.messages) + 1
        self._go_on(reply)
        return self.messages[heard:]

    def _go_on(self, reply: Reply | None) -> None:
        try:
            self._loop.send(reply)
        except StopIteration as end:
            self.rollout = end.value
            self.messages = end.value.messages


@coroutine
def _wait() -> Generator[None, Reply, Reply]:
    return (yield)


def success(rollout: Rollout) -> dict[str, float]:
    """Whether a rollout succeeded, and the three parts of success, as 0 or 1."""
    return rates([verdict_of(rollout)])


def check(package: str, wanted: str) -> None:
    """Raise an ImportError unless a package is installed in the version an adapter supports."""
    cure = f"pip install '{package}=={wanted}.*'"
    try:
        found = version(package)
    except PackageNotFoundError:
        raise ImportError(f"{package} is missing: {cure}") from None
    if not f"{found}.".startswith(f"{wanted}."):
        raise ImportError(f"this adapter is for {package} {wanted}, not {found}: {cure}")
