"""What the marketplace knows, what its members do with the clock, and what is always true."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Literal, NamedTuple

from provegym.kernel import Record, Rejected, Server, State, Table, money, table
from provegym.servers import plain_name

Kind = Literal["auction", "fixed_price"]
Category = Literal["furniture", "bikes", "books", "cameras", "music", "garden", "kitchen"]
Fate = Literal["leading", "outbid", "open", "countered", "won", "lost", "declined", "expired"]
Stage = Literal["awaiting_payment", "paid", "shipped", "released", "refunded", "cancelled"]

NOTHING = money(0)
FEE_RATE = Decimal("0.05")
# Other members agree on this share of the price; a seller who was offered less asks for the higher.
FAIR = Decimal("0.9")
HIGH = Decimal("0.95")


class Step(NamedTuple):
    """What a sale needs next. Others do it after some hours; the user has a deadline."""

    action: Literal["pay", "ship", "confirm"]
    leads_to: Stage
    hours_of_others: int
    hours_for_user: int
    if_user_is_late: Stage


STEPS: dict[str, Step] = {
    "awaiting_payment": Step("pay", "paid", 6, 96, "cancelled"),
    "paid": Step("ship", "shipped", 90, 168, "refunded"),
    "shipped": Step("confirm", "released", 48, 336, "released"),
}


class Due(NamedTuple):
    """Something that happens by itself; at equal times the smaller record id comes first."""

    at: datetime
    record_id: str
    action: Callable[[], object]


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
        if listing.seller == self.me():
            raise Rejected(f"{listing.title} is the user's own; find another")
        if listing.status != "active":
            raise Rejected(f"{listing.title} is {listing.status}; find another")
        if listing.kind != kind:
            raise Rejected(f"{listing.title} is sold by {listing.kind}, not {kind}")
        return listing

    def offer(self, listing: Listing, buyer: str, amount: Decimal, status: Fate) -> Offer:
        """Write a bid or an offer down; an offer waits for the seller."""
        return self.offers.add(
            listing_id=listing.id,
            title=listing.title,
            buyer=buyer,
            seller=listing.seller,
            amount=amount,
            at=self.now,
            status=status,
            waits_for=listing.seller if status == "open" else "",
        )

    def bid(self, listing: Listing, buyer: str, amount: Decimal) -> Offer:
        """Let somebody lead an auction; who led before is told."""
        for earlier in self.offers.where(listing_id=listing.id, status="leading"):
            self.offers.update(earlier.id, status="outbid", note=f"{buyer} bid {amount}")
        self.listings.update(listing.id, price=amount, leader=buyer)
        return self.offer(listing, buyer, amount, "leading")

    def finish(self, listing: Listing, buyer: str = "", price: Decimal = NOTHING) -> Listing:
        """End a listing; a sale opens if somebody gets it, and whoever does not is told."""
        note = f"sold to {buyer} for {price}" if buyer else "ended without a sale"
        for offer in self.offers.where(listing_id=listing.id):
            if offer.status in ("leading", "outbid", "open", "countered"):
                has_won = offer.buyer == buyer and offer.amount == price
                fate = "won" if has_won else "lost"
                self.offers.update(offer.id, status=fate, note=note, waits_for="")
        # A sale between two other members is not recorded.
        if buyer and self.me() in (buyer, listing.seller):
            self.sales.add(
                listing_id=listing.id,
                title=listing.title,
                buyer=buyer,
                seller=listing.seller,
                price=price,
                at=self.now,
                status="awaiting_payment",
                waits_for=buyer,
            )
        return self.listings.update(listing.id, status="sold" if buyer else "ended")

    def answer(self, offer: Offer) -> None:
        """Others take a fair price; a seller haggles, a buyer declines. The user is too late."""
        listing = self.listings[offer.listing_id]
        share = offer.amount / listing.price
        if offer.waits_for == self.me():
            self.offers.update(offer.id, status="expired", waits_for="")
        elif offer.status == "open" and share < FAIR:
            self.counter(offer, money(listing.price * HIGH))
        elif offer.status == "countered" and share > FAIR:
            self.offers.update(offer.id, status="declined", waits_for="")
        else:
            self.finish(listing, offer.buyer, offer.amount)

    def counter(self, offer: Offer, amount: Decimal) -> Offer:
        """The seller asks for another price; the buyer has to answer."""
        return self.offers.update(
            offer.id, status="countered", amount=amount, at=self.now, waits_for=offer.buyer
        )

    def settle(self, sale: Sale, status: Stage) -> Sale:
        """Move a sale on, and the money with it; the house keeps a fee of what is released."""
        waits_for = ""
        if status == "paid":
            waits_for = sale.seller
        elif status == "shipped":
            waits_for = sale.buyer
        return self.sales.update(
            sale.id,
            status=status,
            at=self.now,
            waits_for=waits_for,
            held=sale.price if status in ("paid", "shipped") else NOTHING,
            payout=money(sale.price * (1 - FEE_RATE)) if status == "released" else NOTHING,
        )

    def agenda(self) -> Iterator[Due]:
        """What is due and when: listings end, offers are answered, sales move on."""
        me = self.me()
        for listing in self.listings:
            if listing.status == "active":
                winner = listing.leader if listing.price >= listing.reserve else ""
                end = partial(self.finish, listing, winner, listing.price)
                yield Due(listing.ends_at, listing.id, end)
        for offer in self.offers:
            if offer.waits_for:
                hours = 48 if offer.waits_for == me else 12
                answer = partial(self.answer, offer)
                yield Due(offer.at + timedelta(hours=hours), offer.id, answer)
        for sale in self.sales:
            if sale.waits_for:
                step = STEPS[sale.status]
                if sale.waits_for == me:
                    hours = step.hours_for_user
                    settle = partial(self.settle, sale, step.if_user_is_late)
                else:
                    hours = step.hours_of_others
                    settle = partial(self.settle, sale, step.leads_to)
                yield Due(sale.at + timedelta(hours=hours), sale.id, settle)

    def next_event(self) -> datetime | None:
        """When the first entry of the agenda is due."""
        return min((due.at for due in self.agenda()), default=None)

    def happen(self) -> None:
        """Do the first thing that is due; the clock asks again for the next."""
        first = min(self.agenda(), key=lambda due: (due.at, due.record_id))
        first.action()

    def check(self) -> None:
        """Bids, sales, escrow and ratings are as they must be."""
        for listing in self.listings:
            self._check_listing(listing)
        for sale in self.sales:
            self._check_sale(sale)
        running = self.listings.where(seller=self.me(), status="active")
        assert len({plain_name(listing.title) for listing in running}) == len(running)

    def _check_listing(self, listing: Listing) -> None:
        offers = self.offers.where(listing_id=listing.id)
        for offer in offers:
            assert offer.buyer != listing.seller
            assert offer.at <= listing.ends_at
            assert listing.status == "active" or not offer.waits_for
        if offers and listing.kind == "auction":
            best = max(offers, key=lambda offer: offer.amount)
            assert listing.leader == best.buyer
            assert listing.price == best.amount
        sales = self.sales.where(listing_id=listing.id)
        assert len(sales) <= 1
        assert listing.status == "sold" or not sales

    def _check_sale(self, sale: Sale) -> None:
        if sale.status in ("paid", "shipped"):
            assert sale.held == sale.price
        else:
            assert sale.held == NOTHING
        if sale.status == "released":
            assert sale.payout == money(sale.price * (1 - FEE_RATE))
        else:
            assert sale.payout == NOTHING
            assert sale.stars_by_buyer is None
            assert sale.stars_by_seller is None
        assert bool(sale.waits_for) == (sale.status in STEPS)


about = "Second-hand auctions and offers."
server = Server("marketplace", Site, category="commerce", about=about, version=2)
