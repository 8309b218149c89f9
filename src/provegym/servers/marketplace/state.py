"""What the marketplace knows, what its members do with the clock, and what is always true."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Literal

from provegym.kernel import Record, Server, State, Table, forbid, money, table

Kind = Literal["auction", "fixed_price"]
Category = Literal["furniture", "bikes", "books", "cameras", "music", "garden", "kitchen"]
Fate = Literal["leading", "outbid", "open", "countered", "won", "lost", "declined", "expired"]
Stage = Literal["awaiting_payment", "paid", "shipped", "released", "refunded", "cancelled"]

NOTHING, FEE_RATE, FAIR, HIGH = money(0), Decimal("0.05"), Decimal("0.9"), Decimal("0.95")
# What a sale needs and becomes, in how many hours if others do it, in how many not if the user.
STEPS: dict[str, tuple[str, Stage, int, int, Stage]] = {
    "awaiting_payment": ("pay", "paid", 6, 96, "cancelled"),
    "paid": ("ship", "shipped", 90, 168, "refunded"),
    "shipped": ("confirm", "released", 48, 336, "released"),
}


class Profile(Record, frozen=True):
    """Whom the assistant acts for."""

    name: str


class Listing(Record, frozen=True):
    """Something for sale; an auction's price is what was bid last, or where it starts."""

    id: str
    title: str
    category: Category
    kind: Kind
    seller: str
    price: Decimal
    ends_at: datetime
    increment: Decimal = NOTHING
    reserve: Decimal = NOTHING
    leader: str = ""
    watched: bool = False
    status: Literal["active", "sold", "ended"] = "active"


class Offer(Record, frozen=True):
    """A bid, or an offer on a fixed price; the note tells its maker what came of it."""

    id: str
    listing_id: str
    title: str
    buyer: str
    seller: str
    amount: Decimal
    at: datetime
    status: Fate
    waits_for: str = ""
    note: str = ""


class Sale(Record, frozen=True):
    """The user's sale or purchase, the money in escrow for it, and the stars each side gave."""

    id: str
    listing_id: str
    title: str
    buyer: str
    seller: str
    price: Decimal
    at: datetime
    status: Stage
    waits_for: str
    held: Decimal = NOTHING
    payout: Decimal = NOTHING
    stars_by_buyer: int | None = None
    stars_by_seller: int | None = None


class Site(State):
    """The marketplace as one of its members uses it."""

    profiles: Table[Profile] = table(Profile, key="name")
    listings: Table[Listing] = table(Listing, "lst", look_up="search_listings")
    offers: Table[Offer] = table(Offer, "ofr", look_up="list_bids_and_offers")
    sales: Table[Sale] = table(Sale, "sal", look_up="list_market_sales")

    def me(self) -> str:
        """The name of the acting user."""
        return next(iter(self.profiles)).name

    def buyable(self, listing_id: str, kind: Kind) -> Listing:
        """Somebody else's running listing of a kind."""
        listing = self.listings[listing_id]
        forbid(listing.seller == self.me(), f"{listing.title} is the user's own; find another")
        forbid(listing.status != "active", f"{listing.title} is {listing.status}; find another")
        forbid(listing.kind != kind, f"{listing.title} is sold by {listing.kind}, not {kind}")
        return listing

    def offer(self, listing: Listing, buyer: str, amount: Decimal, status: Fate) -> Offer:
        """Write a bid or an offer down; an offer waits for the seller."""
        about = {"listing_id": listing.id, "title": listing.title, "seller": listing.seller}
        about["waits_for"] = listing.seller if status == "open" else ""
        return self.offers.add(buyer=buyer, amount=amount, at=self.now, status=status, **about)

    def bid(self, listing: Listing, buyer: str, amount: Decimal) -> Offer:
        """Let somebody lead an auction; who led before is told."""
        for before in self.offers.where(listing_id=listing.id, status="leading"):
            self.offers.update(before.id, status="outbid", note=f"{buyer} bid {amount}")
        self.listings.update(listing.id, price=amount, leader=buyer)
        return self.offer(listing, buyer, amount, "leading")

    def finish(self, listing: Listing, buyer: str = "", price: Decimal = NOTHING) -> Listing:
        """End a listing; a sale opens if somebody gets it, and whoever does not is told."""
        note = f"sold to {buyer} for {price}" if buyer else "ended without a sale"
        for offer in self.offers.where(listing_id=listing.id):
            if offer.status in ("leading", "outbid", "open", "countered"):
                fate = "won" if (offer.buyer, offer.amount) == (buyer, price) else "lost"
                self.offers.update(offer.id, status=fate, note=note, waits_for="")
        if self.me() in (buyer, listing.seller) and buyer:
            sale = {"listing_id": listing.id, "title": listing.title, "seller": listing.seller}
            sale |= {"buyer": buyer, "status": "awaiting_payment", "waits_for": buyer}
            self.sales.add(price=price, at=self.now, **sale)
        return self.listings.update(listing.id, status="sold" if buyer else "ended")

    def answer(self, offer: Offer) -> None:
        """Others take a fair price; a seller haggles, a buyer declines. The user is too late."""
        listing, opened = self.listings[offer.listing_id], offer.status == "open"
        share, mine = offer.amount / listing.price, offer.waits_for == self.me()
        if not mine and (share >= FAIR if opened else share <= FAIR):
            self.finish(listing, offer.buyer, offer.amount)
        elif not mine and opened:
            self.counter(offer, money(listing.price * HIGH))
        else:
            self.offers.update(offer.id, status="expired" if mine else "declined", waits_for="")

    def counter(self, offer: Offer, amount: Decimal) -> Offer:
        """The seller asks for another price; the buyer has to answer."""
        fields = {"amount": amount, "at": self.now, "waits_for": offer.buyer}
        return self.offers.update(offer.id, status="countered", **fields)

    def settle(self, sale: Sale, status: Stage) -> Sale:
        """Move a sale on, and the money with it; the house keeps a fee of what is released."""
        held = sale.price if status in ("paid", "shipped") else NOTHING
        payout = money(sale.price * (1 - FEE_RATE)) if status == "released" else NOTHING
        turn = {"paid": sale.seller, "shipped": sale.buyer}.get(status, "")
        fields = {"status": status, "held": held, "payout": payout, "waits_for": turn}
        return self.sales.update(sale.id, at=self.now, **fields)

    def agenda(self) -> Iterator[tuple[datetime, str, Callable[[], object]]]:
        """What is due and when: listings end, offers are answered, sales move on."""
        me = self.me()
        for lot in self.listings:
            if lot.status == "active":
                winner = lot.leader if lot.price >= lot.reserve else ""
                yield lot.ends_at, lot.id, partial(self.finish, lot, winner, lot.price)
        for offer in self.offers:
            if offer.waits_for:
                hours = 48 if offer.waits_for == me else 12
                yield offer.at + timedelta(hours=hours), offer.id, partial(self.answer, offer)
        for sale in self.sales:
            if sale.waits_for:
                _, coming, usual, most, otherwise = STEPS[sale.status]
                hours, status = (most, otherwise) if sale.waits_for == me else (usual, coming)
                yield sale.at + timedelta(hours=hours), sale.id, partial(self.settle, sale, status)

    def next_event(self) -> datetime | None:
        """When the first entry of the agenda is due."""
        return min((when for when, _, _ in self.agenda()), default=None)

    def happen(self) -> None:
        """Do the first thing that is due; the clock asks again for the next."""
        min(self.agenda(), key=lambda entry: entry[:2])[2]()

    def check(self) -> None:
        """Bids, sales, escrow and ratings are as they must be."""
        for listing in self.listings:
            offers = self.offers.where(listing_id=listing.id)
            assert all(o.buyer != listing.seller and o.at <= listing.ends_at for o in offers)
            assert listing.status == "active" or not any(offer.waits_for for offer in offers)
            best = max(offers, key=lambda offer: offer.amount, default=None)
            if best and listing.kind == "auction":
                assert (best.buyer, best.amount) == (listing.leader, listing.price)
            assert len(self.sales.where(listing_id=listing.id)) <= (listing.status == "sold")
        for sale in self.sales:
            held, released = sale.status in ("paid", "shipped"), sale.status == "released"
            assert sale.held == sale.price * held
            assert sale.payout == money(sale.price * (1 - FEE_RATE)) * released
            assert released or not (sale.stars_by_buyer or sale.stars_by_seller)
            assert bool(sale.waits_for) == (sale.status in STEPS)


server = Server("marketplace", Site, category="commerce", about="Second-hand auctions and offers.")
