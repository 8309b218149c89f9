"""What the delivery app knows, how orders move with the clock, and what is always true."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal

from provegym.kernel import Record, Rejected, Server, State, Table, money, table

Cuisine = Literal["italian", "japanese", "indian", "mexican", "thai", "burgers", "korean", "greek"]
Zone = Literal["Centre", "North", "East", "South", "West", "Harbour", "Hillside"]
Tag = Literal["vegan", "vegetarian", "gluten_free", "spicy", "nuts"]
Status = Literal["placed", "accepted", "preparing", "on_the_way", "delivered", "cancelled"]
STAGES: tuple[Status, ...] = ("placed", "accepted", "preparing", "on_the_way", "delivered")
WITH_COURIER = ("on_the_way", "delivered")
# Until the kitchen starts preparing it, an order can be cancelled.
CANCELLABLE = ("placed", "accepted")
# A placed order is accepted after this time. The next stages end so many minutes before it arrives.
ACCEPTANCE = timedelta(minutes=3)
LEAD_MINUTES = {"accepted": 30, "preparing": 12, "on_the_way": 0}
NEVER = datetime.max.replace(tzinfo=UTC)
SERVICE_RATE = Decimal("0.06")
MAX_PORTIONS = 10


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
        is_open = self.opens <= at.hour < self.closes
        is_busy = self.busy_until is not None and at < self.busy_until
        return is_open and not is_busy


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

    def portions(self) -> dict[str, int]:
        """How many portions of each dish it has, by menu item id."""
        return {line.menu_item_id: line.quantity for line in self.lines}


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


def total_of(lines: Iterable[OrderLine]) -> Decimal:
    """What some lines of an order cost in all."""
    return sum((line.unit_price * line.quantity for line in lines), money(0))


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
        basket_id = self.basket().id
        if not portions:
            return self.orders.put(FoodOrder(id=basket_id, status="basket"))
        dishes = [self.items[menu_item_id] for menu_item_id in portions]
        restaurant = self.restaurants[dishes[0].restaurant_id]
        if dishes[-1].restaurant_id != restaurant.id:
            raise Rejected(f"the basket is for {restaurant.name}; order or empty it first")
        if sum(portions.values()) > MAX_PORTIONS:
            raise Rejected(f"an order takes at most {MAX_PORTIONS} portions in all")
        for dish in dishes:
            if portions[dish.id] > dish.left:
                raise Rejected(f"only {dish.left} of {dish.name} left today")
        lines = tuple(
            OrderLine(
                menu_item_id=dish.id,
                name=dish.name,
                quantity=portions[dish.id],
                unit_price=dish.price,
            )
            for dish in dishes
        )
        items_total = total_of(lines)
        service_fee = money(items_total * SERVICE_RATE)
        discount = self._discount(code, items_total)
        return self.orders.update(
            basket_id,
            restaurant_id=restaurant.id,
            restaurant_name=restaurant.name,
            lines=lines,
            items_total=items_total,
            delivery_fee=restaurant.delivery_fee,
            service_fee=service_fee,
            discount=discount,
            total=items_total + restaurant.delivery_fee + service_fee - discount,
            promo_code=code,
        )

    def _discount(self, code: str, items_total: Decimal) -> Decimal:
        """What a promo code takes off the price of the dishes, at most all of it."""
        promo = self.promos.get(code)
        if promo is None:
            return money(0)
        return min(items_total, money(items_total * promo.percent / 100) + promo.amount_off)

    def refuse_expired(self, promo: PromoCode) -> None:
        """Refuse a promo code after its last day."""
        if promo.expires < self.now.date():
            raise Rejected(f"{promo.code} expired on {promo.expires}")

    def pay(self, payment_method_id: str, amount: Decimal) -> None:
        """Charge an amount, or give it back if negative; only credit keeps a balance here."""
        method = self.cards[payment_method_id]
        if amount > 0 and method.expires < self.now.date():
            raise Rejected(f"{method.name} has expired; use another")
        if method.balance is not None:
            if method.balance < amount:
                raise Rejected(f"{method.name} holds only {method.balance}")
            self.cards.update(method.id, balance=method.balance - amount)

    def next_event(self) -> datetime:
        """An order moves on, or at midnight the kitchens have all their portions again."""
        tomorrow = self.now.date() + timedelta(days=1)
        midnight = datetime.combine(tomorrow, time(), UTC)
        moves = [order.moves_on_at for order in self.orders]
        return min([midnight, *moves])

    def happen(self) -> None:
        """Move the orders that are due, with a courier once ready, and restock at midnight."""
        for order in list(self.orders):
            if order.moves_on_at <= self.now:
                self._move_on(order)
        if self.now.time() == time():
            for item in list(self.items):
                left = item.portions - self.promised(item.id)
                if item.left < left:
                    self.items.update(item.id, left=left)

    def promised(self, menu_item_id: str) -> int:
        """How many portions of a dish are in orders that the kitchen has not begun to prepare."""
        waiting = [order for order in self.orders if order.status in CANCELLABLE]
        return sum(order.portions().get(menu_item_id, 0) for order in waiting)

    def _move_on(self, order: FoodOrder) -> None:
        """Take an order to its next stage; a delivered one moves no more."""
        status = STAGES[STAGES.index(order.status) + 1]
        courier = ""
        if status in WITH_COURIER:
            courier = self.restaurants[order.restaurant_id].courier
        moves_on_at = NEVER
        if status in LEAD_MINUTES:
            moves_on_at = order.arrives_at - timedelta(minutes=LEAD_MINUTES[status])
        self.orders.update(order.id, status=status, courier=courier, moves_on_at=moves_on_at)

    def check(self) -> None:
        """Bills, stocks, credit and codes add up, and every order is where its times say."""
        assert len(self.orders.where(status="basket")) == 1
        for order in self.orders:
            self._check_bill(order)
            self._check_progress(order)
        for item in self.items:
            assert 0 <= item.left <= item.portions - self.promised(item.id)
        self._check_promo_codes()
        self._check_credit()

    def _check_bill(self, order: FoodOrder) -> None:
        fees = order.delivery_fee + order.service_fee
        assert order.items_total == total_of(order.lines)
        assert order.total == order.items_total + fees - order.discount
        for line in order.lines:
            assert self.items[line.menu_item_id].restaurant_id == order.restaurant_id

    def _check_progress(self, order: FoodOrder) -> None:
        is_delivered = order.status == "delivered"
        if order.status != "cancelled":
            assert (order.arrives_at <= self.now) == is_delivered
        will_move_on = self.now < order.moves_on_at < NEVER
        assert will_move_on == (order.status in STAGES[:-1])
        assert bool(order.courier) == (order.status in WITH_COURIER)
        if not is_delivered:
            assert order.stars is None
            assert order.tip == 0
            assert order.refunded == 0

    def _check_promo_codes(self) -> None:
        for promo in self.promos:
            orders = self.orders.where(promo_code=promo.code)
            bought = [order for order in orders if order.status in STAGES]
            assert promo.uses == len(bought)
            assert promo.uses <= promo.max_uses

    def _check_credit(self) -> None:
        bought = [order for order in self.orders if order.status in STAGES]
        refunded = sum(order.refunded for order in bought)
        for method in self.cards:
            if method.balance is not None:
                paid = [order for order in bought if order.payment_method_id == method.id]
                spent = sum(order.total + order.tip for order in paid)
                assert method.balance == method.granted + refunded - spent
                assert method.balance >= 0


about = "Restaurants, menus, a basket, promo codes, orders and their tracking for one customer."
server = Server("food_delivery", App, category="lifestyle", about=about, version=2)
