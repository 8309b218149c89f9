"""Draws a household's cars and lives through a month of their trips, charges and services."""

from datetime import datetime, timedelta
from decimal import Decimal
from math import dist
from random import Random
from typing import Any

from msgspec.structs import replace

from provegym.kernel import Seed, money
from provegym.servers import people, words

from .state import VISIT, Cars, Kind, Vehicle, server

WORDS = words("vehicle")


@server.seed
def draw(seed: Seed) -> Cars:
    """Three cars in different modes that the user owns, and one that a friend lets them see."""
    cars = Cars(seed)
    chance = seed.random
    lender, *friends = people.others(seed, 9)
    _save_places(cars, chance, friends)
    names = chance.sample(WORDS["names"], 4)
    bodies = chance.sample(WORDS["bodies"], 4)
    plans = chance.sample(WORDS["plans"], 4)
    for plan, name, body in zip(plans, names, bodies, strict=True):
        called = f"{name} {body}" if plan["role"] == "owner" else f"{lender.given}'s {name}"
        car = _buy_car(cars, chance, plan, called)
        _drive_around(cars, chance, car.id)
        car = _leave_as_planned(cars, car.id, plan)
        if car.mode == "accessory" and car.battery_kwh % 3 != 0:
            _set_off(cars, car)
        _need_services(cars, chance, car)
    return cars


def _save_places(cars: Cars, chance: Random, friends: list[people.Person]) -> None:
    """Save destinations of every kind, in a random order."""
    names = WORDS["places"] | {"friends": [f"{friend.given}'s Place" for friend in friends]}
    places = []
    for kind, count in WORDS["counts"].items():
        places += [(kind, name) for name in chance.sample(names[kind], count)]
    for kind, name in chance.sample(places, len(places)):
        _save_place(cars, chance, kind, name)


def _save_place(cars: Cars, chance: Random, kind: Kind, name: str) -> None:
    """Save a destination within 28 km to each side; one can charge at home and at chargers."""
    charger_kw = chance.choice((50, 75, 150))
    power_kw = {"home": 11, "charger": charger_kw}.get(kind, 0)
    price = money(0)
    if power_kw > 0:
        price = money(Decimal(chance.randint(28, 79)) / 100)
    east_km = chance.randint(-280, 280) / 10
    north_km = chance.randint(-280, 280) / 10
    cars.destinations.add(
        name=name, kind=kind, spot_km=(east_km, north_km), power_kw=power_kw, price=price
    )


def _buy_car(cars: Cars, chance: Random, plan: dict[str, Any], name: str) -> Vehicle:
    """Add a car as the dealer hands it over."""
    new = WORDS["new"]
    battery_kwh = chance.randint(48, 92)
    tyres_bar = tuple(chance.choices(WORDS["pressures"], k=4))
    odometer_km = chance.randrange(90_000, 999_999) / 10
    return cars.vehicles.add(
        name=name,
        role=plan["role"],
        battery_kwh=battery_kwh,
        full_range_km=battery_kwh * 7,
        level_percent=new["level_percent"],
        odometer_km=odometer_km,
        place=new["place"],
        spot_km=(0.0, 0.0),
        tyres_bar=tyres_bar,
        mode=plan["mode"],
        gear=new["gear"],
        locked=plan["locked"],
        lights=plan["lights"],
        child_lock=battery_kwh % 2 == 1,
        climate_c=plan.get("climate_c"),
    )


def _drive_around(cars: Cars, chance: Random, vehicle_id: str) -> None:
    """A month of trips, some to places nobody saved; the last leads to a charger."""
    now = cars.now
    ages = sorted(chance.sample(range(4, 700, 3), 22), reverse=True)
    for age in ages:
        cars.now = now - timedelta(hours=age, minutes=age % 59)
        car = cars.vehicles[vehicle_id]
        must_charge = age == ages[-1] or car.level_percent < 65
        _make_trip(cars, chance, car, must_charge)
        if must_charge:
            car = cars.vehicles[vehicle_id]
            cars.charge(car, max(car.level_percent, chance.randint(70, 95)))
        elif chance.random() < 0.4:
            _park_in_street(cars, chance, vehicle_id)
    cars.now = now


def _make_trip(cars: Cars, chance: Random, car: Vehicle, must_charge: bool) -> None:
    """Drive a car to another saved place, or to another charger."""
    goals = [place for place in cars.destinations if place.name != car.place]
    if must_charge:
        goals = [place for place in goals if place.power_kw > 0]
    route = cars.plan_route(car, [chance.choice(goals)])
    set_off = replace(car, route=route, left_at=cars.now)
    cars.now += timedelta(minutes=route[0].minutes)
    cars.arrive(set_off)


def _park_in_street(cars: Cars, chance: Random, vehicle_id: str) -> None:
    """Let the last trip have ended in a street nearby instead."""
    street = f"{chance.randint(1, 90)} {chance.choice(WORDS['streets'])}"
    spot_km = cars.vehicles[vehicle_id].spot_km
    spot_km = tuple(round(km + chance.choice((-2.3, -1.1, 2.6)), 1) for km in spot_km)
    last_trip = list(cars.trips)[-1]
    cars.trips.update(last_trip.id, destination_name=street, spot_km=spot_km)
    cars.vehicles.update(vehicle_id, place=street, spot_km=spot_km)


def _leave_as_planned(cars: Cars, vehicle_id: str, plan: dict[str, Any]) -> Vehicle:
    """Leave a car as its plan says; some of those that are off are in valet mode."""
    car = cars.vehicles[vehicle_id]
    return cars.vehicles.update(
        vehicle_id,
        mode=plan["mode"],
        level_percent=plan.get("level_percent", car.level_percent),
        valet_mode=plan["mode"] == "off" and car.battery_kwh % 2 == 0,
    )


def _set_off(cars: Cars, car: Vehicle) -> None:
    """Send a car on its way to the farthest destination."""
    farthest = max(cars.destinations, key=lambda place: dist(place.spot_km, car.spot_km))
    cars.vehicles.update(
        car.id, mode="driving", gear="D", route=cars.plan_route(car, [farthest]), left_at=cars.now
    )


def _need_services(cars: Cars, chance: Random, car: Vehicle) -> None:
    """Work done, booked and open, some of it overdue."""
    works = ["tyre change", *chance.sample(WORDS["works"], 6)]
    for work in chance.sample(works, len(works)):
        _need_service(cars, chance, car, work)


def _need_service(cars: Cars, chance: Random, car: Vehicle, work: str) -> None:
    """Add one piece of work, perhaps with a visit to a garage in the past or to come."""
    today = cars.now.date()
    due_on = today + timedelta(days=chance.randint(-20, 200))
    price = money(chance.randint(35, 480))
    due_km = round(car.odometer_km) + chance.randint(-500, 9_000)
    status = "open"
    visit_at = None
    garage_name = ""
    if chance.random() < 0.4:
        visit_at = datetime.combine(today + timedelta(weeks=chance.randint(-9, 3)), VISIT)
        status = "booked" if visit_at > cars.now else "done"
        garage_name = chance.choice(cars.destinations.where(kind="garage")).name
        # A car is at one garage on a day.
        for other in cars.services.where(vehicle_id=car.id, visit_at=visit_at):
            garage_name = other.garage_name
    cars.services.add(
        vehicle_id=car.id,
        vehicle_name=car.name,
        work=work,
        due_on=due_on,
        due_km=due_km,
        price=price,
        status=status,
        garage_name=garage_name,
        visit_at=visit_at,
    )
