"""Hosts for the tests: one shared, and others on demand."""

from collections.abc import Callable, Iterator

import pytest

from hosts.running import Host, start


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """One host for all tests that do not change its settings."""
    running = start()
    yield running
    running.stop()


@pytest.fixture
def start_host() -> Iterator[Callable[..., Host]]:
    """Start further hosts; they end with the test."""
    running: list[Host] = []

    def begin(*options: str, **environment: str) -> Host:
        running.append(start(*options, **environment))
        return running[-1]

    yield begin
    for each in running:
        if each.process.poll() is None:
            each.stop()
