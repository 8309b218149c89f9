"""One interface to ask for sampled replies: from a batch sampler, or from vLLM's engine."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import NamedTuple


class Sampled(NamedTuple):
    """The sampled token ids, and the log-probability of each when it was sampled."""

    ids: list[int]
    logprobs: list[float]


Generate = Callable[[list[list[int]], int], list[Sampled]]


class Source(ABC):
    """Samples replies; `seat` is the caller's number for a request."""

    @abstractmethod
    def ask(self, seat: int, context: list[int], most: int) -> None:
        """Request a continuation of a context, of at most `most` tokens."""

    @abstractmethod
    def take(self) -> Mapping[int, Sampled]:
        """Wait for at least one reply; return all finished replies by seat."""


class Rounds(Source):
    """Static batching: samples all pending requests as one batch, with a given function."""

    def __init__(self, generate: Generate) -> None:
        self._generate = generate
        self._asked: dict[int, tuple[list[int], int]] = {}

    def ask(self, seat: int, context: list[int], most: int) -> None:
        """Keep the request for the next batch."""
        self._asked[seat] = (context, most)

    def take(self) -> Mapping[int, Sampled]:
        """Sample all pending requests; a reply may be longer than asked, and the caller cuts it."""
        asked, self._asked = self._asked, {}
        contexts, mosts = zip(*asked.values(), strict=True)
        return dict(zip(asked, self._generate(list(contexts), max(mosts)), strict=True))


class Timed(Source):
    """A source that measures the seconds it takes."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.seconds = 0.0

    def ask(self, seat: int, context: list[int], most: int) -> None:
        """Pass a request on, and measure its time."""
        began = perf_counter()
        self._source.ask(seat, context, most)
        self.seconds += perf_counter() - began

    def take(self) -> Mapping[int, Sampled]:
        """Take the finished replies, and measure the time."""
        began = perf_counter()
        given = self._source.take()
        self.seconds += perf_counter() - began
        return given
