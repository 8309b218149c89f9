"""What the tests of both quickstarts share: a tiny model in the place of the embedded one."""

from pathlib import Path

import pytest

from quickstart.small import build_models


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model and its adapter."""
    folder = tmp_path_factory.mktemp("models")
    build_models(folder)
    return folder
