"""Tools for orders: follow them, cancel them, send items back, and keep addresses."""

from datetime import timedelta

from msgspec.structs import replace

from provegym.kernel import Label, Rejected, money
from provegym.servers import plain_name

from .cart import Pieces
from .state import Reason, ShippingAddress, Shop, ShopOrder, Stage, server

RETURN_WINDOW = timedelta(days=30)
MOST_ADDRESSES = 8


@server.read
def list_shop_orders(shop: Shop, /, name: str = "", status: Stage | None = None) -> list[ShopOrder]:
    """List the user's orders in the shop, newest first; the cart is not among them.

    Args:
        name: Only orders with an item whose name contains this.
        status: Only orders with this status.
    """
    found = [order for order in shop.orders if order.status != "cart"]
    if status is not None:
        found = [order for order in found if order.status == status]
    wanted = name.lower()
    found = [order for order in found if any(wanted in item.name.lower() for item in order.lines)]
    return list(reversed(found))


@server.read
def get_shop_order(shop: Shop, /, shop_order_id: str) -> ShopOrder:
    """Show one order of the shop: its items, its bill, where it is, what was refunded.

    Args:
        shop_order_id: The order, e.g. "sor_5120".
    """
    return shop.orders[shop_order_id]


@server.write(destructive=True)
def cancel_shop_order(shop: Shop, /, shop_order_id: str) -> ShopOrder:
    """Cancel an order of the shop before it is shipped; everything paid comes back at once.

    Args:
        shop_order_id: The order, e.g. "sor_5120".
    """
    order = shop.orders[shop_order_id]
    if order.status not in ("placed", "packed"):
        raise Rejected(
            f"{order.id} is {order.status}; only a placed or packed order can be cancelled"
        )
    for item in order.lines:
        shop.supply(item.variant_id, item.quantity)
    return shop.refund(order, order.total, status="cancelled", moves_on_at=None)


@server.write
def return_items(
    shop: Shop, /, shop_order_id: str, variant_id: str, reason: Reason, quantity: Pieces = 1
) -> ShopOrder:
    """Send an item of a shop order back for a refund, once, within 30 days of its delivery.

    Args:
        shop_order_id: The order, e.g. "sor_5120".
        variant_id: The item of that order, e.g. "vnt_310".
        reason: Why; final-sale goods come back only if damaged.
        quantity: How many of it, at most as many as were bought.
    """
    order = shop.orders[shop_order_id]
    item = next((item for item in order.lines if item.variant_id == variant_id), None)
    if order.delivered_at is None or item is None:
        raise Rejected(f"nothing like that was delivered with {order.id}; see get_shop_order")
    if shop.now - order.delivered_at > RETURN_WINDOW:
        raise Rejected(f"{item.name} was delivered more than 30 days ago; it cannot come back")
    if item.returned > 0:
        raise Rejected(f"{item.returned} of {item.name} were sent back already")
    if quantity > item.quantity:
        raise Rejected(f"only {item.quantity} of {item.name} were bought")
    if shop.products[item.product_id].final_sale and reason != "damaged":
        raise Rejected(f"{item.name} was on final sale and comes back only if damaged")

    # Discount and tax are spread over the items by their price; shipping is not refunded.
    paid = order.total - order.shipping
    share = item.unit_price * quantity / order.items_total
    refund = min(money(paid * share), paid - order.refunded)
    others = [other for other in order.lines if other is not item]
    if quantity == item.quantity and all(other.returned == other.quantity for other in others):
        refund = paid - order.refunded  # what rounding has left over, too
    sent_back = replace(item, returned=quantity, reason=reason, refund=refund)
    lines = tuple(sent_back if other is item else other for other in order.lines)
    return shop.refund(order, refund, lines=lines)


@server.read
def list_shipping_addresses(shop: Shop, /, label: str = "") -> list[ShippingAddress]:
    """List the addresses the user saved in the shop; one of them is the default.

    Args:
        label: Only addresses whose label contains this.
    """
    return [address for address in shop.homes if label.lower() in address.label.lower()]


@server.write
def add_shipping_address(shop: Shop, /, label: Label, street: Label) -> ShippingAddress:
    """Save an address in the shop under a new label; at most eight are kept.

    Args:
        label: What to call it, e.g. "Office".
        street: Street, house number and city.
    """
    labels = [plain_name(address.label) for address in shop.homes]
    if plain_name(label) in labels:
        raise Rejected(f"there is an address called {label!r} already")
    if len(labels) >= MOST_ADDRESSES:
        raise Rejected("eight addresses are saved already; use one of them")
    return shop.homes.add(label=label, street=street)


@server.write
def set_default_address(shop: Shop, /, shipping_address_id: str) -> ShippingAddress:
    """Make a saved address the one the shop sends to unless told otherwise.

    Args:
        shipping_address_id: The address, e.g. "sad_71".
    """
    address = shop.homes[shipping_address_id]
    if address.default:
        raise Rejected(f"{address.label} is the default address already")
    shop.homes.update(shop.default_address().id, default=False)
    return shop.homes.update(address.id, default=True)
