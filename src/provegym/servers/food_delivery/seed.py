"""Draws a city of restaurants and lives through six weeks of one customer's orders."""

from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import Any, get_args

from msgspec import convert

from provegym.kernel import Seed, money
from provegym.servers import people, words

from .state import App, FoodOrder, PromoCode, Zone, server
from .tools import cancel_food_order, place_food_order, report_food_problem

WORDS = words("food_delivery")


@server.seed
def draw(seed: Seed) -> App:
    """A customer with addresses, cards and codes, and orders at every stage."""
    app, chance, today = App(seed), seed.random, seed.now.date()
    app.orders.add(status="basket")
    zones, outside = (chance.sample(get_args(Zone), count) for count in (5, 4))
    for label, zone in zip(chance.sample(WORDS["labels"], 5), zones, strict=True):
        street = f"{chance.choice(WORDS['streets'])} {chance.randint(1, 140)}"
        app.homes.add(label=label, street=street, zone=zone, leave_outside=zone in outside)
    for days in chance.sample((500, -9, 20), 3):
        name = f"{chance.choice(WORDS['banks'])} {chance.randrange(1000, 10_000)}"
        app.cards.add(name=name, expires=today + timedelta(days + chance.randint(-8, 8)))
    gift = _price(chance, 25, 80)
    app.cards.add(name="Food credit", balance=gift, granted=gift)
    for word, plan in zip(chance.sample(WORDS["codes"], 7), WORDS["promos"], strict=True):
        fields = {name: chance.choice(values) for name, values in plan.items()}
        fields["expires"] = today + timedelta(days=fields["expires"] + chance.randint(0, 9))
        app.promos.put(convert(fields | {"code": f"{word}{chance.randint(2, 99)}"}, PromoCode))
    _open_restaurants(app, chance, [person.name for person in people.others(seed, 16)])
    _live_through(app, chance)
    for item in list(app.items):
        app.items.update(item.id, left=min(item.left, chance.choice((0, 1, 2, 4, 6, 9, 14, 20))))
    for key in chance.sample(list(app.restaurants.keys()), 2):
        app.restaurants.update(key, busy_until=seed.now + timedelta(hours=chance.randint(1, 3)))
    if chance.random() < 0.5:
        _fill(app, chance)
    return app


def _price(chance: Random, low: int, high: int) -> Decimal:
    return money(Decimal(chance.randrange(low * 20, high * 20)) / 20)


def _open_restaurants(app: App, chance: Random, couriers: list[str]) -> None:
    """Two restaurants of each cuisine that share no dish; half of all open early."""
    lists = [chance.sample(WORDS[name], 16) for name in ("names", "hours", "drinks", "wines")]
    pools = {kind: chance.sample(dishes, 18) for kind, dishes in WORDS["dishes"].items()}
    kinds = chance.sample([*pools, *pools], 16)
    for kind, courier, name, hours, drink, wine in zip(kinds, couriers, *lists, strict=True):
        fields: dict[str, Any] = {"cuisine": kind, "opens": hours[0], "closes": hours[1]}
        fields |= {"minimum_order": _price(chance, 8, 13), "delivery_fee": _price(chance, 1, 5)}
        fields |= {"name": f"{name} {chance.choice(WORDS['places'][kind])}", "courier": courier}
        rating, minutes = chance.randint(31, 49) / 10, chance.randint(42, 52)
        zones = tuple(chance.sample(get_args(Zone), chance.randint(3, 6)))
        place = app.restaurants.add(rating=rating, zones=zones, delivery_minutes=minutes, **fields)
        menu = [(drink, 2, ["vegan"]), (wine, 4, [])]
        for dish, *tags in [pools[kind].pop() for _ in range(7)]:
            sizes = enumerate(chance.choice(WORDS["variants"]))
            menu += [(f"{word} {dish}".strip(), 7 + 5 * size, tags) for size, word in sizes]
        for dish, low, tags in chance.sample(menu, len(menu)):
            portions, price = chance.randint(8, 24), _price(chance, low, low + 5)
            fields = {"name": dish, "tags": tuple(tags), "alcohol": dish == wine, "price": price}
            fields |= {"restaurant_id": place.id, "restaurant_name": place.name}
            app.items.add(left=portions, portions=portions, **fields)


def _fill(app: App, chance: Random, code: str = "") -> FoodOrder:
    """Put two or three dishes of some open restaurant in the basket."""
    place = chance.choice([place for place in app.restaurants if place.serves(app.now)])
    menu = app.items.where(restaurant_id=place.id, alcohol=False)
    dishes = [item for item in menu if item.left > 1 and item.price > 7]
    chosen = chance.sample(dishes, min(len(dishes), chance.randint(2, 3)))
    return app.fill_basket({item.id: chance.randint(1, 2) for item in chosen}, code)


def _live_through(app: App, chance: Random) -> None:
    """Weeks of orders in the order of time; the last ones are still under way."""
    start, later, codes = app.now, app.now + timedelta(hours=3), list(app.promos.keys())
    days = [*chance.sample(range(15, 41), 5), *chance.sample(range(3, 14), 4), 1, 1, 1]
    ages = [day * 1440 + chance.randrange(-120, 120) for day in days] + [55, 41, 22, 6, 2]
    app.now = start - timedelta(days=42)
    for at, age in enumerate(sorted(ages, reverse=True)):
        app.pass_time((start - app.now) // timedelta(minutes=1) - age)
        basket = _fill(app, chance, codes[0] if at == 1 else codes[1] if at % 3 == 0 else "")
        zones = app.restaurants[basket.restaurant_id].zones
        home = chance.choice([home for home in app.homes if home.zone in zones])
        cards = [card for card in app.cards if card.expires > app.now.date()]
        card = chance.choice([c for c in cards if c.balance is None or c.balance > basket.total])
        order = place_food_order(app, home.id, card.id, later if age == 55 else None)
        if at < 9 and chance.random() < 0.2:
            cancel_food_order(app, order.id)
    app.pass_time((start - app.now) // timedelta(minutes=1))
    *others, newest = app.orders.where(status="delivered")
    report_food_problem(app, newest.id, "cold")
    for order in chance.sample(others, len(others) // 2):
        app.orders.update(order.id, stars=chance.randint(2, 5))
