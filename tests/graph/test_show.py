"""What `provegym graph` prints of a graph."""

import json

from graph.graphs import graph
from provegym.graph.show import as_json, list_edges, list_evidence


def test_text_and_json_say_the_same() -> None:
    some = graph("banking")
    text, data = list_edges(some), json.loads(as_json(some))
    assert text.count("←") == len(data["edges"]) == len(some.edges)


def test_evidence_is_the_run_with_and_the_run_without() -> None:
    some = graph("banking")
    text = list_evidence(some, "pay_payee")
    edges = [edge for edge in some.edges if "pay_payee" in (edge.source, edge.target)]
    assert "list_accounts → pay_payee, explicit" in text
    assert text.count("\nwith:\n") == text.count("\nwithout:\n") == len(edges)
    assert "fails:" in text
