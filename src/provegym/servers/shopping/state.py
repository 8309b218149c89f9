"""The state of the shop: records, prices and stocks, what happens over time, and invariants."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from provegym.kernel import Record, Rejected, Server, State, Table, money, table

Category = Literal["clothing", "shoes", "home", "electronics", "outdoor", "toys"]
Stage = Literal["placed", "packed", "shipped", "delivered", "cancelled"]
Reason = Literal["does_not_fit", "damaged", "not_as_described", "changed_mind"]

NOTHING = money(0)
SHIPPING = money("4.95")
FREE_SHIPPING_FROM = money(90)
TAX_RATE = Decimal("0.08")
MOST_OF_ONE_VARIANT = 5
MOST_LINES = 6
# An open order's next status, and how many hours it stays there.
NEXT = {"placed": ("packed", 16), "packed": ("shipped", 52), "shipped": ("delivered", 0)}


class Product(Record, frozen=True):
    """Something on sale, at one price in every variant; final sale means no way back."""

    id: str
    name: str
    category: Category
    price: Decimal
    final_sale: bool = False


class Variant(Record, frozen=True):
    """A product in one colour and size, and how many are in stock."""

    id: str
    product_id: str
    name: str
    stock: int


class Supply(Record, frozen=True):
    """What is to come: goods arrive or other people buy some, and the price from then on."""

    id: str
    variant_id: str
    due: datetime
    quantity: int
    price: Decimal


class Wish(Record, frozen=True):
    """A variant on the wish list, and when the user was told that it is back or cheap enough."""

    id: str
    product_id: str
    variant_id: str
    name: str
    target_price: Decimal | None = None
    alerted_at: datetime | None = None


class Review(Record, frozen=True):
    """What a customer thinks of a product; the author is "you" where it is the acting user."""

    id: str
    product_id: str
    product_name: str
    author: str
    stars: int
    text: str
    written_at: datetime


class Coupon(Record, frozen=True):
    """A discount for one order, valid through its last day, under conditions."""

    code: str
    expires: date
    percent: int
    minimum_spend: Decimal = NOTHING
    category: Category | None = None


class GiftCard(Record, frozen=True):
    """Money somebody gave; it can be spent once the code was redeemed."""

    code: str
    sender: str
    value: Decimal
    expires: date
    redeemed: bool = False
    balance: Decimal = NOTHING


class PaymentCard(Record, frozen=True):
    """A card saved in the shop, valid through its last day, up to a limit per order."""

    id: str
    name: str
    expires: date
    order_limit: Decimal


class ShippingAddress(Record, frozen=True):
    """A place the shop delivers to."""

    id: str
    label: str
    street: str
    default: bool = False


class OrderLine(Struct, frozen=True, omit_defaults=True):
    """A variant in the cart or an order, and what of it was sent back."""

    variant_id: str
    product_id: str
    name: str
    quantity: int
    unit_price: Decimal
    returned: int = 0
    reason: Reason | None = None
    refund: Decimal = NOTHING


class ShopOrder(Record, frozen=True):
    """What is bought at once, how it is paid, and where it is; one not placed yet is the cart."""

    id: str
    status: Stage | Literal["cart"] = "cart"
    summary: str = ""
    placed_at: datetime | None = None
    moves_on_at: datetime | None = None
    delivered_at: datetime | None = None
    shipping_address_id: str = ""
    payment_card_id: str = ""
    gift_card: str = ""
    coupon: str = ""
    items_total: Decimal = NOTHING
    discount: Decimal = NOTHING
    tax: Decimal = NOTHING
    shipping: Decimal = NOTHING
    total: Decimal = NOTHING
    gift_paid: Decimal = NOTHING
    refunded: Decimal = NOTHING
    lines: tuple[OrderLine, ...] = ()


class Shop(State):
    """The shop on one customer's behalf."""

    products: Table[Product] = table(Product, "prd", look_up="search_products")
    variants: Table[Variant] = table(Variant, "vnt", look_up="list_product_variants")
    supplies: Table[Supply] = table(Supply, "sup")
    wishes: Table[Wish] = table(Wish, "wsh", look_up="list_wish_list")
    reviews: Table[Review] = table(Review, "rvw", look_up="list_product_reviews")
    coupons: Table[Coupon] = table(Coupon, key="code", look_up="list_coupons")
    gifts: Table[GiftCard] = table(GiftCard, key="code", look_up="list_gift_cards")
    cards: Table[PaymentCard] = table(PaymentCard, "pcd", look_up="list_payment_cards")
    homes: Table[ShippingAddress] = table(ShippingAddress, "sad", look_up="list_shipping_addresses")
    orders: Table[ShopOrder] = table(ShopOrder, "sor", look_up="list_shop_orders")

    def cart(self) -> ShopOrder:
        """The one order that is not placed yet."""
        return self.orders.where(status="cart")[0]

    def default_address(self) -> ShippingAddress:
        """The address that orders go to unless another one is named."""
        return self.homes.where(default=True)[0]

    def address(self, address_id: str) -> ShippingAddress:
        """The address with this id, or the default one if the id is empty."""
        if not address_id:
            return self.default_address()
        return self.homes[address_id]

    def discount(self, coupon: Coupon) -> Decimal:
        """What a coupon takes off the cart; it is refused if its conditions do not hold."""
        code = coupon.code
        if coupon.expires < self.now.date():
            raise Rejected(f"{code} ran out on {coupon.expires}; try another")
        for order in self.orders.where(coupon=code):
            if order.status not in ("cart", "cancelled"):
                raise Rejected(f"{code} is used up; try another")
        goods = NOTHING
        for item in self.cart().lines:
            category = self.products[item.product_id].category
            if coupon.category is None or coupon.category == category:
                goods += item.unit_price * item.quantity
        if goods == 0:
            raise Rejected(f"the cart holds no {coupon.category or 'goods'} to use {code} on")
        if goods < coupon.minimum_spend:
            raise Rejected(
                f"{code} needs goods for {coupon.minimum_spend}; {goods} in the cart count"
            )
        return money(goods * coupon.percent / 100)

    def price_cart(self, **changes: object) -> ShopOrder:
        """Change the cart and bill it at present prices; a coupon that no longer fits comes off."""
        cart = self.orders.update(self.cart().id, **changes)
        lines = tuple(
            replace(item, unit_price=self.products[item.product_id].price) for item in cart.lines
        )
        self.orders.update(cart.id, lines=lines)
        goods = sum((item.unit_price * item.quantity for item in lines), NOTHING)

        code = cart.coupon
        discount = NOTHING
        if code:
            try:
                discount = self.discount(self.coupons[code])
            except Rejected:
                code = ""
        net = goods - discount
        tax = money(net * TAX_RATE)
        shipping = SHIPPING
        if goods == 0 or net >= FREE_SHIPPING_FROM:
            shipping = NOTHING
        return self.orders.update(
            cart.id,
            coupon=code,
            items_total=goods,
            discount=discount,
            tax=tax,
            shipping=shipping,
            total=net + tax + shipping,
        )

    def set_quantity(self, variant_id: str, quantity: int) -> ShopOrder:
        """Set how many of a variant are in the cart, within its stock and the cart's limits."""
        variant = self.variants[variant_id]
        lines = [item for item in self.cart().lines if item.variant_id != variant_id]
        if quantity > MOST_OF_ONE_VARIANT:
            raise Rejected(f"at most five of {variant.name} per order; take fewer")
        if quantity > variant.stock:
            raise Rejected(f"only {variant.stock} of {variant.name} in stock")
        if len(lines) >= MOST_LINES:
            raise Rejected("the cart takes six different items; take one out first")
        if quantity > 0:
            line = OrderLine(
                variant_id=variant.id,
                product_id=variant.product_id,
                name=variant.name,
                quantity=quantity,
                unit_price=NOTHING,  # price_cart fills it in
            )
            lines.append(line)
        return self.price_cart(lines=tuple(lines))

    def supply(self, variant_id: str, by: int, price: Decimal | None = None) -> None:
        """Change a stock and perhaps a price; a wish that waited for either gets its alert."""
        variant = self.variants[variant_id]
        product = self.products[variant.product_id]
        stock = max(0, variant.stock + by)
        if price is None:
            price = product.price
        self.variants.update(variant.id, stock=stock)
        self.products.update(product.id, price=price)

        back_in_stock = variant.stock == 0 and stock > 0
        for wish in self.wishes.where(product_id=product.id, alerted_at=None):
            if wish.target_price is None:
                fulfilled = back_in_stock and wish.variant_id == variant.id
            else:
                fulfilled = price <= wish.target_price
            if fulfilled:
                self.wishes.update(wish.id, alerted_at=self.now)

    def refund(self, order: ShopOrder, amount: Decimal, **changes: object) -> ShopOrder:
        """Pay an amount back: first what came from the gift card, the rest to the payment card."""
        to_gift = min(amount, order.gift_paid)
        gift = self.gifts.get(order.gift_card)
        if gift:
            self.gifts.update(gift.code, balance=gift.balance + to_gift)
        return self.orders.update(
            order.id,
            gift_paid=order.gift_paid - to_gift,
            refunded=order.refunded + amount,
            **changes,
        )

    def received(self, product_id: str) -> bool:
        """Whether the product has ever been delivered to the customer."""
        for order in self.orders.where(status="delivered"):
            if any(item.product_id == product_id for item in order.lines):
                return True
        return False

    def next_event(self) -> datetime | None:
        """When a supply is due, an order moves on or the cart's coupon expires."""
        times = [supply.due for supply in self.supplies]
        times += [order.moves_on_at for order in self.orders if order.moves_on_at]
        coupon = self.coupons.get(self.cart().coupon)
        if coupon:
            day_after = coupon.expires + timedelta(days=1)
            times.append(datetime.combine(day_after, time(), self.now.tzinfo))
        return min(times, default=None)

    def happen(self) -> None:
        """Apply the supplies that are due, move orders on and price the cart again."""
        for supply in list(self.supplies):
            if supply.due <= self.now:
                self.supplies.remove(supply.id)
                self.supply(supply.variant_id, supply.quantity, supply.price)
        for order in list(self.orders):
            if order.moves_on_at and order.moves_on_at <= self.now:
                self._move_on(order)
        self.price_cart()

    def _move_on(self, order: ShopOrder) -> None:
        """Bring an order to its next status."""
        status, hours = NEXT[order.status]
        if status == "delivered":
            self.orders.update(order.id, status=status, moves_on_at=None, delivered_at=self.now)
        else:
            until = self.now + timedelta(hours=hours)
            self.orders.update(order.id, status=status, moves_on_at=until)

    def check(self) -> None:
        """Bills, stocks, gift cards, coupons, returns and reviews are as they must be."""
        for order in self.orders:
            self._check_bill(order)
            self._check_returns(order)
        for gift in self.gifts:
            self._check_balance(gift)
        self._check_cart()

        billed = [order for order in self.orders if order.status != "cancelled"]
        coupons = [order.coupon for order in billed if order.coupon]
        assert len(set(coupons)) == len(coupons)
        wishes = [wish.variant_id for wish in self.wishes]
        assert len(set(wishes)) == len(wishes)
        reviewed = [review.product_id for review in self.reviews.where(author="you")]
        assert len(set(reviewed)) == len(reviewed)
        assert all(self.received(product_id) for product_id in reviewed)
        assert all(variant.stock >= 0 for variant in self.variants)
        assert len(self.homes.where(default=True)) == 1

    def _check_bill(self, order: ShopOrder) -> None:
        """The bill adds up, and no more comes back than was paid."""
        assert order.items_total == sum(item.unit_price * item.quantity for item in order.lines)
        assert order.total == order.items_total - order.discount + order.tax + order.shipping
        assert order.gift_paid + order.refunded <= order.total

    def _check_returns(self, order: ShopOrder) -> None:
        """Only what was delivered comes back, and refunds are for cancellations and returns."""
        if order.status == "cancelled":
            assert order.refunded == order.total
        else:
            assert order.refunded == sum(item.refund for item in order.lines)
        if order.lines and all(item.returned == item.quantity for item in order.lines):
            assert order.refunded == order.total - order.shipping
        assert (order.delivered_at is not None) == (order.status == "delivered")
        for item in order.lines:
            assert 0 <= item.returned <= item.quantity
            assert item.refund >= 0
            assert order.delivered_at or not item.returned

    def _check_balance(self, gift: GiftCard) -> None:
        """A gift card holds its value less what was spent, and nothing before it is redeemed."""
        spent = sum(order.gift_paid for order in self.orders.where(gift_card=gift.code))
        value = gift.value if gift.redeemed else NOTHING
        assert gift.balance == value - spent
        assert gift.balance >= 0

    def _check_cart(self) -> None:
        """The cart has present prices, and the discount its coupon gives."""
        cart = self.cart()
        for item in cart.lines:
            assert item.unit_price == self.products[item.product_id].price
        if cart.coupon:
            assert cart.discount == self.discount(self.coupons[cart.coupon])


server = Server(
    "shopping",
    Shop,
    category="commerce",
    about="Catalogue, cart, coupons, orders, returns, reviews and wish list of an online shop.",
    version=2,
)
