"""What the broker knows: stocks with an order book, portfolios, holdings and orders."""

from collections import Counter
from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Literal
from zlib import crc32

from msgspec.structs import replace

from provegym.kernel import Denied, Record, Rejected, Server, State, Table, money, table

Side = Literal["buy", "sell"]
Status = Literal["open", "filled", "cancelled", "expired"]
Levels = tuple[tuple[Decimal, int], ...]
OrderKind = Literal["market", "limit", "stop"]
# The market moves every hour between these times, in UTC.
OPENS = time(7)
CLOSES = time(19)
LAST_MOVE = time(18)
STEP = timedelta(hours=1)
FRIDAY = 4
# The largest distance of an order's price from the stock's price, as a share of it.
COLLAR = Decimal("0.50")
MOST_LOTS = 200
SWING_PERCENT = 8
# The distance, in ticks, of the order book's levels from the price.
BOOK_TICKS = (1, 2, 4)
NO_PRICE = money(0)


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

    def moved(self, at: datetime) -> "Stock":
        """The stock as it trades at a moment; its price and book depend on the hour alone."""
        day, hour = divmod(int(at.timestamp()) // 3600, 24)
        swing = self._noise(day) * (24 - hour) + self._noise(day + 1) * hour
        value = self.fair_value * (2_400_000 + SWING_PERCENT * swing) / 2_400_000
        price = money(value // self.tick_size * self.tick_size)
        moment = str(at)
        bids = tuple(self._level(moment, price, -ticks) for ticks in BOOK_TICKS)
        asks = tuple(self._level(moment, price, ticks) for ticks in BOOK_TICKS)
        return replace(self, price=price, bids=bids, asks=asks, halted_until=None)

    def _level(self, moment: str, price: Decimal, ticks: int) -> tuple[Decimal, int]:
        """Price and quantity so many ticks above the price, or below it where negative."""
        lots = 3 + self._noise(f"{moment} {ticks}") % 30
        return price + ticks * self.tick_size, lots * self.lot_size

    def _noise(self, key: object) -> int:
        """A number from -1000 to 1000 that looks random and is always the same for a key."""
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
    kind: OrderKind
    quantity: int
    placed_at: datetime
    status: Status = "open"
    price: Decimal = NO_PRICE
    filled: int = 0
    fills: Levels = ()

    @property
    def unfilled(self) -> int:
        """How many shares are still to be traded."""
        return self.quantity - self.filled

    def accepts(self, price: Decimal) -> bool:
        """Whether it trades at a price."""
        if self.kind != "limit":
            return True
        if self.side == "buy":
            return price <= self.price
        return price >= self.price


class Broker(State):
    """The broker on one investor's behalf, and the market it trades on."""

    stocks: Table[Stock] = table(Stock, key="symbol", look_up="search_stocks")
    portfolios: Table[Portfolio] = table(Portfolio, "ptf", look_up="list_portfolios")
    holdings: Table[Holding] = table(Holding, "hld", look_up="list_holdings")
    orders: Table[TradeOrder] = table(TradeOrder, "tor", look_up="list_trade_orders")

    def next_event(self) -> datetime:
        """Prices move each hour from 07:00 UTC, Monday to Friday; at 19:00 the market closes."""
        return market_hour(self.now, CLOSES)

    def next_move(self) -> datetime:
        """When prices move next and books fill again, which is not at the close."""
        return market_hour(self.now, LAST_MOVE)

    def happen(self) -> None:
        """Move prices and fill what they cross; the close empties books and ends limit orders."""
        if self.now.time() == CLOSES:
            self._close_market()
        else:
            self._move_prices()
        for order in self.orders.where(status="open"):
            self.match(order)

    def _close_market(self) -> None:
        """Let open limit orders expire and empty the books."""
        for order in self.orders.where(status="open", kind="limit"):
            self.orders.update(order.id, status="expired")
        for stock in list(self.stocks):
            self.stocks.update(stock.symbol, bids=(), asks=())

    def _move_prices(self) -> None:
        """Move every stock that is not halted, or no longer."""
        for stock in list(self.stocks):
            if stock.halted_until is None or stock.halted_until <= self.now:
                self.stocks.put(stock.moved(self.now))

    def buying_power(self, portfolio: Portfolio) -> Decimal:
        """Cash that no open order has set aside."""
        buys = self.orders.where(portfolio_id=portfolio.id, status="open", side="buy")
        return portfolio.cash - sum(order.price * order.unfilled for order in buys)

    def free_shares(self, portfolio_id: str, symbol: str) -> int:
        """Shares that no open order has set aside."""
        holdings = self.holdings.where(portfolio_id=portfolio_id, symbol=symbol)
        sells = self.orders.where(
            portfolio_id=portfolio_id, symbol=symbol, status="open", side="sell"
        )
        held = sum(holding.quantity for holding in holdings)
        return held - sum(order.unfilled for order in sells)

    def place(
        self,
        portfolio_id: str,
        symbol: str,
        *,
        kind: OrderKind,
        side: Side,
        quantity: int,
        price: Decimal = NO_PRICE,
    ) -> TradeOrder:
        """Write a new order down and let it trade; the kernel undoes it where a rule refuses."""
        portfolio = self.portfolios[portfolio_id]
        stock = self.stocks[symbol]
        order = self.orders.add(
            portfolio_id=portfolio.id,
            symbol=stock.symbol,
            stock_name=stock.name,
            side=side,
            kind=kind,
            quantity=quantity,
            placed_at=self.now,
            price=price,
        )
        return self.admit(order)

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
        portfolio = self.portfolios[order.portfolio_id]
        stock = self.stocks[order.symbol]
        self._refuse_untradable(order, portfolio, stock)
        self._refuse_bad_terms(order, stock)
        if order.kind == "limit":
            self._refuse_own_trade(order)
        if order.side == "sell":
            free = self.free_shares(portfolio.id, stock.symbol)
            if free < 0:
                raise Rejected(f"{portfolio.name} has {-free} free shares of {stock.name} too few")
        order = self.match(order)
        power = self.buying_power(self.portfolios[portfolio.id])
        if power < 0:
            raise Rejected(f"{portfolio.name} is {-power} of buying power short of that")
        return order

    def _refuse_untradable(self, order: TradeOrder, portfolio: Portfolio, stock: Stock) -> None:
        """Refuse an order that this portfolio may not place, or not now."""
        if portfolio.status == "view_only":
            raise Denied(f"you may look at {portfolio.name} but not trade; choose another")
        if stock.halted_until is not None:
            raise Rejected(f"{stock.name} is halted until {stock.halted_until}; try then")
        levels = stock.bids if order.side == "sell" else stock.asks
        if order.kind == "market" and not levels:
            fills = self.next_move()
            raise Rejected(f"nobody trades now; the book of {stock.name} fills at {fills}")
        if order.side == "buy" and portfolio.status == "sell_only":
            raise Rejected(f"{portfolio.name} may only sell")

    def _refuse_bad_terms(self, order: TradeOrder, stock: Stock) -> None:
        """Refuse a quantity or a price that the market does not take.

        A market order has no price of its own, so the present one stands for it.
        """
        price = order.price or stock.price
        if order.quantity % stock.lot_size != 0:
            raise Rejected(f"{stock.name} trades in lots of {stock.lot_size}")
        if order.quantity > MOST_LOTS * stock.lot_size:
            raise Rejected(f"order {MOST_LOTS} lots at most")
        if price % stock.tick_size != 0:
            raise Rejected(f"the price must be a multiple of {stock.tick_size}")
        if abs(price / stock.price - 1) > COLLAR:
            raise Rejected(f"stay within 50 % of {stock.price}")
        if order.kind == "stop" and price >= stock.price:
            raise Rejected(f"stop below {stock.price} instead")

    def _refuse_own_trade(self, order: TradeOrder) -> None:
        """Refuse an order that would trade with another limit order kept at this broker."""
        for other in self.orders.where(symbol=order.symbol, status="open", kind="limit"):
            if other.side != order.side and other.accepts(order.price):
                name = self.portfolios[other.portfolio_id].name
                raise Rejected(
                    f"it would trade with order {other.id} in {name}; "
                    "choose another price or cancel that order"
                )

    def match(self, order: TradeOrder) -> TradeOrder:
        """Trade an open order with the levels it accepts; a stop waits for its price first."""
        stock = self.stocks[order.symbol]
        if stock.halted_until is not None:
            return order
        if order.kind == "stop" and stock.price > order.price:
            return order
        wanted = order.unfilled
        fills = list(order.fills)
        levels_left = []
        for price, offered in stock.asks if order.side == "buy" else stock.bids:
            taken = min(wanted, offered) if order.accepts(price) else 0
            if taken > 0:
                wanted -= taken
                fills.append((price, taken))
                self._settle(order, taken, price)
            if taken < offered:
                levels_left.append((price, offered - taken))
        if order.side == "buy":
            self.stocks.update(stock.symbol, asks=tuple(levels_left))
        else:
            self.stocks.update(stock.symbol, bids=tuple(levels_left))
        return self.orders.update(
            order.id,
            filled=order.quantity - wanted,
            fills=tuple(fills),
            status="filled" if wanted == 0 else order.status,
        )

    def _settle(self, order: TradeOrder, quantity: int, price: Decimal) -> None:
        """Exchange cash for shares, or shares for cash, at the price of a fill."""
        holding = self._holding(order)
        cash = self.portfolios[order.portfolio_id].cash
        if order.side == "buy":
            shares = holding.quantity + quantity
            spent = holding.average_cost * holding.quantity + price * quantity
            self.holdings.update(holding.id, quantity=shares, average_cost=money(spent / shares))
            self.portfolios.update(order.portfolio_id, cash=cash - price * quantity)
        else:
            shares = holding.quantity - quantity
            profit = holding.realised_profit + (price - holding.average_cost) * quantity
            self.holdings.update(holding.id, quantity=shares, realised_profit=profit)
            self.portfolios.update(order.portfolio_id, cash=cash + price * quantity)

    def _holding(self, order: TradeOrder) -> Holding:
        """The holding that an order changes; a first purchase starts one."""
        found = self.holdings.where(portfolio_id=order.portfolio_id, symbol=order.symbol)
        if found:
            return found[0]
        return self.holdings.add(
            portfolio_id=order.portfolio_id, symbol=order.symbol, stock_name=order.stock_name
        )

    def check(self) -> None:
        """Fills add up to cash, shares and orders; nothing is promised twice; no crossed book."""
        for order in self.orders:
            assert order.portfolio_id in self.portfolios
            assert order.filled == sum(quantity for _, quantity in order.fills)
            assert order.filled <= order.quantity
            assert (order.status == "filled") == (order.filled == order.quantity)
        self._check_portfolios()
        self._check_holdings()
        for stock in self.stocks:
            self._check_book(stock)
            assert stock.halted_until is None or stock.halted_until > self.now

    def _check_portfolios(self) -> None:
        """Cash is what the fills left of the opening cash, and covers the open orders."""
        for portfolio in self.portfolios:
            cash = portfolio.opening_cash
            for order in self.orders.where(portfolio_id=portfolio.id):
                if portfolio.status == "sell_only":
                    assert order.side == "sell" or order.status != "open"
                cost = sum(price * quantity for price, quantity in order.fills)
                cash += -cost if order.side == "buy" else cost
            assert portfolio.cash == cash
            assert self.buying_power(portfolio) <= portfolio.cash
            assert self.buying_power(portfolio) >= 0

    def _check_holdings(self) -> None:
        """Shares are those bought less those sold, and cover the open orders."""
        shares = Counter[tuple[str, str]]()
        for order in self.orders:
            sign = 1 if order.side == "buy" else -1
            shares[order.portfolio_id, order.symbol] += sign * order.filled
        for holding in self.holdings:
            free = self.free_shares(holding.portfolio_id, holding.symbol)
            assert holding.quantity == shares[holding.portfolio_id, holding.symbol]
            assert free <= holding.quantity
            assert free >= 0

    def _check_book(self, stock: Stock) -> None:
        """Nobody bids as much as somebody asks, the investor's own limit orders included."""
        bids = [price for price, _ in stock.bids]
        asks = [price for price, _ in stock.asks]
        for order in self.orders.where(symbol=stock.symbol, status="open", kind="limit"):
            if order.side == "buy":
                bids.append(order.price)
            else:
                asks.append(order.price)
        if bids and asks:
            assert max(bids) < min(asks)


def market_hour(moment: datetime, last: time) -> datetime:
    """The first full hour after a moment at which the market is open, until `last` each day."""
    at = moment.replace(minute=0, second=0, microsecond=0) + STEP
    day = at.date()
    if at.time() > last:
        day += timedelta(days=1)
    if day.weekday() > FRIDAY:
        day += timedelta(days=7 - day.weekday())
    return max(at, datetime.combine(day, OPENS, at.tzinfo))


about = "Portfolios, stock orders, holdings and the live market of one investor."
server = Server("trading", Broker, category="finance", about=about, version=3)
