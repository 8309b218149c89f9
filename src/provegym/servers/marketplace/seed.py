"""Draws a marketplace by living through two weeks of it."""

from contextlib import suppress
from datetime import timedelta

from provegym.kernel import Seed, ToolError, money
from provegym.servers import people, words

from . import tools
from .state import Profile, Site, server

WORDS = words("marketplace")


@server.seed
def draw(seed: Seed) -> Site:
    """Sixty listings by twenty members, of whom the user is the busiest."""
    site, chance, me = Site(seed), seed.random, people.acting_user(seed).name
    names = [me] * 7 + [person.name for person in people.others(seed, 20)]
    site.profiles.put(Profile(name=me))
    site.now = seed.now - timedelta(days=15)
    for noun, category in chance.sample(list(WORDS["goods"].items()), 60):
        site.pass_time(chance.randrange(290, 302))
        kind, price = chance.choice(("auction", "fixed_price")), money(chance.randrange(8, 240))
        step = money(price / 20) * (kind == "auction")
        fields = {"category": category, "kind": kind, "price": price, "increment": step}
        fields["reserve"] = price * bool(step) * chance.choice((0, 0, 1, 2))
        fields["ends_at"] = site.now + timedelta(minutes=chance.randrange(3_000, 20_000))
        title, seller = f"{chance.choice(WORDS['looks'])} {noun}", chance.choice(names[2:])
        fields["watched"] = seller != me and chance.random() < 0.2
        site.listings.add(title=title, seller=seller, **fields)
        for _ in range(len(site.listings) ** 2 // 200):
            _trade(site, seed, chance.choice(names))
    site.pass_time((seed.now - site.now) // timedelta(minutes=1))
    return site


def _trade(site: Site, seed: Seed, buyer: str) -> None:
    """Somebody bids or makes an offer; now and then the user sees to an offer or a sale."""
    site.pass_time(10)
    chance, rows, mine = seed.random, list(site.listings), (site.me(), "fixed_price")
    listing = min(chance.choices(rows, k=4), key=lambda r: (r.status, (r.seller, r.kind) != mine))
    waiting = [o.buyer for o in site.offers.where(listing_id=listing.id) if o.waits_for]
    if listing.status == "active" and buyer not in (listing.seller, listing.leader, *waiting):
        if listing.kind == "auction":
            site.bid(listing, buyer, listing.price + listing.increment * chance.randint(1, 3))
        elif mine[0] in (buyer, listing.seller):
            site.offer(listing, buyer, money(listing.price * chance.randint(55, 89) / 100), "open")
    for offer in site.offers.where(waits_for=mine[0])[:1] if chance.random() < 0.02 else ():
        tools.answer_offer(site, offer.id, chance.choice(("accept", "decline")))
    for sale in chance.sample(list(site.sales), min(1, len(site.sales))):
        with suppress(ToolError):
            tools.update_escrow(site, sale.id, chance.choice(("pay", "ship", "confirm")))
            tools.rate_sale(site, sale.id, chance.choice((3, 4, 5)))
