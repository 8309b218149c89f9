"""Servers and graphs as the page shows them."""

from copy import copy
from itertools import pairwise

import pytest

from graph.graphs import NAMES, graph
from provegym import servers
from provegym.graph.dependency import Dependency, Graph, Trial
from provegym.view.graph_layout import layers
from provegym.view.report import build_report, freeze_graph
from provegym.view.worlds import list_servers, show_graph, show_server
from view.samples import HOSTILE
from view.test_report import held


def test_servers_are_listed_by_category_also_by_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    new = copy(servers.load("banking"))
    new.name, new.category = "telescope", "astronomy"
    monkeypatch.setattr(servers, "load_known", lambda: [servers.load("trading"), new])
    assert [(each["category"], each["name"]) for each in list_servers()] == [
        ("astronomy", "telescope"),
        ("finance", "trading"),
    ]


def test_a_foreign_server_has_no_rules_of_ours() -> None:
    server = copy(servers.load("banking"))
    assert "customer" in show_server(server)["rules"]
    server.foreign = True
    assert show_server(server)["rules"] == ""


def test_layers_hold_each_tool_once() -> None:
    for name in NAMES:
        held = [tool for layer in layers(graph(name)) for tool in layer]
        assert sorted(held) == sorted(graph(name).tools)
    assert layers(Graph("bare", "", (), ())) == []


@pytest.mark.parametrize("name", NAMES)
def test_tools_of_a_column_have_heights_apart(name: str) -> None:
    nodes = show_graph(servers.load(name), graph(name))["nodes"]
    for column in {node["x"] for node in nodes}:
        heights = [node["y"] for node in nodes if node["x"] == column]
        assert all(below - above >= 1 for above, below in pairwise(heights))


def test_a_report_of_a_graph_opens_on_it_and_holds_its_evidence() -> None:
    told = held(build_report(freeze_graph(servers.load("banking"), graph("banking"))))
    assert told["start"] == "#/graph/banking"
    assert [server["name"] for server in told["servers"]] == list(told["server"]) == ["banking"]
    edges = told["graphs"]["banking"]["edges"]
    assert len(edges) == len(graph("banking").edges)
    assert all(edge["with_source"] and edge["without"] for edge in edges)


def test_hostile_text_in_a_graph_stays_text() -> None:
    evil = HOSTILE[0]
    server = copy(servers.load("banking"))
    tool = server.tools["list_accounts"]
    server.name, server.tools = evil, {evil: tool, HOSTILE[1]: tool}
    run = Trial(evil, {evil: evil}, True, evil)
    edge = Dependency("explicit", evil, HOSTILE[1], 0, (run,), (run,), evil, evil)
    html = build_report(freeze_graph(server, Graph(evil, "key", (evil, HOSTILE[1]), (edge,))))
    assert html.lower().count("</script") == 2
    assert held(html)["graphs"][evil]["edges"][0]["target"] == HOSTILE[1]
