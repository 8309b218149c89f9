"""What can be done with the cart: fill it, use coupons and gift cards, check out."""

from datetime import timedelta
from typing import Annotated

from msgspec import Meta

from provegym.kernel import Label, Sensitive, forbid

from .state import NOTHING, Category, Coupon, GiftCard, PaymentCard, Shop, ShopOrder, server

Card = Sensitive[str]
Pieces = Annotated[int, Meta(ge=1, le=5)]
Count = Annotated[int, Meta(ge=0, le=5)]


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
    have = sum(item.quantity for item in shop.cart().lines if item.variant_id == variant_id)
    return shop.set_quantity(variant_id, have + quantity)


@server.write
def update_cart_item(shop: Shop, /, variant_id: str, quantity: Count) -> ShopOrder:
    """Change how many of an item are in the shopping cart, as far as it is in stock.

    Args:
        variant_id: What is in the cart already, e.g. "vnt_310".
        quantity: How many there shall be; 0 takes it out.
    """
    held = [item for item in shop.cart().lines if item.variant_id == variant_id]
    forbid(not held, f"{shop.variants[variant_id].name} is not in the cart; use add_to_cart")
    return shop.set_quantity(variant_id, quantity)


@server.read
def list_coupons(shop: Shop, /, category: Category | None = None) -> list[Coupon]:
    """List the user's coupons for the shop with their conditions; some may be past or used up.

    Args:
        category: Only coupons that are for goods of this category alone.
    """
    return [coupon for coupon in shop.coupons if category in (None, coupon.category)]


@server.write
def apply_coupon(shop: Shop, /, code: Label) -> ShopOrder:
    """Use a coupon for the shopping cart, in place of any other: one per order, each once.

    Args:
        code: The coupon code, e.g. "MAPLE15"; its conditions must hold for the cart.
    """
    coupon = shop.coupons[code.upper()]
    forbid(shop.cart().coupon == coupon.code, f"{coupon.code} is applied already")
    shop.discount(coupon)
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
    forbid(gift.redeemed, f"{gift.code} was redeemed already; {gift.balance} is left on it")
    forbid(gift.expires < shop.now.date(), f"{gift.code} expired on {gift.expires}")
    return shop.gifts.update(gift.code, redeemed=True, balance=gift.value)


@server.write
def checkout_cart(
    shop: Shop, /, payment_card_id: Card, shipping_address_id: str = "", gift_card_code: str = ""
) -> ShopOrder:
    """Buy what is in the shopping cart, if all of it is still in stock.

    Args:
        payment_card_id: The card to charge, e.g. "pcd_405"; valid, and the sum within its limit.
        shipping_address_id: Where to send it, e.g. "sad_71"; the default address if left out.
        gift_card_code: A redeemed gift card to use up first, e.g. "GC-7K2M-Q9XD".
    """
    card, address = shop.cards[payment_card_id], shop.address(shipping_address_id)
    cart, today, from_gift = shop.cart(), shop.now.date(), NOTHING
    forbid(not cart.lines, "the cart is empty; put something in with add_to_cart")
    forbid(card.expires < today, f"{card.name} has expired; choose another card")
    if gift_card_code:
        gift = shop.gifts[gift_card_code.upper()]
        usable = gift.redeemed and gift.expires >= today
        forbid(not usable, f"gift card {gift.code} is expired or not redeemed; leave it out")
        from_gift = min(gift.balance, cart.total)
        shop.gifts.update(gift.code, balance=gift.balance - from_gift)
    over = cart.total - from_gift > card.order_limit
    forbid(over, f"{card.name} pays at most {card.order_limit} per order, and {cart.total} is due")
    for item in cart.lines:
        left = shop.variants[item.variant_id].stock
        forbid(item.quantity > left, f"only {left} of {item.name} left; change the cart")
        shop.supply(item.variant_id, -item.quantity)
    more = f" and {len(cart.lines) - 1} more" if len(cart.lines) > 1 else ""
    times = {"placed_at": shop.now, "moves_on_at": shop.now + timedelta(hours=4)}
    ids = {"payment_card_id": card.id, "shipping_address_id": address.id}
    paid = {"gift_card": gift_card_code.upper(), "gift_paid": from_gift, **times, **ids}
    shop.orders.add()
    return shop.orders.update(cart.id, status="placed", summary=cart.lines[0].name + more, **paid)
