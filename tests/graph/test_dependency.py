"""The dependency graph: it has the pairs that people listed, and its evidence can be replayed."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from graph.graphs import NAMES, graph, truth
from provegym import servers
from provegym.fuzz import pool
from provegym.graph import dependency
from provegym.graph.dependency import Dependency, Graph, Trial, build, cached, graph_key, lasting
from provegym.graph.slots import spots, taken
from provegym.kernel import Session
from provegym.language.values import leaves

every_server = pytest.mark.parametrize("name", NAMES)


@every_server
def test_truth_is_large_enough_and_knows_the_tools(name: str) -> None:
    listed, tools = truth(name), servers.load(name).tools
    true, false = listed["explicit"] | listed["implicit"], listed["near_miss"] | listed["unrelated"]
    assert min(len(true), len(false)) >= 20
    assert 2 * len(listed["near_miss"]) >= len(false)
    assert not true & false
    assert {tool for pair in true | false for tool in pair} <= tools.keys()


def test_edges_are_those_of_the_domain(capsys: pytest.CaptureFixture[str]) -> None:
    lines, low = [f"{'server':<14} true false precision recall  missed"], []
    for name in NAMES:
        listed, found = truth(name), graph(name).pairs()
        true = listed["explicit"] | listed["implicit"]
        false = listed["near_miss"] | listed["unrelated"]
        precision = len(found & true) / len(found & (true | false))
        recall = len(found & true) / len(true)
        missed = ", ".join(f"{a}→{b}" for a, b in sorted(true - found))
        lines.append(
            f"{name:<14} {len(true):>4} {len(false):>5} {precision:>9.3f} {recall:>6.3f}  {missed}"
        )
        low += [name] if precision < 0.95 or recall < 0.9 else []
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert low == []


@every_server
def test_kinds_are_right(name: str) -> None:
    listed, found = truth(name), graph(name)
    for kind in ("explicit", "implicit"):
        known = listed[kind] & found.pairs()
        assert len(known & found.pairs(kind)) >= 0.8 * len(known)


@every_server
def test_evidence_replays(name: str) -> None:
    for edge in graph(name).edges:
        assert replay(name, edge, edge.with_source)[-1], edge
        *before, last = replay(name, edge, edge.without)
        assert all(before), edge
        assert not last, edge


def replay(name: str, edge: Dependency, runs: tuple[Trial, ...]) -> list[bool]:
    """Run the calls of some evidence in a fresh session and hold them to what was recorded."""
    session, done = Session([servers.load(name)], edge.seed), []
    for run in runs:
        outcome = session.call(run.tool, run.arguments)
        assert outcome.ok == run.ok
        assert outcome.text.startswith(run.result)
        done.append(outcome.ok)
    return done


@every_server
def test_evidence_shows_what_the_edge_says(name: str) -> None:
    for edge in graph(name).edges:
        *_, first, last = edge.with_source
        assert (first.tool, last.tool) == (edge.source, edge.target)
        assert edge.without[-1].tool == edge.target
        if edge.kind == "implicit":
            assert edge.without[-1].arguments == last.arguments
            continue
        value = taken(last.arguments, tuple(edge.argument.split("/")))
        assert value not in leaves(first.arguments)
        session = Session([servers.load(name)], edge.seed)
        *_, outcome = [session.call(r.tool, r.arguments) for r in edge.with_source[:-1]]
        assert (edge.pointer, value) in list(spots(outcome.value))


def test_no_edge_is_told_twice_and_none_is_a_loop() -> None:
    for name in NAMES:
        edges = graph(name).edges
        keys = {(e.kind, e.source, e.target, e.argument) for e in edges}
        assert len(keys) == len(edges)
        assert all(edge.source != edge.target for edge in edges)


def test_worlds_are_only_called_and_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    def peek(*_: object) -> None:
        raise AssertionError("that would be looking into the world")

    monkeypatch.setattr(pool, "state_rows", peek)
    for method in ("diff", "digest", "changes", "check", "reset", "advance"):
        monkeypatch.setattr(Session, method, peek)
    assert build(servers.load("payments")).edges


def test_same_server_and_seed_same_graph() -> None:
    code = (
        "import msgspec, hashlib; from provegym import servers;"
        "from provegym.graph.dependency import *;"
        "graph = build(servers.load('payments'));"
        "print(hashlib.md5(msgspec.json.encode(graph)).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_cache_is_as_good_as_building(tmp_path: Path) -> None:
    server = servers.load("payments")
    built = cached(server, 3, tmp_path)
    (file,) = tmp_path.iterdir()
    assert file.name == f"payments-{graph_key(server, 3)}.json"
    assert built == build(server, 3)
    changed = msgspec.structs.replace(built, edges=())
    other = tmp_path / "other"
    other.mkdir()
    (other / file.name).write_bytes(msgspec.json.encode(changed))
    assert cached(server, 3, other).edges == ()


def test_a_graph_is_read_from_disk_once(tmp_path: Path) -> None:
    server = servers.load("payments")
    key = graph_key(server, 0)
    file = tmp_path / f"payments-{key}.json"
    file.write_bytes(msgspec.json.encode(Graph("payments", key, (), ())))
    read = cached(server, 0, tmp_path)
    file.unlink()
    assert cached(server, 0, tmp_path) is read
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spoilt", [b"", b"{", b"\xff\xfe", b"[]", b'{"key": 3}'])
def test_spoilt_cache_is_built_anew(
    tmp_path: Path, spoilt: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, proven = servers.load("payments"), graph("payments")
    monkeypatch.setattr(dependency, "build", lambda *_: proven)
    file = tmp_path / f"payments-{graph_key(server, 0)}.json"
    file.write_bytes(spoilt)
    assert cached(server, 0, tmp_path) is proven
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert msgspec.json.decode(file.read_bytes(), type=Graph) == proven


def test_key_follows_schemas_and_seed() -> None:
    bank, food = servers.load("banking"), servers.load("food_delivery")
    assert len({graph_key(bank, 0), graph_key(bank, 1), graph_key(food, 0)}) == 3


def test_edges_whose_second_call_undoes_the_first_are_left_out_of_conversations() -> None:
    left_out = graph("email").pairs() - lasting(servers.load("email")).pairs()
    assert ("create_email_label", "delete_email_label") in left_out
    assert ("search_emails", "update_email") not in left_out
    assert len(left_out) < 0.2 * len(graph("email").pairs())
