"""What the workers of a `ScoringPool` share: the loaded servers.

A fork server imports this module once, before it forks the workers (copy-on-write memory).
"""

from provegym import servers
from provegym.train import scoring_pool  # noqa: F401

servers.load_all()
