"""A Ray cluster of three nodes on this machine, and work on it that may meet with misfortune.

Without arguments it starts the cluster, prints its address, and kills a node for every line it
reads. With an address, what is to happen and an empty folder it prints what came of the work. With
a folder alone it works on a node that imports provegym from there, and prints the error.
"""

import errno
import json
import os
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from time import sleep

from provegym.workers import Cluster, ClusterError

ITEMS = 60


def keep_nodes() -> None:
    """Three nodes with a core each, as long as somebody may write."""
    from ray.cluster_utils import Cluster as Nodes

    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    others = [nodes.add_node(num_cpus=1) for _ in range(2)]
    print(nodes.address, flush=True)
    for _ in sys.stdin:
        nodes.remove_node(others.pop(), allow_graceful=False)
        print("killed", flush=True)
    nodes.shutdown()


def work_on_odd_node(folder: str) -> None:
    """The only core is that of a node with its own provegym; without a folder there is no core."""
    from ray.cluster_utils import Cluster as Nodes

    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    if folder:
        nodes.add_node(num_cpus=1, env_vars={"PYTHONPATH": folder})
    try:
        with closing(Cluster(nodes.address)) as workers:
            print(list(workers.map(partial(map, abs), range(ITEMS), batch=2)))
    except ClusterError as problem:
        print(problem)
    nodes.shutdown()


def calm(folder: Path, item: int) -> int:
    """Nothing happens, slowly."""
    sleep(0.1)
    return item


def full(folder: Path, item: int) -> int:
    """Somewhere the disk is full."""
    if item == ITEMS // 2:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "graph.json")
    return item


def deadly(folder: Path, item: int) -> int:
    """One item ends every process that tries it."""
    if item == ITEMS // 2:
        os._exit(1)
    return item


def unlucky(folder: Path, item: int) -> int:
    """Some items end a process, but only the first."""
    mark = folder / str(item)
    if item % 20 == 0 and not mark.exists():
        mark.touch()
        os._exit(1)
    return item


def work(address: str, event: str, folder: str) -> None:
    """Do it, and print the results, who worked at the end, and what was said."""
    results, said = [], ""
    workers = Cluster(address)
    try:
        one = partial(globals()[event], Path(folder))
        results.extend(workers.map(partial(map, one), range(ITEMS), batch=2))
    except ClusterError as problem:
        said = str(problem)
    print(json.dumps({"results": results, "where": workers.where, "said": said}))
    workers.close()


if __name__ == "__main__":
    match sys.argv[1:]:
        case [address, event, folder]:
            work(address, event, folder)
        case [folder]:
            work_on_odd_node(folder)
        case _:
            keep_nodes()
