"""What an investor can look up and order at the broker."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated

from msgspec import Meta, Struct

from provegym.kernel import Amount, Rejected, money

from .state import Broker, Holding, Portfolio, Side, Status, Stock, TradeOrder, server

Quantity = Annotated[int, Meta(ge=1, le=10_000)]


class PortfolioSummary(Struct, frozen=True):
    """A portfolio with what it can still spend and what its shares are worth."""

    portfolio: Portfolio
    buying_power: Decimal
    shares_value: Decimal
    unrealised_profit: Decimal


@server.read
def list_portfolios(broker: Broker, /, name: str = "") -> list[Portfolio]:
    """List the user's investment portfolios with their cash and whether they may be traded in.

    Args:
        name: Only portfolios whose name contains this.
    """
    wanted = name.lower()
    return [portfolio for portfolio in broker.portfolios if wanted in portfolio.name.lower()]


@server.read
def get_portfolio(broker: Broker, /, portfolio_id: str) -> PortfolioSummary:
    """Show one investment portfolio: cash, buying power, value and profit of its shares.

    Args:
        portfolio_id: The portfolio, e.g. "ptf_5120".
    """
    portfolio = broker.portfolios[portfolio_id]
    value = money(0)
    cost = money(0)
    for holding in broker.holdings.where(portfolio_id=portfolio_id):
        value += broker.stocks[holding.symbol].price * holding.quantity
        cost += holding.average_cost * holding.quantity
    return PortfolioSummary(
        portfolio=portfolio,
        buying_power=broker.buying_power(portfolio),
        shares_value=value,
        unrealised_profit=value - cost,
    )


@server.read
def list_holdings(broker: Broker, /, portfolio_id: str, stock_name: str = "") -> list[Holding]:
    """List the shares in an investment portfolio with average cost and the profit of those sold.

    Args:
        portfolio_id: The portfolio, e.g. "ptf_5120".
        stock_name: Only shares of companies whose name contains this.
    """
    portfolio = broker.portfolios[portfolio_id]
    held = broker.holdings.where(portfolio_id=portfolio.id)
    return [holding for holding in held if stock_name.lower() in holding.stock_name.lower()]


@server.read
def search_stocks(broker: Broker, /, name: str = "") -> list[Stock]:
    """Find listed stocks with symbol, price, tick size, lot size and trading halts.

    Args:
        name: Only stocks whose company name contains this, e.g. "Harbour".
    """
    return [stock for stock in broker.stocks if name.lower() in stock.name.lower()]


@server.read
def list_halted_stocks(broker: Broker, /) -> list[Stock]:
    """List the stocks that nobody may trade at present, with the time when trading resumes."""
    return [stock for stock in broker.stocks if stock.halted_until is not None]


@server.read
def get_order_book(broker: Broker, /, symbol: str) -> Stock:
    """Show a stock by its symbol, with the bids and asks of others, best price first.

    Args:
        symbol: Symbol of the stock, as search_stocks shows it.
    """
    return broker.stocks[symbol]


@server.read
def list_trade_orders(
    broker: Broker,
    /,
    portfolio_id: str | None = None,
    stock_name: str = "",
    status: Status | None = None,
) -> list[TradeOrder]:
    """List the user's stock orders with what was filled, newest first.

    Args:
        portfolio_id: Only orders of this portfolio, e.g. "ptf_5120".
        stock_name: Only orders for companies whose name contains this.
        status: Only orders with this status.
    """
    orders: Iterable[TradeOrder] = broker.orders
    if portfolio_id is not None:
        orders = broker.orders.where(portfolio_id=broker.portfolios[portfolio_id].id)
    found = [order for order in orders if stock_name.lower() in order.stock_name.lower()]
    if status is not None:
        found = [order for order in found if order.status == status]
    return sorted(found, key=lambda order: order.placed_at)[::-1]


@server.read
def get_trade_order(broker: Broker, /, trade_order_id: str) -> TradeOrder:
    """Show one stock order with each of its fills.

    Args:
        trade_order_id: The order, e.g. "tor_20417".
    """
    return broker.orders[trade_order_id]


@server.write
def place_market_order(
    broker: Broker, /, portfolio_id: str, symbol: str, side: Side, quantity: Quantity
) -> TradeOrder:
    """Buy or sell shares at once at the best prices in the book; what it lacks is cancelled.

    Args:
        portfolio_id: Portfolio to trade in, e.g. "ptf_5120".
        symbol: Symbol of the stock, as search_stocks shows it; not while it is halted.
        side: A buy needs buying power, a sell needs shares that no open order has set aside.
        quantity: How many shares, in whole lots, 200 lots at most.
    """
    order = broker.place(portfolio_id, symbol, kind="market", side=side, quantity=quantity)
    if order.status == "open":
        return broker.orders.update(order.id, status="cancelled")
    return order


@server.write
def place_limit_order(
    broker: Broker, /, portfolio_id: str, symbol: str, side: Side, quantity: Quantity, price: Amount
) -> TradeOrder:
    """Buy or sell shares at a price or better; what is not filled waits until the close.

    Args:
        portfolio_id: Portfolio to trade in, e.g. "ptf_5120".
        symbol: Symbol of the stock, as search_stocks shows it; not while it is halted.
        side: A buy needs buying power, a sell needs shares that no open order has set aside.
        quantity: How many shares, in whole lots, 200 lots at most.
        price: Most to pay or least to take per share, in whole ticks, within 50 % of the price.
    """
    return broker.place(
        portfolio_id, symbol, kind="limit", side=side, quantity=quantity, price=price
    )


@server.write
def place_stop_order(
    broker: Broker, /, portfolio_id: str, symbol: str, quantity: Quantity, price: Amount
) -> TradeOrder:
    """Sell shares once their price has fallen to a stop price (a stop-loss); it waits for that.

    Args:
        portfolio_id: Portfolio that holds the shares, e.g. "ptf_5120".
        symbol: Symbol of the stock, as search_stocks shows it; not while it is halted.
        quantity: How many shares, in whole lots, 200 at most; none set aside by an open order.
        price: Stop price per share, in whole ticks, below the present price but not below half.
    """
    return broker.place(
        portfolio_id, symbol, kind="stop", side="sell", quantity=quantity, price=price
    )


@server.write
def update_trade_order(broker: Broker, /, trade_order_id: str, price: Amount) -> TradeOrder:
    """Change the limit or stop price of an open stock order, under the rules of a new order.

    Args:
        trade_order_id: The order, e.g. "tor_20417".
        price: New price per share, in whole ticks, unlike now.
    """
    order = broker.still_open(trade_order_id)
    if price == order.price:
        raise Rejected(f"the price is {price} already; choose another one")
    changed = broker.orders.update(order.id, price=price)
    return broker.admit(changed)


@server.write(destructive=True)
def cancel_trade_order(broker: Broker, /, trade_order_id: str) -> TradeOrder:
    """Cancel what is left of an open stock order; what was filled stays done.

    Args:
        trade_order_id: The order, e.g. "tor_20417".
    """
    order = broker.still_open(trade_order_id)
    return broker.orders.update(order.id, status="cancelled")
