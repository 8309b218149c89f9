"""Draws a chain of stores and lets a week of business go by in it."""

from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import NamedTuple

from provegym.kernel import Seed, ToolError, money
from provegym.servers import people, words

from . import tools
from .state import Chain, server

WORDS = words("retail_chain")


class Product(NamedTuple):
    """What is the same about a product in every store that has it."""

    name: str
    price: Decimal
    supplier: str
    pack_size: int
    discontinued: bool


@server.seed
def draw(seed: Seed) -> Chain:
    """Seven stores, the clerk's own among them, two dozen products, and a week of business."""
    chain = Chain(seed)
    chance = seed.random
    crowd = people.others(seed, 34)
    clerks = crowd[:6]
    customers = crowd[6:27]
    managers = crowd[27:]
    _open_stores(chain, seed, clerks, managers)
    _fill_shelves(chain, chance)
    chain.now -= timedelta(days=7)
    for _ in range(7 * 24):
        customer = chance.choice(customers)
        with suppress(ToolError):
            _do_business(chain, chance, customer.name)
        chain.pass_time(60)
    return chain


def _open_stores(
    chain: Chain, seed: Seed, clerks: list[people.Person], managers: list[people.Person]
) -> None:
    """The acting user's store and one per other clerk, in random order."""
    chance = seed.random
    user = people.acting_user(seed)
    streets = chance.sample(WORDS["streets"], 7)
    cities = chance.sample(WORDS["cities"], 7)
    for clerk in chance.sample([user, *clerks], 7):
        own = clerk == user
        chain.stores.add(
            name=streets.pop(),
            city=cities.pop(),
            manager=managers.pop().name,
            clerk=clerk.name,
            lorry_hours=0 if own else chance.randint(3, 30),
            own=own,
        )


def _fill_shelves(chain: Chain, chance: Random) -> None:
    """Every product is in the user's own store and in most of the others."""
    shelves = []
    for thing in chance.sample(WORDS["things"], 24):
        product = _draw_product(chance, thing)
        for store in chain.stores:
            if store.own or chance.random() < 0.6:
                shelves.append((store, product))
    for store, product in chance.sample(shelves, len(shelves)):
        count = chance.randint(8, 20 if store.own else 32)
        chain.stocks.add(
            store_id=store.id,
            store_name=store.name,
            lorry_hours=store.lorry_hours,
            own=store.own,
            product_name=product.name,
            price=product.price,
            supplier=product.supplier,
            pack_size=product.pack_size,
            discontinued=product.discontinued,
            counted_in=count,
            on_hand=count,
            available=count,
            reorder_point=chance.randint(7, 18),
        )


def _draw_product(chance: Random, thing: str) -> Product:
    """A product that is such a thing."""
    price = money(f"{chance.randrange(4, 70)}.{chance.choice((49, 90, 95))}")
    pack_size = chance.choice((2, 3, 4, 6))
    discontinued = chance.random() < 0.15
    name = f"{chance.choice(WORDS['styles'])} {thing}"
    supplier = chance.choice(WORDS["suppliers"])
    return Product(name, price, supplier, pack_size, discontinued)


def _do_business(chain: Chain, chance: Random, customer: str) -> None:
    """Something a clerk, here or elsewhere, tries to do; the rules may forbid it."""
    stock = chance.choice(list(chain.stocks))
    own_stock = chain.stocks.where(own=True, product_name=stock.product_name)[0]
    quantity = chance.randint(1, 4)
    deed = chance.randrange(5)
    lapses_at = chain.now + timedelta(hours=chance.randint(50, 220))
    if deed in (0, 1):
        tools.request_store_transfer(chain, stock.id, quantity)
        tools.create_purchase_order(chain, own_stock.id, quantity)
    elif deed == 2 and not stock.own:
        chain.ship(own_stock, stock, quantity=quantity, status="requested", due_at=lapses_at)
    elif deed == 3:
        days = chance.randint(1, 7)
        tools.reserve_store_item(chain, own_stock.id, customer, quantity, days)

    # The newest reservations and arrivals are left for the user; the older ones are dealt with.
    outcome: tools.Ending = "released" if deed % 2 else "collected"
    for reservation in chain.reservations.where(status="active")[: -9 - deed]:
        tools.close_store_reservation(chain, reservation.id, outcome)
    missing = deed % 2
    for shipment in chain.shipments.where(status="arrived")[: -2 - deed]:
        tools.receive_store_shipment(chain, shipment.id, shipment.quantity - missing)
