"""The toolbox: what is shown, by which name, with which schema, and what fits it."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from examples import pay_example
from provegym import servers
from provegym.servers import load
from provegym.toolbox import Toolbox, expose, fits, gold_tools, needed_tools
from provegym.trace import BadFile, Claim, Provenance, ToolboxSpec
from provegym.worlds.build import install
from provegym.worlds.spec import convert


@dataclass(frozen=True)
class Foreign:
    """Somebody else's tool."""

    name: str
    server: str = "theirs"
    description: str = "Does something."
    writes: bool = False
    input_schema: dict[str, Any] = field(default_factory=lambda: {"type": "object"})


def test_an_example_shows_its_server_without_the_hidden_and_with_distractors() -> None:
    spec = ToolboxSpec(hidden=("list_cards",), distractors=("read_file", "search_menu"))
    shown = set(Toolbox.of(pay_example(toolbox=spec)).tools)
    assert shown == set(load("banking").tools) - {"list_cards"} | {"read_file", "search_menu"}


def test_the_order_is_drawn_from_the_examples_id() -> None:
    one, same, other = (Toolbox.of(pay_example(id=name)) for name in ("a", "a", "b"))
    assert list(one.tools) == list(same.tools) != list(other.tools)


def test_a_limit_keeps_what_is_needed() -> None:
    spec = ToolboxSpec(limit=6, distractors=("read_file",))
    shown = set(Toolbox.of(pay_example(toolbox=spec)).tools)
    assert len(shown) == 6
    assert {"list_accounts", "list_payees", "pay_payee", "set_card_status", "read_file"} <= shown


def test_a_limit_keeps_the_tool_of_a_request_that_a_rule_refuses() -> None:
    """A transcript calls it, and tells the rule's reason; no reference step has it."""
    claim = Claim(turn=0, tool="close_account", arguments={"account_id": "acc_1"})
    given_up = pay_example(toolbox=ToolboxSpec(limit=1), provenance=Provenance(infeasible=claim))
    shown = Toolbox.of(given_up).tools
    assert "close_account" in shown
    assert "close_account" not in gold_tools(given_up)
    assert set(shown) == needed_tools(given_up)


def test_a_stripped_enum_is_told_in_the_description_and_still_enforced() -> None:
    spec = ToolboxSpec(stripped=("set_card_status.status",))
    toolbox = Toolbox.of(pay_example(toolbox=spec))
    status = toolbox.schemas["set_card_status"]["properties"]["status"]
    assert "enum" not in status
    assert "One of active, cancelled, frozen." in status["description"]
    assert "enum" in load("banking").tools["set_card_status"].input_schema["properties"]["status"]
    assert toolbox.fits("set_card_status", {"card_id": "x", "status": "melted"})
    outcome = toolbox.session(7).call("set_card_status", {"card_id": "x", "status": "melted"})
    assert "one of active, cancelled, frozen" in outcome.value["message"]


def test_what_an_example_needs_and_is_not_here_is_said() -> None:
    with pytest.raises(BadFile, match="there is no server 'theirs'; if it is your own"):
        Toolbox.of(pay_example(server="theirs"))
    spec = ToolboxSpec(distractors=("read_file", "write_poems"))
    with pytest.raises(BadFile, match="its distractor 'write_poems' is not a known tool"):
        Toolbox.of(pay_example(toolbox=spec))


def test_it_speaks_openai_and_mcp() -> None:
    toolbox = Toolbox.of(pay_example())
    function, tool = toolbox.openai()[0]["function"], toolbox.mcp()[0]
    assert function["name"] == tool["name"]
    assert function["parameters"] == tool["inputSchema"]


def test_clashing_and_illegal_names_carry_their_server() -> None:
    tools = [Foreign("read"), Foreign("read", "ours"), Foreign("get file"), Foreign("x" * 90)]
    names = list(expose(tools))
    assert names[:3] == ["theirs__read", "ours__read", "theirs__get_file"]
    assert len(names[3]) == 64
    assert len(set(expose([Foreign("y" * 90), Foreign("y" * 91)]))) == 2


SCHEMA = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "maximum": 3},
        "name": {"type": ["string", "null"], "enum": ["a"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["count"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "right"),
    [
        ({"count": 1}, True),
        ({"count": 5.0}, True),
        ({"count": 99}, True),
        ({"count": "5"}, False),
        ({"count": 5.5}, False),
        ({"count": True}, False),
        ({}, False),
        ({"count": 1, "name": None}, True),
        ({"count": 1, "name": "zzz"}, True),
        ({"count": 1, "name": 5}, False),
        ({"count": 1, "other": 5}, False),
        ({"count": 1, "tags": ["x", 1]}, False),
        ({"count": 1, "tags": []}, True),
        ({"count": float("inf")}, False),
        ({"count": float("nan")}, False),
    ],
)
def test_types_and_keys_fit_and_nothing_else_is_asked(
    arguments: dict[str, Any], right: bool
) -> None:
    assert fits(SCHEMA, arguments) is right


def test_a_tool_of_a_drawn_world_is_not_hidden_by_another_servers_tool_of_its_name() -> None:
    """A world that is data may have a tool named like one of ours; what is shown is called."""
    spec = convert(
        {
            "name": "parcel_desk",
            "about": "A desk with invoices.",
            "entities": [
                {
                    "name": "invoice",
                    "prefix": "ivc",
                    "count": 3,
                    "fields": [{"name": "name", "kind": "name", "words": ["Red", "Blue", "Old"]}],
                }
            ],
            "operations": [
                {
                    "tool": "list_invoices",
                    "kind": "search",
                    "about": "List the invoices of the desk with their names.",
                    "entity": "invoice",
                    "arguments": [{"name": "name", "about": "A part.", "filter": "name"}],
                }
            ],
        }
    )
    own = install(spec)
    other = servers.load("payments")
    try:
        for order in ([own, other], [other, own]):
            tools = [*own.tools.values(), other.tools["list_webhooks"]]
            if order[0] is other:
                tools.reverse()
            session = Toolbox(tools).session(0)
            assert session.call("list_invoices", {}).value["total"] == 3
            assert session.call("list_webhooks", {}).ok
    finally:
        servers.forget("parcel_desk")
