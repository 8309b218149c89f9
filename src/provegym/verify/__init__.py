"""Verification of examples: the checks that synthesis and `provegym verify` run."""

from provegym.callable_module import make_callable
from provegym.verify.contract import verify

__all__ = ["verify"]

make_callable(__name__)
