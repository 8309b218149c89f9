"""Where sampled replies come from: one interface for a batch sampler and for vLLM's engine."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Sampled(NamedTuple):
    """The tokens a model wrote, and the log-probability of each when it was drawn."""

    ids: list[int]
    logprobs: list[float]


Generate = Callable[[list[list[int]], int], list[Sampled]]


class Source(ABC):
    """Where replies come from."""

    @abstractmethod
    def ask(self, seat: int, context: list[int], most: int) -> None:
        """Ask for what follows a context, so many tokens at most."""

    @abstractmethod
    def take(self) -> Mapping[int, Sampled]:
        """The replies that have come since, by seat; waits for one at least."""


class Rounds(Source):
    """A function that samples a batch: all that was asked for by then, at once."""

    def __init__(self, generate: Generate) -> None:
        self._generate = generate
        self._asked: dict[int, tuple[list[int], int]] = {}

    def ask(self, seat: int, context: list[int], most: int) -> None:
        """Keep it for the next round."""
        self._asked[seat] = (context, most)

    def take(self) -> Mapping[int, Sampled]:
        """Sample a round; what is too long for one of them is cut by its seat."""
        asked, self._asked = self._asked, {}
        contexts, mosts = zip(*asked.values(), strict=True)
        return dict(zip(asked, self._generate(list(contexts), max(mosts)), strict=True))
