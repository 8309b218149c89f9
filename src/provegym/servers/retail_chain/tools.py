"""Tools for the clerk of one store: look at stock, move it between stores, order, reserve."""

from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Denied, Label, Rejected
from provegym.servers import plain_name

from .state import (
    CORRECTION_LIMIT,
    Chain,
    Reason,
    Reservation,
    Shipment,
    Stage,
    Stock,
    Store,
    server,
)

Few = Annotated[int, Meta(ge=1, le=30)]
Counted = Annotated[int, Meta(ge=0, le=5_000)]
Ending = Literal["collected", "released"]

# An order worth more than this is the manager's business.
ORDER_LIMIT = 2_000
ANSWER_TIME = timedelta(hours=4)
DELIVERY_TIME = timedelta(days=3)


@server.read
def list_chain_stores(chain: Chain, /, name: str = "", city: str = "") -> list[Store]:
    """List the stores of the chain with manager and lorry hours; the user's is marked `own`.

    Args:
        name: Only stores whose name contains this.
        city: Only stores in a city whose name contains this.
    """
    found = [store for store in chain.stores if name.lower() in store.name.lower()]
    return [store for store in found if city.lower() in store.city.lower()]


@server.read
def search_store_stock(
    chain: Chain, /, product_name: str = "", store_id: str | None = None, to_reorder: bool = False
) -> list[Stock]:
    """Find products in any store of the chain: price, on hand, available, supplier, pack size.

    Args:
        product_name: Only products whose name contains this, e.g. "Kettle".
        store_id: Only the stock of this store, e.g. "shp_2117".
        to_reorder: Only products with no more available than their reorder point.
    """
    found = list(chain.stocks)
    if store_id:
        store = chain.stores[store_id]
        found = chain.stocks.where(store_id=store.id)
    found = [stock for stock in found if product_name.lower() in stock.product_name.lower()]
    if to_reorder:
        found = [stock for stock in found if stock.available <= stock.reorder_point]
    return found


@server.read
def list_store_shipments(
    chain: Chain, /, product_name: str = "", status: Stage | None = None
) -> list[Shipment]:
    """List transfers to and from the user's store and its purchase orders, newest first.

    Args:
        product_name: Only shipments of products whose name contains this.
        status: Only shipments with this status.
    """
    wanted = product_name.lower()
    found = [shipment for shipment in chain.shipments if wanted in shipment.product_name.lower()]
    if status is not None:
        found = [shipment for shipment in found if shipment.status == status]
    return list(reversed(found))


@server.read
def list_store_reservations(
    chain: Chain, /, customer: str = "", active: bool = False
) -> list[Reservation]:
    """List the reservations of customers in the user's store, past ones too.

    Args:
        customer: Only reservations of customers whose name contains this.
        active: Only reservations neither collected, released nor expired.
    """
    found = list(chain.reservations)
    if active:
        found = chain.reservations.where(status="active")
    wanted = customer.lower()
    return [reservation for reservation in found if wanted in reservation.customer.lower()]


@server.write
def request_store_transfer(chain: Chain, /, stock_id: str, quantity: Few) -> Shipment:
    """Ask another store to send pieces of a product to the user's; it answers in four hours.

    Args:
        stock_id: The product's stock in the other store, e.g. "stk_20418".
        quantity: How many pieces; the other store keeps as many as its reorder point says.
    """
    stock = chain.stocks[stock_id]
    if stock.own:
        raise Rejected("that is your own store; choose the stock of another one")
    if quantity > stock.available:
        raise Rejected(f"{stock.store_name} has only {stock.available} available")
    if chain.shipments.where(source_stock_id=stock.id, status="requested"):
        raise Rejected(f"{stock.store_name} has yet to answer a request for that product")
    target = chain.stocks.where(own=True, product_name=stock.product_name)[0]
    answer_at = chain.now + ANSWER_TIME
    return chain.ship(stock, target, quantity=quantity, status="requested", due_at=answer_at)


@server.write
def dispatch_store_transfer(chain: Chain, /, shipment_id: str) -> Shipment:
    """Send another store the pieces it requested from the user's store; they leave at once.

    Args:
        shipment_id: The requested outgoing transfer, e.g. "shm_7310".
    """
    shipment = chain.shipments[shipment_id]
    if shipment.kind != "outgoing_transfer":
        raise Denied(f"{shipment.source_name} sends that")
    if shipment.status != "requested":
        raise Rejected(f"that transfer is {shipment.status}, not requested")
    available = chain.stocks[shipment.source_stock_id or ""].available
    if shipment.quantity > available:
        raise Rejected(f"only {available} are available in your store")
    return chain.step(shipment, "in_transit")


@server.write
def receive_store_shipment(chain: Chain, /, shipment_id: str, counted: Counted) -> Shipment:
    """Book a transfer or delivery that has arrived at the user's store; what is short is lost.

    Args:
        shipment_id: The arrived shipment, e.g. "shm_7310".
        counted: How many pieces were found in it, at most as many as were sent.
    """
    shipment = chain.shipments[shipment_id]
    if shipment.kind == "outgoing_transfer":
        raise Denied(f"{shipment.target_name} receives that")
    if shipment.status != "arrived":
        raise Rejected(f"it is {shipment.status} (due {shipment.due_at})")
    if counted > shipment.quantity:
        raise Rejected(f"only {shipment.quantity} were sent; count again")
    return chain.step(shipment, "received", counted)


@server.write
def create_purchase_order(chain: Chain, /, stock_id: str, packs: Few) -> Shipment:
    """Order a product down to its reorder point, unless on order; delivery takes three days.

    Args:
        stock_id: The stock in the user's store, e.g. "stk_20418"; not discontinued.
        packs: How many packs; above 2000 at shop prices only the manager can order.
    """
    stock = chain.mine(stock_id)
    if stock.discontinued:
        raise Rejected(f"{stock.product_name} is discontinued; request a transfer")
    for order in chain.shipments.where(target_stock_id=stock.id, kind="purchase"):
        if order.status != "received":
            raise Rejected(f"{stock.product_name} is already on order; receive that delivery first")
    if stock.available > stock.reorder_point:
        raise Rejected(f"{stock.available} available: order when {stock.reorder_point} are left")
    quantity = packs * stock.pack_size
    if quantity * stock.price > ORDER_LIMIT:
        raise Denied("only the manager orders for more than 2000")
    arrival = chain.now + DELIVERY_TIME
    return chain.ship(None, stock, quantity=quantity, status="in_transit", due_at=arrival)


@server.write
def reserve_store_item(
    chain: Chain, /, stock_id: str, customer: Label, quantity: Few = 1, days: Few = 3
) -> Reservation:
    """Hold available pieces back for a customer in the user's store, once per product.

    Args:
        stock_id: The product's stock in the user's store, e.g. "stk_20418".
        customer: Full name of the customer.
        quantity: How many pieces.
        days: After how many days they go back on sale.
    """
    stock = chain.mine(stock_id)
    if quantity > stock.available:
        raise Rejected(f"only {stock.available} are available; reserve fewer")
    held = chain.reservations.where(stock_id=stock.id, status="active")
    if any(plain_name(other.customer) == plain_name(customer) for other in held):
        raise Rejected(f"{customer} already has a reservation on that; close it first")
    chain.move(stock.id, held=quantity)
    return chain.reservations.add(
        stock_id=stock.id,
        product_name=stock.product_name,
        customer=customer,
        quantity=quantity,
        expires_at=chain.now + timedelta(days=days),
    )


@server.write(destructive=True)
def close_store_reservation(chain: Chain, /, reservation_id: str, outcome: Ending) -> Reservation:
    """End an active reservation of a customer in the user's store.

    Args:
        reservation_id: The reservation, e.g. "rsv_5126".
        outcome: Whether the customer took the goods, or they go back on sale.
    """
    reservation = chain.reservations[reservation_id]
    if reservation.status != "active":
        raise Rejected(f"that reservation is already {reservation.status}")
    return chain.end(reservation, outcome)


@server.write
def adjust_store_stock(chain: Chain, /, stock_id: str, counted: Counted, reason: Reason) -> Stock:
    """Correct what is on hand in the user's store; above 250 in value a day only the manager can.

    Args:
        stock_id: The product's stock in the user's store, e.g. "stk_20418".
        counted: How many pieces are really there; reserved ones must be among them.
        reason: Why; "found" adds pieces, damage, theft and spoilage take some away.
    """
    stock = chain.mine(stock_id)
    change = counted - stock.on_hand
    if change == 0:
        raise Rejected(f"{counted} are on hand already; there is nothing to correct")
    if not _explains(reason, change):
        raise Rejected(f"{reason} does not explain a change of {change}; give another reason")
    if counted < stock.reserved:
        raise Rejected(f"{stock.reserved} are reserved; close reservations first")
    today = chain.now.date()
    corrected_pieces = change + (stock.corrected_pieces if stock.corrected_on == today else 0)
    if abs(corrected_pieces) * stock.price > CORRECTION_LIMIT:
        raise Denied("only the manager corrects more than 250 a day")
    chain.move(stock.id, change)
    return chain.stocks.update(
        stock.id,
        counted_in=stock.counted_in + change,
        last_correction=reason,
        corrected_on=today,
        corrected_pieces=corrected_pieces,
    )


def _explains(reason: Reason, change: int) -> bool:
    """Whether a reason fits a correction; a recount fits any."""
    if reason == "recount":
        return True
    if reason == "found":
        return change > 0
    return change < 0
