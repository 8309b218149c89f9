"""Servers as REST APIs, and the comparison of rebuilt servers with the real ones."""

import json
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

from command import run
from provegym import servers
from provegym.bench.agreement import compare
from provegym.bench.rebuilding import rebuild_from_openapi, rebuild_from_sql
from provegym.kernel import Session
from provegym.worlds.describe import describe, places

DOCS = Path(__file__).parents[2] / "docs"
SCHEMAS = Path(__file__).parent / "data" / "schemas"


def shown(name: str) -> list[dict[str, Any]]:
    """What a client sees of the tools of a server."""
    return [tool.describe() for tool in servers.load(name).tools.values()]


@pytest.mark.parametrize("name", servers.names())
def test_every_tool_has_one_operation(name: str) -> None:
    document = describe(name, "about", shown(name))
    found = [each["operationId"] for item in document["paths"].values() for each in item.values()]
    assert sorted(found) == sorted(servers.load(name).tools)
    assert json.loads(json.dumps(document)) == document
    for path, item in document["paths"].items():
        for each in item.values():
            slots = [p["name"] for p in each.get("parameters", ()) if p["in"] == "path"]
            assert all(f"{{{slot}}}" in path for slot in slots)
            assert path.count("{") == len(slots)


def test_paths_read_as_people_write_them() -> None:
    found = places(shown("banking"))
    assert found["list_accounts"] == ("get", "/accounts")
    assert found["get_transaction"] == ("get", "/transactions/{transaction_id}")
    assert found["remove_payee"] == ("delete", "/payees/{payee_id}")
    assert found["set_card_status"] == ("patch", "/cards/{card_id}")
    assert found["close_account"] == ("post", "/accounts/{account_id}/close")
    assert places(shown("payments"))["create_invoice"] == (
        "post",
        "/customers/{customer_id}/invoices",
    )


def test_a_record_is_not_what_it_points_to() -> None:
    document = describe("payments", "about", shown("payments"))
    assert "payment_id" not in document["components"]["schemas"]["Payment"]["properties"]


def test_the_command_prints_the_document() -> None:
    printed = run("servers", "banking", "--openapi").stdout
    server = servers.load("banking")
    assert json.loads(printed) == describe("banking", server.about, shown("banking"))
    assert run("servers", "--openapi").returncode != 0


def test_the_rebuilt_world_has_the_records_of_the_real_one() -> None:
    rebuilt = rebuild_from_openapi(servers.load("banking"))
    real = Session([rebuilt.real], 0)
    other = rebuilt.copier.session(real)
    cards = real.call("list_cards", {}).value
    found = other.call("list_cards", {}).value
    assert found["total"] == cards["total"]
    assert [each["id"] for each in found["items"]] == [each["id"] for each in cards["items"]]
    assert other.now == real.now


def test_what_a_schema_knows_agrees_and_what_it_does_not_know_differs() -> None:
    rebuilt = rebuild_from_openapi(servers.load("banking"))
    found = {each.tool: each for each in compare(rebuilt, 20)}
    freeze = found["set_card_status"]
    assert freeze.same == freeze.calls == 20
    assert freeze.change == freeze.whole == freeze.succeeded > 0
    close = found["close_account"]
    assert close.ends["rejected ok"] > 0
    assert close.same < close.calls
    assert found["dispute_transaction"].stray
    assert not found["transfer_funds"].rebuilt


def test_each_mapping_of_the_written_schemas_fits() -> None:
    matching = tomllib.loads((SCHEMAS / "matching.toml").read_text("utf-8"))
    assert sorted(matching) == sorted(file.stem for file in SCHEMAS.glob("*.sql"))
    for name, known in matching.items():
        real = servers.load(name)
        assert known["tools"].keys() <= real.tools.keys()
        text = (SCHEMAS / f"{name}.sql").read_text("utf-8")
        rebuilt = rebuild_from_sql(real, text, known)
        for tool, matches in rebuilt.tools.items():
            for match in matches:
                schema = rebuilt.server.tools[match.tool].input_schema
                assert {*match.arguments, *match.fixed} <= schema["properties"].keys()
                given = real.tools[tool].input_schema["properties"]
                assert set(match.arguments.values()) <= given.keys()


def test_the_page_has_the_figures_of_the_file() -> None:
    script = runpy.run_path(str(DOCS / "truth.py"))
    found = json.loads((DOCS / "truth.json").read_text("utf-8"))
    page = (DOCS / "truth.md").read_text("utf-8")
    assert script["filled"](page, found) == page, "run docs/truth.py"


def test_the_file_has_what_a_run_finds() -> None:
    """One server of each source is measured anew."""
    script = runpy.run_path(str(DOCS / "truth.py"))
    found = json.loads((DOCS / "truth.json").read_text("utf-8"))
    matching = tomllib.loads((SCHEMAS / "matching.toml").read_text("utf-8"))
    for source in ("openapi", "sql"):
        assert script["measure_one"](source, "payments", matching) == found[source]["payments"], (
            "run docs/truth.py measure"
        )
