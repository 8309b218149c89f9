"""How much faster two cores of a Ray cluster are than one: `.envs/ray/bin/python FILE [EXAMPLES]`.

Makes a corpus and verifies it, on one core and on two, each core a node of its own. The clock
starts when every core has its process. Prints the seconds, the ratios, and the load of the machine.
"""

import json
import os
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

from rich.progress import Progress

from provegym import servers
from provegym.corpus.corpus import Corpus
from provegym.corpus.order import Order
from provegym.play import verify_file
from provegym.workers import Cluster

# The last examples of trading are hard to find, one round of a few candidates after the other.
SERVERS = tuple(name for name in servers.names() if name != "trading")


def measure(cores: int, size: int, out: Path) -> dict[str, float]:
    """Seconds to make a corpus, and to verify it."""
    from ray.cluster_utils import Cluster as Nodes

    # Ray's workers give way to every other process, and whoever else works here would be measured.
    fair = {"_system_config": {"worker_niceness": 0}}
    head = {"num_cpus": 1, "include_dashboard": False, **fair}
    nodes = Nodes(initialize_head=True, head_node_args=head)
    for _ in range(cores - 1):
        nodes.add_node(num_cpus=1)
    with closing(Cluster(nodes.address)) as workers:
        list(workers.map(partial(map, sleep), [1.0] * cores * 2, batch=1))
        bar, began = Progress(disable=True), perf_counter()
        Corpus(Order(size, 0, out, SERVERS)).make(bar, workers)
        made = perf_counter()
        verify_file(out, bar, workers)
        verified = perf_counter()
    nodes.shutdown()
    return {"synth": made - began, "verify": verified - made}


def main(size: int = 1_500) -> None:
    """One core, then two; before that, every graph is proven once."""
    with TemporaryDirectory() as folder:
        Corpus(Order(20, 0, Path(folder) / "0", SERVERS)).make(Progress(disable=True))
        load = os.getloadavg()[0]
        one, two = (measure(cores, size, Path(folder) / str(cores)) for cores in (1, 2))
        shards = [Path(folder, cores, "train-00000.jsonl").read_bytes() for cores in "12"]
        assert shards[0] == shards[1]
    ratios = {name: round(one[name] / two[name], 2) for name in one}
    print(json.dumps({"one": one, "two": two, "ratios": ratios, "load": [load, *os.getloadavg()]}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
