"""Players for scripts and endpoints, in this process or in worker processes and machines."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from provegym.models.endpoint import Endpoint, EndpointConfig, EndpointError
from provegym.rewards import PAPER, Scheme
from provegym.rollout import PAPER_CAPS, Caps, MakePolicy, in_order, play
from provegym.trace import Example, Rollout, line
from provegym.workers import Workers

Play = Callable[[Sequence[Example]], Iterator[Rollout]]


@dataclass(frozen=True)
class Remote:
    """A player with a script or an endpoint; it plays several rollouts concurrently.

    It can be sent to other processes: each makes its own connection, with its own API key.
    """

    name: str
    policy: MakePolicy | EndpointConfig
    concurrency: int = 8
    scheme: Scheme = PAPER
    caps: Caps = PAPER_CAPS

    def greet(self) -> None:
        """Send one test request if the policy is an endpoint."""
        if not isinstance(self.policy, EndpointConfig):
            return
        try:
            asyncio.run(_greet(Endpoint(self.policy)))
        except EndpointError as problem:
            raise EndpointError(
                f"{problem}; nothing was played: check the URL, the model's name and the key"
            ) from None

    def __call__(self, examples: Sequence[Example]) -> Iterator[Rollout]:
        """The rollouts, in the order of the examples."""
        policy = self.policy
        make = Endpoint(policy) if isinstance(policy, EndpointConfig) else policy

        def one(example: Example) -> Any:
            return play(example, make(example), name=self.name, caps=self.caps, scheme=self.scheme)

        with asyncio.Runner() as runner:
            coming: AsyncIterator[Rollout] = in_order(examples, one, self.concurrency)
            while (rollout := runner.run(_next(coming))) is not None:
                yield rollout
            if isinstance(make, Endpoint):
                runner.run(make.aclose())


async def _greet(endpoint: Endpoint) -> None:
    try:
        await endpoint.probe()
    finally:
        await endpoint.aclose()


def greet(play: Play, workers: Workers) -> None:
    """Test the endpoint before a run, from the machines that will play the rollouts."""
    if isinstance(play, Remote):
        list(workers.map(partial(map, Remote.greet), [play]))


@dataclass(frozen=True)
class Lines:
    """Wraps a player for other processes: examples and rollouts are sent as lines of JSON.

    With pickle their JSON could differ: a default is left out by identity, which pickle loses.
    """

    play: Play

    def __call__(self, lines: Sequence[bytes]) -> Iterator[bytes]:
        """The rollouts of the examples."""
        return map(line, self.play([msgspec.json.decode(each, type=Example) for each in lines]))


def played(examples: Sequence[Example], play: Play, workers: Workers) -> Iterator[Rollout]:
    """The rollouts in the order of the examples, with any kind of workers."""
    for each in workers.map(Lines(play), [line(example) for example in examples]):
        yield msgspec.json.decode(each, type=Rollout)


async def _next(coming: AsyncIterator[Rollout]) -> Rollout | None:
    return await anext(coming, None)
