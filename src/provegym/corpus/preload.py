"""What worker processes of a corpus share: loaded servers and graphs.

A fork server imports this module once, before it forks the workers (copy-on-write memory). Without
a fork server, each worker would load them again, which takes two seconds.
"""

from provegym import servers
from provegym.corpus import candidates  # noqa: F401
from provegym.graph.dependency import lasting

for _server in servers.load_all():
    lasting(_server)
