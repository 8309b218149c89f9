"""Verification of examples: the checks that synthesis and `provegym verify` run."""

from provegym.verify.contract import verify

__all__ = ["verify"]
