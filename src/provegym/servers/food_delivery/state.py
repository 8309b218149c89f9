"""What the delivery app knows, how orders move with the clock, and what is always true."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal

from provegym.kernel import Record, Server, State, Table, forbid, money, table

Cuisine = Literal["italian", "japanese", "indian", "mexican", "thai", "burgers", "korean", "greek"]
Zone = Literal["Centre", "North", "East", "South", "West", "Harbour", "Hillside"]
Tag = Literal["vegan", "vegetarian", "gluten_free", "spicy", "nuts"]
Status = Literal["placed", "accepted", "preparing", "on_the_way", "delivered", "cancelled"]
STAGES: tuple[Status, ...] = ("placed", "accepted", "preparing", "on_the_way", "delivered")
# How long the first stage lasts; the others end so many minutes before an order arrives.
LEAD = {"accepted": 30, "preparing": 12, "on_the_way": 0}
NEVER = datetime.max.replace(tzinfo=UTC)
ACCEPTANCE, SERVICE_RATE = timedelta(minutes=3), Decimal("0.06")


class Restaurant(Record, frozen=True):
    """A kitchen, open from one full hour (UTC) to another, that delivers to some zones."""

    id: str
    name: str
    cuisine: Cuisine
    rating: float
    zones: tuple[Zone, ...]
    opens: int
    closes: int
    minimum_order: Decimal
    delivery_fee: Decimal
    delivery_minutes: int
    courier: str
    busy_until: datetime | None = None

    def serves(self, at: datetime) -> bool:
        """Whether it takes orders for a moment."""
        return self.opens <= at.hour < self.closes and (self.busy_until or at) <= at


class MenuItem(Record, frozen=True):
    """A dish or drink, and how many of today's portions are left; 0 means sold out."""

    id: str
    restaurant_id: str
    restaurant_name: str
    name: str
    price: Decimal
    left: int
    portions: int
    tags: tuple[Tag, ...] = ()
    alcohol: bool = False


class OrderLine(Record, frozen=True):
    """Portions of one dish at the price of the day."""

    menu_item_id: str
    name: str
    quantity: int
    unit_price: Decimal


class FoodOrder(Record, frozen=True):
    """An order of one restaurant's dishes; the one that is not placed yet is the basket."""

    id: str
    status: Literal["basket"] | Status
    restaurant_id: str = ""
    restaurant_name: str = ""
    lines: tuple[OrderLine, ...] = ()
    items_total: Decimal = money(0)
    delivery_fee: Decimal = money(0)
    service_fee: Decimal = money(0)
    discount: Decimal = money(0)
    total: Decimal = money(0)
    promo_code: str = ""
    address_label: str = ""
    payment_method_id: str = ""
    placed_at: datetime = NEVER
    moves_on_at: datetime = NEVER
    arrives_at: datetime = NEVER
    courier: str = ""
    stars: int | None = None
    tip: Decimal = money(0)
    refunded: Decimal = money(0)


class DeliveryAddress(Record, frozen=True):
    """A place the customer saved, and how food is handed over there."""

    id: str
    label: str
    street: str
    zone: Zone
    leave_outside: bool


class PaymentMethod(Record, frozen=True):
    """A card, good up to its last day, or the app's own credit, which has a balance."""

    id: str
    name: str
    expires: date = date.max
    balance: Decimal | None = None
    granted: Decimal = money(0)


class PromoCode(Record, frozen=True):
    """A discount on one order at a time, under conditions."""

    code: str
    expires: date
    uses: int
    max_uses: int
    percent: int = 0
    amount_off: Decimal = money(0)
    minimum_spend: Decimal = money(0)
    cuisine: Cuisine | None = None
    new_restaurants_only: bool = False


class App(State):
    """The delivery app on one customer's behalf."""

    restaurants: Table[Restaurant] = table(Restaurant, "rst", look_up="search_restaurants")
    items: Table[MenuItem] = table(MenuItem, "dsh", look_up="search_menu")
    orders: Table[FoodOrder] = table(FoodOrder, "fod", look_up="list_food_orders")
    homes: Table[DeliveryAddress] = table(DeliveryAddress, "adr", look_up="list_delivery_addresses")
    cards: Table[PaymentMethod] = table(PaymentMethod, "pmt", look_up="list_food_payment_methods")
    promos: Table[PromoCode] = table(PromoCode, key="code", look_up="list_promo_codes")

    def basket(self) -> FoodOrder:
        """The order that is not placed yet; there is always one, maybe empty."""
        return self.orders.where(status="basket")[0]

    def fill_basket(self, portions: dict[str, int], code: str = "") -> FoodOrder:
        """Make this the basket and work out the bill, with a promo code that fits or none."""
        basket_id, promo = self.basket().id, self.promos.get(code)
        if not portions:
            return self.orders.put(FoodOrder(id=basket_id, status="basket"))
        dishes = [self.items[menu_item_id] for menu_item_id in portions]
        place, newest = self.restaurants[dishes[0].restaurant_id], dishes[-1].restaurant_id
        forbid(newest != place.id, f"the basket is for {place.name}; order or empty it first")
        forbid(sum(portions.values()) > 10, "an order takes at most 10 portions in all")
        for dish in dishes:
            forbid(portions[dish.id] > dish.left, f"only {dish.left} of {dish.name} left today")
        lines = tuple(OrderLine(d.id, d.name, portions[d.id], d.price) for d in dishes)
        items = sum((line.unit_price * line.quantity for line in lines), money(0))
        discount, fee, service = money(0), place.delivery_fee, money(items * SERVICE_RATE)
        if promo:
            discount = min(items, money(items * promo.percent / 100) + promo.amount_off)
        bill = {"items_total": items, "delivery_fee": fee, "service_fee": service}
        bill |= {"discount": discount, "total": items + fee + service - discount}
        whose = {"restaurant_id": place.id, "restaurant_name": place.name, "lines": lines}
        return self.orders.update(basket_id, promo_code=code, **whose, **bill)

    def pay(self, payment_method_id: str, amount: Decimal) -> None:
        """Charge an amount, or give it back if negative; only credit keeps a balance here."""
        method, today = self.cards[payment_method_id], self.now.date()
        forbid(amount > 0 and method.expires < today, f"{method.name} has expired; use another")
        if method.balance is not None:
            forbid(method.balance < amount, f"{method.name} holds only {method.balance}")
            self.cards.update(method.id, balance=method.balance - amount)

    def next_event(self) -> datetime:
        """An order moves on, or at midnight the kitchens have all their portions again."""
        midnight = datetime.combine(self.now.date() + timedelta(days=1), time(), UTC)
        return min(midnight, *(order.moves_on_at for order in self.orders))

    def happen(self) -> None:
        """Move the orders that are due, with a courier once ready, and restock at midnight."""
        for order in [order for order in self.orders if order.moves_on_at <= self.now]:
            status = STAGES[STAGES.index(order.status) + 1]
            courier = self.restaurants[order.restaurant_id].courier if status in STAGES[3:] else ""
            ends = order.arrives_at - timedelta(minutes=LEAD[status]) if status in LEAD else NEVER
            self.orders.update(order.id, status=status, courier=courier, moves_on_at=ends)
        for item in list(self.items):
            if item.left < item.portions and self.now.time() == time():
                self.items.update(item.id, left=item.portions)

    def check(self) -> None:
        """Bills, stocks, credit and codes add up, and every order is where its times say."""
        assert len(self.orders.where(status="basket")) == 1
        for order in self.orders:
            status, delivered = order.status, order.status == "delivered"
            fees = order.delivery_fee + order.service_fee - order.discount
            value = sum(line.unit_price * line.quantity for line in order.lines)
            assert order.items_total == value == order.total - fees
            dishes = [self.items[line.menu_item_id] for line in order.lines]
            assert all(dish.restaurant_id == order.restaurant_id for dish in dishes)
            assert status == "cancelled" or (order.arrives_at <= self.now) == delivered
            assert (self.now < order.moves_on_at < NEVER) == (status in STAGES[:-1])
            assert bool(order.courier) == (status in STAGES[3:])
            assert delivered or (order.stars is None and order.tip == order.refunded == 0)
        assert all(0 <= item.left <= item.portions for item in self.items)
        bought = [order for order in self.orders if order.status in STAGES]
        for promo in self.promos:
            used = sum(order.promo_code == promo.code for order in bought)
            assert promo.uses == used <= promo.max_uses
        refunds = sum(order.refunded for order in bought)
        for credit in [method for method in self.cards if method.balance is not None]:
            spent = sum(o.total + o.tip for o in bought if o.payment_method_id == credit.id)
            assert credit.balance == credit.granted + refunds - spent >= 0


about = "Restaurants, menus, a basket, promo codes, orders and their tracking for one customer."
server = Server("food_delivery", App, category="lifestyle", about=about)
