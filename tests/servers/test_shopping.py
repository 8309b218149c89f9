"""The shop's rules as short stories: a rain jacket, a lamp, a card, a coupon and a gift card."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from provegym.kernel import Seed, money
from provegym.servers.shopping.state import Coupon, GiftCard, Shop, server
from servers.desk import Desk

DAY = 24 * 60


class Store(Desk[Shop]):
    """Two products in three variants, coupons, gift cards, payment cards and two addresses."""

    def __init__(self) -> None:
        super().__init__(server, Shop(Seed(0)))
        shop = self.world
        today = shop.now.date()
        self.jacket = shop.products.add(
            name="Moss Rain Jacket", category="clothing", price=money(60)
        )
        self.lamp = shop.products.add(
            name="Calder Lamp", category="home", price=money("19.99"), final_sale=True
        )
        self.navy, self.cream, self.light = (
            shop.variants.add(product_id=product.id, name=name, stock=stock).id
            for product, name, stock in (
                (self.jacket, "Moss Rain Jacket in navy", 8),
                (self.jacket, "Moss Rain Jacket in cream", 0),
                (self.lamp, "Calder Lamp in white", 3),
            )
        )
        for code, days, percent, spend, category in (
            ("MAPLE10", 1, 10, 0, None),
            ("LATE20", -1, 20, 0, None),
            ("BIG30", 9, 30, 100, None),
            ("HOME50", 9, 50, 0, "home"),
        ):
            limits: dict[str, Any] = {"minimum_spend": money(spend), "category": category}
            limits["expires"] = today + timedelta(days=days)
            shop.coupons.put(Coupon(code=code, percent=percent, **limits))
        for code, days in (("GC-1", 90), ("GC-2", -1)):
            expires = today + timedelta(days=days)
            shop.gifts.put(GiftCard(code=code, sender="Ada", value=money(50), expires=expires))
        self.visa, self.old, self.small = (
            shop.cards.add(
                name=name, expires=today + timedelta(days=days), order_limit=money(limit)
            ).id
            for name, days, limit in (("Visa", 90, 900), ("Old Visa", -1, 900), ("Mini", 90, 20))
        )
        self.home = shop.homes.add(label="Home", street="Mill Road 1", default=True).id
        self.office = shop.homes.add(label="Office", street="Mill Road 2").id
        shop.orders.add()
        self.start()

    def buy(self, variant_id: str, quantity: int = 1, **arguments: Any) -> Any:
        """Order one thing with the good card."""
        self.done("add_to_cart", variant_id=variant_id, quantity=quantity)
        return self.done("checkout_cart", payment_card_id=self.visa, **arguments)


@pytest.fixture
def story() -> Store:
    return Store()


def test_a_bill_adds_tax_and_shipping_to_the_cent(story: Store) -> None:
    cart = story.done("add_to_cart", variant_id=story.light)
    assert (cart["items_total"], cart["tax"], cart["shipping"]) == (19.99, 1.6, 4.95)
    assert cart["total"] == 26.54
    cart = story.done("add_to_cart", variant_id=story.navy, quantity=2)
    assert (cart.get("shipping", 0), cart["total"]) == (0, 151.19)


def test_the_cart_holds_what_is_in_stock_and_no_more_than_five_of_it(story: Store) -> None:
    story.rejected("add_to_cart", "in stock", variant_id=story.cream)
    story.done("add_to_cart", variant_id=story.navy, quantity=5)
    story.rejected("add_to_cart", "at most five", variant_id=story.navy)
    story.rejected("update_cart_item", "not in the cart", variant_id=story.light, quantity=1)
    assert "lines" not in story.done("update_cart_item", variant_id=story.navy, quantity=0)


@pytest.mark.parametrize(
    ("code", "because"),
    [("LATE20", "ran out"), ("BIG30", "needs goods"), ("HOME50", "no home"), ("MAPLE10", "")],
)
def test_a_coupon_has_conditions(story: Store, code: str, because: str) -> None:
    story.done("add_to_cart", variant_id=story.navy)
    if because:
        story.rejected("apply_coupon", because, code=code)
    else:
        assert story.done("apply_coupon", code=code)["discount"] == 6
        story.rejected("apply_coupon", "applied already", code=code)


def test_one_coupon_per_order_and_category_coupons_count_their_goods(story: Store) -> None:
    story.done("add_to_cart", variant_id=story.navy)
    story.done("add_to_cart", variant_id=story.light)
    story.done("apply_coupon", code="MAPLE10")
    cart = story.done("apply_coupon", code="HOME50")
    assert (cart["coupon"], cart["discount"]) == ("HOME50", 10)


def test_a_coupon_comes_off_when_the_cart_or_the_day_no_longer_fits(story: Store) -> None:
    story.done("add_to_cart", variant_id=story.navy, quantity=2)
    story.done("apply_coupon", code="BIG30")
    cart = story.done("update_cart_item", variant_id=story.navy, quantity=1)
    assert "coupon" not in cart
    story.done("apply_coupon", code="MAPLE10")
    story.wait(2 * DAY)
    assert "coupon" not in story.done("get_cart")


def test_a_used_coupon_is_back_when_the_order_is_cancelled(story: Store) -> None:
    story.done("add_to_cart", variant_id=story.navy)
    story.done("apply_coupon", code="MAPLE10")
    order = story.done("checkout_cart", payment_card_id=story.visa)
    story.done("add_to_cart", variant_id=story.navy)
    story.rejected("apply_coupon", "used up", code="MAPLE10")
    story.done("cancel_shop_order", shop_order_id=order["id"])
    story.done("apply_coupon", code="MAPLE10")


def test_checkout_changes_order_stock_gift_card_and_cart_together(story: Store) -> None:
    story.done("redeem_gift_card", code="gc-1")
    order = story.buy(story.navy, 2, gift_card_code="GC-1", shipping_address_id=story.office)
    assert (order["status"], order["total"], order["gift_paid"]) == ("placed", 129.6, 50)
    assert order["shipping_address_id"] == story.office
    assert story.state.variants[story.navy].stock == 6
    assert story.state.gifts["GC-1"].balance == 0
    assert "lines" not in story.done("get_cart")


def test_checkout_is_refused_and_leaves_no_trace(story: Store) -> None:
    story.rejected("checkout_cart", "empty", payment_card_id=story.visa)
    story.done("add_to_cart", variant_id=story.navy)
    before = story.session.digest()
    story.rejected("checkout_cart", "expired", payment_card_id=story.old)
    story.rejected("checkout_cart", "at most 20.00", payment_card_id=story.small)
    card = {"payment_card_id": story.visa, "gift_card_code": "GC-1"}
    story.rejected("checkout_cart", "not redeemed", **card)
    story.state.variants.update(story.navy, stock=0)
    story.rejected("checkout_cart", "only 0", payment_card_id=story.visa)
    story.state.variants.update(story.navy, stock=8)
    assert story.session.digest() == before


def test_a_gift_card_is_redeemed_once_and_in_time(story: Store) -> None:
    assert story.done("redeem_gift_card", code="GC-1")["balance"] == 50
    story.done("add_to_cart", variant_id=story.navy, quantity=2)
    card = {"payment_card_id": story.small, "gift_card_code": "GC-1"}
    story.rejected("checkout_cart", "79.60 is due", **card)
    story.rejected("redeem_gift_card", "already", code="GC-1")
    story.rejected("redeem_gift_card", "expired", code="GC-2")
    story.not_found("redeem_gift_card", code="GC-9")


def test_orders_are_packed_shipped_and_delivered_by_the_clock(story: Store) -> None:
    order = story.buy(story.navy)
    for hours, status in ((3, "placed"), (1, "packed"), (16, "shipped"), (52, "delivered")):
        story.wait(60 * hours)
        assert story.done("get_shop_order", shop_order_id=order["id"])["status"] == status
    assert [o["id"] for o in story.done("list_shop_orders", name="rain")["items"]] == [order["id"]]


def test_an_order_is_cancelled_before_it_is_shipped(story: Store) -> None:
    story.done("redeem_gift_card", code="GC-1")
    order, late = story.buy(story.navy, gift_card_code="GC-1"), story.buy(story.light)
    cancelled = story.done("cancel_shop_order", shop_order_id=order["id"])
    assert (cancelled["status"], cancelled["refunded"]) == ("cancelled", 69.75)
    assert story.state.gifts["GC-1"].balance == 50
    assert story.state.variants[story.navy].stock == 8
    story.wait(DAY)
    story.rejected("cancel_shop_order", "shipped", shop_order_id=late["id"])


def test_returns_need_delivery_a_month_at_most_and_happen_once(story: Store) -> None:
    order = story.buy(story.navy, 2)
    item = {"shop_order_id": order["id"], "variant_id": story.navy, "reason": "does_not_fit"}
    story.rejected("return_items", "nothing like that", **item)
    story.wait(4 * DAY)
    story.rejected("return_items", "only 2", quantity=3, **item)
    assert story.done("return_items", **item)["refunded"] == 64.8
    story.rejected("return_items", "already", **item)
    story.rejected("return_items", "nothing like that", **{**item, "variant_id": story.light})
    other = story.buy(story.navy)
    story.wait(34 * DAY)
    story.rejected("return_items", "30 days", **{**item, "shop_order_id": other["id"]})


def test_final_sale_comes_back_only_if_damaged(story: Store) -> None:
    order = story.buy(story.light)
    story.wait(4 * DAY)
    item = {"shop_order_id": order["id"], "variant_id": story.light}
    story.rejected("return_items", "final sale", reason="changed_mind", **item)
    assert story.done("return_items", reason="damaged", **item)["refunded"] == 21.59


def test_refunds_go_to_the_gift_card_first_and_never_exceed_what_was_paid(story: Store) -> None:
    story.done("redeem_gift_card", code="GC-1")
    story.done("add_to_cart", variant_id=story.light)
    order = story.buy(story.navy, 3, gift_card_code="GC-1")
    story.wait(4 * DAY)
    item = {"shop_order_id": order["id"], "reason": "damaged"}
    story.done("return_items", variant_id=story.light, **item)
    assert story.state.gifts["GC-1"].balance == money("21.59")
    story.done("return_items", variant_id=story.navy, quantity=3, **item)
    assert story.state.gifts["GC-1"].balance == money(50)
    assert story.state.orders[order["id"]].refunded == Decimal("215.99")


def test_all_that_is_returned_is_refunded_to_the_cent(story: Store) -> None:
    """Each of three returns is 1.1133 and rounded down; the last one makes up for it."""
    cups = []
    for colour in ("red", "green", "blue"):
        product = story.world.products.add(
            name=f"{colour} Cup", category="home", price=money("1.03")
        )
        cup = story.world.variants.add(product_id=product.id, name=product.name, stock=1).id
        cups.append(cup)
    story.start()
    for cup in cups:
        story.done("add_to_cart", variant_id=cup)
    order = story.done("checkout_cart", payment_card_id=story.visa)
    story.wait(4 * DAY)
    item = {"shop_order_id": order["id"], "reason": "damaged"}
    refunded = [story.done("return_items", variant_id=cup, **item)["refunded"] for cup in cups]
    assert refunded == [1.11, 2.22, 3.34]


def test_only_what_was_delivered_is_reviewed_once_and_edited_for_sixty_days(story: Store) -> None:
    review = {"product_id": story.jacket.id, "stars": 4, "text": "Dry."}
    story.buy(story.navy)
    story.rejected("write_product_review", "never delivered", **review)
    story.wait(4 * DAY)
    first = story.done("write_product_review", **review)
    again = story.done("write_product_review", **{**review, "stars": 2})
    assert (again["id"], again["stars"]) == (first["id"], 2)
    listed = story.done("list_product_reviews", product_id=story.jacket.id, mine=True)
    assert listed["total"] == 1
    story.wait(61 * DAY)
    story.rejected("write_product_review", "60 days", **review)


def test_a_wish_for_something_sold_out_is_told_when_it_is_back(story: Store) -> None:
    story.done("add_to_wish_list", variant_id=story.cream)
    due, price = story.state.now + timedelta(days=2), money(60)
    story.state.supplies.add(variant_id=story.cream, due=due, quantity=4, price=price)
    story.wait(DAY)
    assert "alerted_at" not in story.done("list_wish_list")["items"][0]
    story.wait(DAY)
    assert "alerted_at" in story.done("list_wish_list", name="cream")["items"][0]
    story.done("add_to_cart", variant_id=story.cream)


def test_a_wish_with_a_target_is_told_when_the_price_has_fallen(story: Store) -> None:
    story.rejected("add_to_wish_list", "already", variant_id=story.navy, target_price=60)
    story.done("add_to_wish_list", variant_id=story.navy, target_price=50)
    story.rejected("add_to_wish_list", "on the list", variant_id=story.navy)
    story.done("add_to_cart", variant_id=story.navy)
    for days, price in ((1, 55), (2, 49)):
        due = story.state.now + timedelta(days=days)
        story.state.supplies.add(variant_id=story.navy, due=due, quantity=0, price=money(price))
    story.wait(DAY)
    assert story.state.wishes.where(alerted_at=None)
    story.wait(DAY)
    assert not story.state.wishes.where(alerted_at=None)
    assert story.done("get_cart")["items_total"] == 49


def test_a_wish_is_removed_only_if_there_is_one(story: Store) -> None:
    story.rejected("remove_from_wish_list", "not on the wish list", variant_id=story.navy)
    story.done("add_to_wish_list", variant_id=story.navy)
    story.done("remove_from_wish_list", variant_id=story.navy)
    assert story.done("list_wish_list")["total"] == 0


def test_addresses_have_labels_of_their_own_and_one_default(story: Store) -> None:
    story.rejected("add_shipping_address", "already", label="home", street="Elsewhere 3")
    story.rejected("add_shipping_address", "already", label=" Home", street="Elsewhere 3")
    story.rejected("set_default_address", "already", shipping_address_id=story.home)
    story.done("set_default_address", shipping_address_id=story.office)
    assert story.buy(story.navy)["shipping_address_id"] == story.office
    for number in range(6):
        story.done("add_shipping_address", label=f"Place {number}", street="Mill Road 9")
    story.rejected("add_shipping_address", "eight", label="Ninth", street="Mill Road 9")


def test_the_catalogue_is_searched_by_name_category_and_price(story: Store) -> None:
    assert story.done("search_products", name="lamp")["items"][0]["id"] == story.lamp.id
    assert story.done("search_products", category="clothing", max_price=59)["total"] == 0
    variants = story.done("list_product_variants", product_id=story.jacket.id)
    assert [variant["stock"] for variant in variants["items"]] == [8, 0]
    assert story.done("list_coupons", category="home")["items"][0]["code"] == "HOME50"
