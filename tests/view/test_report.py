"""The report: one file with everything in it, which no text in it can break."""

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from provegym import servers
from provegym.hosts.inline import HostError
from provegym.trace import write
from provegym.view.library import Library
from provegym.view.page import STATIC
from provegym.view.report import build_report, embed, freeze, pick, spread
from provegym.view.summary import cut
from view.samples import HOSTILE, folder, hostile, played, some

INDEX = """<!doctype html><html><head><meta charset="utf-8">
<meta name="token" content="__TOKEN__">
<script type="module" crossorigin src="./assets/index-1.js"></script>
<link rel="stylesheet" crossorigin href="./assets/index-1.css">
</head><body></body></html>"""


@pytest.fixture
def built(tmp_path: Path) -> Path:
    path = tmp_path / "static"
    (path / "assets").mkdir(parents=True)
    (path / "index.html").write_text(INDEX, "utf-8")
    script = 'const a = "</script>"; const b = "\\\\1 </SCRIPT>";'
    (path / "assets" / "index-1.js").write_text(script, "utf-8")
    (path / "assets" / "index-1.css").write_text("body { color: red }", "utf-8")
    return path


def held(html: str) -> Any:
    """The data in a report, as a browser would find it."""
    [text] = re.findall(r'<script type="application/json" id="report">(.*?)</script>', html, re.S)
    return msgspec.json.decode(text)


def test_everything_the_page_asks_for_is_in_it(tmp_path: Path) -> None:
    data = freeze(Library([folder(tmp_path / "all")]).settle())
    names = {source["name"]: source["id"] for source in data.sources}
    left = names["all/left.jsonl"]
    assert data.rows[left]["columns"]["at"] == list(range(10))
    assert data.sources[left]["shown"] == 10
    assert data.items[f"{left}:3"]["example"].id == "pay-3"
    assert data.runs[names["all/run"]]["total"] == 3
    assert data.run_examples[names["all/run"]][0]["id"] == "pay-0"
    assert list(data.graphs) == ["banking"]
    assert len(data.servers) == len(data.server) == len(servers.known())
    assert str(tmp_path) not in embed(data.sources)


def test_a_source_gives_no_more_than_asked(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", some(30))
    write(tmp_path / "b.jsonl", [played("oracle", number) for number in range(29, -1, -1)])
    library = Library([tmp_path]).settle()
    data = freeze(library, 6)
    columns = [data.rows[number]["columns"] for number in (0, 1)]
    assert [len(each["at"]) for each in columns] == [6, 6]
    rewards = columns[0]["reward"]["values"]
    assert max(rewards) == pytest.approx(1.3)
    assert min(rewards) == 0
    assert set(columns[0]["id"]["values"]) == set(columns[1]["id"]["values"])
    assert len(data.items) == 12


def test_rows_are_spread_from_first_to_last() -> None:
    assert spread(range(100), 5) == [0, 24, 49, 74, 99]
    assert spread(range(3), 5) == [0, 1, 2]
    assert spread(range(3), 1) == [0]
    assert spread(range(3), 0) == []


def test_examples_that_are_in_already_come_first(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", some(9))
    rows = Library([tmp_path]).settle().rows(0)
    assert pick(rows, {"pay-7"}, 1) == [7]


def test_no_text_ends_the_data(built: Path, tmp_path: Path) -> None:
    path = tmp_path / "hostile.jsonl"
    write(path, map(hostile, HOSTILE))
    html = build_report(freeze(Library([path]).settle()), built)
    assert held(html)["rows"]["0"]["columns"]["id"]["values"] == list(map(cut, HOSTILE))
    text = embed({"all": HOSTILE})
    assert not set("<\u2028\u2029") & set(text)
    assert msgspec.json.decode(text)["all"] == list(HOSTILE)
    assert html.lower().count("</script") == 2


def test_the_policy_lets_its_own_script_and_style_run_and_no_other(built: Path) -> None:
    html = build_report({}, built)
    [script] = re.findall(r'<script type="module">(.*?)</script>', html, re.S)
    [style] = re.findall(r"<style>(.*?)</style>", html, re.S)
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    for text, what in ((script, "script-src"), (style, "style-src")):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{what} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "\\\\1" in script
    assert "__TOKEN__" not in html
    assert "assets/" not in html
    assert html.index("Content-Security-Policy") < html.index("<script")
    assert html.index('id="report"') < html.index('type="module"')


def test_a_page_that_is_not_built_or_in_pieces_is_told(tmp_path: Path, built: Path) -> None:
    with pytest.raises(HostError, match="not built"):
        build_report({}, tmp_path / "nowhere")
    twice = INDEX.replace("</head>", '<script src="/assets/index-1.js"></script></head>')
    (built / "index.html").write_text(twice, "utf-8")
    with pytest.raises(HostError, match="several"):
        build_report({}, built)


@pytest.mark.skipif(not (STATIC / "index.html").exists(), reason="the page is not built here")
def test_the_built_page_becomes_a_report() -> None:
    html = build_report({"sources": []})
    assert held(html) == {"sources": []}
    assert "/assets/" not in html
