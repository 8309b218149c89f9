"""Draws a household's cars and lives through a month of their trips, charges and services."""

from datetime import datetime, timedelta
from decimal import Decimal
from math import dist
from random import Random

from msgspec.structs import replace

from provegym.kernel import Seed, money
from provegym.servers import people, words

from .state import VISIT, Cars, Vehicle, server

WORDS = words("vehicle")


@server.seed
def draw(seed: Seed) -> Cars:
    """Three cars in different modes that the user owns, and one that a friend lets them see."""
    cars, chance, friends = Cars(seed), seed.random, people.others(seed, 9)
    _save_places(cars, chance, [f"{friend.given}'s Place" for friend in friends[1:]])
    names, bodies = chance.sample(WORDS["names"], 4), chance.sample(WORDS["bodies"], 4)
    for plan, name, body in zip(chance.sample(WORDS["plans"], 4), names, bodies, strict=True):
        called = f"{name} {body}" if plan["role"] == "owner" else f"{friends[0].given}'s {name}"
        kwh, tyres = chance.randint(48, 92), tuple(chance.choices(WORDS["pressures"], k=4))
        facts = {"name": called, "battery_kwh": kwh, "full_range_km": kwh * 7, "tyres_bar": tyres}
        facts |= {"odometer_km": chance.randrange(90_000, 999_999) / 10, "child_lock": kwh % 2 > 0}
        car = cars.vehicles.add(spot_km=(0.0, 0.0), **facts, **(plan | WORDS["new"]))
        _drive_around(cars, chance, car.id)
        car = cars.vehicles.update(car.id, valet_mode=(plan["mode"], kwh % 2) == ("off", 0), **plan)
        if car.mode == "accessory" and kwh % 3:
            far = max(cars.destinations, key=lambda goal: dist(goal.spot_km, car.spot_km))
            drive = {"mode": "driving", "gear": "D", "left_at": cars.now}
            cars.vehicles.update(car.id, route=cars.plan_route(car, [far]), **drive)
        _need_services(cars, chance, car)
    return cars


def _save_places(cars: Cars, chance: Random, friends: list[str]) -> None:
    lists, counts = WORDS["places"] | {"friends": friends}, WORDS["counts"].items()
    found = [(kind, name) for kind, most in counts for name in chance.sample(lists[kind], most)]
    for kind, name in chance.sample(found, len(found)):
        power = {"home": 11, "charger": chance.choice((50, 75, 150))}.get(kind, 0)
        price = money(Decimal(chance.randint(28, 79)) / 100) if power else money(0)
        spot = (chance.randint(-280, 280) / 10, chance.randint(-280, 280) / 10)
        cars.destinations.add(name=name, kind=kind, spot_km=spot, power_kw=power, price=price)


def _drive_around(cars: Cars, chance: Random, vehicle_id: str) -> None:
    """A month of trips, some to places nobody saved; the last leads to a charger."""
    now, ages = cars.now, sorted(chance.sample(range(4, 700, 3), 22), reverse=True)
    for age in ages:
        car, cars.now = cars.vehicles[vehicle_id], now - timedelta(minutes=60 * age + age % 59)
        low = age == ages[-1] or car.level_percent < 65
        goals = [g for g in cars.destinations if g.name != car.place and (g.power_kw or not low)]
        set_off = replace(car, route=cars.plan_route(car, [chance.choice(goals)]), left_at=cars.now)
        cars.now += timedelta(minutes=set_off.route[0].minutes)
        cars.arrive(set_off)
        car = cars.vehicles[vehicle_id]
        if low:
            cars.charge(car, max(car.level_percent, chance.randint(70, 95)))
        elif chance.random() < 0.4:
            street = f"{chance.randint(1, 90)} {chance.choice(WORDS['streets'])}"
            spot = tuple(round(km + chance.choice((-2.3, -1.1, 2.6)), 1) for km in car.spot_km)
            cars.trips.update([*cars.trips.keys()][-1], destination_name=street, spot_km=spot)
            cars.vehicles.update(vehicle_id, place=street, spot_km=spot)
    cars.now = now


def _need_services(cars: Cars, chance: Random, car: Vehicle) -> None:
    """Work done, booked and open, some of it overdue."""
    garages, today = cars.destinations.where(kind="garage"), cars.now.date()
    for work in chance.sample(["tyre change", *chance.sample(WORDS["works"], 6)], 7):
        due_on, price = today + timedelta(days=chance.randint(-20, 200)), chance.randint(35, 480)
        due_km = round(car.odometer_km) + chance.randint(-500, 9_000)
        facts = {"work": work, "due_on": due_on, "due_km": due_km, "price": money(price)}
        if chance.random() < 0.4:
            at = datetime.combine(today + timedelta(weeks=chance.randint(-9, 3)), VISIT)
            facts |= {"visit_at": at, "status": "booked" if at > cars.now else "done"}
            facts |= {"garage_name": chance.choice(garages).name}
        cars.services.add(vehicle_id=car.id, vehicle_name=car.name, **facts)
