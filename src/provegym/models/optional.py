"""What comes with the extra `train`: imported only when it is needed, and missed in a sentence."""

import importlib
import os
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

# Torch's threads wait for each other awake. Where another process has one of their cores, that is
# in vain for as long as they may: a token took seconds. This is long enough on quiet cores.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

INSTALL = "pip install 'provegym[train]' torch==2.13.0"


class NotInstalled(Exception):
    """What a model of this machine needs is missing: a package of the extra `train`, say."""


def need(module: str) -> Any:
    """A module of the extra `train`."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        package = module.partition(".")[0]
        if problem.name != package:
            raise
        raise NotInstalled(f"{package} is missing: {INSTALL}") from None


def check(module: str) -> None:
    """Fails as `need` would, without importing anything."""
    if find_spec(module) is None:
        raise NotInstalled(f"{module} is missing: {INSTALL}")


def installed(package: str) -> str | None:
    """The version of a package, if it is there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
