"""What the shop knows of one customer, how orders move with the clock, what is always true."""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from provegym.kernel import Record, Rejected, Server, State, Table, forbid, money, table

Category = Literal["clothing", "shoes", "home", "electronics", "outdoor", "toys"]
Stage = Literal["placed", "packed", "shipped", "delivered", "cancelled"]
Reason = Literal["does_not_fit", "damaged", "not_as_described", "changed_mind"]

NOTHING, SHIPPING, TAX_RATE, FREE_FROM = money(0), money("4.95"), Decimal("0.08"), 90
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

    def address(self, address_id: str) -> ShippingAddress:
        """The address meant: this one, or if none is, the default."""
        return self.homes[address_id or self.homes.where(default=True)[0].id]

    def discount(self, coupon: Coupon) -> Decimal:
        """What a coupon takes off the cart as it is, refused where its conditions do not hold."""
        code, kind, goods = coupon.code, coupon.category, NOTHING
        for item in self.cart().lines:
            if kind in (None, self.products[item.product_id].category):
                goods += item.unit_price * item.quantity
        past = [order.status for order in self.orders.where(coupon=code)]
        forbid(coupon.expires < self.now.date(), f"{code} ran out on {coupon.expires}; try another")
        forbid(any(s not in ("cart", "cancelled") for s in past), f"{code} is used up; try another")
        forbid(goods == 0, f"the cart holds no {kind or 'goods'} to use {code} on")
        short = f"{code} needs goods for {coupon.minimum_spend}; {goods} in the cart count"
        forbid(goods < coupon.minimum_spend, short)
        return money(goods * coupon.percent / 100)

    def price_cart(self, **changes: object) -> ShopOrder:
        """Work the bill out anew, at present prices; a coupon that no longer fits comes off."""
        cart = self.orders.update(self.cart().id, **changes)
        items = [replace(i, unit_price=self.products[i.product_id].price) for i in cart.lines]
        self.orders.update(cart.id, lines=tuple(items))
        goods = sum((item.unit_price * item.quantity for item in items), NOTHING)
        code, discount = cart.coupon, NOTHING
        try:
            discount = self.discount(self.coupons[code]) if code else NOTHING
        except Rejected:
            code = ""
        net = goods - discount
        shipping = NOTHING if goods == 0 or net >= FREE_FROM else SHIPPING
        bill = {"items_total": goods, "discount": discount, "tax": money(net * TAX_RATE)}
        bill |= {"shipping": shipping, "total": net + bill["tax"] + shipping}
        return self.orders.update(cart.id, coupon=code, **bill)

    def set_quantity(self, variant_id: str, quantity: int) -> ShopOrder:
        """Have so many of a variant in the cart, as far as there are and within the limits."""
        variant, items = self.variants[variant_id], self.cart().lines
        others = [item for item in items if item.variant_id != variant_id]
        forbid(quantity > 5, f"at most five of {variant.name} per order; take fewer")
        forbid(quantity > variant.stock, f"only {variant.stock} of {variant.name} in stock")
        forbid(len(others) > 5, "the cart takes six different items; take one out first")
        item = OrderLine(variant_id, variant.product_id, variant.name, quantity, NOTHING)
        if quantity:
            others.append(item)
        return self.price_cart(lines=tuple(others))

    def supply(self, variant_id: str, by: int, price: Decimal | None = None) -> None:
        """Change a stock and a price; a wish that waited for either is told."""
        variant = self.variants[variant_id]
        stock, product = max(0, variant.stock + by), self.products[variant.product_id]
        price = price or product.price
        self.variants.update(variant.id, stock=stock)
        self.products.update(product.id, price=price)
        for wish in self.wishes.where(product_id=product.id, alerted_at=None):
            back = wish.variant_id == variant.id and variant.stock == 0 < stock
            if price <= wish.target_price if wish.target_price else back:
                self.wishes.update(wish.id, alerted_at=self.now)

    def refund(self, order: ShopOrder, amount: Decimal, **changes: object) -> ShopOrder:
        """Pay back, to the gift card what came from it, the rest to the payment card."""
        to_gift = min(amount, order.gift_paid)
        if gift := self.gifts.get(order.gift_card):
            self.gifts.update(gift.code, balance=gift.balance + to_gift)
        changes |= {"gift_paid": order.gift_paid - to_gift, "refunded": order.refunded + amount}
        return self.orders.update(order.id, **changes)

    def received(self, product_id: str) -> bool:
        """Whether the product has ever been delivered to the customer."""
        delivered = self.orders.where(status="delivered")
        return any(item.product_id == product_id for order in delivered for item in order.lines)

    def next_event(self) -> datetime | None:
        """Goods come and go, orders move on, the cart's coupon runs out."""
        times = [supply.due for supply in self.supplies]
        times += [order.moves_on_at for order in self.orders if order.moves_on_at]
        if coupon := self.coupons.get(self.cart().coupon):
            times.append(datetime.combine(coupon.expires, time(), self.now.tzinfo) + timedelta(1))
        return min(times, default=None)

    def happen(self) -> None:
        """Let happen what is due."""
        for supply in [supply for supply in self.supplies if supply.due <= self.now]:
            self.supplies.remove(supply.id)
            self.supply(supply.variant_id, supply.quantity, supply.price)
        for order in [o for o in self.orders if o.moves_on_at and o.moves_on_at <= self.now]:
            status, hours = NEXT[order.status]
            until = self.now + timedelta(hours=hours) if hours else None
            arrived = None if hours else self.now
            self.orders.update(order.id, status=status, moves_on_at=until, delivered_at=arrived)
        self.price_cart()

    def check(self) -> None:
        """Bills, stocks, gift cards, coupons, returns and reviews are as they must be."""
        for order in self.orders:
            items, goods = order.lines, order.items_total - order.discount + order.tax
            assert order.items_total == sum(item.unit_price * item.quantity for item in items)
            assert order.total == goods + order.shipping >= order.gift_paid + order.refunded
            back = order.total if order.status == "cancelled" else sum(i.refund for i in items)
            assert order.refunded == back
            assert all(0 <= i.returned <= i.quantity and i.refund >= 0 for i in items)
            assert (order.delivered_at is not None) == (order.status == "delivered")
            assert order.delivered_at or not any(item.returned for item in items)
        for gift in self.gifts:
            spent = sum(order.gift_paid for order in self.orders.where(gift_card=gift.code))
            assert 0 <= gift.balance == gift.value * gift.redeemed - spent
        cart = self.cart()
        assert all(i.unit_price == self.products[i.product_id].price for i in cart.lines)
        assert not cart.coupon or self.discount(self.coupons[cart.coupon]) == cart.discount
        used = [o.coupon for o in self.orders if o.coupon and o.status != "cancelled"]
        mine = [review.product_id for review in self.reviews.where(author="you")]
        wishes = [wish.variant_id for wish in self.wishes]
        assert all(len(set(unique)) == len(unique) for unique in (used, mine, wishes))
        assert all(self.received(product_id) for product_id in mine)
        assert all(variant.stock >= 0 for variant in self.variants)
        assert len(self.homes.where(default=True)) == 1


about = "Catalogue, cart, coupons, orders, returns, reviews and wish list of an online shop."
server = Server("shopping", Shop, category="commerce", about=about)
