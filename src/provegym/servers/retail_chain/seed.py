"""Draws a chain of stores and lets a week of business go by in it."""

from contextlib import suppress
from datetime import timedelta
from random import Random

from provegym.kernel import Seed, ToolError, money
from provegym.servers import people, words

from . import tools
from .state import Chain, server

WORDS = words("retail_chain")


@server.seed
def draw(seed: Seed) -> Chain:
    """Seven stores, the clerk's own among them, two dozen products, and what went on."""
    chain, chance, crowd = Chain(seed), seed.random, people.others(seed, 34)
    streets, cities = chance.sample(WORDS["streets"], 7), chance.sample(WORDS["cities"], 7)
    for clerk in chance.sample([people.acting_user(seed), *crowd[:6]], 7):
        hours = chance.randint(3, 30) if clerk in crowd else 0
        team = {"clerk": clerk.name, "manager": crowd.pop().name, "own": hours == 0}
        chain.stores.add(name=streets.pop(), city=cities.pop(), lorry_hours=hours, **team)
    _fill_shelves(chain, chance)
    chain.now -= timedelta(days=7)
    for _ in range(7 * 24):
        with suppress(ToolError):
            _act(chain, chance, chance.choice(crowd[6:]).name)
        chain.pass_time(60)
    return chain


def _fill_shelves(chain: Chain, chance: Random) -> None:
    shelves = []
    for thing in chance.sample(WORDS["things"], 24):
        price = money(f"{chance.randrange(4, 70)}.{chance.choice((49, 90, 95))}")
        packs = {"pack_size": chance.choice((2, 3, 4, 6)), "discontinued": chance.random() < 0.15}
        label = {"product_name": f"{chance.choice(WORDS['styles'])} {thing}", "price": price}
        product = {"supplier": chance.choice(WORDS["suppliers"]), **label, **packs}
        shelves += [(s, product) for s in chain.stores if s.own or chance.random() < 0.6]
    for store, product in chance.sample(shelves, len(shelves)):
        count, point = chance.randint(8, 20 if store.own else 32), chance.randint(7, 18)
        counts = {"counted_in": count, "on_hand": count, "available": count, "reorder_point": point}
        place = {"store_id": store.id, "store_name": store.name, "lorry_hours": store.lorry_hours}
        chain.stocks.add(own=store.own, **counts, **place, **product)


def _act(chain: Chain, chance: Random, customer: str) -> None:
    """Something a clerk, here or elsewhere, tries to do; the rules may forbid it."""
    stock, quantity = chance.choice(list(chain.stocks)), chance.randint(1, 4)
    mine = chain.stocks.where(own=True, product_name=stock.product_name)[0]
    deed, due = chance.randrange(5), chain.now + timedelta(hours=chance.randint(50, 220))
    if deed < 2:
        tools.request_store_transfer(chain, stock.id, quantity)
        tools.create_purchase_order(chain, mine.id, quantity)
    elif deed == 2 and not stock.own:
        chain.ship(mine, stock, quantity=quantity, status="requested", due_at=due)
    elif deed == 3:
        tools.reserve_store_item(chain, mine.id, customer, quantity, chance.randint(1, 7))
    for reservation in chain.reservations.where(status="active")[: -9 - deed]:
        tools.close_store_reservation(chain, reservation.id, ("collected", "released")[deed % 2])
    for shipment in chain.shipments.where(status="arrived")[: -2 - deed]:
        tools.receive_store_shipment(chain, shipment.id, shipment.quantity - deed % 2)
