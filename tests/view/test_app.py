"""The page's server as a browser speaks to it: every answer, every refusal, and the headers."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from provegym.servers import load, names
from provegym.trace import line, write
from provegym.view import page
from provegym.view.library import Library
from provegym.view.summary import cut
from view.samples import HOSTILE, PORT, TOKEN, client, folder, get, hostile, numbers, replace, some

HERE = f"127.0.0.1:{PORT}"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    path = folder(tmp_path_factory.mktemp("app") / "all")
    write(path / "hostile.jsonl", map(hostile, HOSTILE))
    (path / "table.csv").write_text("a,b\n1,2\n", "utf-8")
    return client(Library([path]).settle())


@pytest.fixture(scope="module")
def number(asked: TestClient) -> dict[str, int]:
    return {name.removeprefix("all/"): at for name, at in numbers(asked).items()}


def test_sources_and_their_problems(asked: TestClient, number: dict[str, int]) -> None:
    told = get(asked, "sources")
    table = told["sources"][number["table.csv"]]
    assert (table["kind"], table["count"]) == ("problem", 0)
    assert "is not JSON lines" in table["problem"]
    assert told["version"]


def test_columns_hold_what_the_list_filters_by(asked: TestClient, number: dict[str, int]) -> None:
    told = get(asked, "columns", source=number["left.jsonl"])
    assert (told["kind"], told["first"], told["total"], told["done"]) == ("rollouts", 0, 10, True)
    columns = told["columns"]
    assert columns["at"] == list(range(10))
    assert columns["id"] == {"values": [f"pay-{at}" for at in range(10)], "codes": columns["at"]}
    assert columns["policy"]["values"] == ["oracle", "noop", "spammer", "shuffler", "guesser"]
    assert columns["policy"]["codes"] == [0, 1, 2, 3, 4] * 2
    assert columns["knob"]["values"] == [["distractors"], []]
    more = get(asked, "columns", source=number["left.jsonl"], generation=1, after=7)
    assert (more["first"], more["columns"]["at"]) == (7, [7, 8, 9])
    assert more["columns"]["policy"] == {"values": [], "codes": [2, 3, 4]}
    assert more["columns"]["id"] == {"values": ["pay-7", "pay-8", "pay-9"], "codes": [7, 8, 9]}
    problem = get(asked, "columns", source=number["table.csv"])
    assert (problem["kind"], problem["total"]) == ("problem", 0)


def test_columns_of_a_file_that_was_rewritten_begin_anew(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", some(3))
    library = Library([tmp_path]).settle()
    asked = client(library)
    before = get(asked, "columns", source=0)["generation"]
    write(tmp_path / "a.jsonl", some(2))
    library.settle()
    told = get(asked, "columns", source=0, generation=before, after=3)
    assert (told["first"], told["columns"]["at"]) == (0, [0, 1])
    assert told["generation"] != before


def test_search_texts_and_fingerprints(asked: TestClient, number: dict[str, int]) -> None:
    source = number["left.jsonl"]
    assert get(asked, "search", source=source, word=["HARBOUR", "PAY-3"]) == [3]
    assert get(asked, "search", source=source, word="NOWHERE") == []
    assert get(asked, "texts", source=source, row=[4, 0]) == ["Pay Harbour 20 from Freelance."] * 2
    assert get(asked, "texts", source=source, row=99) == ["this line has changed since it was read"]
    oracle, other, noop = get(asked, "fingerprints", source=source, row=[0, 5, 1])
    # The words of a reply are drawn by the id of the example.
    assert {**oracle, "messages": ""} == {**other, "messages": ""}
    assert {name for name in oracle if oracle[name] == noop[name]} == {"ending"}
    assert get(asked, "fingerprints", source=number["corpus/train"], row=[0, 9]) == [None, None]


def test_runs(asked: TestClient, number: dict[str, int]) -> None:
    run = get(asked, "run", source=number["run"], after=1)
    assert [step["step"] for step in run["steps"]] == [2, 3]
    watched = get(asked, "run/examples", source=number["run"])
    assert [each["id"] for each in watched] == ["pay-0"]


def test_servers_worlds_and_graphs(asked: TestClient) -> None:
    told = get(asked, "servers")
    assert {each["name"] for each in told} == set(names())
    assert [each["category"] for each in told] == sorted(each["category"] for each in told)
    assert [each["tools"] for each in told] == [len(load(each["name"]).tools) for each in told]
    for each in told:
        server = get(asked, "server", name=each["name"])
        assert len(server["tools"]) == each["tools"] == each["reads"] + each["writes"]
        assert server["rules"]
        assert all(record["about"] for record in server["records"])
        world = get(asked, "world", server=each["name"], seed=3)
        assert all(table["columns"][0] == table["key"] for table in world["tables"])
        assert all(len(table["rows"]) == table["total"] for table in world["tables"])
    graph = get(asked, "graph", server="banking")
    known = {node["id"] for node in graph["nodes"]}
    assert {edge["source"] for edge in graph["edges"]} <= known
    assert all(edge["with_source"] and edge["without"] for edge in graph["edges"])
    assert len({(node["x"], node["y"]) for node in graph["nodes"]}) == len(known) == 17


def test_a_tool_is_tried_and_undone(asked: TestClient) -> None:
    session = asked.post("/api/session", json={"server": "banking", "seed": 0}).json()["session"]
    call = {
        "session": session,
        "tool": "open_account",
        "arguments": {"name": "Boat", "kind": "savings"},
    }
    done = asked.post("/api/call", json=call).json()
    assert (done["ok"], done["result"]["name"], done["depth"]) == (True, "Boat", 1)
    world = get(asked, "world", session=session)
    assert "Boat" in str(world["tables"][0]["rows"])
    assert "Boat" not in str(get(asked, "world", server="banking")["tables"][0]["rows"])
    assert asked.post("/api/undo", json={"session": session}).json() == {"depth": 0, "diff": []}
    assert "Boat" not in str(get(asked, "world", session=session))
    assert asked.post("/api/reset", json={"session": session}).status_code == 200


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("columns?source=99", 404, "no source 99"),
        ("columns?source=x", 400, "does not fit"),
        ("columns?source=0&after=-1", 400, "does not fit"),
        ("texts?source=0" + "&row=0" * 501, 400, "does not fit"),
        ("search?source=0" + "&word=a" * 9, 400, "does not fit"),
        ("item?source=0&at=999", 404, "has no row 999"),
        ("run?source=0", 404, "is no run"),
        ("server?name=bankin", 404, "did you mean 'banking'"),
        ("world?server=..%2F..%2Fetc", 404, "no server"),
        ("world?session=guess", 404, "no such session"),
        ("graph?server=", 404, "no server"),
        ("nothing", 404, "nothing here"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    asked: TestClient, path: str, status: int, says: str
) -> None:
    response = asked.get(f"/api/{path}")
    assert response.status_code == status
    assert says in response.json()["error"]


def test_a_run_has_no_rows(asked: TestClient, number: dict[str, int]) -> None:
    response = asked.get(f"/api/columns?source={number['run']}")
    assert response.status_code == 404
    assert "sources of their own" in response.json()["error"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("session", b'{"server": "nowhere"}', 404),
        ("session", b'{"server": "banking", "seed": -1}', 400),
        ("session", b"not json", 400),
        ("session", b"[" * 100_000, 400),
        ("session", b'{"server": "banking", "more": 1}', 400),
        ("call", b'{"session": "x", "tool": "list_accounts"}', 404),
        ("undo", b'{"session": "x"}', 404),
        ("reset", b"{}", 400),
    ],
)
def test_a_wrong_body_is_one_sentence(
    asked: TestClient, path: str, body: bytes, status: int
) -> None:
    response = asked.post(f"/api/{path}", content=body)
    assert response.status_code == status
    assert response.json()["error"]


def test_a_body_is_bounded(asked: TestClient) -> None:
    response = asked.post("/api/call", content=b" " * 200_000)
    assert response.status_code == 413


@pytest.mark.parametrize("path", ["/", "/api/sources", "/api/nothing", "/assets/nothing.js"])
def test_every_answer_carries_the_policy(asked: TestClient, path: str) -> None:
    headers = asked.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (HERE, 200),
        (f"localhost:{PORT}", 200),
        (f"LOCALHOST:{PORT}", 200),
        ("127.0.0.1", 403),
        ("127.0.0.1:1", 403),
        (f"evil.example:{PORT}", 403),
        (f"127.0.0.1.evil.example:{PORT}", 403),
        (f"[::1]:{PORT}", 403),
        ("", 403),
    ],
)
def test_only_this_host_is_answered_to(asked: TestClient, host: str, status: int) -> None:
    for path in ("/", "/api/sources"):
        response = asked.get(path, headers={"host": host})
        assert response.status_code == status
        assert TOKEN not in response.text or status == 200


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (f"http://{HERE}", 200),
        (f"http://localhost:{PORT}", 200),
        (f"https://{HERE}", 403),
        ("http://127.0.0.1:3000", 403),
        ("http://evil.example", 403),
        ("null", 403),
    ],
)
def test_only_this_origin_is_answered_to(asked: TestClient, origin: str, status: int) -> None:
    headers = {"origin": origin}
    assert asked.get("/api/sources", headers=headers).status_code == status
    body = {"server": "banking"}
    assert asked.post("/api/session", json=body, headers=headers).status_code == status


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x", TOKEN[:-1], "\xff"])
def test_nothing_changes_without_the_token(asked: TestClient, token: str) -> None:
    for path in ("session", "call", "undo", "reset"):
        response = asked.post(
            f"/api/{path}",
            json={"server": "banking"},
            headers={"x-provegym-token": token.encode("latin-1")},
        )
        assert response.status_code == 403
        assert "X-ProveGym-Token" in response.json()["error"]


def test_a_get_changes_nothing(asked: TestClient) -> None:
    for path in ("session", "call", "undo", "reset"):
        assert asked.get(f"/api/{path}").status_code == 405
    assert asked.post("/api/columns").status_code == 405


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_comes_as_json_alone(
    asked: TestClient, number: dict[str, int], text: str
) -> None:
    at = HOSTILE.index(text)
    source = number["hostile.jsonl"]
    for path in ("columns", "texts", "search", "item"):
        query = {"source": source, "at": at, "row": at, "word": text[:10]}
        response = asked.get(f"/api/{path}", params=query)
        assert response.headers["content-type"] == "application/json"
    columns = get(asked, "columns", source=source)["columns"]
    assert columns["id"]["values"][at] == columns["policy"]["values"][at] == cut(text)
    assert asked.get("/").text == page.index(TOKEN)


def test_the_page_gets_the_token_of_this_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "index.html").write_text('<meta name="token" content="__TOKEN__">', "utf-8")
    assert page.index("abc", tmp_path) == '<meta name="token" content="abc">'
    assert "not built" in page.index("abc", tmp_path / "nowhere")


def test_only_built_files_are_served(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "a.js").write_text("1", "utf-8")
    (tmp_path / "assets" / "a.py").write_text("1", "utf-8")
    (tmp_path / "secret.js").write_text("2", "utf-8")
    found = page.asset("a.js", tmp_path)
    assert found is not None
    assert found.media_type == "text/javascript"
    for name in ("../secret.js", "a.py", "..", "", "/etc/passwd", "secret.js"):
        assert page.asset(name, tmp_path) is None


@pytest.mark.parametrize(
    "path", ["/assets/../page.py", "/assets/%2e%2e%2fpage.py", "/../pyproject.toml", "/static/x"]
)
def test_no_path_leaves_the_built_page(asked: TestClient, path: str) -> None:
    assert asked.get(path).status_code == 404


@pytest.mark.parametrize("depth", [200, 400, 480, 495, 5_000])
def test_what_is_nested_too_deeply_is_a_sentence(tmp_path: Path, depth: int) -> None:
    deep = b'[{"a":' * depth + b"1" + b"}]" * depth
    rollout = replace(some(1)[0], messages=({"role": "assistant", "content": "DEEP"},))
    (tmp_path / "a.jsonl").write_bytes(line(rollout).replace(b'"DEEP"', deep))
    asked = client(Library([tmp_path]).settle())
    assert get(asked, "columns", source=0)["total"] in (0, 1)
    response = asked.get("/api/item?source=0&at=0")
    assert response.status_code in (200, 404, 422)
    assert response.json()
    assert asked.get("/api/fingerprints?source=0&row=0").status_code in (200, 422)


def test_a_bug_is_told_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.jsonl", some(1))
    library = Library([tmp_path]).settle()
    monkeypatch.setattr(library, "describe", lambda: 1 / 0)
    response = client(library).get("/api/sources")
    assert response.status_code == 500
    assert "a bug of provegym" in response.json()["error"]
    assert response.headers["x-content-type-options"] == "nosniff"
