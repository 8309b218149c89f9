"""Draws a shop and a customer's season in it, lived through with the shop's own tools."""

from contextlib import suppress
from datetime import timedelta
from random import Random

from provegym.kernel import Rejected, Seed, money
from provegym.servers import people, words

from . import cart, catalogue, orders
from .state import Coupon, GiftCard, Shop, server

WORDS = words("shopping")


@server.seed
def draw(seed: Seed) -> Shop:
    """A customer who has bought, cancelled, sent back and reviewed things for eleven weeks."""
    shop, chance = Shop(seed), seed.random
    ages = sorted((chance.randrange(*span) for span in WORDS["order_ages"]), reverse=True)
    shop.now = seed.now - timedelta(hours=ages[0])
    shop.orders.add()
    _fill_shelves(shop, chance)
    _open_account(shop, seed)
    for hours, later in zip(ages, [*ages[1:], 0], strict=True):
        _buy(shop, chance)
        shop.pass_time(60 * (hours - later))
    _look_ahead(shop, chance)
    return shop


def _fill_shelves(shop: Shop, chance: Random) -> None:
    goods = [(kind, noun) for kind, about in WORDS["goods"].items() for noun in about["nouns"]]
    for category, noun in chance.sample(goods, 26):
        about, name = WORDS["goods"][category], f"{chance.choice(WORDS['brands'])} {noun}"
        price = money(f"{chance.randrange(*about['prices'])}.{chance.choice((49, 90, 95, 99))}")
        final = chance.random() < 0.15
        product = shop.products.add(name=name, category=category, price=price, final_sale=final)
        for colour in chance.sample(WORDS["colours"], chance.randint(1, 3)):
            for size in chance.sample(about["sizes"], min(2, len(about["sizes"]))):
                shop.variants.add(product_id=product.id, name=f"{name} in {colour}{size}", stock=12)


def _open_account(shop: Shop, seed: Seed) -> None:
    """Coupons, gift cards, payment cards, addresses and reviews; good and bad ones of each."""
    chance, pick, today = seed.random, seed.random.choice, seed.now.date()
    for word in chance.sample(WORDS["codes"], 9):
        percent, day = chance.randint(5, 25), today + timedelta(days=chance.randint(-9, 45))
        kind, needed = pick([*WORDS["goods"], *[None] * 9]), money(pick((0, 0, 35, 60, 120)))
        limits = {"expires": day, "minimum_spend": needed, "category": kind}
        shop.coupons.put(Coupon(code=f"{word}{percent}", percent=percent, **limits))
    friends = people.others(seed, 40)
    for friend in friends[:6]:
        code = f"GC-{chance.randrange(16**4):04X}-{chance.randrange(16**4):04X}"
        day, value = today + timedelta(days=pick((-9, 50, 300))), money(chance.randrange(20, 80, 5))
        shop.gifts.put(GiftCard(code=code, sender=friend.name, value=value, expires=day))
    for gift in list(shop.gifts)[::2]:
        cart.redeem_gift_card(shop, gift.code)
    for days, limit in chance.sample([(-20, 500), (400, 90), (250, 2_000), (700, 2_500)], 4):
        name = f"{pick(WORDS['cards'])} ending in {chance.randrange(10_000):04d}"
        shop.cards.add(name=name, expires=today + timedelta(days=days), order_limit=money(limit))
    for number, label in enumerate(chance.sample(WORDS["labels"], 5), -chance.randrange(5)):
        street = f"{pick(WORDS['streets'])} {chance.randrange(1, 140)}, {pick(WORDS['cities'])}"
        shop.homes.add(label=label, street=street, default=number == 0)
    for friend in friends:
        product, minutes = pick(list(shop.products)), chance.randrange(99_999)
        review = {"product_id": product.id, "product_name": product.name, "author": friend.name}
        at, text = seed.now - timedelta(minutes=minutes), pick(WORDS["opinions"])
        shop.reviews.add(stars=chance.randint(1, 5), text=text, written_at=at, **review)


def _buy(shop: Shop, chance: Random) -> None:
    """One order, with a coupon if one fits; then second thoughts about it or an earlier one."""
    today, home = shop.now.date(), chance.choice(list(shop.homes)).id
    for variant in chance.sample(list(shop.variants), chance.randint(1, 3)):
        cart.add_to_cart(shop, variant.id, chance.randint(1, 2))
    cards = [card.id for card in shop.cards if card.order_limit >= 2_000]
    gifts = ["", *(g.code for g in list(shop.gifts)[:3] if g.balance and g.expires >= today)]
    with suppress(Rejected):
        cart.apply_coupon(shop, chance.choice(list(shop.coupons)).code)
    order = cart.checkout_cart(shop, chance.choice(cards), home, chance.choice(gifts))
    if chance.random() < 0.12:
        orders.cancel_shop_order(shop, order.id)
    order = chance.choice(list(shop.orders)[:-1])
    item, text = chance.choice(order.lines), chance.choice(WORDS["opinions"])
    with suppress(Rejected):
        catalogue.write_product_review(shop, item.product_id, chance.randint(1, 5), text)
        orders.return_items(shop, order.id, item.variant_id, chance.choice(WORDS["reasons"]))


def _look_ahead(shop: Shop, chance: Random) -> None:
    """What is in stock now and will be, what the customer wishes for and has in the cart."""
    for variant in list(shop.variants):
        shop.variants.update(variant.id, stock=chance.choice((0, 0, 1, 2, 4, 6, 9, 14)))
    for variant in chance.sample(list(shop.variants), 16):
        price = shop.products[variant.product_id].price
        low, soon = money(price * chance.randint(75, 95) / 100), chance.randrange(60, 30_000)
        coming = {"price": chance.choice((low, price)), "quantity": chance.randint(-4, 15)}
        shop.supplies.add(variant_id=variant.id, due=shop.now + timedelta(minutes=soon), **coming)
        if chance.random() < 0.5:
            catalogue.add_to_wish_list(shop, variant.id, low if variant.stock else None)
    for variant in chance.sample([v for v in shop.variants if v.stock], chance.randint(2, 5)):
        cart.add_to_cart(shop, variant.id)
    if chance.random() < 0.25:
        shop.variants.update(variant.id, stock=0)
