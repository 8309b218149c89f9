"""A few examples on the banking server, made by hand for the tests of the layers above it."""

from typing import Any

from provegym.kernel import Session
from provegym.servers import load
from provegym.trace import Alternative, Edge, Example, Path, Step, ToolboxSpec, Turn

SEED = 7


def pay_example(**changes: object) -> Example:
    """Two lookups, a payment, and in the next turn a standing order to the same payee."""
    session = Session([load("banking")], SEED)
    account = session.call("list_accounts", {"name": "Freelance"}).value["items"][0]["id"]
    payee = session.call("list_payees", {"name": "Harbour"}).value["items"][0]["id"]
    explicit = (Edge(step=0, kind="explicit"), Edge(step=1, kind="explicit"))
    steps = (
        Step(
            turn=0,
            tool="list_accounts",
            arguments={"name": "Freelance"},
            alternatives=(Alternative(tool="list_accounts", arguments={}),),
        ),
        Step(turn=0, tool="list_payees", arguments={"name": "Harbour"}),
        Step(
            turn=0,
            tool="pay_payee",
            arguments={"account_id": account, "payee_id": payee, "amount": 20},
            writes=True,
            needs=explicit,
        ),
        Step(
            turn=1,
            tool="set_card_status",
            arguments={"card_id": _card(session), "status": "frozen"},
            writes=True,
        ),
    )
    fields: dict[str, object] = {
        "id": "pay-1",
        "kind": "multi_turn",
        "server": "banking",
        "server_version": load("banking").version,
        "seed": SEED,
        "digest": session.digest(),
        "system": "You act for a bank's customer.",
        "turns": (
            Turn(text="Pay Harbour 20 from Freelance."),
            Turn(text="Freeze my card.", minutes=5),
        ),
        "paths": (Path(steps=steps),),
        "toolbox": ToolboxSpec(),
        **changes,
    }
    return Example(**fields)  # type: ignore[arg-type]


def _card(session: Session) -> str:
    cards = session.call("list_cards", {}).value["items"]
    return str(next(card["id"] for card in cards if card["status"] == "active"))


def fields(schema: Any) -> set[str]:
    """Every field within an output schema."""
    if isinstance(schema, list):
        return set().union(*map(fields, schema))
    if not isinstance(schema, dict):
        return set()
    return {*schema.get("properties", {})}.union(*map(fields, schema.values()))
