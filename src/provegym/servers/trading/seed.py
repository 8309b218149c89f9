"""Draws a market and an investor's portfolios, and lets two weeks of trading happen."""

from datetime import timedelta
from decimal import Decimal
from random import Random

from provegym.kernel import Rejected, Seed, money
from provegym.servers import people, words

from .state import STEP, Broker, Stock, server

WORDS, MINUTE = words("trading"), timedelta(minutes=1)
# Tick size, lowest and highest price in cents, and the shares in a lot.
TERMS = ((1, 1_200, 4_500, 5), (1, 2_500, 8_000, 1), (5, 4_000, 12_000, 1))


@server.seed
def draw(seed: Seed) -> Broker:
    """Six portfolios that traded for two weeks; then one may only sell, and two stocks halt."""
    broker, chance = Broker(seed), seed.random
    broker.now = seed.now - timedelta(days=14)
    for name in chance.sample(WORDS["companies"], 24):
        _list_stock(broker, chance, name)
    names = chance.sample(WORDS["portfolios"], 5)
    names.append(f"{people.others(seed, 1)[0].given}'s {chance.choice(WORDS['shared'])}")
    for name in chance.sample(names, 6):
        cash = money(Decimal(chance.randrange(20_000_00, 120_000_00)) / 100)
        broker.portfolios.add(name=name, cash=cash, opening_cash=cash)
    while (left := (seed.now - broker.now) // MINUTE) > 0:
        wait = (broker.next_event() - broker.now) // MINUTE
        broker.pass_time(min(left, wait if wait > 60 else chance.randrange(2, 12 + left // 45)))
        _order(broker, chance)
    for name, status in zip(names[4:], ("sell_only", "view_only"), strict=True):
        broker.portfolios.update(broker.portfolios.where(name=name)[0].id, status=status)
    for stock in chance.sample(list(broker.stocks), 2):
        until = broker.next_event() + STEP * chance.choice((1, 3, 24, 48))
        broker.stocks.update(stock.symbol, halted_until=until)
    return broker


def _list_stock(broker: Broker, chance: Random, name: str) -> None:
    """Put a company on the market under a symbol that its name does not give away."""
    first, *letters = [letter for letter in name.upper() if letter.isalpha()]
    symbol = first + "".join(chance.sample(letters, 3))
    cents, lowest, highest, lot = chance.choice(TERMS)
    tick, value = (money(Decimal(n) / 100) for n in (cents, chance.randrange(lowest, highest)))
    broker.stocks.put(
        Stock(symbol=symbol, name=name, price=value, fair_value=value, tick_size=tick, lot_size=lot)
    )


def _order(broker: Broker, chance: Random) -> None:
    """Somebody orders something; rules may refuse it, and some orders are cancelled again."""
    portfolio, stock = chance.choice(list(broker.portfolios)), chance.choice(list(broker.stocks))
    owner, side, kind = portfolio.id, "buy", chance.choice(("market", "limit"))
    held = [row for row in broker.holdings if broker.free_shares(row.portfolio_id, row.symbol)]
    if held and chance.random() < 0.5:
        row = chance.choice(held)
        owner, stock, side = row.portfolio_id, broker.stocks[row.symbol], "sell"
        kind = chance.choice(("market", "limit", "stop", "stop"))
    away = chance.randint(5, 60) * (-1 if side == "buy" or kind == "stop" else 1)
    ticks = stock.price * (1_000 + away) / 1_000 // stock.tick_size
    price = {} if kind == "market" else {"price": money(ticks * stock.tick_size)}
    quantity = chance.randint(1, 40 if side == "buy" else 8) * stock.lot_size
    try:
        order = broker.place(kind, owner, stock.symbol, side=side, quantity=quantity, **price)
        if order.status == "open" and (kind == "market" or chance.random() < 0.15):
            broker.orders.update(order.id, status="cancelled")
    except Rejected:
        broker.rollback()
