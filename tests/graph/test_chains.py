"""Chains use every tool and every edge, none too often."""

from collections import Counter

import pytest

from graph.graphs import NAMES, graph
from provegym.graph.chains import LONGEST, SHORTEST, sample
from provegym.graph.dependency import Graph

every_server = pytest.mark.parametrize("name", NAMES)


@every_server
def test_steps_follow_edges(name: str) -> None:
    for chain in sample(graph(name), 60, seed=1):
        assert SHORTEST <= len(chain.tools) <= LONGEST
        assert len(set(chain.tools)) == len(chain.tools)
        steps = zip(chain.tools, chain.tools[1:], strict=False)
        assert list(steps) == [(edge.source, edge.target) for edge in chain.edges]


@every_server
def test_every_edge_is_used_and_no_tool_dominates(name: str) -> None:
    drawn = sample(graph(name), len(graph(name).edges))
    used = {(e.kind, e.source, e.target, e.argument) for chain in drawn for e in chain.edges}
    assert len(used) == len(graph(name).edges)
    shares = Counter(tool for chain in drawn for tool in chain.tools)
    assert shares.keys() == {tool for pair in graph(name).pairs() for tool in pair}
    assert max(shares.values()) <= 0.7 * len(drawn)
    assert {len(chain.tools) for chain in drawn} == set(range(SHORTEST, LONGEST + 1))


def test_same_seed_same_chains() -> None:
    some = graph("banking")
    assert sample(some, 40, seed=5) == sample(some, 40, seed=5)
    assert sample(some, 40, seed=5) != sample(some, 40, seed=6)


def test_no_edges_no_chains() -> None:
    assert sample(Graph("bare", "", ("alone",), ()), 5) == ()
