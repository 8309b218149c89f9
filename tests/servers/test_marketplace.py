"""The marketplace's rules as short stories among Mia, who is the user, Ada and Ben."""

from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import Seed, money
from provegym.servers.marketplace.state import Listing, Offer, Profile, Sale, Site, server
from servers.desk import Desk


class Market(Desk[Site]):
    """Mia, who has two listings, among Ada and Ben, who have three."""

    def __init__(self) -> None:
        super().__init__(server, Site(Seed(0)))
        self.world.profiles.put(Profile(name="Mia"))
        self.bike = self.put_up("Red Bike", "Ada", "auction", increment=money(5))
        self.lens = self.put_up("Old Lens", "Ben", "auction", reserve=money(150))
        self.desk = self.put_up("Oak Desk", "Ada", "fixed_price")
        self.lamp = self.put_up("Desk Lamp", "Mia", "fixed_price")
        self.vase = self.put_up("Blue Vase", "Mia", "auction", increment=money(5))
        self.start()

    def put_up(self, title: str, seller: str, kind: str, **fields: Any) -> str:
        """List something for 100, for three days."""
        ends_at = self.world.now + timedelta(days=3)
        about = {"title": title, "seller": seller, "kind": kind, "category": "music"}
        return self.world.listings.add(price=money(100), ends_at=ends_at, **about, **fields).id

    def listing(self, listing_id: str) -> Listing:
        """A listing as it is now."""
        return self.state.listings[listing_id]

    def offered(self, listing_id: str, buyer: str, amount: int) -> Offer:
        """Somebody else's offer."""
        return self.state.offer(self.listing(listing_id), buyer, money(amount), "open")

    def bid(self, listing_id: str, buyer: str, amount: int) -> Offer:
        """Somebody else's bid."""
        return self.state.bid(self.listing(listing_id), buyer, money(amount))

    def bought(self) -> Sale:
        """Mia's purchase of the desk, not yet paid."""
        self.done("make_offer", listing_id=self.desk, amount=100)
        return next(iter(self.state.sales))

    def sold(self) -> Sale:
        """Mia's sale of the lamp to Ben, not yet paid."""
        offer = self.offered(self.lamp, "Ben", 80)
        self.done("answer_offer", offer_id=offer.id, answer="accept")
        return next(iter(self.state.sales))

    def settle(self, sale: Sale, action: str) -> Any:
        """Do Mia's part."""
        return self.done("update_escrow", sale_id=sale.id, action=action)


@pytest.fixture
def story() -> Market:
    return Market()


def test_bids_rise_by_the_increment(story: Market) -> None:
    story.rejected("place_bid", "100.00 or more", listing_id=story.bike, amount=99)
    story.bid(story.bike, "Ben", 100)
    story.rejected("place_bid", "105.00 or more", listing_id=story.bike, amount=104)
    assert story.done("place_bid", listing_id=story.bike, amount=105)["status"] == "leading"
    story.rejected("place_bid", "leads", listing_id=story.bike, amount=200)
    bids = story.done("list_listing_bids", listing_id=story.bike)["items"]
    assert [bid["status"] for bid in bids] == ["leading", "outbid"]


def test_nobody_bids_on_their_own_listing_or_on_a_fixed_price(story: Market) -> None:
    story.rejected("place_bid", "own", listing_id=story.vase, amount=120)
    story.rejected("place_bid", "fixed_price", listing_id=story.desk, amount=120)
    story.rejected("make_offer", "auction", listing_id=story.bike, amount=120)
    story.rejected("make_offer", "own", listing_id=story.lamp, amount=90)


def test_an_auction_closes_by_the_clock_and_the_winner_has_to_pay(story: Market) -> None:
    story.done("place_bid", listing_id=story.bike, amount=110)
    story.wait(hours=72)
    assert story.listing(story.bike).status == "sold"
    sale = story.done("list_market_sales", title="bike")["items"][0]
    assert (sale["status"], sale["price"], sale["waits_for"]) == ("awaiting_payment", 110, "Mia")
    story.rejected("place_bid", "sold", listing_id=story.bike, amount=500)


def test_who_loses_an_auction_is_told(story: Market) -> None:
    story.done("place_bid", listing_id=story.bike, amount=110)
    story.bid(story.bike, "Ben", 120)
    mine = story.done("list_bids_and_offers")["items"][0]
    assert (mine["status"], mine["note"]) == ("outbid", "Ben bid 120.00")
    story.wait(hours=72)
    mine = story.done("list_bids_and_offers")["items"][0]
    assert (mine["status"], mine["note"]) == ("lost", "sold to Ben for 120.00")
    assert not list(story.state.sales)


def test_a_reserve_that_is_not_met_means_no_sale(story: Market) -> None:
    story.done("place_bid", listing_id=story.lens, amount=149)
    story.wait(hours=72)
    assert story.listing(story.lens).status == "ended"
    assert story.done("list_bids_and_offers")["items"][0]["note"] == "ended without a sale"


def test_a_listing_with_bids_cannot_be_ended(story: Market) -> None:
    story.denied("end_listing", "Ada", listing_id=story.bike)
    story.bid(story.vase, "Ben", 100)
    story.rejected("end_listing", "has bids", listing_id=story.vase)
    offer = story.offered(story.lamp, "Ben", 80)
    assert story.done("end_listing", listing_id=story.lamp)["status"] == "ended"
    assert story.state.offers[offer.id].status == "lost"
    story.rejected("end_listing", "already", listing_id=story.lamp)


def test_a_listing_is_created_once_and_runs_for_a_week(story: Market) -> None:
    about = {"category": "bikes", "kind": "auction", "price": 40}
    made = story.done("create_listing", title="Tandem", **about)
    assert (made["seller"], made["increment"]) == ("Mia", 2)
    story.rejected("create_listing", "already", title="tandem", **about)
    story.rejected("create_listing", "already", title=" Tandem ", **about)
    for number in range(9):
        story.done("create_listing", title=f"Wheel {number}", **about)
    story.rejected("create_listing", "twelve", title="One more", **about)
    story.wait(hours=7 * 24)
    assert story.listing(made["id"]).status == "ended"


def test_searching_tells_own_watched_and_other_listings_apart(story: Market) -> None:
    titles = {
        whose: [found["title"] for found in story.done("search_listings", whose=whose)["items"]]
        for whose in ("others", "mine", "watched")
    }
    assert titles == {
        "others": ["Red Bike", "Old Lens", "Oak Desk"],
        "mine": ["Desk Lamp", "Blue Vase"],
        "watched": [],
    }
    assert story.done("search_listings", title="desk")["total"] == 1
    assert story.done("search_listings", category="books")["total"] == 0


def test_only_others_running_listings_are_watched(story: Market) -> None:
    story.done("watch_listing", listing_id=story.bike)
    story.rejected("watch_listing", "already", listing_id=story.bike)
    assert story.done("search_listings", whose="watched")["total"] == 1
    story.done("watch_listing", listing_id=story.bike, watching=False)
    story.rejected("watch_listing", "own", listing_id=story.vase)
    story.wait(hours=72)
    story.rejected("watch_listing", "ended", listing_id=story.bike)


def test_an_offer_is_at_least_half_and_one_at_a_time(story: Market) -> None:
    story.rejected("make_offer", "half", listing_id=story.desk, amount=49)
    story.done("make_offer", listing_id=story.desk, amount=70)
    story.rejected("make_offer", "open", listing_id=story.desk, amount=80)


def test_the_full_price_buys_at_once(story: Market) -> None:
    offer = story.done("make_offer", listing_id=story.desk, amount=130)
    assert (offer["status"], offer["amount"]) == ("won", 100)
    assert story.listing(story.desk).status == "sold"


@pytest.mark.parametrize(("amount", "status"), [(90, "won"), (89, "countered")])
def test_others_take_a_fair_offer_and_counter_a_low_one(
    story: Market, amount: int, status: str
) -> None:
    offer = story.done("make_offer", listing_id=story.desk, amount=amount)
    story.wait(hours=12)
    assert story.state.offers[offer["id"]].status == status


def test_a_counter_offer_is_accepted_or_expires_after_48_hours(story: Market) -> None:
    offer = story.done("make_offer", listing_id=story.desk, amount=60)
    story.denied("answer_offer", "Ada", offer_id=offer["id"], answer="accept")
    story.wait(hours=12)
    late = story.fork()
    taken = story.done("answer_offer", offer_id=offer["id"], answer="accept")
    assert (taken["status"], taken["amount"]) == ("won", 95)
    late.wait(hours=48)
    late.rejected("answer_offer", "expired", offer_id=offer["id"], answer="accept")


def test_a_seller_counters_between_the_offer_and_the_price(story: Market) -> None:
    offer = story.offered(story.lamp, "Ben", 60)
    answer = {"offer_id": offer.id, "answer": "counter"}
    story.rejected("answer_offer", "goes with counter", **answer)
    story.rejected("answer_offer", "between", counter_amount=60, **answer)
    story.rejected("answer_offer", "between", counter_amount=100, **answer)
    assert story.done("answer_offer", counter_amount=88, **answer)["waits_for"] == "Ben"
    story.denied("answer_offer", "Ben", offer_id=offer.id, answer="decline")
    story.wait(hours=12)
    assert next(iter(story.state.sales)).price == 88


def test_a_buyer_declines_too_much_and_cannot_counter(story: Market) -> None:
    offer = story.offered(story.lamp, "Ben", 60)
    story.done("answer_offer", offer_id=offer.id, answer="counter", counter_amount=95)
    story.wait(hours=12)
    assert story.state.offers[offer.id].status == "declined"
    mine = story.done("make_offer", listing_id=story.desk, amount=60)
    story.wait(hours=12)
    counter = {"offer_id": mine["id"], "answer": "counter", "counter_amount": 97}
    story.rejected("answer_offer", "seller", **counter)


def test_accepting_one_offer_settles_the_others(story: Market) -> None:
    first, second = story.offered(story.lamp, "Ben", 80), story.offered(story.lamp, "Ada", 85)
    story.done("answer_offer", offer_id=second.id, answer="accept")
    assert story.state.offers[first.id].status == "lost"
    assert story.done("list_bids_and_offers", received=True)["total"] == 2
    story.rejected("answer_offer", "lost", offer_id=first.id, answer="accept")


def test_escrow_holds_the_money_until_the_buyer_confirms(story: Market) -> None:
    sale = story.bought()
    story.rejected("update_escrow", "pay", sale_id=sale.id, action="confirm")
    assert story.settle(sale, "pay")["held"] == 100
    story.denied("update_escrow", "Ada", sale_id=sale.id, action="ship")
    story.wait(hours=90)
    assert story.state.sales[sale.id].status == "shipped"
    story.rejected("update_escrow", "three days", sale_id=sale.id, action="refund")
    released = story.settle(sale, "confirm")
    assert (released.get("held", 0), released["payout"]) == (0, 95)
    story.rejected("update_escrow", "nothing is left", sale_id=sale.id, action="confirm")
    story.rejected("update_escrow", "nothing is held", sale_id=sale.id, action="refund")


def test_a_buyer_gets_the_money_back_if_nothing_is_shipped_for_three_days(story: Market) -> None:
    sale = story.bought()
    story.settle(sale, "pay")
    story.wait(hours=71)
    story.rejected("update_escrow", "three days", sale_id=sale.id, action="refund")
    story.wait(hours=1)
    assert story.settle(sale, "refund")["status"] == "refunded"


def test_others_pay_and_confirm_and_the_seller_ships(story: Market) -> None:
    sale = story.sold()
    story.wait(hours=6)
    assert story.state.sales[sale.id].held == 80
    story.settle(sale, "ship")
    story.wait(hours=48)
    assert story.state.sales[sale.id].payout == 76


def test_who_lets_the_time_pass_loses_the_sale(story: Market) -> None:
    bought = story.bought()
    story.wait(hours=96)
    assert story.state.sales[bought.id].status == "cancelled"
    other = Market()
    sold = other.sold()
    other.wait(hours=6 + 168)
    assert other.state.sales[sold.id].status == "refunded"


def test_sales_are_rated_once_and_only_when_they_are_complete(story: Market) -> None:
    sale = story.bought()
    story.rejected("rate_sale", "awaiting_payment", sale_id=sale.id, stars=5)
    story.settle(sale, "pay")
    story.wait(hours=90)
    story.settle(sale, "confirm")
    assert story.done("rate_sale", sale_id=sale.id, stars=4)["stars_by_buyer"] == 4
    story.rejected("rate_sale", "already", sale_id=sale.id, stars=1)
