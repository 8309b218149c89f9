"""Draws a city of restaurants and lives through six weeks of one customer's orders."""

from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import NamedTuple, get_args

from msgspec import convert

from provegym.kernel import Seed, money
from provegym.servers import people, words

from .state import App, FoodOrder, PromoCode, Restaurant, Zone, server
from .tools import cancel_food_order, place_food_order, report_food_problem

WORDS = words("food_delivery")
MINUTE = timedelta(minutes=1)


class Dish(NamedTuple):
    """Something on a menu before it has a price."""

    name: str
    lowest_price: int
    tags: list[str]
    alcohol: bool = False


@server.seed
def draw(seed: Seed) -> App:
    """A customer with addresses, cards and codes, and orders at every stage."""
    app = App(seed)
    chance = seed.random
    app.orders.add(status="basket")
    _save_addresses(app, chance)
    _save_payment_methods(app, chance)
    _hand_out_promo_codes(app, chance)
    couriers = [person.name for person in people.others(seed, 16)]
    _open_restaurants(app, chance, couriers)
    _order_for_weeks(app, chance)
    _report_and_rate(app, chance)
    _make_kitchens_busy(app, chance)
    if chance.random() < 0.5:
        _fill_basket(app, chance)
    return app


def _save_addresses(app: App, chance: Random) -> None:
    """Five addresses in five zones; at some of them food is left outside."""
    zones = chance.sample(get_args(Zone), 5)
    zones_left_outside = chance.sample(get_args(Zone), 4)
    labels = chance.sample(WORDS["labels"], 5)
    for label, zone in zip(labels, zones, strict=True):
        street = chance.choice(WORDS["streets"])
        number = chance.randint(1, 140)
        app.homes.add(
            label=label,
            street=f"{street} {number}",
            zone=zone,
            leave_outside=zone in zones_left_outside,
        )


def _save_payment_methods(app: App, chance: Random) -> None:
    """Three cards, of which one has expired, and the app's own credit."""
    for days in chance.sample((500, -9, 20), 3):
        bank = chance.choice(WORDS["banks"])
        number = chance.randrange(1000, 10_000)
        expires = app.now.date() + timedelta(days=days + chance.randint(-8, 8))
        app.cards.add(name=f"{bank} {number}", expires=expires)
    credit = _price(chance, 25, 80)
    app.cards.add(name="Food credit", balance=credit, granted=credit)


def _hand_out_promo_codes(app: App, chance: Random) -> None:
    """Seven codes; for each, a plan lists the values that every condition may have."""
    code_words = chance.sample(WORDS["codes"], 7)
    for word, plan in zip(code_words, WORDS["promos"], strict=True):
        fields = {name: chance.choice(values) for name, values in plan.items()}
        days = fields["expires"] + chance.randint(0, 9)
        fields["expires"] = app.now.date() + timedelta(days=days)
        fields["code"] = f"{word}{chance.randint(2, 99)}"
        app.promos.put(convert(fields, PromoCode))


def _price(chance: Random, low: int, high: int) -> Decimal:
    """A price between two amounts, in steps of five cents."""
    return money(Decimal(chance.randrange(low * 20, high * 20)) / 20)


def _open_restaurants(app: App, chance: Random, couriers: list[str]) -> None:
    """Two restaurants of each cuisine that share no dish; half of all open early."""
    names = chance.sample(WORDS["names"], 16)
    hours = chance.sample(WORDS["hours"], 16)
    drinks = chance.sample(WORDS["drinks"], 16)
    wines = chance.sample(WORDS["wines"], 16)
    dishes_left = {
        cuisine: chance.sample(dishes, 18) for cuisine, dishes in WORDS["dishes"].items()
    }
    cuisines = chance.sample([*dishes_left, *dishes_left], 16)
    for number, cuisine in enumerate(cuisines):
        opens, closes = hours[number]
        minimum_order = _price(chance, 8, 13)
        delivery_fee = _price(chance, 1, 5)
        sort_of_place = chance.choice(WORDS["places"][cuisine])
        rating = chance.randint(31, 49) / 10
        delivery_minutes = chance.randint(42, 52)
        zones = chance.sample(get_args(Zone), chance.randint(3, 6))
        restaurant = app.restaurants.add(
            name=f"{names[number]} {sort_of_place}",
            cuisine=cuisine,
            rating=rating,
            zones=tuple(zones),
            opens=opens,
            closes=closes,
            minimum_order=minimum_order,
            delivery_fee=delivery_fee,
            delivery_minutes=delivery_minutes,
            courier=couriers[number],
        )
        menu = [
            Dish(drinks[number], lowest_price=2, tags=["vegan"]),
            Dish(wines[number], lowest_price=4, tags=[], alcohol=True),
        ]
        for _ in range(7):
            name, *tags = dishes_left[cuisine].pop()
            menu += _sizes(chance, name, tags)
        _print_menu(app, chance, restaurant, menu)


def _sizes(chance: Random, name: str, tags: list[str]) -> list[Dish]:
    """A dish, perhaps with an adjective, or in two sizes of which the larger costs more."""
    variants = chance.choice(WORDS["variants"])
    return [
        Dish(f"{variant} {name}".strip(), lowest_price=7 + 5 * size, tags=tags)
        for size, variant in enumerate(variants)
    ]


def _print_menu(app: App, chance: Random, restaurant: Restaurant, menu: list[Dish]) -> None:
    """The dishes of a restaurant in any order, each with a price and portions for a day."""
    for dish in chance.sample(menu, len(menu)):
        portions = chance.randint(8, 24)
        price = _price(chance, dish.lowest_price, dish.lowest_price + 5)
        app.items.add(
            restaurant_id=restaurant.id,
            restaurant_name=restaurant.name,
            name=dish.name,
            price=price,
            left=portions,
            portions=portions,
            tags=tuple(dish.tags),
            alcohol=dish.alcohol,
        )


def _order_for_weeks(app: App, chance: Random) -> None:
    """Weeks of orders in the order of time; the last ones are still under way."""
    start = app.now
    days_ago = [*chance.sample(range(15, 41), 5), *chance.sample(range(3, 14), 4), 1, 1, 1]
    past = [days * 24 * 60 + chance.randrange(-120, 120) for days in days_ago]
    under_way = [55, 41, 22, 6, 2]
    first_code, second_code, *_ = app.promos.keys()
    app.now = start - timedelta(days=42)
    for number, minutes_ago in enumerate(sorted(past + under_way, reverse=True)):
        app.pass_time((start - app.now) // MINUTE - minutes_ago)
        code = ""
        if number == 1:
            code = first_code
        elif number % 3 == 0:
            code = second_code
        basket = _fill_basket(app, chance, code)
        # The earliest order that is under way is for later, so that it is not delivered yet.
        deliver_at = start + timedelta(hours=3) if minutes_ago == 55 else None
        home_id = _reachable_home(app, chance, basket)
        card_id = _good_card(app, chance, basket)
        order = place_food_order(app, home_id, card_id, deliver_at)
        if number < 9 and chance.random() < 0.2:
            cancel_food_order(app, order.id)
    app.pass_time((start - app.now) // MINUTE)


def _fill_basket(app: App, chance: Random, code: str = "") -> FoodOrder:
    """Put two or three dishes of some open restaurant in the basket."""
    open_now = [restaurant for restaurant in app.restaurants if restaurant.serves(app.now)]
    restaurant = chance.choice(open_now)
    menu = app.items.where(restaurant_id=restaurant.id, alcohol=False)
    dishes = [item for item in menu if item.left > 1 and item.price > 7]
    count = min(len(dishes), chance.randint(2, 3))
    chosen = chance.sample(dishes, count)
    portions = {item.id: chance.randint(1, 2) for item in chosen}
    return app.fill_basket(portions, code)


def _reachable_home(app: App, chance: Random, basket: FoodOrder) -> str:
    """The id of an address that the restaurant of the basket delivers to."""
    zones = app.restaurants[basket.restaurant_id].zones
    return chance.choice([home for home in app.homes if home.zone in zones]).id


def _good_card(app: App, chance: Random, basket: FoodOrder) -> str:
    """The id of a payment method that has not expired and covers the basket."""
    valid = [card for card in app.cards if card.expires > app.now.date()]
    covering = [card for card in valid if card.balance is None or card.balance > basket.total]
    return chance.choice(covering).id


def _report_and_rate(app: App, chance: Random) -> None:
    """The newest delivered order was cold; half of the others were rated."""
    *others, newest = app.orders.where(status="delivered")
    report_food_problem(app, newest.id, "cold")
    for order in chance.sample(others, len(others) // 2):
        app.orders.update(order.id, stars=chance.randint(2, 5))


def _make_kitchens_busy(app: App, chance: Random) -> None:
    """Sell portions of every dish to other people, and let two kitchens take no orders."""
    for item in list(app.items):
        left = chance.choice((0, 1, 2, 4, 6, 9, 14, 20))
        app.items.update(item.id, left=min(item.left, left))
    for restaurant_id in chance.sample(list(app.restaurants.keys()), 2):
        busy_until = app.now + timedelta(hours=chance.randint(1, 3))
        app.restaurants.update(restaurant_id, busy_until=busy_until)
