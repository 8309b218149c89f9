"""The graphs in the package: those that are built today, so that nobody has to build them."""

import gzip
from copy import copy
from pathlib import Path

import msgspec
import pytest

from command import run
from graph.graphs import graph
from provegym import servers
from provegym.graph import dependency
from provegym.graph.dependency import Graph, cached, shipped, with_undoing


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without any graph, and nobody who builds one."""

    def refuse(*_: object) -> Graph:
        raise AssertionError("a graph is built")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(dependency, "build", refuse)
    return tmp_path


@pytest.mark.parametrize("name", servers.names())
def test_a_shipped_graph_is_the_one_that_is_built_today(name: str) -> None:
    told = f"run `provegym graph {name} --rebuild`; a changed world or rule needs a new version too"
    server = servers.load(name)
    assert shipped(server) == with_undoing(server, graph(name)), told


def test_a_fresh_install_builds_no_graph(empty: Path) -> None:
    for server in servers.load_all():
        assert cached(server).edges
    assert list(empty.iterdir()) == []


def test_a_server_that_changed_has_no_shipped_graph(empty: Path) -> None:
    for change in ("version", "schema"):
        other = copy(servers.load("payments"))
        if change == "version":
            other.version += 1
        else:
            other.tools = dict(list(other.tools.items())[1:])
        assert shipped(other) is None
        with pytest.raises(AssertionError, match="a graph is built"):
            cached(other)


def test_other_seeds_and_servers_have_no_shipped_graph() -> None:
    assert shipped(servers.load("payments"), 1) is None
    foreign = copy(servers.load("payments"))
    foreign.name = "../payments"
    assert shipped(foreign) is None


def test_one_command_writes_them_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependency, "shipped_file", lambda name: tmp_path / f"{name}.gz")
    known = {server.name: shipped(server) for server in servers.load_all()}
    monkeypatch.setattr(dependency, "build", lambda server: known[server.name])
    assert run("graph", "--rebuild", "payments").stdout == "payments: 10 tools, 16 dependencies\n"
    (file,) = tmp_path.iterdir()
    written = msgspec.json.decode(gzip.decompress(file.read_bytes()), type=Graph)
    assert written == known["payments"]
    assert run("graph", "--rebuild").returncode == 0
    assert len(list(tmp_path.iterdir())) == len(servers.names())


@pytest.mark.parametrize("option", [["--json"], ["--seed", "1"], ["--mcp", "true"]])
def test_the_package_holds_our_graphs_on_one_seed_alone(option: list[str]) -> None:
    done = run("graph", "--rebuild", *option)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
