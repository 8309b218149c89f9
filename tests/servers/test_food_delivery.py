"""The delivery app's rules, told on a city of two restaurants."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from provegym.kernel import Outcome, Seed, Session, money
from provegym.servers.food_delivery.state import App, FoodOrder, PromoCode, server

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


class City:
    """A session over a tiny hand-made world, and the ids in it."""

    def __init__(self) -> None:
        app = App(Seed(0))
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
        self.session = Session.over(server, app)

    @property
    def app(self) -> App:
        """The state of the session as it is now."""
        state = self.session.state(server)
        assert isinstance(state, App)
        return state

    def call(self, tool: str, **arguments: Any) -> Outcome:
        """A call, after which every invariant still holds."""
        outcome = self.session.call(tool, arguments)
        self.session.check()
        return outcome

    def fill(self, quantity: int = 2) -> None:
        """Put so many portions of moussaka in the basket."""
        assert self.call("set_basket_item", menu_item_id=self.moussaka, quantity=quantity).ok

    def order(self, **changes: Any) -> str:
        """Place the basket, or two portions of moussaka if it is empty; its id."""
        if not self.app.basket().lines:
            self.fill()
        where = {"delivery_address_id": self.home, "payment_method_id": self.card}
        placed = self.call("place_food_order", **where | changes)
        assert placed.ok, placed.text
        order_id: str = placed.value["id"]
        return order_id

    def delivered(self) -> str:
        """An order that has just arrived."""
        order_id = self.order()
        self.session.advance(45)
        assert self.app.orders[order_id].status == "delivered"
        return order_id

    def promo(self, **fields: Any) -> str:
        """A code that is good for ten percent, but for what the fields say."""
        usual = {"code": "FEAST10", "expires": date(2026, 4, 1), "uses": 0, "max_uses": 1}
        return self.app.promos.put(PromoCode(**{**usual, "percent": 10, **fields})).code


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


def refused(outcome: Outcome, because: str) -> None:
    assert outcome.error == "rejected", outcome.text
    assert because in outcome.value["message"]


@pytest.fixture
def city() -> City:
    return City()


def test_the_bill_is_exact_to_the_cent(city: City) -> None:
    city.fill(1)
    basket = city.call("set_basket_item", menu_item_id=city.baklava, quantity=3).value
    assert basket["items_total"] == 23.5
    assert basket["service_fee"] == 1.41
    assert basket["total"] == 27.41
    assert city.call("get_basket").value == basket


def test_a_basket_belongs_to_one_restaurant(city: City) -> None:
    city.fill()
    other = {"menu_item_id": city.burger, "quantity": 1}
    refused(city.call("set_basket_item", **other), "the basket is for Olive Taverna")
    assert city.call("empty_basket").ok
    assert city.call("set_basket_item", **other).value["restaurant_name"] == "Tiger Grill"


def test_nothing_comes_out_of_an_empty_basket(city: City) -> None:
    refused(city.call("empty_basket"), "empty already")
    nothing = city.call("set_basket_item", menu_item_id=city.moussaka, quantity=0)
    refused(nothing, "there is no Moussaka in the basket")
    city.fill()
    assert city.call("set_basket_item", menu_item_id=city.moussaka, quantity=0).ok
    assert city.app.basket() == FoodOrder(id=city.app.basket().id, status="basket")


def test_portions_are_limited_by_stock_and_basket(city: City) -> None:
    sold_out = city.call("set_basket_item", menu_item_id=city.briam, quantity=1)
    refused(sold_out, "only 0 of Briam left today")
    few = city.call("set_basket_item", menu_item_id=city.moussaka, quantity=6)
    refused(few, "only 5 of Moussaka left today")
    city.fill(5)
    many = city.call("set_basket_item", menu_item_id=city.baklava, quantity=6)
    refused(many, "at most 10 portions")


def test_an_order_takes_stock_and_money_and_counts_the_code(city: City) -> None:
    code = city.promo()
    city.fill()
    assert city.call("apply_promo_code", code=code.lower()).value["discount"] == 2
    order_id = city.order(payment_method_id=city.credit)
    order = city.app.orders[order_id]
    assert order.total == Decimal("21.70")
    assert city.app.cards[city.credit].balance == Decimal("28.30")
    assert city.app.items[city.moussaka].left == 3
    assert city.app.promos[code].uses == 1
    assert not city.app.basket().lines


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
    refused(city.call("place_food_order", **named), because)
    assert [change.table for change in city.session.diff()] == ["orders"]


def test_an_empty_or_small_basket_cannot_be_ordered(city: City) -> None:
    order = {"delivery_address_id": city.home, "payment_method_id": city.card}
    refused(city.call("place_food_order", **order), "the basket is empty")
    city.fill(1)
    refused(city.call("place_food_order", **order), "add dishes up to 15.00")


def test_credit_must_cover_the_whole_order(city: City) -> None:
    city.fill(5)
    order = {"delivery_address_id": city.home, "payment_method_id": city.credit}
    refused(city.call("place_food_order", **order), "Food credit holds only 50.00")


def test_alcohol_is_not_left_outside(city: City) -> None:
    city.fill()
    assert city.call("set_basket_item", menu_item_id=city.retsina, quantity=1).ok
    order = {"delivery_address_id": city.office, "payment_method_id": city.card}
    refused(city.call("place_food_order", **order), "alcohol")
    assert city.order()


def test_a_closed_restaurant_can_be_ordered_from_for_later(city: City) -> None:
    assert city.call("set_basket_item", menu_item_id=city.burger, quantity=2).ok
    order = {"delivery_address_id": city.home, "payment_method_id": city.card}
    refused(city.call("place_food_order", **order), "Tiger Grill takes no orders then")
    order_id = city.order(deliver_at="2026-03-04T19:00:00+01:00")
    assert city.app.orders[order_id].arrives_at == NOON + timedelta(hours=6)


def test_a_busy_restaurant_takes_orders_again_later(city: City) -> None:
    city.app.restaurants.update(city.olive, busy_until=NOON + timedelta(hours=2))
    found = city.call("search_restaurants", name="olive", open_now=True)
    assert found.value["total"] == 0
    city.fill()
    order = {"delivery_address_id": city.home, "payment_method_id": city.card}
    refused(city.call("place_food_order", **order), "takes no orders then")
    city.session.advance(120)
    assert city.order()


def test_an_order_moves_with_the_clock(city: City) -> None:
    order_id, stages = city.order(), []
    for minutes in (2, 1, 12, 18, 11, 1):
        city.session.advance(minutes)
        city.session.check()
        order = city.call("track_food_order", food_order_id=order_id).value
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
    at_once = city.session.fork()
    at_once.advance(2000)
    for minutes in (1, 44, 700, 1255):
        city.session.advance(minutes)
    assert city.session.digest() == at_once.digest()


def test_what_is_sold_out_is_back_after_midnight(city: City) -> None:
    city.session.advance(12 * 60 - 1)
    assert city.app.items[city.briam].left == 0
    city.session.advance(1)
    assert city.app.items[city.briam].left == 20


def test_cancelling_gives_everything_back(city: City) -> None:
    code = city.promo()
    city.fill()
    assert city.call("apply_promo_code", code=code).ok
    order_id = city.order(payment_method_id=city.credit)
    assert city.call("cancel_food_order", food_order_id=order_id).value["status"] == "cancelled"
    assert city.app.cards[city.credit].balance == 50
    assert city.app.items[city.moussaka].left == 5
    assert city.app.promos[code].uses == 0
    city.session.advance(60)
    assert city.app.orders[order_id].status == "cancelled"


def test_cancelling_is_refused_once_the_kitchen_works(city: City) -> None:
    order_id = city.order()
    city.session.advance(15)
    refused(city.call("cancel_food_order", food_order_id=order_id), "is preparing")


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
    refused(city.call("apply_promo_code", code=code), "the basket is empty")
    city.fill()
    refused(city.call("apply_promo_code", code=code), because)


def test_a_code_for_new_restaurants_works_once_there(city: City) -> None:
    code = city.promo(new_restaurants_only=True, max_uses=3)
    city.fill()
    assert city.call("apply_promo_code", code=code).ok
    city.order()
    city.fill()
    refused(city.call("apply_promo_code", code=code), "never ordered from")


def test_one_code_per_basket_and_none_after_a_change(city: City) -> None:
    first, second = city.promo(), city.promo(code="LUCKY5", percent=0, amount_off=money(5))
    city.fill()
    assert city.call("apply_promo_code", code=first).ok
    basket = city.call("apply_promo_code", code=second).value
    assert (basket["promo_code"], basket["discount"]) == ("LUCKY5", 5)
    city.fill(3)
    assert city.call("get_basket").value.get("promo_code") is None


def test_an_order_is_rated_once_and_only_after_delivery(city: City) -> None:
    waiting = city.order()
    refused(city.call("rate_food_order", food_order_id=waiting, stars=5), "is placed")
    order_id = city.delivered()
    assert (
        city.call("rate_food_order", food_order_id=order_id, stars=4, tip=3.5).value["tip"] == 3.5
    )
    refused(city.call("rate_food_order", food_order_id=order_id, stars=1), "4 stars already")


def test_a_rating_comes_within_two_weeks(city: City) -> None:
    order_id = city.delivered()
    city.session.advance(14 * 24 * 60 + 1)
    refused(city.call("rate_food_order", food_order_id=order_id, stars=5), "older than 14 days")


def test_a_tip_is_paid_like_the_order(city: City) -> None:
    order_id = city.order(payment_method_id=city.credit)
    city.session.advance(45)
    rate = {"food_order_id": order_id, "stars": 5}
    refused(city.call("rate_food_order", **rate, tip=30), "at most the total of the order, 23.70")
    assert city.call("rate_food_order", **rate, tip=2).ok
    assert city.app.cards[city.credit].balance == Decimal("24.30")


def test_a_tip_needs_a_card_that_still_pays(city: City) -> None:
    order_id = city.delivered()
    city.app.cards.update(city.card, expires=date(2026, 3, 3))
    rate = {"food_order_id": order_id, "stars": 5}
    refused(city.call("rate_food_order", **rate, tip=2), "has expired")
    assert city.call("rate_food_order", **rate).ok


def test_a_missing_dish_is_credited_at_the_price_paid(city: City) -> None:
    code = city.promo(percent=50)
    city.fill()
    assert city.call("set_basket_item", menu_item_id=city.baklava, quantity=1).ok
    assert city.call("apply_promo_code", code=code).ok
    order_id = city.delivered()
    report = {"food_order_id": order_id, "problem": "missing"}
    stranger = city.call("report_food_problem", **report, menu_item_id=city.burger)
    refused(stranger, "has no such dish")
    paid = city.call("report_food_problem", **report, menu_item_id=city.baklava).value
    assert paid["refunded"] == 2.25
    assert city.app.cards[city.credit].balance == Decimal("52.25")
    refused(city.call("report_food_problem", **report), "already reported")


def test_cold_food_is_credited_by_half_and_within_two_days(city: City) -> None:
    order_id = city.order()
    report = {"food_order_id": order_id, "problem": "cold"}
    refused(city.call("report_food_problem", **report), "wait until it arrives")
    city.session.advance(45)
    late = city.session.fork()
    late.advance(48 * 60 + 1)
    refused(late.call("report_food_problem", report), "older than 48 hours")
    assert city.call("report_food_problem", **report).value["refunded"] == 10


def test_a_past_order_fills_the_basket_again(city: City) -> None:
    order_id = city.delivered()
    assert city.call("set_basket_item", menu_item_id=city.burger, quantity=1).ok
    basket = city.call("reorder_food", food_order_id=order_id).value
    assert [(line["name"], line["quantity"]) for line in basket["lines"]] == [("Moussaka", 2)]


def test_reordering_needs_an_open_kitchen_and_the_dishes(city: City) -> None:
    waiting = city.order()
    refused(city.call("reorder_food", food_order_id=waiting), "only past orders")
    city.session.advance(45)
    city.app.items.update(city.moussaka, left=1)
    refused(city.call("reorder_food", food_order_id=waiting), "only 1 of Moussaka")
    city.session.advance(10 * 60)
    refused(city.call("reorder_food", food_order_id=waiting), "takes no orders now")


def test_addresses_have_labels_of_their_own(city: City) -> None:
    new = {"street": "Vine Street 7", "zone": "North"}
    refused(city.call("add_delivery_address", label="HOME", **new), "already an address called")
    saved = [city.call("add_delivery_address", label=f"Place {n}", **new) for n in range(6)]
    assert [outcome.ok for outcome in saved] == [True] * 5 + [False]
    refused(saved[-1], "eight addresses")
    assert city.order(delivery_address_id=saved[0].value["id"])


def test_orders_are_found_by_restaurant_dish_and_stage(city: City) -> None:
    order_id = city.delivered()
    city.order()
    ways = [{"restaurant_name": "olive"}, {"dish": "mouss"}, {"status": "delivered"}]
    totals = [city.call("list_food_orders", **way).value["total"] for way in ways]
    assert totals == [2, 2, 1]
    newest_first = city.call("list_food_orders").value["items"]
    assert newest_first[-1]["id"] == order_id


def test_menus_and_restaurants_are_searched(city: City) -> None:
    assert city.call("search_menu", restaurant_id=city.olive).value["total"] == 4
    assert city.call("search_menu", name="briam").value["items"][0]["left"] == 0
    assert city.call("search_restaurants", cuisine="burgers").value["total"] == 1
    assert city.call("search_restaurants", open_now=True).value["total"] == 1


@pytest.mark.parametrize("number", range(12))
def test_drawn_worlds_have_orders_at_every_stage(number: int) -> None:
    world = server.world(number)
    world.check()
    stages = {order.status for order in world.orders}
    assert {"basket", "placed", "accepted", "preparing", "on_the_way", "delivered"} <= stages
    assert sum(place.serves(world.now) for place in world.restaurants) >= 5
    assert len(world.items) >= 110
