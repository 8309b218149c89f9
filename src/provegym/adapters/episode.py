"""One example as an episode that another framework's loop drives, a message at a time."""

from collections.abc import Generator, Sequence
from importlib.metadata import PackageNotFoundError, version
from types import coroutine

from provegym.rollout import play
from provegym.trace import Example, Json, Reply, Rollout


class Episode:
    """The loop of `rollout`, stopped wherever the assistant is to speak.

    It is its own policy: whoever drives it says what the assistant says. What ends a rollout of
    ours ends it, and its reward is that of the rollout it leaves.
    """

    def __init__(self, example: Example) -> None:
        self.rollout: Rollout | None = None
        self.messages: Sequence[Json] = ()
        self.tools: list[Json] = []
        self._loop = play(example, self, name="agent")
        self._go_on(None)

    async def reply(self, messages: Sequence[Json], tools: list[Json]) -> Reply:
        """Wait for what `say` is told."""
        self.messages, self.tools = messages, tools
        return await _wait()

    def say(self, reply: Reply) -> Sequence[Json]:
        """The assistant's next message; what tools and user say to it."""
        if self.rollout is not None:
            raise RuntimeError("the episode is over: open the next one")
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


def check(package: str, wanted: str) -> None:
    """Raise, in a sentence, unless a package is installed in the version an adapter is for."""
    cure = f"pip install '{package}=={wanted}.*'"
    try:
        found = version(package)
    except PackageNotFoundError:
        raise ImportError(f"{package} is missing: {cure}") from None
    if not f"{found}.".startswith(f"{wanted}."):
        raise ImportError(f"this adapter is for {package} {wanted}, not {found}: {cure}")
