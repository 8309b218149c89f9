"""What can be done in the delivery app."""

from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Amount, Label, Sensitive, Time, forbid, money

from . import state as food
from .state import App, DeliveryAddress, FoodOrder, MenuItem, Restaurant, server

Portions = Annotated[int, Meta(ge=0, le=10)]
Secret = Sensitive[str]
Tip = Amount | None
Stars = Annotated[int, Meta(ge=1, le=5)]
Problem = Literal["missing", "wrong", "cold"]


@server.read
def search_restaurants(
    app: App, /, name: str = "", cuisine: food.Cuisine | None = None, open_now: bool = False
) -> list[Restaurant]:
    """Find restaurants that deliver food, with hours, zones, minimum order and delivery fee.

    Args:
        name: Only restaurants whose name contains this.
        cuisine: Only restaurants with this cuisine.
        open_now: Only restaurants that take orders at this moment.
    """
    found = [place for place in app.restaurants if place.serves(app.now) or not open_now]
    found = [place for place in found if cuisine in (None, place.cuisine)]
    return [place for place in found if name.lower() in place.name.lower()]


@server.read
def search_menu(
    app: App, /, name: str = "", restaurant_id: str | None = None, tag: food.Tag | None = None
) -> list[MenuItem]:
    """Find dishes and drinks to have delivered, with price, dietary tags and portions left today.

    Args:
        name: Only dishes whose name contains this.
        restaurant_id: Only dishes of this restaurant, e.g. "rst_310".
        tag: Only dishes with this dietary tag.
    """
    found = [item for item in app.items if name.lower() in item.name.lower()]
    found = [item for item in found if restaurant_id in (None, item.restaurant_id)]
    return [item for item in found if tag is None or tag in item.tags]


@server.read
def get_basket(app: App, /) -> FoodOrder:
    """Show the dishes in the food basket and what they would cost with fees and discount."""
    return app.basket()


@server.read
def list_delivery_addresses(app: App, /) -> list[DeliveryAddress]:
    """List the addresses the user saved for food, and how it is handed over there."""
    return list(app.homes)


@server.read
def list_food_orders(
    app: App, /, restaurant_name: str = "", dish: str = "", status: food.Status | None = None
) -> list[FoodOrder]:
    """List food orders with dishes and status, newest first; the basket is not among them.

    Args:
        restaurant_name: Only orders from restaurants whose name contains this.
        dish: Only orders with a dish whose name contains this.
        status: Only orders with this status.
    """
    name, dish = restaurant_name.lower(), dish.lower()
    found = [o for o in app.orders if o.placed_at <= app.now and status in (None, o.status)]
    found = [order for order in found if any(dish in line.name.lower() for line in order.lines)]
    found = [order for order in found if name in order.restaurant_name.lower()]
    return sorted(found, key=lambda order: order.placed_at, reverse=True)


@server.read
def track_food_order(app: App, /, food_order_id: str) -> FoodOrder:
    """Show where a food order is: its status, when it moves on, its courier and its arrival.

    Args:
        food_order_id: The order, e.g. "fod_5120".
    """
    return app.orders[food_order_id]


@server.read
def list_promo_codes(app: App, /) -> list[food.PromoCode]:
    """List the user's promo codes for food with their conditions, used up and expired ones too."""
    return list(app.promos)


@server.read
def list_food_payment_methods(app: App, /) -> list[food.PaymentMethod]:
    """List the cards the user saved to pay for food, and the app's own credit with its balance."""
    return list(app.cards)


@server.write(idempotent=True)
def set_basket_item(app: App, /, menu_item_id: str, quantity: Portions) -> FoodOrder:
    """Set how many portions of a dish are in the food basket; a promo code comes off by this.

    Args:
        menu_item_id: The dish, e.g. "dsh_880"; a basket is for one restaurant.
        quantity: How many it shall be, no more than are left today and 10 in all; 0 for none.
    """
    item, lines = app.items[menu_item_id], app.basket().lines
    portions = {line.menu_item_id: line.quantity for line in lines} | {item.id: quantity}
    if not quantity:
        forbid(len(portions) > len(lines), f"there is no {item.name} in the basket")
        del portions[item.id]
    return app.fill_basket(portions)


@server.write(destructive=True)
def empty_basket(app: App, /) -> FoodOrder:
    """Take everything out of the food basket, for example to start one at another restaurant."""
    forbid(not app.basket().lines, "the basket is empty already")
    return app.fill_basket({})


@server.write(idempotent=True)
def apply_promo_code(app: App, /, code: Label) -> FoodOrder:
    """Use a promo code for the food basket as it is, instead of any other: one code per order.

    Args:
        code: The code, e.g. "LUNCH15"; its conditions must hold for the basket.
    """
    promo, basket = app.promos[code.upper()], app.basket()
    forbid(not basket.lines, "the basket is empty; add dishes with set_basket_item first")
    forbid(promo.expires < app.now.date(), f"{promo.code} expired on {promo.expires}")
    forbid(promo.uses >= promo.max_uses, f"{promo.code} is used up; try another code")
    spend, place = promo.minimum_spend, app.restaurants[basket.restaurant_id]
    forbid(basket.items_total < spend, f"{promo.code} needs dishes for at least {spend}")
    forbid(promo.cuisine not in (None, place.cuisine), f"{promo.code} is for {promo.cuisine} food")
    past = [order.status for order in app.orders.where(restaurant_id=place.id)]
    tried = promo.new_restaurants_only and any(status in food.STAGES for status in past)
    forbid(tried, f"{promo.code} is for restaurants never ordered from, unlike {place.name}")
    portions = {line.menu_item_id: line.quantity for line in basket.lines}
    return app.fill_basket(portions, promo.code)


@server.write
def add_delivery_address(
    app: App, /, label: Label, street: Label, zone: food.Zone, leave_outside: bool = False
) -> DeliveryAddress:
    """Save a place to have food delivered to; its label must be new, and at most eight are kept.

    Args:
        label: What to call it, e.g. "Home".
        street: Street and house number.
        zone: The part of the city it lies in.
        leave_outside: Whether the courier leaves the food outside instead of handing it over.
    """
    labels = [home.label.lower() for home in app.homes]
    forbid(label.lower() in labels, f"there is already an address called {label!r}")
    forbid(len(labels) >= 8, "eight addresses are saved already; use one of them")
    return app.homes.add(label=label, street=street, zone=zone, leave_outside=leave_outside)


@server.write
def place_food_order(
    app: App, /, delivery_address_id: str, payment_method_id: Secret, deliver_at: Time | None = None
) -> FoodOrder:
    """Order what is in the food basket; its restaurant must be open, its minimum order reached.

    Args:
        delivery_address_id: Where to, in its zones, e.g. "adr_71"; alcohol is not left outside.
        payment_method_id: A card that has not expired or credit that covers it, e.g. "pmt_405".
        deliver_at: When, within 12 hours, e.g. "2026-03-02T19:00:00Z"; soonest if left out.
    """
    home, basket = app.homes[delivery_address_id], app.basket()
    forbid(not basket.lines, "the basket is empty; add dishes with set_basket_item first")
    place = app.restaurants[basket.restaurant_id]
    soonest = app.now + timedelta(minutes=place.delivery_minutes)
    arrival, served = deliver_at or soonest, place.serves(deliver_at or app.now)
    forbid(not served, f"{place.name} takes no orders then; search_restaurants shows its hours")
    forbid(arrival < soonest, f"{place.name} cannot deliver before {soonest:%H:%M} UTC")
    forbid(arrival - app.now > timedelta(hours=12), "choose a time within the next 12 hours")
    forbid(home.zone not in place.zones, f"{place.name} does not deliver to {home.zone}")
    forbid(basket.items_total < place.minimum_order, f"add dishes up to {place.minimum_order}")
    for line in basket.lines:
        item = app.items[line.menu_item_id]
        forbid(item.alcohol and home.leave_outside, f"{item.name} is alcohol, not left outside")
        app.items.update(item.id, left=item.left - line.quantity)
    app.pay(payment_method_id, basket.total)
    if basket.promo_code:
        app.promos.update(basket.promo_code, uses=app.promos[basket.promo_code].uses + 1)
    app.orders.add(status="basket")
    times = {"placed_at": app.now, "moves_on_at": app.now + food.ACCEPTANCE, "arrives_at": arrival}
    paid = {"payment_method_id": payment_method_id, "address_label": home.label}
    return app.orders.update(basket.id, status="placed", **times, **paid)


@server.write(destructive=True)
def cancel_food_order(app: App, /, food_order_id: str) -> FoodOrder:
    """Cancel a food order, free of charge; possible until the kitchen starts preparing it.

    Args:
        food_order_id: The order, e.g. "fod_5120".
    """
    order = app.orders[food_order_id]
    late = f"{order.id} is {order.status}; an order can be cancelled before it is prepared"
    forbid(order.status not in ("placed", "accepted"), late)
    for line in order.lines:
        item = app.items[line.menu_item_id]
        app.items.update(item.id, left=min(item.portions, item.left + line.quantity))
    if order.promo_code:
        app.promos.update(order.promo_code, uses=app.promos[order.promo_code].uses - 1)
    app.pay(order.payment_method_id, -order.total)
    return app.orders.update(order.id, status="cancelled", moves_on_at=food.NEVER)


@server.write
def rate_food_order(app: App, /, food_order_id: str, stars: Stars, tip: Tip = None) -> FoodOrder:
    """Rate a delivered food order, once and within 14 days, with a tip for the courier if wanted.

    Args:
        food_order_id: The order, e.g. "fod_5120".
        stars: From 1, bad, to 5, excellent.
        tip: What the courier gets, at most the order's total, paid as the order was.
    """
    order, tip = app.orders[food_order_id], tip or money(0)
    forbid(order.status != "delivered", f"{order.id} is {order.status}; rate it once delivered")
    forbid(app.now - order.arrives_at > timedelta(days=14), f"{order.id} is older than 14 days")
    forbid(order.stars is not None, f"{order.id} was rated {order.stars} stars already")
    forbid(tip > order.total, f"a tip is at most the total of the order, {order.total}")
    app.pay(order.payment_method_id, tip)
    return app.orders.update(order.id, stars=stars, tip=tip)


@server.write
def report_food_problem(
    app: App, /, food_order_id: str, problem: Problem, menu_item_id: str | None = None
) -> FoodOrder:
    """Report dishes of a food order within 48 hours of delivery, once, for a credit (half if cold).

    Args:
        food_order_id: The order, e.g. "fod_5120".
        problem: What was wrong.
        menu_item_id: The dish it was wrong with, e.g. "dsh_880"; all of the order if left out.
    """
    order = app.orders[food_order_id]
    forbid(order.status != "delivered", f"{order.id} is {order.status}; wait until it arrives")
    forbid(app.now - order.arrives_at > timedelta(hours=48), f"{order.id} is older than 48 hours")
    forbid(order.refunded > 0, f"a problem with {order.id} was already reported")
    lines = [line for line in order.lines if menu_item_id in (None, line.menu_item_id)]
    forbid(not lines, f"{order.id} has no such dish; track_food_order shows what it has")
    value = sum((line.unit_price * line.quantity for line in lines), money(0))
    share = (1 - order.discount / order.items_total) / (2 if problem == "cold" else 1)
    credit = next(method for method in app.cards if method.balance is not None)
    app.pay(credit.id, -money(value * share))
    return app.orders.update(order.id, refunded=money(value * share))


@server.write(destructive=True)
def reorder_food(app: App, /, food_order_id: str) -> FoodOrder:
    """Fill the food basket with the dishes of a past order, instead of what is in it.

    Args:
        food_order_id: The order, e.g. "fod_5120"; restaurant open, none of its dishes sold out.
    """
    order = app.orders[food_order_id]
    over, place = order.status in ("delivered", "cancelled"), app.restaurants[order.restaurant_id]
    forbid(not over, f"{order.id} is {order.status}; only past orders can be repeated")
    forbid(not place.serves(app.now), f"{place.name} takes no orders now; try it later")
    return app.fill_basket({line.menu_item_id: line.quantity for line in order.lines})
