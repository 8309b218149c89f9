"""Worlds from schemas keep the contract of servers, and verified examples are made in them."""

import pytest

from provegym.conversation.kinds import Place, shape
from provegym.corpus.candidates import attempt
from provegym.graph.dependency import build as graph
from provegym.kernel import Session
from provegym.verify.server_contract import faults
from provegym.worlds.spec import READS
from worlds.schemas import SCHEMAS, converted, server_of

CANDIDATES = 24
OTHERS = ("banking", "maps", "email", "calendar")


@pytest.mark.parametrize("file", SCHEMAS)
def test_the_server_keeps_the_contract(file: str) -> None:
    assert faults(server_of(file), 300, (0, 1)) == []


@pytest.mark.parametrize("file", SCHEMAS)
def test_every_kind_of_record_is_drawn(file: str) -> None:
    server = server_of(file)
    for seed in range(3):
        session = Session([server], seed)
        state = session.state(server)
        for table in server.state.tables:
            assert len(list(getattr(state, table))) >= 2, (table, seed)
        state.check()


@pytest.mark.parametrize("file", SCHEMAS)
def test_chains_are_proven_and_examples_verified(file: str) -> None:
    server = server_of(file)
    edges = set(graph(server).pairs())
    assert any(one[1] == two[0] and one[0] != two[1] for one in edges for two in edges)
    made = [
        attempt((place, shape(place)))
        for number in range(CANDIDATES)
        for place in [Place(server.name, number // 8, 0, number, OTHERS)]
    ]
    verified = [each.example for each in made if each.example is not None]
    assert len(verified) >= CANDIDATES // 2
    writes = {o.tool for o in converted(file)[0].operations if o.kind not in READS}
    assert writes & {step.tool for e in verified for path in e.paths[:1] for step in path.steps}
