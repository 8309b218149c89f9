"""What the broker knows: stocks with a price path and a book, portfolios, holdings and orders."""

from collections import Counter
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Literal
from zlib import crc32

from provegym.kernel import Denied, Record, Rejected, Server, State, Table, money, table

Side = Literal["buy", "sell"]
Status = Literal["open", "filled", "cancelled", "expired"]
Levels = tuple[tuple[Decimal, int], ...]
OPENS, CLOSES, STEP = time(7), time(19), timedelta(hours=1)
COLLAR, MOST_LOTS, SWING_PERCENT = Decimal("0.50"), 200, 8


class Stock(Record, frozen=True):
    """A listed company; in its book others bid for and ask for shares, by price and quantity."""

    symbol: str
    name: str
    price: Decimal
    fair_value: Decimal
    tick_size: Decimal
    lot_size: int
    bids: Levels = ()
    asks: Levels = ()
    halted_until: datetime | None = None

    def moved(self, at: datetime) -> dict[str, object]:
        """Price and book at a moment: they depend on nothing but the stock and the hour."""
        day, hour = divmod(int(at.timestamp()) // 3600, 24)
        swing = self._noise(day) * (24 - hour) + self._noise(day + 1) * hour
        value = self.fair_value * (2_400_000 + SWING_PERCENT * swing) / 2_400_000
        price, book = money(value // self.tick_size * self.tick_size), []
        for ticks in (-1, -2, -4, 1, 2, 4):
            lots = 3 + self._noise(f"{at} {ticks}") % 30
            book.append((price + ticks * self.tick_size, lots * self.lot_size))
        return {"price": price, "bids": tuple(book[:3]), "asks": tuple(book[3:])}

    def _noise(self, key: object) -> int:
        return crc32(f"{self.symbol} {self.fair_value} {key}".encode()) % 2001 - 1000


class Portfolio(Record, frozen=True):
    """Cash and shares kept apart; some may only be looked at, or only be sold from."""

    id: str
    name: str
    cash: Decimal
    opening_cash: Decimal
    status: Literal["active", "sell_only", "view_only"] = "active"


class Holding(Record, frozen=True):
    """Shares of one stock in one portfolio, their average cost, and the profit of those sold."""

    id: str
    portfolio_id: str
    symbol: str
    stock_name: str
    quantity: int = 0
    average_cost: Decimal = money(0)
    realised_profit: Decimal = money(0)


class TradeOrder(Record, frozen=True):
    """A wish to buy or sell at any price, at a limit price or better, or below a stop price."""

    id: str
    portfolio_id: str
    symbol: str
    stock_name: str
    side: Side
    kind: Literal["market", "limit", "stop"]
    quantity: int
    placed_at: datetime
    status: Status = "open"
    price: Decimal = money(0)
    filled: int = 0
    fills: Levels = ()

    def accepts(self, price: Decimal) -> bool:
        """Whether it trades at a price."""
        fair = price <= self.price if self.side == "buy" else price >= self.price
        return fair or self.kind != "limit"


class Broker(State):
    """The broker on one investor's behalf, and the market it trades on."""

    stocks: Table[Stock] = table(Stock, key="symbol", look_up="search_stocks")
    portfolios: Table[Portfolio] = table(Portfolio, "ptf", look_up="list_portfolios")
    holdings: Table[Holding] = table(Holding, "hld", look_up="list_holdings")
    orders: Table[TradeOrder] = table(TradeOrder, "tor", look_up="list_trade_orders")

    def next_event(self) -> datetime:
        """Prices move each hour from 07:00 UTC, Monday to Friday; at 19:00 the market closes."""
        at = self.now.replace(minute=0, second=0, microsecond=0) + STEP
        day = at.date() + timedelta(days=at.time() > CLOSES)
        day += timedelta(days=7 - day.weekday() if day.weekday() > 4 else 0)
        return max(at, datetime.combine(day, OPENS, at.tzinfo))

    def happen(self) -> None:
        """Move prices and fill what they cross; the close empties books and ends limit orders."""
        closing = self.now.time() == CLOSES
        for order in self.orders.where(status="open", kind="limit") if closing else []:
            self.orders.update(order.id, status="expired")
        for stock in list(self.stocks):
            if closing:
                self.stocks.update(stock.symbol, bids=(), asks=())
            elif stock.halted_until is None or stock.halted_until <= self.now:
                self.stocks.update(stock.symbol, halted_until=None, **stock.moved(self.now))
        for order in self.orders.where(status="open"):
            self.match(order)

    def buying_power(self, portfolio: Portfolio) -> Decimal:
        """Cash that no open order has set aside."""
        buys = self.orders.where(portfolio_id=portfolio.id, status="open", side="buy")
        return portfolio.cash - sum(row.price * (row.quantity - row.filled) for row in buys)

    def free_shares(self, portfolio_id: str, symbol: str) -> int:
        """Shares that no open order has set aside."""
        which = {"portfolio_id": portfolio_id, "symbol": symbol}
        sells = self.orders.where(status="open", side="sell", **which)
        held = sum(row.quantity for row in self.holdings.where(**which))
        return held - sum(row.quantity - row.filled for row in sells)

    def place(self, kind: str, portfolio_id: str, symbol: str, **terms: object) -> TradeOrder:
        """Write a new order down and let it trade; the kernel undoes it where a rule refuses."""
        owner, name = self.portfolios[portfolio_id].id, self.stocks[symbol].name
        terms |= {"portfolio_id": owner, "symbol": symbol, "stock_name": name, "kind": kind}
        return self.admit(self.orders.add(placed_at=self.now, **terms))

    def still_open(self, trade_order_id: str) -> TradeOrder:
        """An order that can be changed or cancelled."""
        order = self.orders[trade_order_id]
        if order.status != "open":
            raise Rejected(f"that order is {order.status}; only open ones can be changed")
        if self.portfolios[order.portfolio_id].status == "view_only":
            raise Denied("that order is in a portfolio that you may only look at")
        return order

    def admit(self, order: TradeOrder) -> TradeOrder:
        """Hold an order that was written down to every rule, then let it trade."""
        portfolio, stock = self.portfolios[order.portfolio_id], self.stocks[order.symbol]
        if portfolio.status == "view_only":
            raise Denied(f"you may look at {portfolio.name} but not trade; choose another")
        price, selling = order.price or stock.price, order.side == "sell"
        empty = order.kind == "market" and not (stock.bids if selling else stock.asks)
        free = self.free_shares(portfolio.id, stock.symbol) if selling else 0
        limits = self.orders.where(symbol=stock.symbol, status="open", kind="limit")
        own = [row for row in limits if row.side != order.side and row.accepts(price)]
        rules = (
            (empty, f"nobody trades now; the book of {stock.name} fills at {self.next_event()}"),
            (stock.halted_until, f"{stock.name} is halted; try after {stock.halted_until}"),
            (not selling and portfolio.status == "sell_only", f"{portfolio.name} may only sell"),
            (order.quantity % stock.lot_size, f"{stock.name} trades in lots of {stock.lot_size}"),
            (order.quantity > MOST_LOTS * stock.lot_size, f"order {MOST_LOTS} lots at most"),
            (price % stock.tick_size, f"the price must be a multiple of {stock.tick_size}"),
            (abs(price / stock.price - 1) > COLLAR, f"stay within 50 % of {stock.price}"),
            (order.kind == "stop" and price >= stock.price, f"stop below {stock.price} instead"),
            (order.kind == "limit" and own, "cancel your own order on the other side first"),
            (free < 0, f"{portfolio.name} has {-free} free shares of {stock.name} too few"),
        )
        for broken, why in rules:
            if broken:
                raise Rejected(why)
        order = self.match(order)
        if (power := self.buying_power(self.portfolios[portfolio.id])) < 0:
            raise Rejected(f"{portfolio.name} is {-power} of buying power short of that")
        return order

    def match(self, order: TradeOrder) -> TradeOrder:
        """Trade an open order with the levels it accepts; a stop waits for its price first."""
        stock, buying = self.stocks[order.symbol], order.side == "buy"
        if stock.halted_until or (order.kind == "stop" and stock.price > order.price):
            return order
        fills, left, rest = [*order.fills], [], order.quantity - order.filled
        for price, offered in stock.asks if buying else stock.bids:
            taken = min(rest, offered) if order.accepts(price) else 0
            if taken:
                rest -= taken
                fills.append((price, taken))
                self.book(order, taken if buying else -taken, price)
            if taken < offered:
                left.append((price, offered - taken))
        self.stocks.update(stock.symbol, **{"asks" if buying else "bids": tuple(left)})
        filled, status = order.quantity - rest, order.status if rest else "filled"
        return self.orders.update(order.id, filled=filled, fills=tuple(fills), status=status)

    def book(self, order: TradeOrder, bought: int, price: Decimal) -> None:
        """Change cash and shares, and the average cost of those bought or profit of those sold."""
        which = {"portfolio_id": order.portfolio_id, "symbol": order.symbol}
        found, cash = self.holdings.where(**which), self.portfolios[order.portfolio_id].cash
        held = found[0] if found else self.holdings.add(stock_name=order.stock_name, **which)
        shares, cost, profit = held.quantity + bought, held.average_cost, held.realised_profit
        if bought > 0:
            cost = money((cost * held.quantity + price * bought) / shares)
        profit += (price - cost) * max(0, -bought)
        self.holdings.update(held.id, quantity=shares, average_cost=cost, realised_profit=profit)
        self.portfolios.update(order.portfolio_id, cash=cash - price * bought)

    def check(self) -> None:
        """Fills add up to cash, shares and orders; nothing is promised twice; no crossed book."""
        shares = Counter[tuple[str, str]]()
        cash = {portfolio.id: portfolio.opening_cash for portfolio in self.portfolios}
        for order in self.orders:
            sign = 1 if order.side == "buy" else -1
            shares[order.portfolio_id, order.symbol] += sign * order.filled
            cash[order.portfolio_id] -= sign * sum(price * count for price, count in order.fills)
            assert order.filled == sum(count for _, count in order.fills) <= order.quantity
            assert (order.status == "filled") == (order.filled == order.quantity)
        for portfolio in self.portfolios:
            assert cash[portfolio.id] == portfolio.cash >= self.buying_power(portfolio) >= 0
        for held in self.holdings:
            assert held.quantity == shares[held.portfolio_id, held.symbol]
            assert held.quantity >= self.free_shares(held.portfolio_id, held.symbol) >= 0
        for stock in self.stocks:
            bids, asks = [price for price, _ in stock.bids], [price for price, _ in stock.asks]
            for order in self.orders.where(symbol=stock.symbol, status="open", kind="limit"):
                (bids if order.side == "buy" else asks).append(order.price)
            assert all(bid < ask for bid in bids for ask in asks)


about = "Portfolios, stock orders, holdings and the live market of one investor."
server = Server("trading", Broker, category="finance", about=about)
