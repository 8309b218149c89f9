"""What a member can do on the marketplace."""

from datetime import timedelta
from typing import Literal

from provegym.kernel import Amount, Denied, Label, Rejected, money
from provegym.servers import plain_name

from .state import NOTHING, STEPS, Category, Kind, Listing, Offer, Sale, Site, Stage, server

Whose = Literal["others", "mine", "watched"]
Answer = Literal["accept", "decline", "counter"]
Action = Literal["pay", "ship", "confirm", "refund"]
Stars = Literal[1, 2, 3, 4, 5]


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
    me = site.me()
    wanted = title.lower()
    found = [listing for listing in site.listings if wanted in listing.title.lower()]
    if category is not None:
        found = [listing for listing in found if listing.category == category]
    if whose == "watched":
        return [listing for listing in found if listing.watched]
    if whose == "mine":
        return [listing for listing in found if listing.seller == me]
    return [listing for listing in found if listing.seller != me and listing.status == "active"]


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
    listing = site.listings[listing_id]
    return site.offers.where(listing_id=listing.id)[::-1]


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
    running = site.listings.where(seller=site.me(), status="active")
    running_titles = [plain_name(listing.title) for listing in running]
    if plain_name(title) in running_titles:
        raise Rejected(f"{title!r} is listed already; choose another title")
    if len(running) >= 12:
        raise Rejected("twelve listings are running already; end one first")
    increment = NOTHING
    if kind == "auction":
        increment = max(money(price / 20), money("0.50"))
    return site.listings.add(
        title=title,
        category=category,
        kind=kind,
        seller=site.me(),
        price=price,
        ends_at=site.now + timedelta(days=7),
        increment=increment,
    )


@server.write(destructive=True)
def end_listing(site: Site, /, listing_id: str) -> Listing:
    """Take one of the user's own second-hand listings down; not once somebody has bid on it.

    Args:
        listing_id: The listing, e.g. "lst_4711"; offers that wait on it are lost.
    """
    listing = site.listings[listing_id]
    if listing.seller != site.me():
        raise Denied(f"{listing.title} belongs to {listing.seller}; only they can end it")
    if listing.status != "active":
        raise Rejected(f"{listing.title} is {listing.status} already")
    if listing.leader:
        raise Rejected(f"{listing.title} has bids; it runs until {listing.ends_at}")
    return site.finish(listing)


@server.write
def watch_listing(site: Site, /, listing_id: str, watching: bool = True) -> Listing:
    """Put another member's second-hand listing on the user's watch list, or take one off.

    Args:
        listing_id: The listing, e.g. "lst_4711".
        watching: Whether to watch it, while it runs, or to stop.
    """
    listing = site.listings[listing_id]
    if listing.watched == watching:
        raise Rejected(f"the watch list is that way already for {listing.title}")
    if watching and listing.seller == site.me():
        raise Rejected(f"{listing.title} is the user's own")
    if watching and listing.status != "active":
        raise Rejected(f"{listing.title} is {listing.status}")
    return site.listings.update(listing_id, watched=watching)


@server.write
def place_bid(site: Site, /, listing_id: str, amount: Amount) -> Offer:
    """Bid in another member's running second-hand auction; whoever leads when it ends buys.

    Args:
        listing_id: The auction, e.g. "lst_4711"; not one that the user leads already.
        amount: At least the price plus the increment; the first bid may be the price itself.
    """
    listing = site.buyable(listing_id, "auction")
    if listing.leader == site.me():
        raise Rejected(f"the user leads {listing.title} already with {listing.price}")
    needed = listing.price + listing.increment if listing.leader else listing.price
    if amount < needed:
        raise Rejected(f"the next bid on {listing.title} is {needed} or more")
    return site.bid(listing, site.me(), amount)


@server.write
def make_offer(site: Site, /, listing_id: str, amount: Amount) -> Offer:
    """Offer a price for another member's fixed-price second-hand listing; the seller answers.

    Args:
        listing_id: The listing, e.g. "lst_4711"; with no offer of the user's open on it.
        amount: At least half the price; the price or more buys it at once, for the price.
    """
    listing = site.buyable(listing_id, "fixed_price")
    me = site.me()
    my_offers = site.offers.where(listing_id=listing_id, buyer=me)
    if any(offer.waits_for for offer in my_offers):
        raise Rejected(f"an offer on {listing.title} is open; wait for the answer or give it")
    if amount * 2 < listing.price:
        raise Rejected(f"offer at least half of {listing.price}; less is ignored")
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
    offer = site.offers[offer_id]
    me = site.me()
    listing = site.listings[offer.listing_id]
    if not offer.waits_for:
        raise Rejected(f"the offer on {offer.title} is {offer.status}, past answering")
    if offer.waits_for != me:
        raise Denied(f"the offer on {offer.title} waits for {offer.waits_for}")
    if (answer == "counter") != bool(counter_amount):
        raise Rejected("counter_amount goes with counter only")
    if counter_amount:
        is_between = offer.amount < counter_amount < listing.price
        if offer.seller != me or not is_between:
            raise Rejected(f"a seller counters between {offer.amount} and {listing.price}")
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
    me = site.me()
    found = site.offers.where(seller=me) if received else site.offers.where(buyer=me)
    wanted = title.lower()
    return [offer for offer in reversed(found) if wanted in offer.title.lower()]


@server.read
def list_market_sales(site: Site, /, title: str = "", status: Stage | None = None) -> list[Sale]:
    """List what the user bought and sold second-hand, newest first, with the money in escrow.

    Args:
        title: Only sales of listings whose title contains this.
        status: Only sales with this status.
    """
    wanted = title.lower()
    found = [sale for sale in site.sales if wanted in sale.title.lower()]
    if status is not None:
        found = [sale for sale in found if sale.status == status]
    return found[::-1]


@server.write
def update_escrow(site: Site, /, sale_id: str, action: Action) -> Sale:
    """Do the user's part in a second-hand sale: pay into escrow, ship, confirm, or refund.

    Args:
        sale_id: The sale, e.g. "sal_88".
        action: Buyers pay and confirm, sellers ship or refund; buyers refund after 3 idle days.
    """
    sale = site.sales[sale_id]
    me = site.me()
    if action == "refund":
        if not sale.held:
            raise Rejected(f"nothing is held for {sale.title}; it is {sale.status}")
        is_early = sale.status == "shipped" or site.now - sale.at < timedelta(days=3)
        if sale.buyer == me and is_early:
            raise Rejected("a buyer has to wait until three days went unshipped")
        return site.settle(sale, "refunded")
    if sale.status not in STEPS:
        raise Rejected(f"{sale.title} is {sale.status}; nothing is left to do")
    step = STEPS[sale.status]
    if action != step.action:
        raise Rejected(f"{sale.title} is {sale.status}; the next thing to do is {step.action}")
    if sale.waits_for != me:
        raise Denied(f"it is for {sale.waits_for} to {action}; the user has to wait")
    return site.settle(sale, step.leads_to)


@server.write
def rate_sale(site: Site, /, sale_id: str, stars: Stars) -> Sale:
    """Rate the other side of a second-hand sale, once, after the money was released.

    Args:
        sale_id: The sale, e.g. "sal_88".
        stars: From 1, bad, to 5, excellent.
    """
    sale = site.sales[sale_id]
    is_buyer = sale.buyer == site.me()
    if sale.status != "released":
        raise Rejected(f"{sale.title} is {sale.status}; rate it once released")
    given = sale.stars_by_buyer if is_buyer else sale.stars_by_seller
    if given is not None:
        raise Rejected(f"the user gave {given} stars for {sale.title} already")
    if is_buyer:
        return site.sales.update(sale_id, stars_by_buyer=stars)
    return site.sales.update(sale_id, stars_by_seller=stars)
