"""What a member can do on the marketplace."""

from datetime import timedelta
from typing import Literal

from provegym.kernel import Amount, Denied, Label, forbid, money

from .state import STEPS, Category, Kind, Listing, Offer, Sale, Site, Stage, server

Whose = Literal["others", "mine", "watched"]
Answer = Literal["accept", "decline", "counter"]
Action = Literal["pay", "ship", "confirm", "refund"]


@server.read
def search_listings(
    site: Site, /, title: str = "", category: Category | None = None, whose: Whose = "others"
) -> list[Listing]:
    """Find second-hand listings: other members' running ones, the user's own, or watched ones.

    Args:
        title: Only listings whose title contains this, e.g. "bike".
        category: Only listings of this category.
        whose: Others' that still run, the user's own or those the user watches, ended ones too.
    """
    me, text = site.me(), title.lower()
    found = [r for r in site.listings if text in r.title.lower() and category in (None, r.category)]
    if whose == "watched":
        return [row for row in found if row.watched]
    found = [row for row in found if (row.seller == me) == (whose == "mine")]
    return [row for row in found if row.status == "active" or whose == "mine"]


@server.read
def get_listing(site: Site, /, listing_id: str) -> Listing:
    """Show one second-hand listing: its price, who leads, by how much to raise, when it ends.

    Args:
        listing_id: The listing, e.g. "lst_4711".
    """
    return site.listings[listing_id]


@server.read
def list_listing_bids(site: Site, /, listing_id: str) -> list[Offer]:
    """List the bids or offers that all members made on one second-hand listing, newest first.

    Args:
        listing_id: The listing, e.g. "lst_4711".
    """
    return site.offers.where(listing_id=site.listings[listing_id].id)[::-1]


@server.write
def create_listing(
    site: Site, /, title: Label, category: Category, kind: Kind, price: Amount
) -> Listing:
    """Offer something of the user's second-hand for a week; at most twelve listings run at once.

    Args:
        title: What it is, unlike the titles of the user's other running listings.
        category: Where buyers look for it.
        kind: An auction sells to the highest bid, a fixed price takes offers.
        price: Where bids start, or what is asked.
    """
    mine = site.listings.where(seller=site.me(), status="active")
    known = [row.title.lower() for row in mine]
    forbid(title.lower() in known, f"{title!r} is listed already; choose another title")
    forbid(len(mine) >= 12, "twelve listings are running already; end one first")
    step = max(money(price / 20), money("0.50")) if kind == "auction" else money(0)
    fields = {"title": title, "category": category, "kind": kind, "price": price, "increment": step}
    return site.listings.add(seller=site.me(), ends_at=site.now + timedelta(days=7), **fields)


@server.write(destructive=True)
def end_listing(site: Site, /, listing_id: str) -> Listing:
    """Take one of the user's own second-hand listings down; not once somebody has bid on it.

    Args:
        listing_id: The listing, e.g. "lst_4711"; offers that wait on it are lost.
    """
    listing = site.listings[listing_id]
    if listing.seller != site.me():
        raise Denied(f"{listing.title} belongs to {listing.seller}; only they can end it")
    forbid(listing.status != "active", f"{listing.title} is {listing.status} already")
    forbid(bool(listing.leader), f"{listing.title} has bids; it runs until {listing.ends_at}")
    return site.finish(listing)


@server.write
def watch_listing(site: Site, /, listing_id: str, watching: bool = True) -> Listing:
    """Put another member's second-hand listing on the user's watch list, or take one off.

    Args:
        listing_id: The listing, e.g. "lst_4711".
        watching: Whether to watch it, while it runs, or to stop.
    """
    listing = site.listings[listing_id]
    forbid(listing.watched == watching, f"the watch list is that way already for {listing.title}")
    forbid(watching and listing.seller == site.me(), f"{listing.title} is the user's own")
    forbid(watching and listing.status != "active", f"{listing.title} is {listing.status}")
    return site.listings.update(listing_id, watched=watching)


@server.write
def place_bid(site: Site, /, listing_id: str, amount: Amount) -> Offer:
    """Bid in another member's running second-hand auction; whoever leads when it ends buys.

    Args:
        listing_id: The auction, e.g. "lst_4711"; not one that the user leads already.
        amount: At least the price plus the increment; the first bid may be the price itself.
    """
    listing, me = site.buyable(listing_id, "auction"), site.me()
    needed = listing.price + listing.increment * bool(listing.leader)
    forbid(listing.leader == me, f"the user leads {listing.title} already with {listing.price}")
    forbid(amount < needed, f"the next bid on {listing.title} is {needed} or more")
    return site.bid(listing, me, amount)


@server.write
def make_offer(site: Site, /, listing_id: str, amount: Amount) -> Offer:
    """Offer a price for another member's fixed-price second-hand listing; the seller answers.

    Args:
        listing_id: The listing, e.g. "lst_4711"; with no offer of the user's open on it.
        amount: At least half the price; the price or more buys it at once, for the price.
    """
    listing, me = site.buyable(listing_id, "fixed_price"), site.me()
    waiting = any(offer.waits_for for offer in site.offers.where(listing_id=listing_id, buyer=me))
    forbid(waiting, f"an offer on {listing.title} is open; wait for the answer or give it")
    forbid(amount * 2 < listing.price, f"offer at least half of {listing.price}; less is ignored")
    offer = site.offer(listing, me, min(amount, listing.price), "open")
    if amount >= listing.price:
        site.finish(listing, me, listing.price)
    return site.offers[offer.id]


@server.write
def answer_offer(
    site: Site, /, offer_id: str, answer: Answer, counter_amount: Amount | None = None
) -> Offer:
    """Answer an offer on the user's second-hand listing, or a seller's counter-offer, in 48 hours.

    Args:
        offer_id: The offer, e.g. "ofr_310"; it must wait for the user.
        answer: To accept makes it a sale at once; only a seller can counter.
        counter_amount: With counter, and only then: more than was offered, less than the price.
    """
    offer, me = site.offers[offer_id], site.me()
    listing = site.listings[offer.listing_id]
    forbid(not offer.waits_for, f"the offer on {offer.title} is {offer.status}, past answering")
    if offer.waits_for != me:
        raise Denied(f"the offer on {offer.title} waits for {offer.waits_for}")
    forbid((answer == "counter") != bool(counter_amount), "counter_amount goes with counter only")
    if counter_amount:
        fits = offer.seller == me and offer.amount < counter_amount < listing.price
        forbid(not fits, f"a seller counters between {offer.amount} and {listing.price}")
        return site.counter(offer, counter_amount)
    if answer == "decline":
        return site.offers.update(offer_id, status="declined", waits_for="")
    site.finish(listing, offer.buyer, offer.amount)
    return site.offers[offer_id]


@server.read
def list_bids_and_offers(site: Site, /, title: str = "", received: bool = False) -> list[Offer]:
    """List the user's bids and offers on second-hand listings, newest first, and what came of them.

    Args:
        title: Only bids and offers on listings whose title contains this.
        received: Whether to list those that others made on the user's listings instead.
    """
    me, text = site.me(), title.lower()
    found = [offer for offer in site.offers if me == (offer.seller if received else offer.buyer)]
    return [offer for offer in reversed(found) if text in offer.title.lower()]


@server.read
def list_market_sales(site: Site, /, title: str = "", status: Stage | None = None) -> list[Sale]:
    """List what the user bought and sold second-hand, newest first, with the money in escrow.

    Args:
        title: Only sales of listings whose title contains this.
        status: Only sales with this status.
    """
    found = [sale for sale in site.sales if title.lower() in sale.title.lower()]
    return [sale for sale in reversed(found) if status in (None, sale.status)]


@server.write
def update_escrow(site: Site, /, sale_id: str, action: Action) -> Sale:
    """Do the user's part in a second-hand sale: pay into escrow, ship, confirm, or refund.

    Args:
        sale_id: The sale, e.g. "sal_88".
        action: Buyers pay and confirm, sellers ship or refund; buyers refund after 3 idle days.
    """
    sale, me = site.sales[sale_id], site.me()
    if action == "refund":
        forbid(not sale.held, f"nothing is held for {sale.title}; it is {sale.status}")
        early = sale.status == "shipped" or site.now - sale.at < timedelta(days=3)
        forbid(me == sale.buyer and early, "a buyer has to wait until three days went unshipped")
        return site.settle(sale, "refunded")
    forbid(sale.status not in STEPS, f"{sale.title} is {sale.status}; nothing is left to do")
    needed, coming, *_ = STEPS[sale.status]
    forbid(action != needed, f"{sale.title} is {sale.status}; the next thing to do is {needed}")
    if sale.waits_for != me:
        raise Denied(f"it is for {sale.waits_for} to {action}; the user has to wait")
    return site.settle(sale, coming)


@server.write
def rate_sale(site: Site, /, sale_id: str, stars: Literal[1, 2, 3, 4, 5]) -> Sale:
    """Rate the other side of a second-hand sale, once, after the money was released.

    Args:
        sale_id: The sale, e.g. "sal_88".
        stars: From 1, bad, to 5, excellent.
    """
    sale, buying = site.sales[sale_id], site.sales[sale_id].buyer == site.me()
    forbid(sale.status != "released", f"{sale.title} is {sale.status}; rate it once released")
    given = sale.stars_by_buyer if buying else sale.stars_by_seller
    forbid(given is not None, f"the user gave {given} stars for {sale.title} already")
    return site.sales.update(sale_id, **{"stars_by_buyer" if buying else "stars_by_seller": stars})
