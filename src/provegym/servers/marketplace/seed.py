"""Draws a marketplace by living through two weeks of it."""

from contextlib import suppress
from datetime import timedelta
from random import Random

from provegym.kernel import Seed, ToolError, money
from provegym.servers import people, words

from . import tools
from .state import NOTHING, Profile, Site, server

WORDS = words("marketplace")


@server.seed
def draw(seed: Seed) -> Site:
    """Sixty listings by twenty members, of whom the user is the busiest."""
    site = Site(seed)
    chance = seed.random
    me = people.acting_user(seed).name
    others = [person.name for person in people.others(seed, 20)]
    sellers = [me] * 5 + others
    buyers = [me] * 7 + others
    site.profiles.put(Profile(name=me))
    site.now = seed.now - timedelta(days=15)
    for noun, category in chance.sample(list(WORDS["goods"].items()), 60):
        site.pass_time(chance.randrange(290, 302))
        _put_up_for_sale(site, chance, noun, category, sellers)
        # The more listings there are, the more is traded before the next one comes.
        for _ in range(len(site.listings) ** 2 // 200):
            buyer = chance.choice(buyers)
            site.pass_time(10)
            _buy(site, chance, buyer)
            _answer_offer(site, chance)
            _see_to_sale(site, chance)
    site.pass_time((seed.now - site.now) // timedelta(minutes=1))
    return site


def _put_up_for_sale(
    site: Site, chance: Random, noun: str, category: str, sellers: list[str]
) -> None:
    """Put something up for sale; half of the auctions have a reserve price."""
    kind = chance.choice(("auction", "fixed_price"))
    is_auction = kind == "auction"
    price = money(chance.randrange(8, 240))
    reserve = price * chance.choice((0, 0, 1, 2))
    minutes = chance.randrange(3_000, 20_000)
    look = chance.choice(WORDS["looks"])
    seller = chance.choice(sellers)
    site.listings.add(
        title=f"{look} {noun}",
        category=category,
        kind=kind,
        seller=seller,
        price=price,
        ends_at=site.now + timedelta(minutes=minutes),
        increment=money(price / 20) if is_auction else NOTHING,
        reserve=reserve if is_auction else NOTHING,
        watched=seller != site.me() and chance.random() < 0.2,
    )


def _buy(site: Site, chance: Random, buyer: str) -> None:
    """Let somebody bid or make an offer; offers are drawn only where the user has a part in it."""
    me = site.me()
    # Running listings are preferred, and among them what the user sells at a fixed price.
    listing = min(
        chance.choices(list(site.listings), k=4),
        key=lambda row: (row.status != "active", row.seller != me or row.kind != "fixed_price"),
    )
    if listing.status != "active":
        return
    offers = site.offers.where(listing_id=listing.id)
    waiting_buyers = [offer.buyer for offer in offers if offer.waits_for]
    if buyer in (listing.seller, listing.leader) or buyer in waiting_buyers:
        return
    if listing.kind == "auction":
        raise_by = listing.increment * chance.randint(1, 3)
        site.bid(listing, buyer, listing.price + raise_by)
    elif me in (buyer, listing.seller):
        amount = money(listing.price * chance.randint(55, 89) / 100)
        site.offer(listing, buyer, amount, "open")


def _answer_offer(site: Site, chance: Random) -> None:
    """Now and then the user answers the oldest offer that waits for them."""
    if chance.random() < 0.02:
        waiting = site.offers.where(waits_for=site.me())
        if waiting:
            answer: tools.Answer = chance.choice(("accept", "decline"))
            tools.answer_offer(site, waiting[0].id, answer)


def _see_to_sale(site: Site, chance: Random) -> None:
    """The user tries to do their part in a sale, and to rate it; often it is not their turn."""
    sales = list(site.sales)
    if not sales:
        return
    sale = chance.choice(sales)
    with suppress(ToolError):
        action: tools.Action = chance.choice(("pay", "ship", "confirm"))
        tools.update_escrow(site, sale.id, action)
        stars: tools.Stars = chance.choice((3, 4, 5))
        tools.rate_sale(site, sale.id, stars)
