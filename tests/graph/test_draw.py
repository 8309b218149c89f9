"""Pictures of graphs: well formed, on their own, and safe to show."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from graph.graphs import NAMES, graph
from provegym import servers
from provegym.graph.dependency import Edge, Graph, Run
from provegym.graph.draw import draw_html, draw_svg, explain
from provegym.graph.layout import columns
from provegym.graph.show import list_evidence, show

SVG = "{http://www.w3.org/2000/svg}"
EVIL = "</title></script><script>alert('x')</script>\"&%%data%%%%svg%%"


class Page(HTMLParser):
    """What a page holds: its tags, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [str(value) for name, value in attrs if name in ("src", "href", "srcset")]

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] == ["script"] and data.strip():
            self.scripts.append(data)


def hostile() -> Graph:
    """A graph whose every text tries to break out."""
    bad, good = Run(EVIL, {EVIL: EVIL}, False, EVIL), Run(EVIL, {EVIL: EVIL}, True, EVIL)
    edge = Edge("explicit", EVIL, "b" + EVIL, 0, (good, good), (bad,), EVIL, EVIL)
    return Graph(EVIL, "key", (EVIL, "b" + EVIL), (edge,))


@pytest.mark.parametrize("name", NAMES)
def test_svg_shows_every_tool_and_pair(name: str) -> None:
    root = ElementTree.fromstring(draw_svg(graph(name)))
    tools = {group.get("data-tool") for group in root.iter(f"{SVG}g")}
    lines = {(p.get("data-source"), p.get("data-target")) for p in root.iter(f"{SVG}path")}
    assert tools == set(graph(name).tools)
    assert lines == graph(name).pairs()
    assert all(path.find(f"{SVG}title") is not None for path in root.iter(f"{SVG}path"))


@pytest.mark.parametrize("name", NAMES)
def test_boxes_lie_inside_and_apart(name: str) -> None:
    root = ElementTree.fromstring(draw_svg(graph(name)))
    boxes = [
        tuple(float(rect.get(side) or 0) for side in ("x", "y", "width", "height"))
        for rect in root.iter(f"{SVG}rect")
    ]
    assert all(x >= 0 and x + w <= float(root.get("width") or 0) for x, _, w, _ in boxes)
    assert all(y >= 0 and y + h <= float(root.get("height") or 0) for _, y, _, h in boxes)
    columns_of = {x for x, *_ in boxes}
    for column in columns_of:
        tops = sorted(y for x, y, *_ in boxes if x == column)
        assert all(below - above > 24 for above, below in pairwise(tops))


@pytest.mark.parametrize("form", ["svg", "html"])
def test_picture_needs_nothing_else(form: str) -> None:
    server = servers.load("banking")
    text = show(server, graph("banking"), form)
    assert Page(text).links == []
    assert not re.search(r"url\(|@import|<(link|iframe|img|object|embed)\b", text)
    assert "http" not in re.sub(r'xmlns="[^"]*"|http-equiv', "", text)


def test_page_holds_the_evidence() -> None:
    page = Page(draw_html(graph("banking")))
    evidence = json.loads(page.scripts[0])
    assert [entry["text"] for entry in evidence] == [explain(e) for e in graph("banking").edges]
    assert page.tags.count("svg") == 1


def test_hostile_text_stays_text() -> None:
    svg, page = draw_svg(hostile()), Page(draw_html(hostile()))
    root = ElementTree.fromstring(svg)
    assert {group.get("data-tool") for group in root.iter(f"{SVG}g")} == set(hostile().tools)
    assert page.tags.count("script") == 2
    assert json.loads(page.scripts[0])[0]["source"] == EVIL


def test_columns_hold_each_tool_once() -> None:
    for name in NAMES:
        held = [tool for column in columns(graph(name)) for tool in column]
        assert sorted(held) == sorted(graph(name).tools)
    assert columns(Graph("bare", "", (), ())) == []


def test_text_and_json_say_the_same() -> None:
    server, some = servers.load("banking"), graph("banking")
    text, data = show(server, some), json.loads(show(server, some, "json"))
    assert text.count("←") == len(data["edges"]) == len(some.edges)
    assert "list_accounts" in list_evidence(some, "pay_payee")
