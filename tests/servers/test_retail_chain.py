"""The rules of the retail chain, told on three stores and two products."""

from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import Outcome, Seed, Session, money
from provegym.servers.retail_chain import server
from provegym.servers.retail_chain.state import Chain, Reservation, Shipment, Stock

Ids = dict[str, str]


@pytest.fixture
def ids() -> Ids:
    """Where things are, by short names."""
    return {}


@pytest.fixture
def session(ids: Ids) -> Session:
    """Ines works in Mill Lane; Quay is two hours away and has plenty of kettles."""
    chain = Chain(Seed(0))
    for name, hours in (("Mill Lane", 0), ("Quay", 2)):
        team = {"manager": f"{name} Boss", "clerk": f"{name} Clerk", "own": hours == 0}
        store = chain.stores.add(name=name, city="Corvale", lorry_hours=hours, **team)
        ids[name] = store.id
        for product, price, gone in (("Kettle", 20, False), ("Vase", 60, True)):
            count = 10 if store.own else 25 if gone else 30
            place = {"store_id": store.id, "store_name": name, "own": store.own}
            counts = {"on_hand": count, "available": count, "counted_in": count}
            more = {"supplier": "Pike", "pack_size": 6, "discontinued": gone, "reorder_point": 12}
            fields = {"lorry_hours": hours, "product_name": product, "price": money(price)}
            ids[f"{product} {name}"] = chain.stocks.add(**place, **counts, **more, **fields).id
    chain.check()
    return Session.over(server, chain)


def chain_of(session: Session) -> Chain:
    """The state, with its invariants asserted."""
    session.check()
    state = session.state(server)
    assert isinstance(state, Chain)
    return state


def done(session: Session, tool: str, **arguments: Any) -> Any:
    """The result of a call that must succeed."""
    outcome = session.call(tool, arguments)
    assert outcome.ok, outcome.text
    chain_of(session)
    return outcome.value


def refused(session: Session, tool: str, **arguments: Any) -> Outcome:
    """The refusal of a call that a rule must stop."""
    outcome = session.call(tool, arguments)
    assert outcome.error in ("rejected", "denied"), outcome.text
    return outcome


def stock(session: Session, stock_id: str) -> Stock:
    return chain_of(session).stocks[stock_id]


def shipment(session: Session, made: Any) -> Shipment:
    return chain_of(session).shipments[made["id"]]


def reservation(session: Session, made: Any) -> Reservation:
    return chain_of(session).reservations[made["id"]]


def ask_us(session: Session, ids: Ids, quantity: int) -> Shipment:
    """Quay wants kettles from Mill Lane."""
    chain = chain_of(session)
    mine, theirs = (chain.stocks[ids[f"Kettle {name}"]] for name in ("Mill Lane", "Quay"))
    due = chain.now + timedelta(hours=8)
    made = chain.ship(mine, theirs, quantity=quantity, status="requested", due_at=due)
    chain.undo.clear()
    return made


def test_stock_is_found_by_product_store_and_need(session: Session, ids: Ids) -> None:
    found = done(session, "search_store_stock", product_name="kettle", store_id=ids["Quay"])
    assert [item["id"] for item in found["items"]] == [ids["Kettle Quay"]]
    low = done(session, "search_store_stock", to_reorder=True)
    assert {item["store_name"] for item in low["items"]} == {"Mill Lane"}
    assert session.call("search_store_stock", {"store_id": "shp_1"}).error == "not_found"


def test_the_own_store_is_marked(session: Session) -> None:
    stores = done(session, "list_chain_stores", city="corvale")["items"]
    assert [store["name"] for store in stores if store.get("own")] == ["Mill Lane"]


def test_a_requested_transfer_is_answered_sent_and_received(session: Session, ids: Ids) -> None:
    made = done(session, "request_store_transfer", stock_id=ids["Kettle Quay"], quantity=8)
    assert stock(session, ids["Kettle Quay"]).on_hand == 30
    session.advance(240)
    assert shipment(session, made).status == "in_transit"
    assert stock(session, ids["Kettle Quay"]).on_hand == 22
    assert refused(session, "receive_store_shipment", shipment_id=made["id"], counted=8)
    session.advance(120)
    assert shipment(session, made).status == "arrived"
    assert refused(session, "receive_store_shipment", shipment_id=made["id"], counted=9)
    done(session, "receive_store_shipment", shipment_id=made["id"], counted=7)
    assert stock(session, ids["Kettle Mill Lane"]).on_hand == 17
    assert refused(session, "receive_store_shipment", shipment_id=made["id"], counted=7)


def test_a_store_keeps_what_its_reorder_point_says(session: Session, ids: Ids) -> None:
    made = done(session, "request_store_transfer", stock_id=ids["Kettle Quay"], quantity=19)
    session.advance(240)
    assert shipment(session, made).status == "declined"
    assert stock(session, ids["Kettle Quay"]).on_hand == 30


def test_requests_go_to_others_one_at_a_time_for_what_is_there(session: Session, ids: Ids) -> None:
    assert refused(session, "request_store_transfer", stock_id=ids["Kettle Mill Lane"], quantity=1)
    many = refused(session, "request_store_transfer", stock_id=ids["Vase Quay"], quantity=26)
    assert "only 25 available" in many.text
    done(session, "request_store_transfer", stock_id=ids["Kettle Quay"], quantity=2)
    assert refused(session, "request_store_transfer", stock_id=ids["Kettle Quay"], quantity=2)


def test_another_store_is_sent_what_it_asked_for(session: Session, ids: Ids) -> None:
    asked = ask_us(session, ids, 4)
    done(session, "dispatch_store_transfer", shipment_id=asked.id)
    assert stock(session, ids["Kettle Mill Lane"]).on_hand == 6
    assert refused(session, "dispatch_store_transfer", shipment_id=asked.id)
    session.advance(120)
    assert stock(session, ids["Kettle Quay"]).on_hand == 34


def test_reserved_pieces_are_not_sent_away(session: Session, ids: Ids) -> None:
    asked = ask_us(session, ids, 4)
    done(session, "reserve_store_item", stock_id=ids["Kettle Mill Lane"], customer="Bo", quantity=7)
    assert "3" in refused(session, "dispatch_store_transfer", shipment_id=asked.id).text


def test_an_unanswered_request_lapses(session: Session, ids: Ids) -> None:
    asked = ask_us(session, ids, 4)
    session.advance(8 * 60)
    assert chain_of(session).shipments[asked.id].status == "declined"


def test_clerks_send_and_receive_only_at_home(session: Session, ids: Ids) -> None:
    incoming = done(session, "request_store_transfer", stock_id=ids["Kettle Quay"], quantity=1)
    outgoing = ask_us(session, ids, 1)
    send = refused(session, "dispatch_store_transfer", shipment_id=incoming["id"])
    receive = refused(session, "receive_store_shipment", shipment_id=outgoing.id, counted=1)
    assert send.error == receive.error == "denied"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("reserve_store_item", {"customer": "Bo"}),
        ("create_purchase_order", {"packs": 1}),
        ("adjust_store_stock", {"counted": 29, "reason": "damaged"}),
    ],
)
def test_other_stores_are_off_limits(
    session: Session, ids: Ids, tool: str, arguments: dict[str, Any]
) -> None:
    assert refused(session, tool, stock_id=ids["Kettle Quay"], **arguments).error == "denied"


def test_suppliers_deliver_packs_in_three_days(session: Session, ids: Ids) -> None:
    made = done(session, "create_purchase_order", stock_id=ids["Kettle Mill Lane"], packs=2)
    assert (made["quantity"], made["source_name"]) == (12, "Pike")
    assert refused(session, "create_purchase_order", stock_id=ids["Kettle Mill Lane"], packs=2)
    session.advance(3 * 24 * 60)
    done(session, "receive_store_shipment", shipment_id=made["id"], counted=12)
    assert stock(session, ids["Kettle Mill Lane"]).on_hand == 22
    assert (
        "22 available"
        in refused(session, "create_purchase_order", stock_id=ids["Kettle Mill Lane"], packs=2).text
    )


def test_discontinued_products_are_not_ordered(session: Session, ids: Ids) -> None:
    assert refused(session, "create_purchase_order", stock_id=ids["Vase Mill Lane"], packs=1)
    assert done(session, "request_store_transfer", stock_id=ids["Vase Quay"], quantity=1)


def test_large_orders_need_the_manager(session: Session, ids: Ids) -> None:
    outcome = refused(session, "create_purchase_order", stock_id=ids["Kettle Mill Lane"], packs=17)
    assert outcome.error == "denied"


def test_a_reservation_holds_and_then_expires(session: Session, ids: Ids) -> None:
    where = {"stock_id": ids["Kettle Mill Lane"], "customer": "Bo"}
    made = done(session, "reserve_store_item", quantity=4, days=2, **where)
    assert stock(session, ids["Kettle Mill Lane"]).available == 6
    assert refused(session, "reserve_store_item", **where)
    more = {"stock_id": ids["Kettle Mill Lane"], "customer": "Al", "quantity": 7}
    assert refused(session, "reserve_store_item", **more)
    session.advance(2 * 24 * 60)
    assert reservation(session, made).status == "expired"
    assert stock(session, ids["Kettle Mill Lane"]).available == 10
    assert refused(
        session, "close_store_reservation", reservation_id=made["id"], outcome="collected"
    )


def test_what_is_collected_leaves_the_shop(session: Session, ids: Ids) -> None:
    where = {"stock_id": ids["Kettle Mill Lane"], "quantity": 3}
    taken, left = (done(session, "reserve_store_item", customer=c, **where) for c in ("Bo", "Al"))
    done(session, "close_store_reservation", reservation_id=taken["id"], outcome="collected")
    done(session, "close_store_reservation", reservation_id=left["id"], outcome="released")
    shelf = stock(session, ids["Kettle Mill Lane"])
    assert (shelf.on_hand, shelf.reserved, shelf.available) == (7, 0, 7)
    active = done(session, "list_store_reservations", active=True)
    assert (active["total"], done(session, "list_store_reservations", customer="bo")["total"]) == (
        0,
        1,
    )


def test_corrections_need_a_fitting_reason(session: Session, ids: Ids) -> None:
    where = {"stock_id": ids["Kettle Mill Lane"]}
    assert refused(session, "adjust_store_stock", counted=10, reason="recount", **where)
    assert refused(session, "adjust_store_stock", counted=9, reason="found", **where)
    assert refused(session, "adjust_store_stock", counted=11, reason="stolen", **where)
    done(session, "adjust_store_stock", counted=11, reason="found", **where)
    fixed = done(session, "adjust_store_stock", counted=8, reason="recount", **where)
    assert (fixed["on_hand"], fixed["last_correction"]) == (8, "recount")


def test_corrections_spare_reserved_pieces(session: Session, ids: Ids) -> None:
    where = {"stock_id": ids["Kettle Mill Lane"]}
    done(session, "reserve_store_item", customer="Bo", quantity=4, **where)
    assert (
        "4 are reserved"
        in refused(session, "adjust_store_stock", counted=3, reason="stolen", **where).text
    )


def test_large_corrections_need_the_manager(session: Session, ids: Ids) -> None:
    where = {"stock_id": ids["Vase Mill Lane"], "reason": "damaged"}
    assert refused(session, "adjust_store_stock", counted=5, **where).error == "denied"
    assert done(session, "adjust_store_stock", counted=6, **where)["on_hand"] == 6


def test_shipments_are_listed_newest_first_by_state(session: Session, ids: Ids) -> None:
    done(session, "create_purchase_order", stock_id=ids["Kettle Mill Lane"], packs=1)
    session.advance(5)
    done(session, "request_store_transfer", stock_id=ids["Vase Quay"], quantity=1)
    listed = done(session, "list_store_shipments")["items"]
    assert [item["kind"] for item in listed] == ["incoming_transfer", "purchase"]
    assert done(session, "list_store_shipments", status="requested")["total"] == 1
    assert done(session, "list_store_shipments", product_name="kettle")["total"] == 1
