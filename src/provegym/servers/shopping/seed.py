"""Draws a shop and a customer's season in it; past orders are made with the shop's own tools."""

from contextlib import suppress
from datetime import timedelta
from random import Random

from provegym.kernel import Rejected, Seed, money
from provegym.servers import people, words
from provegym.servers.people import Person

from . import cart, catalogue, orders
from .state import Coupon, GiftCard, Shop, server

WORDS = words("shopping")


@server.seed
def draw(seed: Seed) -> Shop:
    """A customer who has bought, cancelled, sent back and reviewed things for eleven weeks."""
    shop = Shop(seed)
    chance = seed.random
    ages = [chance.randrange(low, high) for low, high in WORDS["order_ages"]]
    ages.sort(reverse=True)
    shop.now = seed.now - timedelta(hours=ages[0])
    shop.orders.add()  # the empty cart
    _fill_shelves(shop, chance)
    _give_coupons(shop, seed)
    friends = people.others(seed, 40)
    _give_gift_cards(shop, seed, friends[:6])
    _save_payment_cards(shop, seed)
    _save_addresses(shop, chance)
    _write_reviews(shop, seed, friends)
    for age, next_age in zip(ages, [*ages[1:], 0], strict=True):
        _place_order(shop, chance)
        _have_second_thoughts(shop, chance)
        shop.pass_time(60 * (age - next_age))
    _set_stocks(shop, chance)
    _plan_supplies(shop, chance)
    _fill_cart(shop, chance)
    return shop


def _fill_shelves(shop: Shop, chance: Random) -> None:
    """26 products, each in up to three colours and two sizes, all well in stock at first."""
    nouns = [
        (category, noun) for category, goods in WORDS["goods"].items() for noun in goods["nouns"]
    ]
    for category, noun in chance.sample(nouns, 26):
        goods = WORDS["goods"][category]
        name = f"{chance.choice(WORDS['brands'])} {noun}"
        low, high = goods["prices"]
        product = shop.products.add(
            name=name,
            category=category,
            price=money(f"{chance.randrange(low, high)}.{chance.choice((49, 90, 95, 99))}"),
            final_sale=chance.random() < 0.15,
        )
        for colour in chance.sample(WORDS["colours"], chance.randint(1, 3)):
            for size in chance.sample(goods["sizes"], min(2, len(goods["sizes"]))):
                shop.variants.add(product_id=product.id, name=f"{name} in {colour}{size}", stock=12)


def _give_coupons(shop: Shop, seed: Seed) -> None:
    """Nine coupons: some expired, some for one category only, some with a minimum spend."""
    chance = seed.random
    today = seed.now.date()
    categories = [*WORDS["goods"], *[None] * 9]
    for word in chance.sample(WORDS["codes"], 9):
        percent = chance.randint(5, 25)
        coupon = Coupon(
            code=f"{word}{percent}",
            percent=percent,
            expires=today + timedelta(days=chance.randint(-9, 45)),
            category=chance.choice(categories),
            minimum_spend=money(chance.choice((0, 0, 35, 60, 120))),
        )
        shop.coupons.put(coupon)


def _give_gift_cards(shop: Shop, seed: Seed, senders: list[Person]) -> None:
    """A gift card from each sender, some of them expired; every other one is redeemed."""
    chance = seed.random
    today = seed.now.date()
    for sender in senders:
        gift = GiftCard(
            code=f"GC-{chance.randrange(16**4):04X}-{chance.randrange(16**4):04X}",
            sender=sender.name,
            expires=today + timedelta(days=chance.choice((-9, 50, 300))),
            value=money(chance.randrange(20, 80, 5)),
        )
        shop.gifts.put(gift)
    for gift in list(shop.gifts)[::2]:
        cart.redeem_gift_card(shop, gift.code)


def _save_payment_cards(shop: Shop, seed: Seed) -> None:
    """Four payment cards: one expired, one with a low limit, two that pay for any order."""
    chance = seed.random
    today = seed.now.date()
    for days, limit in chance.sample([(-20, 500), (400, 90), (250, 2_000), (700, 2_500)], 4):
        shop.cards.add(
            name=f"{chance.choice(WORDS['cards'])} ending in {chance.randrange(10_000):04d}",
            expires=today + timedelta(days=days),
            order_limit=money(limit),
        )


def _save_addresses(shop: Shop, chance: Random) -> None:
    """Five addresses, one of them the default."""
    labels = chance.sample(WORDS["labels"], 5)
    default = labels[chance.randrange(5)]
    for label in labels:
        street = chance.choice(WORDS["streets"])
        number = chance.randrange(1, 140)
        city = chance.choice(WORDS["cities"])
        shop.homes.add(label=label, street=f"{street} {number}, {city}", default=label == default)


def _write_reviews(shop: Shop, seed: Seed, authors: list[Person]) -> None:
    """A review of some product by each of the other customers."""
    chance = seed.random
    products = list(shop.products)
    for author in authors:
        product = chance.choice(products)
        shop.reviews.add(
            product_id=product.id,
            product_name=product.name,
            author=author.name,
            written_at=seed.now - timedelta(minutes=chance.randrange(99_999)),
            text=chance.choice(WORDS["opinions"]),
            stars=chance.randint(1, 5),
        )


def _place_order(shop: Shop, chance: Random) -> None:
    """One order, with a coupon if it fits and perhaps a gift card; some are cancelled at once."""
    address = chance.choice(list(shop.homes))
    for variant in chance.sample(list(shop.variants), chance.randint(1, 3)):
        cart.add_to_cart(shop, variant.id, chance.randint(1, 2))
    with suppress(Rejected):
        cart.apply_coupon(shop, chance.choice(list(shop.coupons)).code)
    cards = [card.id for card in shop.cards if card.order_limit >= 2_000]
    card_id = chance.choice(cards)
    gift_codes = [""]
    for gift in list(shop.gifts)[:3]:
        if gift.balance and gift.expires >= shop.now.date():
            gift_codes.append(gift.code)
    order = cart.checkout_cart(shop, card_id, address.id, chance.choice(gift_codes))
    if chance.random() < 0.12:
        orders.cancel_shop_order(shop, order.id)


def _have_second_thoughts(shop: Shop, chance: Random) -> None:
    """An item of some order is reviewed and sent back, as far as the rules allow."""
    order = chance.choice(list(shop.orders)[:-1])  # the last one is the cart
    item = chance.choice(order.lines)
    text = chance.choice(WORDS["opinions"])
    stars = chance.randint(1, 5)
    with suppress(Rejected):
        catalogue.write_product_review(shop, item.product_id, stars, text)
        orders.return_items(shop, order.id, item.variant_id, chance.choice(WORDS["reasons"]))


def _set_stocks(shop: Shop, chance: Random) -> None:
    """How many there are of each variant now; some are sold out."""
    for variant in list(shop.variants):
        shop.variants.update(variant.id, stock=chance.choice((0, 0, 1, 2, 4, 6, 9, 14)))


def _plan_supplies(shop: Shop, chance: Random) -> None:
    """Changes of stock and price in the next weeks; the customer wishes for half of these goods."""
    for variant in chance.sample(list(shop.variants), 16):
        price = shop.products[variant.product_id].price
        lower_price = money(price * chance.randint(75, 95) / 100)
        shop.supplies.add(
            variant_id=variant.id,
            due=shop.now + timedelta(minutes=chance.randrange(60, 30_000)),
            price=chance.choice((lower_price, price)),
            quantity=chance.randint(-4, 15),
        )
        if chance.random() < 0.5:
            target = lower_price if variant.stock else None
            catalogue.add_to_wish_list(shop, variant.id, target)


def _fill_cart(shop: Shop, chance: Random) -> None:
    """Two to five variants in the cart; sometimes the last of them has sold out since."""
    in_stock = [variant for variant in shop.variants if variant.stock]
    chosen = chance.sample(in_stock, chance.randint(2, 5))
    for variant in chosen:
        cart.add_to_cart(shop, variant.id)
    if chance.random() < 0.25:
        shop.variants.update(chosen[-1].id, stock=0)
