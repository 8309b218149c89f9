"""Draws a market and an investor's portfolios, and lets two weeks of trading happen."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import NamedTuple

from provegym.kernel import Rejected, Seed, money
from provegym.servers import people, words

from .state import (
    LAST_MOVE,
    NO_PRICE,
    STEP,
    Broker,
    Holding,
    OrderKind,
    Side,
    Stock,
    market_hour,
    server,
)

WORDS = words("trading")
MINUTE = timedelta(minutes=1)


class Terms(NamedTuple):
    """How a stock is traded, with prices in cents."""

    tick_size: int
    lowest_price: int
    highest_price: int
    lot_size: int


TERMS = (
    Terms(tick_size=1, lowest_price=1_200, highest_price=4_500, lot_size=5),
    Terms(tick_size=1, lowest_price=2_500, highest_price=8_000, lot_size=1),
    Terms(tick_size=5, lowest_price=4_000, highest_price=12_000, lot_size=1),
)
BUY_KINDS: tuple[OrderKind, ...] = ("market", "limit")
SELL_KINDS: tuple[OrderKind, ...] = ("market", "limit", "stop", "stop")


@server.seed
def draw(seed: Seed) -> Broker:
    """Six portfolios that traded for two weeks; then one may only sell, and two stocks halt."""
    broker = Broker(seed)
    chance = seed.random
    broker.now = seed.now - timedelta(days=14)
    for name in chance.sample(WORDS["companies"], 24):
        _list_stock(broker, chance, name)
    own_names = chance.sample(WORDS["portfolios"], 5)
    shared_name = f"{people.others(seed, 1)[0].given}'s {chance.choice(WORDS['shared'])}"
    for name in chance.sample([*own_names, shared_name], 6):
        _open_portfolio(broker, chance, name)
    _trade_until_now(broker, seed)
    _restrict(broker, own_names[-1], "sell_only")
    _restrict(broker, shared_name, "view_only")
    for stock in chance.sample(list(broker.stocks), 2):
        _halt(broker, chance, stock)
    return broker


def _list_stock(broker: Broker, chance: Random, name: str) -> None:
    """Put a company on the market under a symbol that its name does not give away."""
    first, *letters = [letter for letter in name.upper() if letter.isalpha()]
    symbol = first + "".join(chance.sample(letters, 3))
    terms = chance.choice(TERMS)
    cents = chance.randrange(terms.lowest_price, terms.highest_price)
    value = money(Decimal(cents) / 100)
    stock = Stock(
        symbol=symbol,
        name=name,
        price=value,
        fair_value=value,
        tick_size=money(Decimal(terms.tick_size) / 100),
        lot_size=terms.lot_size,
    )
    broker.stocks.put(stock)


def _open_portfolio(broker: Broker, chance: Random, name: str) -> None:
    """Open a portfolio with 20,000 to 120,000 in cash."""
    cash = money(Decimal(chance.randrange(20_000_00, 120_000_00)) / 100)
    broker.portfolios.add(name=name, cash=cash, opening_cash=cash)


def _trade_until_now(broker: Broker, seed: Seed) -> None:
    """Order again and again until the seed's present; orders grow denser towards it.

    Nobody orders while the market is closed, that is, when its next event is hours away.
    """
    while broker.now < seed.now:
        left = (seed.now - broker.now) // MINUTE
        wait = (broker.next_event() - broker.now) // MINUTE
        if wait <= 60:
            wait = seed.random.randrange(2, 12 + left // 45)
        broker.pass_time(min(left, wait))
        _order(broker, seed.random)


def _order(broker: Broker, chance: Random) -> None:
    """Place an order to buy or to sell, which the rules may refuse."""
    portfolio_id = chance.choice(list(broker.portfolios)).id
    stock = chance.choice(list(broker.stocks))
    side: Side = "buy"
    kind = chance.choice(BUY_KINDS)
    sellable = _sellable(broker)
    if sellable and chance.random() < 0.5:
        holding = chance.choice(sellable)
        portfolio_id = holding.portfolio_id
        stock = broker.stocks[holding.symbol]
        side = "sell"
        kind = chance.choice(SELL_KINDS)
    price = _draw_price(chance, stock, side, kind)
    lots = chance.randint(1, 40 if side == "buy" else 8)
    try:
        order = broker.place(
            portfolio_id,
            stock.symbol,
            kind=kind,
            side=side,
            quantity=lots * stock.lot_size,
            price=price,
        )
    except Rejected:
        broker.rollback()
        return
    # A market order never waits; a few of the others are cancelled again.
    if order.status == "open" and (kind == "market" or chance.random() < 0.15):
        broker.orders.update(order.id, status="cancelled")


def _sellable(broker: Broker) -> list[Holding]:
    """The holdings with shares that no open order has set aside."""
    free: Counter[tuple[str, str]] = Counter()
    for row in broker.holdings:
        free[row.portfolio_id, row.symbol] += row.quantity
    for order in broker.orders.where(status="open", side="sell"):
        free[order.portfolio_id, order.symbol] -= order.unfilled
    return [row for row in broker.holdings if free[row.portfolio_id, row.symbol]]


def _draw_price(chance: Random, stock: Stock, side: Side, kind: OrderKind) -> Decimal:
    """A price up to 6 % from the present one, in whole ticks; a market order has none.

    Buyers bid below the present price, stops wait below it, and other sellers ask above it.
    """
    per_mille = chance.randint(5, 60)
    if kind == "market":
        return NO_PRICE
    if side == "buy" or kind == "stop":
        per_mille = -per_mille
    ticks = stock.price * (1_000 + per_mille) / 1_000 // stock.tick_size
    return money(ticks * stock.tick_size)


def _restrict(broker: Broker, name: str, status: str) -> None:
    """Take rights away from a portfolio; if it may only sell, its open buy orders are cancelled."""
    portfolio = broker.portfolios.where(name=name)[0]
    broker.portfolios.update(portfolio.id, status=status)
    if status == "sell_only":
        for order in broker.orders.where(portfolio_id=portfolio.id, status="open", side="buy"):
            broker.orders.update(order.id, status="cancelled")


def _halt(broker: Broker, chance: Random, stock: Stock) -> None:
    """Halt trading in a stock for some hours or days, until an hour at which prices move."""
    later = broker.next_event() + STEP * chance.choice((0, 2, 23, 47))
    broker.stocks.update(stock.symbol, halted_until=market_hour(later, LAST_MOVE))
