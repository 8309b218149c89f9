"""The contract of a verified example, run by synthesis and by `provegym verify`."""

from provegym.verify.contract import verify

__all__ = ["verify"]
