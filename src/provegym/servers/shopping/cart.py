"""Tools for the cart: fill it, use coupons and gift cards, check out."""

from datetime import timedelta
from decimal import Decimal
from typing import Annotated

from msgspec import Meta

from provegym.kernel import Label, Rejected, Sensitive

from .state import NOTHING, Category, Coupon, GiftCard, PaymentCard, Shop, ShopOrder, server

Pieces = Annotated[int, Meta(ge=1, le=5)]
Count = Annotated[int, Meta(ge=0, le=5)]

TIME_TO_PACK = timedelta(hours=4)


@server.read
def get_cart(shop: Shop, /) -> ShopOrder:
    """Show the shopping cart and its bill: goods, discount, tax, shipping and total."""
    return shop.cart()


@server.write
def add_to_cart(shop: Shop, /, variant_id: str, quantity: Pieces = 1) -> ShopOrder:
    """Put a variant in stock into the shopping cart; at most five of it and six items in all.

    Args:
        variant_id: The product in one colour and size, e.g. "vnt_310".
        quantity: How many more of it.
    """
    lines = shop.cart().lines
    in_cart = sum(item.quantity for item in lines if item.variant_id == variant_id)
    return shop.set_quantity(variant_id, in_cart + quantity)


@server.write
def update_cart_item(shop: Shop, /, variant_id: str, quantity: Count) -> ShopOrder:
    """Change how many of an item are in the shopping cart, as far as it is in stock.

    Args:
        variant_id: What is in the cart already, e.g. "vnt_310".
        quantity: How many there shall be; 0 takes it out.
    """
    in_cart = [item.variant_id for item in shop.cart().lines]
    if variant_id not in in_cart:
        raise Rejected(f"{shop.variants[variant_id].name} is not in the cart; use add_to_cart")
    return shop.set_quantity(variant_id, quantity)


@server.read
def list_coupons(shop: Shop, /, category: Category | None = None) -> list[Coupon]:
    """List the user's coupons for the shop with their conditions; some may be past or used up.

    Args:
        category: Only coupons that are for goods of this category alone.
    """
    if category is None:
        return list(shop.coupons)
    return shop.coupons.where(category=category)


@server.write
def apply_coupon(shop: Shop, /, code: Label) -> ShopOrder:
    """Use a coupon for the shopping cart, in place of any other: one per order, each once.

    Args:
        code: The coupon code, e.g. "MAPLE15"; its conditions must hold for the cart.
    """
    coupon = shop.coupons[code.upper()]
    if shop.cart().coupon == coupon.code:
        raise Rejected(f"{coupon.code} is applied already")
    shop.discount(coupon)  # refuses a coupon whose conditions do not hold
    return shop.price_cart(coupon=coupon.code)


@server.read
def list_payment_cards(shop: Shop, /, name: str = "") -> list[PaymentCard]:
    """List the payment cards that the user saved in the online shop.

    Args:
        name: Only cards whose name contains this.
    """
    return [card for card in shop.cards if name.lower() in card.name.lower()]


@server.read
def list_gift_cards(shop: Shop, /, sender: str = "") -> list[GiftCard]:
    """List the gift cards the user received for the shop, with codes and balances.

    Args:
        sender: Only gift cards from somebody whose name contains this.
    """
    return [gift for gift in shop.gifts if sender.lower() in gift.sender.lower()]


@server.write
def redeem_gift_card(shop: Shop, /, code: Sensitive[str]) -> GiftCard:
    """Redeem a gift card of the shop, once and before it expires, so that it can be spent.

    Args:
        code: What is printed on the gift card, e.g. "GC-7K2M-Q9XD".
    """
    gift = shop.gifts[code.upper()]
    if gift.redeemed:
        raise Rejected(f"{gift.code} was redeemed already; {gift.balance} is left on it")
    if gift.expires < shop.now.date():
        raise Rejected(f"{gift.code} expired on {gift.expires}")
    return shop.gifts.update(gift.code, redeemed=True, balance=gift.value)


@server.write
def checkout_cart(
    shop: Shop,
    /,
    payment_card_id: Sensitive[str],
    shipping_address_id: str = "",
    gift_card_code: str = "",
) -> ShopOrder:
    """Buy what is in the shopping cart, if all of it is still in stock.

    Args:
        payment_card_id: The card to charge, e.g. "pcd_405"; valid, and the sum within its limit.
        shipping_address_id: Where to send it, e.g. "sad_71"; the default address if left out.
        gift_card_code: A redeemed gift card to use up first, e.g. "GC-7K2M-Q9XD".
    """
    card = shop.cards[payment_card_id]
    address = shop.address(shipping_address_id)
    cart = shop.cart()
    if not cart.lines:
        raise Rejected("the cart is empty; put something in with add_to_cart")
    if card.expires < shop.now.date():
        raise Rejected(f"{card.name} has expired; choose another card")

    gift_code = gift_card_code.upper()
    gift_paid = NOTHING
    if gift_code:
        gift_paid = _spend_gift_card(shop, gift_code, cart.total)
    due = cart.total - gift_paid
    if due > card.order_limit:
        raise Rejected(f"{card.name} pays at most {card.order_limit} per order, and {due} is due")
    _take_from_stock(shop, cart)

    summary = cart.lines[0].name
    if len(cart.lines) > 1:
        summary += f" and {len(cart.lines) - 1} more"
    shop.orders.add()  # the new, empty cart
    return shop.orders.update(
        cart.id,
        status="placed",
        summary=summary,
        placed_at=shop.now,
        moves_on_at=shop.now + TIME_TO_PACK,
        shipping_address_id=address.id,
        payment_card_id=card.id,
        gift_card=gift_code,
        gift_paid=gift_paid,
    )


def _spend_gift_card(shop: Shop, code: str, due: Decimal) -> Decimal:
    """Pay as much as possible of a sum with a gift card, and return how much that is."""
    gift = shop.gifts[code]
    if not gift.redeemed or gift.expires < shop.now.date():
        raise Rejected(f"gift card {gift.code} is expired or not redeemed; leave it out")
    paid = min(gift.balance, due)
    shop.gifts.update(gift.code, balance=gift.balance - paid)
    return paid


def _take_from_stock(shop: Shop, order: ShopOrder) -> None:
    """Take what was ordered out of stock; refused if there is too little of something."""
    for item in order.lines:
        stock = shop.variants[item.variant_id].stock
        if item.quantity > stock:
            raise Rejected(f"only {stock} of {item.name} left; change the cart")
        shop.supply(item.variant_id, -item.quantity)
