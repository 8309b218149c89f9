"""The delivery app's rules, told on a city of two restaurants."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from provegym.kernel import Seed, money
from provegym.servers.food_delivery.state import App, FoodOrder, PromoCode, server
from servers.desk import Desk

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


class City(Desk[App]):
    """Two restaurants with five dishes, three addresses and three ways to pay."""

    def __init__(self) -> None:
        super().__init__(server, App(Seed(0)))
        app = self.world
        app.now = NOON
        app.orders.add(status="basket")
        self.olive = add_restaurant(app, "Olive Taverna", "greek", opens=8, closes=22)
        self.tiger = add_restaurant(app, "Tiger Grill", "burgers", opens=17, closes=23)
        self.moussaka = add_dish(app, self.olive, "Moussaka", "10.00", left=5)
        self.baklava = add_dish(app, self.olive, "Baklava", "4.50", left=20)
        self.retsina = add_dish(app, self.olive, "Retsina Jug", "8.00", left=9, alcohol=True)
        self.briam = add_dish(app, self.olive, "Briam", "9.00", left=0)
        self.burger = add_dish(app, self.tiger, "Lentil Burger", "12.00", left=9)
        home = {"street": "Elm Rise 4", "leave_outside": False}
        self.home = app.homes.add(label="Home", zone="Centre", **home).id
        self.boat = app.homes.add(label="Boat", zone="Harbour", **home).id
        away = {"street": "Kiln Street 9", "leave_outside": True}
        self.office = app.homes.add(label="Office", zone="Centre", **away).id
        self.card = app.cards.add(name="Fjord Card 1234", expires=date(2027, 1, 31)).id
        self.expired = app.cards.add(name="Maple Card 9876", expires=date(2026, 3, 3)).id
        fifty = {"balance": money(50), "granted": money(50)}
        self.credit = app.cards.add(name="Food credit", **fifty).id
        self.start()

    def fill(self, quantity: int = 2) -> None:
        """Put so many portions of moussaka in the basket."""
        self.done("set_basket_item", menu_item_id=self.moussaka, quantity=quantity)

    def order(self, **changes: Any) -> str:
        """Place the basket, or two portions of moussaka if it is empty; its id."""
        if not self.state.basket().lines:
            self.fill()
        where = {"delivery_address_id": self.home, "payment_method_id": self.card}
        order_id: str = self.done("place_food_order", **where | changes)["id"]
        return order_id

    def delivered(self) -> str:
        """An order that has just arrived."""
        order_id = self.order()
        self.wait(45)
        assert self.state.orders[order_id].status == "delivered"
        return order_id

    def promo(self, **fields: Any) -> str:
        """A code that is good for ten percent, but for what the fields say."""
        usual = {"code": "FEAST10", "expires": date(2026, 4, 1), "uses": 0, "max_uses": 1}
        return self.state.promos.put(PromoCode(**{**usual, "percent": 10, **fields})).code


def add_restaurant(app: App, name: str, cuisine: str, *, opens: int, closes: int) -> str:
    fields = {"cuisine": cuisine, "opens": opens, "closes": closes, "courier": "Ines Falk"}
    costs = {"minimum_order": money(15), "delivery_fee": money("2.50")}
    zones = ("Centre", "North")
    place = app.restaurants.add(
        name=name, rating=4.5, zones=zones, delivery_minutes=45, **fields, **costs
    )
    return place.id


def add_dish(app: App, restaurant_id: str, name: str, price: str, **fields: Any) -> str:
    whose = {"restaurant_id": restaurant_id, "restaurant_name": app.restaurants[restaurant_id].name}
    return app.items.add(name=name, price=money(price), portions=20, **whose, **fields).id


@pytest.fixture
def city() -> City:
    return City()


def test_the_bill_is_exact_to_the_cent(city: City) -> None:
    city.fill(1)
    basket = city.done("set_basket_item", menu_item_id=city.baklava, quantity=3)
    assert basket["items_total"] == 23.5
    assert basket["service_fee"] == 1.41
    assert basket["total"] == 27.41
    assert city.done("get_basket") == basket


def test_a_basket_belongs_to_one_restaurant(city: City) -> None:
    city.fill()
    other = {"menu_item_id": city.burger, "quantity": 1}
    city.rejected("set_basket_item", "the basket is for Olive Taverna", **other)
    city.done("empty_basket")
    assert city.done("set_basket_item", **other)["restaurant_name"] == "Tiger Grill"


def test_nothing_comes_out_of_an_empty_basket(city: City) -> None:
    city.rejected("empty_basket", "empty already")
    city.rejected(
        "set_basket_item",
        "there is no Moussaka in the basket",
        menu_item_id=city.moussaka,
        quantity=0,
    )
    city.fill()
    city.done("set_basket_item", menu_item_id=city.moussaka, quantity=0)
    assert city.state.basket() == FoodOrder(id=city.state.basket().id, status="basket")


def test_portions_are_limited_by_stock_and_basket(city: City) -> None:
    city.rejected(
        "set_basket_item", "only 0 of Briam left today", menu_item_id=city.briam, quantity=1
    )
    city.rejected(
        "set_basket_item", "only 5 of Moussaka left today", menu_item_id=city.moussaka, quantity=6
    )
    city.fill(5)
    city.rejected("set_basket_item", "at most 10 portions", menu_item_id=city.baklava, quantity=6)


def test_an_order_takes_stock_and_money_and_counts_the_code(city: City) -> None:
    code = city.promo()
    city.fill()
    assert city.done("apply_promo_code", code=code.lower())["discount"] == 2
    order_id = city.order(payment_method_id=city.credit)
    order = city.state.orders[order_id]
    assert order.total == Decimal("21.70")
    assert city.state.cards[city.credit].balance == Decimal("28.30")
    assert city.state.items[city.moussaka].left == 3
    assert city.state.promos[code].uses == 1
    assert not city.state.basket().lines


@pytest.mark.parametrize(
    ("change", "because"),
    [
        ({"delivery_address_id": "boat"}, "does not deliver to Harbour"),
        ({"payment_method_id": "expired"}, "has expired"),
        ({"deliver_at": "2026-03-04T12:30:00Z"}, "cannot deliver before 12:45"),
        ({"deliver_at": "2026-03-04T22:30:00Z"}, "takes no orders then"),
        ({"deliver_at": "2026-03-05T12:00:00Z"}, "within the next 12 hours"),
    ],
)
def test_where_when_and_how_an_order_can_be_placed(
    city: City, change: dict[str, str], because: str
) -> None:
    city.fill()
    usual = {"delivery_address_id": "home", "payment_method_id": "card"}
    named = {name: vars(city).get(value, value) for name, value in (usual | change).items()}
    city.rejected("place_food_order", because, **named)
    assert [change.table for change in city.session.diff()] == ["orders"]


def test_an_empty_or_small_basket_cannot_be_ordered(city: City) -> None:
    order = {"delivery_address_id": city.home, "payment_method_id": city.card}
    city.rejected("place_food_order", "the basket is empty", **order)
    city.fill(1)
    city.rejected("place_food_order", "add dishes up to 15.00", **order)


def test_credit_must_cover_the_whole_order(city: City) -> None:
    city.fill(5)
    order = {"delivery_address_id": city.home, "payment_method_id": city.credit}
    city.rejected("place_food_order", "Food credit holds only 50.00", **order)


def test_alcohol_is_not_left_outside(city: City) -> None:
    city.fill()
    city.done("set_basket_item", menu_item_id=city.retsina, quantity=1)
    order = {"delivery_address_id": city.office, "payment_method_id": city.card}
    city.rejected("place_food_order", "alcohol", **order)
    assert city.order()


def test_a_closed_restaurant_can_be_ordered_from_for_later(city: City) -> None:
    city.done("set_basket_item", menu_item_id=city.burger, quantity=2)
    order = {"delivery_address_id": city.home, "payment_method_id": city.card}
    city.rejected("place_food_order", "Tiger Grill takes no orders then", **order)
    order_id = city.order(deliver_at="2026-03-04T19:00:00+01:00")
    assert city.state.orders[order_id].arrives_at == NOON + timedelta(hours=6)


def test_a_kitchen_is_open_when_it_has_to_start(city: City) -> None:
    city.done("set_basket_item", menu_item_id=city.burger, quantity=2)
    order = {"delivery_address_id": city.home, "payment_method_id": city.card}
    opening = NOON + timedelta(hours=5)
    city.rejected("place_food_order", "takes no orders then", **order, deliver_at=opening)
    city.done("place_food_order", **order, deliver_at=opening + timedelta(minutes=45))


def test_an_order_over_midnight_takes_the_portions_of_the_new_day(city: City) -> None:
    city.state.restaurants.update(city.olive, opens=0, closes=24)
    city.wait(hours=11)
    order_id = city.order(deliver_at=NOON + timedelta(hours=14))
    city.wait(61)
    assert city.state.items[city.moussaka].left == 18
    city.done("cancel_food_order", food_order_id=order_id)
    assert city.state.items[city.moussaka].left == 20


def test_a_code_that_expires_in_the_basket_is_not_used(city: City) -> None:
    city.fill()
    city.done("apply_promo_code", code=city.promo(expires=NOON.date()))
    city.wait(days=1)
    order = {"delivery_address_id": city.home, "payment_method_id": city.card}
    city.rejected("place_food_order", "expired on", **order)


def test_a_busy_restaurant_takes_orders_again_later(city: City) -> None:
    city.state.restaurants.update(city.olive, busy_until=NOON + timedelta(hours=2))
    assert city.done("search_restaurants", name="olive", open_now=True)["total"] == 0
    city.fill()
    order = {"delivery_address_id": city.home, "payment_method_id": city.card}
    city.rejected("place_food_order", "takes no orders then", **order)
    city.wait(120)
    assert city.order()


def test_an_order_moves_with_the_clock(city: City) -> None:
    order_id, stages = city.order(), []
    for minutes in (2, 1, 12, 18, 11, 1):
        city.wait(minutes)
        order = city.done("track_food_order", food_order_id=order_id)
        stages.append((order["status"], order.get("courier")))
    assert stages == [
        ("placed", None),
        ("accepted", None),
        ("preparing", None),
        ("on_the_way", "Ines Falk"),
        ("on_the_way", "Ines Falk"),
        ("delivered", "Ines Falk"),
    ]


def test_time_in_pieces_is_time_at_once(city: City) -> None:
    city.order()
    at_once = city.fork()
    at_once.wait(2000)
    for minutes in (1, 44, 700, 1255):
        city.wait(minutes)
    assert city.session.digest() == at_once.session.digest()


def test_what_is_sold_out_is_back_after_midnight(city: City) -> None:
    city.wait(12 * 60 - 1)
    assert city.state.items[city.briam].left == 0
    city.wait(1)
    assert city.state.items[city.briam].left == 20


def test_cancelling_gives_everything_back(city: City) -> None:
    code = city.promo()
    city.fill()
    city.done("apply_promo_code", code=code)
    order_id = city.order(payment_method_id=city.credit)
    assert city.done("cancel_food_order", food_order_id=order_id)["status"] == "cancelled"
    assert city.state.cards[city.credit].balance == 50
    assert city.state.items[city.moussaka].left == 5
    assert city.state.promos[code].uses == 0
    city.wait(60)
    assert city.state.orders[order_id].status == "cancelled"


def test_cancelling_is_refused_once_the_kitchen_works(city: City) -> None:
    order_id = city.order()
    city.wait(15)
    city.rejected("cancel_food_order", "is preparing", food_order_id=order_id)


@pytest.mark.parametrize(
    ("fields", "because"),
    [
        ({"expires": date(2026, 3, 3)}, "expired on 2026-03-03"),
        ({"max_uses": 0}, "is used up"),
        ({"minimum_spend": money(30)}, "needs dishes for at least 30.00"),
        ({"cuisine": "thai"}, "is for thai food"),
    ],
)
def test_codes_have_conditions(city: City, fields: dict[str, Any], because: str) -> None:
    code = city.promo(**fields)
    city.rejected("apply_promo_code", "the basket is empty", code=code)
    city.fill()
    city.rejected("apply_promo_code", because, code=code)


def test_a_code_for_new_restaurants_works_once_there(city: City) -> None:
    code = city.promo(new_restaurants_only=True, max_uses=3)
    city.fill()
    city.done("apply_promo_code", code=code)
    city.order()
    city.fill()
    city.rejected("apply_promo_code", "never ordered from", code=code)


def test_one_code_per_basket_and_none_after_a_change(city: City) -> None:
    first, second = city.promo(), city.promo(code="LUCKY5", percent=0, amount_off=money(5))
    city.fill()
    city.done("apply_promo_code", code=first)
    basket = city.done("apply_promo_code", code=second)
    assert (basket["promo_code"], basket["discount"]) == ("LUCKY5", 5)
    city.fill(3)
    assert city.done("get_basket").get("promo_code") is None


def test_an_order_is_rated_once_and_only_after_delivery(city: City) -> None:
    waiting = city.order()
    city.rejected("rate_food_order", "is placed", food_order_id=waiting, stars=5)
    order_id = city.delivered()
    assert city.done("rate_food_order", food_order_id=order_id, stars=4, tip=3.5)["tip"] == 3.5
    city.rejected("rate_food_order", "4 stars already", food_order_id=order_id, stars=1)


def test_a_rating_comes_within_two_weeks(city: City) -> None:
    order_id = city.delivered()
    city.wait(14 * 24 * 60 + 1)
    city.rejected("rate_food_order", "older than 14 days", food_order_id=order_id, stars=5)


def test_a_tip_is_paid_like_the_order(city: City) -> None:
    order_id = city.order(payment_method_id=city.credit)
    city.wait(45)
    rate = {"food_order_id": order_id, "stars": 5}
    city.rejected("rate_food_order", "at most the total of the order, 23.70", **rate, tip=30)
    city.done("rate_food_order", **rate, tip=2)
    assert city.state.cards[city.credit].balance == Decimal("24.30")


def test_a_tip_needs_a_card_that_still_pays(city: City) -> None:
    order_id = city.delivered()
    city.state.cards.update(city.card, expires=date(2026, 3, 3))
    rate = {"food_order_id": order_id, "stars": 5}
    city.rejected("rate_food_order", "has expired", **rate, tip=2)
    city.done("rate_food_order", **rate)


def test_a_missing_dish_is_credited_at_the_price_paid(city: City) -> None:
    code = city.promo(percent=50)
    city.fill()
    city.done("set_basket_item", menu_item_id=city.baklava, quantity=1)
    city.done("apply_promo_code", code=code)
    order_id = city.delivered()
    report = {"food_order_id": order_id, "problem": "missing"}
    city.rejected("report_food_problem", "has no such dish", **report, menu_item_id=city.burger)
    paid = city.done("report_food_problem", **report, menu_item_id=city.baklava)
    assert paid["refunded"] == 2.25
    assert city.state.cards[city.credit].balance == Decimal("52.25")
    city.rejected("report_food_problem", "already reported", **report)


def test_cold_food_is_credited_by_half_and_within_two_days(city: City) -> None:
    order_id = city.order()
    report = {"food_order_id": order_id, "problem": "cold"}
    city.rejected("report_food_problem", "wait until it arrives", **report)
    city.wait(45)
    late = city.fork()
    late.wait(1, hours=48)
    late.rejected("report_food_problem", "older than 48 hours", **report)
    assert city.done("report_food_problem", **report)["refunded"] == 10


def test_a_past_order_fills_the_basket_again(city: City) -> None:
    order_id = city.delivered()
    city.done("set_basket_item", menu_item_id=city.burger, quantity=1)
    basket = city.done("reorder_food", food_order_id=order_id)
    assert [(line["name"], line["quantity"]) for line in basket["lines"]] == [("Moussaka", 2)]


def test_reordering_needs_an_open_kitchen_and_the_dishes(city: City) -> None:
    waiting = city.order()
    city.rejected("reorder_food", "only past orders", food_order_id=waiting)
    city.wait(45)
    city.state.items.update(city.moussaka, left=1)
    city.rejected("reorder_food", "only 1 of Moussaka", food_order_id=waiting)
    city.wait(hours=10)
    city.rejected("reorder_food", "takes no orders now", food_order_id=waiting)


def test_addresses_have_labels_of_their_own(city: City) -> None:
    new = {"street": "Vine Street 7", "zone": "North"}
    city.rejected("add_delivery_address", "already an address called", label="HOME", **new)
    city.rejected("add_delivery_address", "already an address called", label=" home ", **new)
    saved = [city.done("add_delivery_address", label=f"Place {n}", **new) for n in range(5)]
    city.rejected("add_delivery_address", "eight addresses", label="Place 5", **new)
    assert city.order(delivery_address_id=saved[0]["id"])


def test_orders_are_found_by_restaurant_dish_and_stage(city: City) -> None:
    order_id = city.delivered()
    city.order()
    ways = [{"restaurant_name": "olive"}, {"dish": "mouss"}, {"status": "delivered"}]
    totals = [city.done("list_food_orders", **way)["total"] for way in ways]
    assert totals == [2, 2, 1]
    newest_first = city.done("list_food_orders")["items"]
    assert newest_first[-1]["id"] == order_id


def test_menus_and_restaurants_are_searched(city: City) -> None:
    assert city.done("search_menu", restaurant_id=city.olive)["total"] == 4
    assert city.done("search_menu", name="briam")["items"][0]["left"] == 0
    assert city.done("search_restaurants", cuisine="burgers")["total"] == 1
    assert city.done("search_restaurants", open_now=True)["total"] == 1


@pytest.mark.parametrize("number", range(12))
def test_drawn_worlds_have_orders_at_every_stage(number: int) -> None:
    world = server.world(number)
    world.check()
    stages = {order.status for order in world.orders}
    assert {"basket", "placed", "accepted", "preparing", "on_the_way", "delivered"} <= stages
    assert sum(place.serves(world.now) for place in world.restaurants) >= 5
    assert len(world.items) >= 110
