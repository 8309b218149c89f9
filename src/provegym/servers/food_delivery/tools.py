"""What can be done in the delivery app."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Amount, Label, Rejected, Sensitive, Time, money
from provegym.servers import plain_name

from .state import (
    ACCEPTANCE,
    CANCELLABLE,
    NEVER,
    STAGES,
    App,
    Cuisine,
    DeliveryAddress,
    FoodOrder,
    MenuItem,
    PaymentMethod,
    PromoCode,
    Restaurant,
    Status,
    Tag,
    Zone,
    server,
    total_of,
)

Portions = Annotated[int, Meta(ge=0, le=10)]
Secret = Sensitive[str]
Tip = Amount | None
Stars = Annotated[int, Meta(ge=1, le=5)]
Problem = Literal["missing", "wrong", "cold"]


@server.read
def search_restaurants(
    app: App, /, name: str = "", cuisine: Cuisine | None = None, open_now: bool = False
) -> list[Restaurant]:
    """Find restaurants that deliver food, with hours, zones, minimum order and delivery fee.

    Args:
        name: Only restaurants whose name contains this.
        cuisine: Only restaurants with this cuisine.
        open_now: Only restaurants that take orders at this moment.
    """
    wanted = name.lower()
    found = [restaurant for restaurant in app.restaurants if wanted in restaurant.name.lower()]
    if cuisine is not None:
        found = [restaurant for restaurant in found if restaurant.cuisine == cuisine]
    if open_now:
        found = [restaurant for restaurant in found if restaurant.serves(app.now)]
    return found


@server.read
def search_menu(
    app: App, /, name: str = "", restaurant_id: str | None = None, tag: Tag | None = None
) -> list[MenuItem]:
    """Find dishes and drinks to have delivered, with price, dietary tags and portions left today.

    Args:
        name: Only dishes whose name contains this.
        restaurant_id: Only dishes of this restaurant, e.g. "rst_310".
        tag: Only dishes with this dietary tag.
    """
    found = [item for item in app.items if name.lower() in item.name.lower()]
    if restaurant_id is not None:
        found = [item for item in found if item.restaurant_id == restaurant_id]
    if tag is not None:
        found = [item for item in found if tag in item.tags]
    return found


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
    app: App, /, restaurant_name: str = "", dish: str = "", status: Status | None = None
) -> list[FoodOrder]:
    """List food orders with dishes and status, newest first; the basket is not among them.

    Args:
        restaurant_name: Only orders from restaurants whose name contains this.
        dish: Only orders with a dish whose name contains this.
        status: Only orders with this status.
    """
    wanted_name = restaurant_name.lower()
    wanted_dish = dish.lower()
    found = [order for order in app.orders if order.placed_at <= app.now]
    found = [order for order in found if wanted_name in order.restaurant_name.lower()]
    found = [
        order for order in found if any(wanted_dish in line.name.lower() for line in order.lines)
    ]
    if status is not None:
        found = [order for order in found if order.status == status]
    return sorted(found, key=lambda order: order.placed_at, reverse=True)


@server.read
def track_food_order(app: App, /, food_order_id: str) -> FoodOrder:
    """Show where a food order is: its status, when it moves on, its courier and its arrival.

    Args:
        food_order_id: The order, e.g. "fod_5120".
    """
    return app.orders[food_order_id]


@server.read
def list_promo_codes(app: App, /) -> list[PromoCode]:
    """List the user's promo codes for food with their conditions, used up and expired ones too."""
    return list(app.promos)


@server.read
def list_food_payment_methods(app: App, /) -> list[PaymentMethod]:
    """List the cards the user saved to pay for food, and the app's own credit with its balance."""
    return list(app.cards)


@server.write(idempotent=True)
def set_basket_item(app: App, /, menu_item_id: str, quantity: Portions) -> FoodOrder:
    """Set how many portions of a dish are in the food basket; a promo code comes off by this.

    Args:
        menu_item_id: The dish, e.g. "dsh_880"; a basket is for one restaurant.
        quantity: How many it shall be, no more than are left today and 10 in all; 0 for none.
    """
    item = app.items[menu_item_id]
    portions = app.basket().portions()
    if quantity > 0:
        portions[item.id] = quantity
    elif item.id in portions:
        del portions[item.id]
    else:
        raise Rejected(f"there is no {item.name} in the basket")
    return app.fill_basket(portions)


@server.write(destructive=True)
def empty_basket(app: App, /) -> FoodOrder:
    """Take everything out of the food basket, for example to start one at another restaurant."""
    if not app.basket().lines:
        raise Rejected("the basket is empty already")
    return app.fill_basket({})


@server.write(idempotent=True)
def apply_promo_code(app: App, /, code: Label) -> FoodOrder:
    """Use a promo code for the food basket as it is, instead of any other: one code per order.

    Args:
        code: The code, e.g. "LUNCH15"; its conditions must hold for the basket.
    """
    promo = app.promos[code.upper()]
    basket = app.basket()
    if not basket.lines:
        raise Rejected("the basket is empty; add dishes with set_basket_item first")
    app.refuse_expired(promo)
    if promo.uses >= promo.max_uses:
        raise Rejected(f"{promo.code} is used up; try another code")
    if basket.items_total < promo.minimum_spend:
        raise Rejected(f"{promo.code} needs dishes for at least {promo.minimum_spend}")
    restaurant = app.restaurants[basket.restaurant_id]
    if promo.cuisine is not None and promo.cuisine != restaurant.cuisine:
        raise Rejected(f"{promo.code} is for {promo.cuisine} food")
    orders = app.orders.where(restaurant_id=restaurant.id)
    is_known = any(order.status in STAGES for order in orders)
    if promo.new_restaurants_only and is_known:
        raise Rejected(
            f"{promo.code} is for restaurants never ordered from, unlike {restaurant.name}"
        )
    return app.fill_basket(basket.portions(), promo.code)


@server.write
def add_delivery_address(
    app: App, /, label: Label, street: Label, zone: Zone, leave_outside: bool = False
) -> DeliveryAddress:
    """Save a place to have food delivered to; its label must be new, and at most eight are kept.

    Args:
        label: What to call it, e.g. "Home".
        street: Street and house number.
        zone: The part of the city it lies in.
        leave_outside: Whether the courier leaves the food outside instead of handing it over.
    """
    labels = [plain_name(home.label) for home in app.homes]
    if plain_name(label) in labels:
        raise Rejected(f"there is already an address called {label!r}")
    if len(labels) >= 8:
        raise Rejected("eight addresses are saved already; use one of them")
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
    home = app.homes[delivery_address_id]
    basket = app.basket()
    if not basket.lines:
        raise Rejected("the basket is empty; add dishes with set_basket_item first")
    restaurant = app.restaurants[basket.restaurant_id]
    arrives_at = _arrival(app, restaurant, deliver_at)
    if home.zone not in restaurant.zones:
        raise Rejected(f"{restaurant.name} does not deliver to {home.zone}")
    if basket.items_total < restaurant.minimum_order:
        raise Rejected(f"add dishes up to {restaurant.minimum_order}")
    for line in basket.lines:
        item = app.items[line.menu_item_id]
        if item.alcohol and home.leave_outside:
            raise Rejected(f"{item.name} is alcohol, not left outside")
        app.items.update(item.id, left=item.left - line.quantity)
    app.pay(payment_method_id, basket.total)
    if basket.promo_code:
        promo = app.promos[basket.promo_code]
        app.refuse_expired(promo)
        app.promos.update(promo.code, uses=promo.uses + 1)
    app.orders.add(status="basket")
    return app.orders.update(
        basket.id,
        status="placed",
        address_label=home.label,
        payment_method_id=payment_method_id,
        placed_at=app.now,
        moves_on_at=app.now + ACCEPTANCE,
        arrives_at=arrives_at,
    )


def _arrival(app: App, restaurant: Restaurant, deliver_at: datetime | None) -> datetime:
    """When an order arrives: at the time that the customer chose, or as soon as possible.

    The kitchen must be open when it has to start, and at the time that was chosen.
    """
    delivery_time = timedelta(minutes=restaurant.delivery_minutes)
    soonest = app.now + delivery_time
    arrives_at = deliver_at or soonest
    if arrives_at < soonest:
        raise Rejected(f"{restaurant.name} cannot deliver before {soonest:%H:%M} UTC")
    starts_at = arrives_at - delivery_time
    if not (restaurant.serves(starts_at) and restaurant.serves(deliver_at or starts_at)):
        raise Rejected(
            f"{restaurant.name} takes no orders then; search_restaurants shows its hours"
        )
    if arrives_at - app.now > timedelta(hours=12):
        raise Rejected("choose a time within the next 12 hours")
    return arrives_at


@server.write(destructive=True)
def cancel_food_order(app: App, /, food_order_id: str) -> FoodOrder:
    """Cancel a food order, free of charge; possible until the kitchen starts preparing it.

    Args:
        food_order_id: The order, e.g. "fod_5120".
    """
    order = app.orders[food_order_id]
    if order.status not in CANCELLABLE:
        raise Rejected(
            f"{order.id} is {order.status}; an order can be cancelled before it is prepared"
        )
    for line in order.lines:
        item = app.items[line.menu_item_id]
        app.items.update(item.id, left=item.left + line.quantity)
    if order.promo_code:
        promo = app.promos[order.promo_code]
        app.promos.update(promo.code, uses=promo.uses - 1)
    app.pay(order.payment_method_id, -order.total)
    return app.orders.update(order.id, status="cancelled", moves_on_at=NEVER)


@server.write
def rate_food_order(app: App, /, food_order_id: str, stars: Stars, tip: Tip = None) -> FoodOrder:
    """Rate a delivered food order, once and within 14 days, with a tip for the courier if wanted.

    Args:
        food_order_id: The order, e.g. "fod_5120".
        stars: From 1, bad, to 5, excellent.
        tip: What the courier gets, at most the order's total, paid as the order was.
    """
    order = app.orders[food_order_id]
    tip = tip or money(0)
    if order.status != "delivered":
        raise Rejected(f"{order.id} is {order.status}; rate it once delivered")
    if app.now - order.arrives_at > timedelta(days=14):
        raise Rejected(f"{order.id} is older than 14 days")
    if order.stars is not None:
        raise Rejected(f"{order.id} was rated {order.stars} stars already")
    if tip > order.total:
        raise Rejected(f"a tip is at most the total of the order, {order.total}")
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
    if order.status != "delivered":
        raise Rejected(f"{order.id} is {order.status}; wait until it arrives")
    if app.now - order.arrives_at > timedelta(hours=48):
        raise Rejected(f"{order.id} is older than 48 hours")
    if order.refunded > 0:
        raise Rejected(f"a problem with {order.id} was already reported")
    lines = [line for line in order.lines if menu_item_id in (None, line.menu_item_id)]
    if not lines:
        raise Rejected(f"{order.id} has no such dish; track_food_order shows what it has")
    paid_share = 1 - order.discount / order.items_total
    refunded_share = paid_share / 2 if problem == "cold" else paid_share
    refund = money(total_of(lines) * refunded_share)
    credit = next(method for method in app.cards if method.balance is not None)
    app.pay(credit.id, -refund)
    return app.orders.update(order.id, refunded=refund)


@server.write(destructive=True)
def reorder_food(app: App, /, food_order_id: str) -> FoodOrder:
    """Fill the food basket with the dishes of a past order, instead of what is in it.

    Args:
        food_order_id: The order, e.g. "fod_5120"; restaurant open, none of its dishes sold out.
    """
    order = app.orders[food_order_id]
    restaurant = app.restaurants[order.restaurant_id]
    if order.status not in ("delivered", "cancelled"):
        raise Rejected(f"{order.id} is {order.status}; only past orders can be repeated")
    if not restaurant.serves(app.now):
        raise Rejected(f"{restaurant.name} takes no orders now; try it later")
    return app.fill_basket(order.portions())
