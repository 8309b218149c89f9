"""What the clerk of one store can do in the chain's stock system."""

from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Denied, Label, forbid

from .state import Chain, Reason, Reservation, Shipment, Stage, Stock, Store, server

Few = Annotated[int, Meta(ge=1, le=30)]
Counted = Annotated[int, Meta(ge=0, le=5_000)]
Ending = Literal["collected", "released"]


@server.read
def list_chain_stores(chain: Chain, /, name: str = "", city: str = "") -> list[Store]:
    """List the stores of the chain with manager and lorry hours; the user's is marked `own`.

    Args:
        name: Only stores whose name contains this.
        city: Only stores in a city whose name contains this.
    """
    name, city = name.lower(), city.lower()
    return [s for s in chain.stores if name in s.name.lower() and city in s.city.lower()]


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
    stocks = chain.stocks.where(store_id=chain.stores[store_id].id) if store_id else chain.stocks
    found = [s for s in stocks if product_name.lower() in s.product_name.lower()]
    return [s for s in found if s.available <= s.reorder_point] if to_reorder else found


@server.read
def list_store_shipments(
    chain: Chain, /, product_name: str = "", status: Stage | None = None
) -> list[Shipment]:
    """List transfers to and from the user's store and its purchase orders, newest first.

    Args:
        product_name: Only shipments of products whose name contains this.
        status: Only shipments with this status.
    """
    newest = [s for s in reversed(list(chain.shipments)) if status in (None, s.status)]
    return [s for s in newest if product_name.lower() in s.product_name.lower()]


@server.read
def list_store_reservations(
    chain: Chain, /, customer: str = "", active: bool = False
) -> list[Reservation]:
    """List the reservations of customers in the user's store, past ones too.

    Args:
        customer: Only reservations of customers whose name contains this.
        active: Only reservations neither collected, released nor expired.
    """
    found = [r for r in chain.reservations if customer.lower() in r.customer.lower()]
    return [r for r in found if r.status == "active"] if active else found


@server.write
def request_store_transfer(chain: Chain, /, stock_id: str, quantity: Few) -> Shipment:
    """Ask another store to send pieces of a product to the user's; it answers in four hours.

    Args:
        stock_id: The product's stock in the other store, e.g. "stk_20418".
        quantity: How many pieces; the other store keeps as many as its reorder point says.
    """
    stock, due = chain.stocks[stock_id], chain.now + timedelta(hours=4)
    forbid(stock.own, "that is your own store; choose the stock of another one")
    forbid(quantity > stock.available, f"{stock.store_name} has only {stock.available} available")
    asked = chain.shipments.where(source_stock_id=stock.id, status="requested")
    forbid(bool(asked), f"{stock.store_name} has yet to answer a request for that product")
    target = chain.stocks.where(own=True, product_name=stock.product_name)[0]
    return chain.ship(stock, target, quantity=quantity, status="requested", due_at=due)


@server.write
def dispatch_store_transfer(chain: Chain, /, shipment_id: str) -> Shipment:
    """Send another store the pieces it requested from the user's store; they leave at once.

    Args:
        shipment_id: The requested outgoing transfer, e.g. "shm_7310".
    """
    shipment = chain.shipments[shipment_id]
    forbid(shipment.kind != "outgoing_transfer", f"{shipment.source_name} sends that", Denied)
    forbid(shipment.status != "requested", f"that transfer is {shipment.status}, not requested")
    available = chain.stocks[shipment.source_stock_id or ""].available
    forbid(shipment.quantity > available, f"only {available} are available in your store")
    return chain.step(shipment, "in_transit")


@server.write
def receive_store_shipment(chain: Chain, /, shipment_id: str, counted: Counted) -> Shipment:
    """Book a transfer or delivery that has arrived at the user's store; what is short is lost.

    Args:
        shipment_id: The arrived shipment, e.g. "shm_7310".
        counted: How many pieces were found in it, at most as many as were sent.
    """
    shipment = chain.shipments[shipment_id]
    forbid(shipment.kind == "outgoing_transfer", f"{shipment.target_name} receives that", Denied)
    forbid(shipment.status != "arrived", f"it is {shipment.status} (due {shipment.due_at})")
    forbid(counted > shipment.quantity, f"only {shipment.quantity} were sent; count again")
    return chain.step(shipment, "received", counted)


@server.write
def create_purchase_order(chain: Chain, /, stock_id: str, packs: Few) -> Shipment:
    """Order a product down to its reorder point, unless on order; delivery takes three days.

    Args:
        stock_id: The stock in the user's store, e.g. "stk_20418"; not discontinued.
        packs: How many packs; above 2000 at shop prices only the manager can order.
    """
    stock = chain.mine(stock_id)
    quantity, point = packs * stock.pack_size, stock.reorder_point
    forbid(stock.discontinued, f"{stock.product_name} is discontinued; request a transfer")
    orders = chain.shipments.where(target_stock_id=stock.id, kind="purchase", status="in_transit")
    forbid(bool(orders), f"{stock.product_name} is already on order; wait for that delivery")
    forbid(stock.available > point, f"{stock.available} available: order when {point} are left")
    forbid(quantity * stock.price > 2_000, "only the manager orders for more than 2000", Denied)
    due = chain.now + timedelta(days=3)
    return chain.ship(None, stock, quantity=quantity, status="in_transit", due_at=due)


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
    forbid(quantity > stock.available, f"only {stock.available} are available; reserve fewer")
    held = chain.reservations.where(stock_id=stock.id, status="active", customer=customer)
    forbid(bool(held), f"{customer} already has a reservation on that; close it first")
    chain.move(stock.id, held=quantity)
    hold = {"product_name": stock.product_name, "expires_at": chain.now + timedelta(days=days)}
    return chain.reservations.add(stock_id=stock.id, customer=customer, quantity=quantity, **hold)


@server.write(destructive=True)
def close_store_reservation(chain: Chain, /, reservation_id: str, outcome: Ending) -> Reservation:
    """End an active reservation of a customer in the user's store.

    Args:
        reservation_id: The reservation, e.g. "rsv_5126".
        outcome: Whether the customer took the goods, or they go back on sale.
    """
    reservation = chain.reservations[reservation_id]
    forbid(reservation.status != "active", f"that reservation is already {reservation.status}")
    return chain.end(reservation, outcome)


@server.write
def adjust_store_stock(chain: Chain, /, stock_id: str, counted: Counted, reason: Reason) -> Stock:
    """Correct what is on hand in the user's store; above 250 in value only the manager can.

    Args:
        stock_id: The product's stock in the user's store, e.g. "stk_20418".
        counted: How many pieces are really there; reserved ones must be among them.
        reason: Why; "found" adds pieces, damage, theft and spoilage take some away.
    """
    stock = chain.mine(stock_id)
    change = counted - stock.on_hand
    forbid(change == 0, f"{counted} are on hand already; there is nothing to correct")
    wrong = reason != "recount" and (change > 0) != (reason == "found")
    forbid(wrong, f"{reason} does not explain a change of {change}; give another reason")
    forbid(counted < stock.reserved, f"{stock.reserved} are reserved; close reservations first")
    forbid(abs(change) * stock.price > 250, "only the manager corrects more than 250", Denied)
    counted_in = chain.move(stock.id, change).counted_in + change
    return chain.stocks.update(stock.id, counted_in=counted_in, last_correction=reason)
