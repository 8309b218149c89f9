"""Scripts and endpoints as players, here or on other processes and machines."""

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
    """A script, or an endpoint that is asked over the network, some rollouts at a time.

    It can be sent to other processes: each connects to the endpoint by itself, with its own key.
    """

    name: str
    policy: MakePolicy | EndpointConfig
    concurrency: int = 8
    scheme: Scheme = PAPER
    caps: Caps = PAPER_CAPS

    def greet(self) -> None:
        """Ask an endpoint once; a script needs no asking."""
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
    """Find out at once whether anybody answers, from where it is going to be played."""
    if isinstance(play, Remote):
        list(workers.map(partial(map, Remote.greet), [play]))


@dataclass(frozen=True)
class Lines:
    """A player to be sent elsewhere: examples and rollouts travel as lines, to the last byte.

    Pickled, a field that is left out because it is the default would come back as another object.
    """

    play: Play

    def __call__(self, lines: Sequence[bytes]) -> Iterator[bytes]:
        """The rollouts of the examples."""
        return map(line, self.play([msgspec.json.decode(each, type=Example) for each in lines]))


def played(examples: Sequence[Example], play: Play, workers: Workers) -> Iterator[Rollout]:
    """The rollouts, in the order of the examples, whoever does the work."""
    for each in workers.map(Lines(play), [line(example) for example in examples]):
        yield msgspec.json.decode(each, type=Rollout)


async def _next(coming: AsyncIterator[Rollout]) -> Rollout | None:
    return await anext(coming, None)
