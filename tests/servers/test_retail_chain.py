"""The rules of the retail chain, told on two stores and two products."""

from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import Seed, money
from provegym.servers.retail_chain import server
from provegym.servers.retail_chain.state import Chain, Shipment, Stock, Store
from servers.desk import Desk


class Shop(Desk[Chain]):
    """Ines works in Mill Lane; Quay is two hours away and has plenty of kettles and vases."""

    def __init__(self) -> None:
        super().__init__(server, Chain(Seed(0)))
        own, quay = self.open("Mill Lane", 0), self.open("Quay", 2)
        self.quay = quay.id
        vase = {"price": money(60), "discontinued": True}
        self.kettles = self.shelve("Kettle", own, 10)
        self.vases = self.shelve("Vase", own, 10, **vase)
        self.their_kettles = self.shelve("Kettle", quay, 30)
        self.their_vases = self.shelve("Vase", quay, 25, **vase)
        self.world.check()
        self.start()

    def open(self, name: str, hours: int) -> Store:
        """A store so many hours away by lorry."""
        team = {"manager": f"{name} Boss", "clerk": f"{name} Clerk", "own": hours == 0}
        return self.world.stores.add(name=name, city="Corvale", lorry_hours=hours, **team)

    def shelve(self, product: str, store: Store, count: int, **fields: Any) -> str:
        """So many pieces of a product in a store."""
        place = {"store_id": store.id, "store_name": store.name, "own": store.own}
        counts = {"on_hand": count, "available": count, "counted_in": count}
        known = {"supplier": "Pike", "pack_size": 6, "reorder_point": 12, "price": money(20)}
        known |= {"lorry_hours": store.lorry_hours, "product_name": product}
        return self.world.stocks.add(**place, **counts, **{**known, **fields}).id

    def stock(self, stock_id: str) -> Stock:
        """What a store has of a product now."""
        return self.state.stocks[stock_id]

    def asked(self, quantity: int) -> Shipment:
        """Quay wants kettles from Mill Lane."""
        chain = self.state
        mine, theirs = chain.stocks[self.kettles], chain.stocks[self.their_kettles]
        due = chain.now + timedelta(hours=8)
        made = chain.ship(mine, theirs, quantity=quantity, status="requested", due_at=due)
        chain.undo.clear()
        return made


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_stock_is_found_by_product_store_and_need(shop: Shop) -> None:
    found = shop.done("search_store_stock", product_name="kettle", store_id=shop.quay)
    assert [item["id"] for item in found["items"]] == [shop.their_kettles]
    low = shop.done("search_store_stock", to_reorder=True)
    assert {item["store_name"] for item in low["items"]} == {"Mill Lane"}
    shop.not_found("search_store_stock", store_id="shp_1")


def test_the_own_store_is_marked(shop: Shop) -> None:
    stores = shop.done("list_chain_stores", city="corvale")["items"]
    assert [store["name"] for store in stores if store.get("own")] == ["Mill Lane"]


def test_a_requested_transfer_is_answered_sent_and_received(shop: Shop) -> None:
    made = shop.done("request_store_transfer", stock_id=shop.their_kettles, quantity=8)
    assert shop.stock(shop.their_kettles).on_hand == 30
    shop.wait(240)
    assert shop.state.shipments[made["id"]].status == "in_transit"
    assert shop.stock(shop.their_kettles).on_hand == 22
    shop.rejected("receive_store_shipment", shipment_id=made["id"], counted=8)
    shop.wait(120)
    assert shop.state.shipments[made["id"]].status == "arrived"
    shop.rejected("receive_store_shipment", shipment_id=made["id"], counted=9)
    shop.done("receive_store_shipment", shipment_id=made["id"], counted=7)
    assert shop.stock(shop.kettles).on_hand == 17
    shop.rejected("receive_store_shipment", shipment_id=made["id"], counted=7)


def test_a_store_keeps_what_its_reorder_point_says(shop: Shop) -> None:
    made = shop.done("request_store_transfer", stock_id=shop.their_kettles, quantity=19)
    shop.wait(240)
    assert shop.state.shipments[made["id"]].status == "declined"
    assert shop.stock(shop.their_kettles).on_hand == 30


def test_requests_go_to_others_one_at_a_time_for_what_is_there(shop: Shop) -> None:
    shop.rejected("request_store_transfer", stock_id=shop.kettles, quantity=1)
    shop.rejected(
        "request_store_transfer", "only 25 available", stock_id=shop.their_vases, quantity=26
    )
    shop.done("request_store_transfer", stock_id=shop.their_kettles, quantity=2)
    shop.rejected("request_store_transfer", stock_id=shop.their_kettles, quantity=2)


def test_another_store_is_sent_what_it_asked_for(shop: Shop) -> None:
    asked = shop.asked(4)
    shop.done("dispatch_store_transfer", shipment_id=asked.id)
    assert shop.stock(shop.kettles).on_hand == 6
    shop.rejected("dispatch_store_transfer", shipment_id=asked.id)
    shop.wait(120)
    assert shop.stock(shop.their_kettles).on_hand == 34


def test_reserved_pieces_are_not_sent_away(shop: Shop) -> None:
    asked = shop.asked(4)
    shop.done("reserve_store_item", stock_id=shop.kettles, customer="Bo", quantity=7)
    shop.rejected("dispatch_store_transfer", "3", shipment_id=asked.id)


def test_an_unanswered_request_lapses(shop: Shop) -> None:
    asked = shop.asked(4)
    shop.wait(hours=8)
    assert shop.state.shipments[asked.id].status == "declined"


def test_clerks_send_and_receive_only_at_home(shop: Shop) -> None:
    incoming = shop.done("request_store_transfer", stock_id=shop.their_kettles, quantity=1)
    outgoing = shop.asked(1)
    shop.denied("dispatch_store_transfer", shipment_id=incoming["id"])
    shop.denied("receive_store_shipment", shipment_id=outgoing.id, counted=1)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("reserve_store_item", {"customer": "Bo"}),
        ("create_purchase_order", {"packs": 1}),
        ("adjust_store_stock", {"counted": 29, "reason": "damaged"}),
    ],
)
def test_other_stores_are_off_limits(shop: Shop, tool: str, arguments: dict[str, Any]) -> None:
    shop.denied(tool, stock_id=shop.their_kettles, **arguments)


def test_suppliers_deliver_packs_in_three_days(shop: Shop) -> None:
    made = shop.done("create_purchase_order", stock_id=shop.kettles, packs=2)
    assert (made["quantity"], made["source_name"]) == (12, "Pike")
    shop.rejected("create_purchase_order", stock_id=shop.kettles, packs=2)
    shop.wait(days=3)
    shop.rejected("create_purchase_order", "on order", stock_id=shop.kettles, packs=2)
    shop.done("receive_store_shipment", shipment_id=made["id"], counted=12)
    assert shop.stock(shop.kettles).on_hand == 22
    shop.rejected("create_purchase_order", "22 available", stock_id=shop.kettles, packs=2)


def test_discontinued_products_are_not_ordered(shop: Shop) -> None:
    shop.rejected("create_purchase_order", stock_id=shop.vases, packs=1)
    assert shop.done("request_store_transfer", stock_id=shop.their_vases, quantity=1)


def test_large_orders_need_the_manager(shop: Shop) -> None:
    shop.denied("create_purchase_order", stock_id=shop.kettles, packs=17)


def test_a_reservation_holds_and_then_expires(shop: Shop) -> None:
    where = {"stock_id": shop.kettles, "customer": "Bo"}
    made = shop.done("reserve_store_item", quantity=4, days=2, **where)
    assert shop.stock(shop.kettles).available == 6
    for name in ("Bo", " bo"):
        shop.rejected("reserve_store_item", "already has", **where | {"customer": name})
    more = {"stock_id": shop.kettles, "customer": "Al", "quantity": 7}
    shop.rejected("reserve_store_item", **more)
    shop.wait(days=2)
    assert shop.state.reservations[made["id"]].status == "expired"
    assert shop.stock(shop.kettles).available == 10
    shop.rejected("close_store_reservation", reservation_id=made["id"], outcome="collected")


def test_what_is_collected_leaves_the_shop(shop: Shop) -> None:
    where = {"stock_id": shop.kettles, "quantity": 3}
    taken, left = (shop.done("reserve_store_item", customer=c, **where) for c in ("Bo", "Al"))
    shop.done("close_store_reservation", reservation_id=taken["id"], outcome="collected")
    shop.done("close_store_reservation", reservation_id=left["id"], outcome="released")
    shelf = shop.stock(shop.kettles)
    assert (shelf.on_hand, shelf.reserved, shelf.available) == (7, 0, 7)
    active = shop.done("list_store_reservations", active=True)
    assert (active["total"], shop.done("list_store_reservations", customer="bo")["total"]) == (0, 1)


def test_corrections_need_a_fitting_reason(shop: Shop) -> None:
    where = {"stock_id": shop.kettles}
    shop.rejected("adjust_store_stock", counted=10, reason="recount", **where)
    shop.rejected("adjust_store_stock", counted=9, reason="found", **where)
    shop.rejected("adjust_store_stock", counted=11, reason="stolen", **where)
    shop.done("adjust_store_stock", counted=11, reason="found", **where)
    fixed = shop.done("adjust_store_stock", counted=8, reason="recount", **where)
    assert (fixed["on_hand"], fixed["last_correction"]) == (8, "recount")


def test_corrections_spare_reserved_pieces(shop: Shop) -> None:
    where = {"stock_id": shop.kettles}
    shop.done("reserve_store_item", customer="Bo", quantity=4, **where)
    shop.rejected("adjust_store_stock", "4 are reserved", counted=3, reason="stolen", **where)


def test_large_corrections_need_the_manager(shop: Shop) -> None:
    where = {"stock_id": shop.vases, "reason": "damaged"}
    shop.denied("adjust_store_stock", counted=5, **where)
    assert shop.done("adjust_store_stock", counted=6, **where)["on_hand"] == 6


def test_a_large_correction_cannot_be_split_on_one_day(shop: Shop) -> None:
    where = {"stock_id": shop.vases, "reason": "damaged"}
    shop.done("adjust_store_stock", counted=6, **where)
    shop.denied("adjust_store_stock", "250 a day", counted=5, **where)
    shop.wait(days=1)
    assert shop.done("adjust_store_stock", counted=5, **where)["on_hand"] == 5


def test_shipments_are_listed_newest_first_by_state(shop: Shop) -> None:
    shop.done("create_purchase_order", stock_id=shop.kettles, packs=1)
    shop.wait(5)
    shop.done("request_store_transfer", stock_id=shop.their_vases, quantity=1)
    listed = shop.done("list_store_shipments")["items"]
    assert [item["kind"] for item in listed] == ["incoming_transfer", "purchase"]
    assert shop.done("list_store_shipments", status="requested")["total"] == 1
    assert shop.done("list_store_shipments", product_name="kettle")["total"] == 1
