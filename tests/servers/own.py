"""Projects of new servers in temporary folders, which the process forgets after each test."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from provegym import packages, servers
from provegym.language import things
from provegym.starter import write_project

NAMES = ("depot", "garage", "lot", "ruin")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget after a test where servers were found and which were imported."""
    monkeypatch.setattr(servers, "_packages", {})
    monkeypatch.setattr(servers, "_package_folders", [])
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in NAMES]:
        del sys.modules[name]
    things._surveys.clear()  # they are kept by world, and asks.toml differs between tests
    for kept in (packages.installed, servers._load, servers._asks, servers.words):
        kept.cache_clear()


def written(folder: Path, name: str) -> Path:
    """The package folder of a new server, whose project is written into a folder."""
    assert name in NAMES
    write_project(name, folder / name)
    return folder / name / "src" / name
