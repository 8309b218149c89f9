"""The broker's rules, told on a market of two stocks."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from provegym.kernel import Seed, Session, money
from provegym.servers.trading import server
from provegym.servers.trading.state import Broker, Stock

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


@pytest.fixture
def broker() -> Broker:
    """Two stocks, one of them halted for a day, and three portfolios with 5000 each."""
    broker = Broker(Seed(0))
    broker.now = NOON
    broker.stocks.put(stock("LUHA", "Lumen Harbour"))
    broker.stocks.put(stock("FATO", "Fable Toys", halted_until=NOON + timedelta(days=1)))
    for name, status in (("Growth", "active"), ("Steady", "sell_only"), ("Ada's", "view_only")):
        cash = money(5000)
        broker.portfolios.add(name=name, cash=cash, opening_cash=cash, status=status)
    return broker


@pytest.fixture
def session(broker: Broker) -> Session:
    """A session over that market."""
    return Session.over(server, broker)


def portfolio(session: Session, name: str = "Growth") -> str:
    """The id of a portfolio."""
    return str(session.call("list_portfolios", {"name": name}).value["items"][0]["id"])


def order(session: Session, tool: str, name: str = "Growth", **fields: Any) -> dict[str, Any]:
    """What placing an order comes to; Lumen Harbour and ten shares unless said otherwise."""
    given = {"portfolio_id": portfolio(session, name), "symbol": "LUHA", "quantity": 10, **fields}
    outcome = session.call(tool, given)
    session.check()
    return dict(outcome.value)


def buy(session: Session, quantity: int = 10, **fields: Any) -> dict[str, Any]:
    """Buy at the market."""
    return order(session, "place_market_order", side="buy", quantity=quantity, **fields)


def holding(session: Session) -> dict[str, Any]:
    """What the portfolio Growth holds of Lumen Harbour."""
    held = session.call("list_holdings", {"portfolio_id": portfolio(session)}).value["items"]
    return dict(held[0])


def status(session: Session, trade_order_id: str) -> str:
    """How an order stands."""
    found = session.call("get_trade_order", {"trade_order_id": trade_order_id}).value
    return str(found.get("status", "open"))


def test_a_market_order_walks_the_book(session: Session) -> None:
    done = buy(session, 15)
    assert done["fills"] == [[50.05, 10], [50.10, 5]]
    assert done["status"] == "filled"
    book = session.call("get_order_book", {"symbol": "LUHA"}).value
    assert book["asks"] == [[50.10, 15]]
    assert holding(session)["average_cost"] == 50.07
    cash = session.call("get_portfolio", {"portfolio_id": portfolio(session)}).value["buying_power"]
    assert cash == 5000 - 10 * 50.05 - 5 * 50.10


def test_what_the_book_lacks_is_cancelled(session: Session) -> None:
    done = buy(session, 50)
    assert (done["filled"], done["status"]) == (30, "cancelled")
    assert "nobody trades" in buy(session)["message"]


def test_a_sale_realises_profit_at_average_cost(session: Session) -> None:
    buy(session, 20)
    assert order(session, "place_market_order", side="sell", quantity=5)["status"] == "filled"
    held = holding(session)
    assert held["quantity"] == 15
    assert held["average_cost"] == 50.08
    assert held["realised_profit"] == pytest.approx(5 * (49.95 - 50.08))


def test_nobody_sells_what_he_does_not_hold(session: Session) -> None:
    buy(session)
    refused = order(session, "place_market_order", side="sell", quantity=15)
    assert refused["message"] == "Growth has 5 free shares of Lumen Harbour too few"


def test_open_sells_set_shares_aside(session: Session) -> None:
    buy(session)
    order(session, "place_stop_order", price=45)
    assert "free shares" in order(session, "place_limit_order", side="sell", price=55)["message"]


def test_open_buys_set_cash_aside(session: Session) -> None:
    rests = order(session, "place_limit_order", side="buy", quantity=80, price=49)
    assert rests["status"] == "open"
    assert rests["filled"] == 0
    assert "short of that" in buy(session, 25)["message"]
    session.call("cancel_trade_order", {"trade_order_id": rests["id"]})
    assert buy(session, 25)["status"] == "filled"


def test_a_limit_order_takes_what_is_cheap_enough_and_rests(session: Session) -> None:
    rests = order(session, "place_limit_order", side="buy", quantity=25, price=50.05)
    assert rests["fills"] == [[50.05, 10]]
    assert status(session, rests["id"]) == "open"


def test_limit_orders_end_with_the_day(session: Session) -> None:
    rests = order(session, "place_limit_order", side="buy", price=30)
    session.advance(6 * 60)
    assert status(session, rests["id"]) == "open"
    session.advance(60)
    assert status(session, rests["id"]) == "expired"
    session.check()


def test_a_limit_order_fills_on_the_clock(session: Session) -> None:
    buy(session)
    prices = []
    ahead = session.fork()
    for _ in range(6):
        ahead.advance(60)
        prices.append(ahead.call("get_order_book", {"symbol": "LUHA"}).value["bids"][0][0])
    goal = max(prices)
    sale = order(session, "place_limit_order", side="sell", price=goal)
    session.advance(6 * 60)
    session.check()
    assert status(session, sale["id"]) == "filled"


def test_a_stop_sells_once_the_price_has_fallen(session: Session) -> None:
    buy(session)
    stop = order(session, "place_stop_order", price=47)
    prices = []
    for _ in range(24 * 30):
        session.advance(60)
        prices.append(session.call("get_order_book", {"symbol": "LUHA"}).value["price"])
        if status(session, stop["id"]) == "filled":
            break
    session.check()
    assert prices[-1] <= 47
    assert min(prices[:-1]) > 47


def test_a_stop_must_lie_below_the_price(session: Session) -> None:
    buy(session)
    assert order(session, "place_stop_order", price=50)["message"] == "stop below 50.00 instead"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"quantity": 7}, "lots of 5"),
        ({"quantity": 1005}, "200 lots at most"),
        ({"price": 50.01}, "multiple of 0.05"),
        ({"price": 80}, "within 50 %"),
        ({"symbol": "FATO"}, "halted"),
        ({"name": "Steady"}, "may only sell"),
    ],
)
def test_orders_that_are_refused(session: Session, fields: dict[str, Any], words: str) -> None:
    terms = {"side": "buy", "price": 49, **fields}
    refused = order(session, "place_limit_order", **terms)
    assert refused["error"] == "rejected"
    assert words in refused["message"]


def test_other_peoples_portfolios_are_not_for_trading(session: Session) -> None:
    assert buy(session, name="Ada")["error"] == "denied"


def test_nobody_trades_with_himself(session: Session) -> None:
    buy(session)
    order(session, "place_limit_order", side="sell", price=51)
    assert "your own order" in order(session, "place_limit_order", side="buy", price=51)["message"]


def test_at_night_there_is_no_book_but_limit_orders_wait_for_the_opening(session: Session) -> None:
    session.advance(8 * 60)
    assert "fills at 2026-03-05 07:00" in buy(session)["message"]
    waits = order(session, "place_limit_order", side="buy", price=60)
    assert waits["filled"] == 0
    session.advance(11 * 60)
    session.check()
    assert status(session, waits["id"]) == "filled"


def test_a_halt_ends_by_itself(session: Session) -> None:
    halted = session.call("list_halted_stocks", {}).value["items"]
    assert [row["symbol"] for row in halted] == ["FATO"]
    session.advance(25 * 60)
    assert session.call("list_halted_stocks", {}).value["total"] == 0
    assert buy(session, symbol="FATO")["filled"] > 0


def test_over_the_weekend_nothing_moves(session: Session) -> None:
    session.advance(3 * 24 * 60)
    before = session.diff()
    session.advance(24 * 60)
    assert session.diff() == before


def test_an_open_order_can_be_repriced_under_the_same_rules(session: Session) -> None:
    rests = order(session, "place_limit_order", side="buy", price=49)
    given = {"trade_order_id": rests["id"], "price": 49}
    assert "already" in session.call("update_trade_order", given).value["message"]
    assert "multiple" in session.call("update_trade_order", given | {"price": 49.99}).text
    done = session.call("update_trade_order", given | {"price": 50.05}).value
    assert done["status"] == "filled"
    assert session.call("update_trade_order", given).error == "rejected"


def test_only_open_orders_can_be_cancelled(session: Session) -> None:
    done = {"trade_order_id": buy(session)["id"]}
    assert "that order is filled" in session.call("cancel_trade_order", done).value["message"]
    rests = order(session, "place_limit_order", side="buy", price=49)
    assert session.call("cancel_trade_order", {"trade_order_id": rests["id"]}).ok
    assert status(session, rests["id"]) == "cancelled"


def test_orders_of_other_people_stay_as_they_are(broker: Broker) -> None:
    terms = {"symbol": "LUHA", "stock_name": "Lumen Harbour", "side": "buy", "kind": "limit"}
    owner = broker.portfolios.where(name="Ada's")[0].id
    fields = {"portfolio_id": owner, "quantity": 5, "price": money(40), "placed_at": NOON}
    theirs = broker.orders.add(**terms, **fields)
    outcome = Session.over(server, broker).call("cancel_trade_order", {"trade_order_id": theirs.id})
    assert outcome.error == "denied"


def test_orders_are_found_by_company_and_status(session: Session) -> None:
    buy(session)
    order(session, "place_limit_order", side="buy", price=49)
    given = {"portfolio_id": portfolio(session), "stock_name": "lumen"}
    listed = session.call("list_trade_orders", given).value["items"]
    assert [row["kind"] for row in listed] == ["limit", "market"]
    assert session.call("list_trade_orders", given | {"status": "open"}).value["total"] == 1
    assert session.call("search_stocks", {"name": "fable"}).value["total"] == 1
