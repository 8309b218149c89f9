"""The broker's rules, told on a market of two stocks."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from provegym.kernel import Seed, Session, money
from provegym.servers.trading import server
from provegym.servers.trading.state import Broker, Stock
from servers.desk import Desk

NOON = datetime(2026, 3, 4, 12, 20, tzinfo=UTC)


def stock(symbol: str, name: str, **fields: Any) -> Stock:
    """A stock at 50 with thirty shares on either side of its book."""
    bids = ((money("49.95"), 10), (money("49.90"), 20))
    asks = ((money("50.05"), 10), (money("50.10"), 20))
    terms: dict[str, Any] = {
        "price": money(50),
        "fair_value": money(50),
        "tick_size": money("0.05"),
    }
    return Stock(symbol=symbol, name=name, bids=bids, asks=asks, lot_size=5, **terms, **fields)


class Market(Desk[Broker]):
    """Two stocks, one of them halted for a day, and three portfolios with 5000 each.

    Calls are about ten shares of Lumen Harbour in the portfolio Growth unless they say otherwise.
    """

    def __init__(self) -> None:
        super().__init__(server, Broker(Seed(0)))
        self.world.now = NOON
        self.world.stocks.put(stock("LUHA", "Lumen Harbour"))
        halted = {"halted_until": NOON + timedelta(days=1, minutes=40)}
        self.world.stocks.put(stock("FATO", "Fable Toys", **halted))
        self.growth = self.open("Growth", "active")
        self.steady = self.open("Steady", "sell_only")
        self.adas = self.open("Ada's", "view_only")
        self.usual = {"portfolio_id": self.growth, "symbol": "LUHA", "quantity": 10}
        self.start()

    def open(self, name: str, status: str) -> str:
        """A portfolio with 5000 in cash."""
        cash = {"cash": money(5000), "opening_cash": money(5000)}
        return self.world.portfolios.add(name=name, status=status, **cash).id

    def buy(self, quantity: int = 10, **fields: Any) -> dict[str, Any]:
        """Buy at the market."""
        return dict(self.done("place_market_order", side="buy", quantity=quantity, **fields))

    def order(self, side: str, price: float, **fields: Any) -> dict[str, Any]:
        """Place a limit order."""
        return dict(self.done("place_limit_order", side=side, price=price, **fields))

    def holding(self) -> dict[str, Any]:
        """What the portfolio Growth holds of Lumen Harbour."""
        return dict(self.done("list_holdings")["items"][0])

    def status(self, order: dict[str, Any]) -> str:
        """How an order stands now."""
        found = self.done("get_trade_order", trade_order_id=order["id"])
        return str(found.get("status", "open"))


@pytest.fixture
def market() -> Market:
    return Market()


def test_a_market_order_walks_the_book(market: Market) -> None:
    done = market.buy(15)
    assert done["fills"] == [[50.05, 10], [50.10, 5]]
    assert done["status"] == "filled"
    assert market.done("get_order_book")["asks"] == [[50.10, 15]]
    assert market.holding()["average_cost"] == 50.07
    assert market.done("get_portfolio")["buying_power"] == 5000 - 10 * 50.05 - 5 * 50.10


def test_what_the_book_lacks_is_cancelled(market: Market) -> None:
    done = market.buy(50)
    assert (done["filled"], done["status"]) == (30, "cancelled")
    market.rejected("place_market_order", "nobody trades", side="buy")


def test_a_sale_realises_profit_at_average_cost(market: Market) -> None:
    market.buy(20)
    assert market.done("place_market_order", side="sell", quantity=5)["status"] == "filled"
    held = market.holding()
    assert held["quantity"] == 15
    assert held["average_cost"] == 50.08
    assert held["realised_profit"] == pytest.approx(5 * (49.95 - 50.08))


def test_nobody_sells_what_he_does_not_hold(market: Market) -> None:
    market.buy()
    message = market.rejected("place_market_order", side="sell", quantity=15)
    assert message == "Growth has 5 free shares of Lumen Harbour too few"


def test_open_sells_set_shares_aside(market: Market) -> None:
    market.buy()
    market.done("place_stop_order", price=45)
    market.rejected("place_limit_order", "free shares", side="sell", price=55)


def test_open_buys_set_cash_aside(market: Market) -> None:
    rests = market.order("buy", 49, quantity=80)
    assert rests["status"] == "open"
    assert rests["filled"] == 0
    market.rejected("place_market_order", "short of that", side="buy", quantity=25)
    market.done("cancel_trade_order", trade_order_id=rests["id"])
    assert market.buy(25)["status"] == "filled"


def test_a_limit_order_takes_what_is_cheap_enough_and_rests(market: Market) -> None:
    rests = market.order("buy", 50.05, quantity=25)
    assert rests["fills"] == [[50.05, 10]]
    assert market.status(rests) == "open"


def test_limit_orders_end_with_the_day(market: Market) -> None:
    rests = market.order("buy", 30)
    market.wait(hours=6)
    assert market.status(rests) == "open"
    market.wait(hours=1)
    assert market.status(rests) == "expired"


def test_a_limit_order_fills_on_the_clock(market: Market) -> None:
    market.buy()
    prices = []
    ahead = market.fork()
    for _ in range(6):
        ahead.wait(hours=1)
        prices.append(ahead.done("get_order_book")["bids"][0][0])
    sale = market.order("sell", max(prices))
    market.wait(hours=6)
    assert market.status(sale) == "filled"


def test_a_stop_sells_once_the_price_has_fallen(market: Market) -> None:
    market.buy()
    stop = market.done("place_stop_order", price=47)
    prices = []
    for _ in range(24 * 30):
        market.wait(hours=1)
        prices.append(market.done("get_order_book")["price"])
        if market.status(stop) == "filled":
            break
    assert prices[-1] <= 47
    assert min(prices[:-1]) > 47


def test_a_stop_must_lie_below_the_price(market: Market) -> None:
    market.buy()
    assert market.rejected("place_stop_order", price=50) == "stop below 50.00 instead"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"quantity": 7}, "lots of 5"),
        ({"quantity": 1005}, "200 lots at most"),
        ({"price": 50.01}, "multiple of 0.05"),
        ({"price": 80}, "within 50 %"),
        ({"symbol": "FATO"}, "halted"),
        ({"portfolio_id": "steady"}, "may only sell"),
    ],
)
def test_orders_that_are_refused(market: Market, fields: dict[str, Any], words: str) -> None:
    if "portfolio_id" in fields:
        fields = {"portfolio_id": market.steady}
    market.rejected("place_limit_order", words, **{"side": "buy", "price": 49, **fields})


def test_other_peoples_portfolios_are_not_for_trading(market: Market) -> None:
    [adas] = market.done("list_portfolios", name="Ada")["items"]
    market.denied("place_market_order", side="buy", portfolio_id=adas["id"])


def test_nobody_trades_with_himself(market: Market) -> None:
    market.buy()
    market.order("sell", 51)
    market.rejected("place_limit_order", "would trade with order", side="buy", price=51)


def test_at_night_there_is_no_book_but_limit_orders_wait_for_the_opening(market: Market) -> None:
    market.wait(hours=8)
    market.rejected("place_market_order", "fills at 2026-03-05 07:00", side="buy")
    waits = market.order("buy", 60)
    assert waits["filled"] == 0
    market.wait(hours=11)
    assert market.status(waits) == "filled"


def test_a_halt_ends_by_itself(market: Market) -> None:
    halted = market.done("list_halted_stocks")["items"]
    assert [row["symbol"] for row in halted] == ["FATO"]
    market.wait(hours=25)
    assert market.done("list_halted_stocks")["total"] == 0
    assert market.buy(symbol="FATO")["filled"] > 0


def test_halts_end_while_the_market_is_open() -> None:
    halted = "list_halted_stocks"
    for number in range(40):
        for stock in Session([server], number).call(halted, {}).value["items"]:
            session = Session([server], number)
            until = datetime.fromisoformat(stock["halted_until"])
            session.advance((until - session.now) // timedelta(minutes=1) - 1)
            session.check()
            assert stock["symbol"] in session.call(halted, {}).text
            session.advance(1)
            assert stock["symbol"] not in session.call(halted, {}).text


def test_a_refusal_names_the_time_when_the_book_fills_again(market: Market) -> None:
    market.wait(hours=6)
    market.state.stocks.update("LUHA", asks=())
    market.rejected("place_market_order", "fills at 2026-03-05 07:00", side="buy")
    halted = {"side": "buy", "symbol": "FATO"}
    market.wait(hours=1)
    market.rejected("place_market_order", "halted until 2026-03-05 13:00", **halted)


def test_a_portfolio_that_may_only_sell_has_no_open_buy_orders() -> None:
    for number in range(40):
        world = server.world(number)
        (restricted,) = world.portfolios.where(status="sell_only")
        buys = world.orders.where(portfolio_id=restricted.id, side="buy", status="open")
        assert buys == []


def test_over_the_weekend_nothing_moves(market: Market) -> None:
    market.wait(days=3)
    before = market.session.diff()
    market.wait(days=1)
    assert market.session.diff() == before


def test_an_open_order_can_be_repriced_under_the_same_rules(market: Market) -> None:
    rests = {"trade_order_id": market.order("buy", 49)["id"]}
    market.rejected("update_trade_order", "already", **rests, price=49)
    market.rejected("update_trade_order", "multiple", **rests, price=49.99)
    assert market.done("update_trade_order", **rests, price=50.05)["status"] == "filled"
    market.rejected("update_trade_order", **rests, price=49)


def test_only_open_orders_can_be_cancelled(market: Market) -> None:
    market.rejected("cancel_trade_order", "that order is filled", trade_order_id=market.buy()["id"])
    rests = market.order("buy", 49)
    market.done("cancel_trade_order", trade_order_id=rests["id"])
    assert market.status(rests) == "cancelled"


def test_orders_of_other_people_stay_as_they_are(market: Market) -> None:
    terms = {"symbol": "LUHA", "stock_name": "Lumen Harbour", "side": "buy", "kind": "limit"}
    fields = {"portfolio_id": market.adas, "quantity": 5, "price": money(40), "placed_at": NOON}
    theirs = market.world.orders.add(**terms, **fields)
    market.start()
    market.denied("cancel_trade_order", trade_order_id=theirs.id)


def test_orders_are_found_by_company_and_status(market: Market) -> None:
    market.buy()
    market.order("buy", 49)
    listed = market.done("list_trade_orders", stock_name="lumen")["items"]
    assert [row["kind"] for row in listed] == ["limit", "market"]
    assert market.done("list_trade_orders", stock_name="lumen", status="open")["total"] == 1
    assert market.done("search_stocks", name="fable")["total"] == 1


def test_orders_of_all_portfolios_are_listed_newest_first() -> None:
    seen = Session([server], 7)
    everything = seen.call("list_trade_orders", {}).value
    portfolios = seen.call("list_portfolios", {}).value["items"]
    parts = [
        seen.call("list_trade_orders", {"portfolio_id": portfolio["id"]}).value["total"]
        for portfolio in portfolios
    ]
    times = [order["placed_at"] for order in everything["items"]]
    assert everything["total"] == sum(parts) > max(parts)
    assert times == sorted(times, reverse=True)
