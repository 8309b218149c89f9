"""The electric cars of a household: how they move with the clock, and what is always true."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import ceil, dist
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from provegym.kernel import Denied, Record, Rejected, Server, State, Table, forbid, money, table

Window = Literal["front_left", "front_right", "rear_left", "rear_right"]
Door = Literal["front_left", "front_right", "rear_left", "rear_right", "trunk"]
Lights = Literal["off", "parking", "low_beam", "high_beam"]
Kind = Literal["home", "work", "family", "friends", "shop", "leisure", "garage", "charger"]
WINDOWS: tuple[Window, ...] = get_args(Window)
WARM_UP, VISIT, PARKED = timedelta(minutes=20), time(12, tzinfo=UTC), ("off", "accessory")
FILLED, PARKED_LEVEL, VALET_KM, UNSAFE_BAR = 80, 20, 5, 1.8


class Leg(Struct, frozen=True):
    """The way to the next stop of a route; the minutes include charging there."""

    destination_id: str
    name: str
    km: float
    minutes: int
    speed_kmh: int


class Vehicle(Record, frozen=True):
    """A car; a guest may look at it but not control it. Tyres are in the order of windows."""

    id: str
    name: str
    role: Literal["owner", "guest"]
    battery_kwh: int
    full_range_km: int
    level_percent: float
    odometer_km: float
    place: str
    spot_km: tuple[float, ...]
    tyres_bar: tuple[float, ...]
    mode: Literal["off", "accessory", "on", "driving"]
    gear: Literal["P", "R", "N", "D"]
    locked: bool
    lights: Lights
    open_doors: tuple[Door, ...] = ()
    open_windows: tuple[Window, ...] = ()
    child_lock: bool = False
    valet_mode: bool = False
    climate_c: float | None = None
    climate_until: datetime | None = None
    departs_at: datetime | None = None
    speed_kmh: int = 0
    charge_limit: int = 80
    charged_at: datetime | None = None
    route: tuple[Leg, ...] = ()
    left_at: datetime | None = None


class Destination(Record, frozen=True):
    """A saved place, so far east and north; one with power charges cars at a price per kWh."""

    id: str
    name: str
    kind: Kind
    spot_km: tuple[float, ...]
    power_kw: int = 0
    price: Decimal = money(0)


class CarTrip(Record, frozen=True):
    """A drive that is over, and the spot where it ended."""

    id: str
    vehicle_id: str
    start_name: str
    destination_name: str
    started_at: datetime
    ended_at: datetime
    km: float
    odometer_km: float
    spot_km: tuple[float, ...]


class CarCharge(Record, frozen=True):
    """Energy bought for a car."""

    id: str
    vehicle_id: str
    place_name: str
    at: datetime
    kwh: float
    cost: Decimal


class CarService(Record, frozen=True):
    """Work that a car needs by a day or by a reading of its odometer."""

    id: str
    vehicle_id: str
    vehicle_name: str
    work: str
    due_on: date
    due_km: int
    price: Decimal
    status: Literal["open", "booked", "done"] = "open"
    garage_name: str = ""
    visit_at: datetime | None = None


class Cars(State):
    """The cars of a household, where they go and what they need."""

    vehicles: Table[Vehicle] = table(Vehicle, "veh", look_up="list_vehicles")
    destinations: Table[Destination] = table(Destination, "dst", look_up="list_car_destinations")
    trips: Table[CarTrip] = table(CarTrip, "ctr", look_up="list_car_trips")
    charges: Table[CarCharge] = table(CarCharge, "chs", look_up="list_car_charges")
    services: Table[CarService] = table(CarService, "svc", look_up="list_car_services")

    def control(self, vehicle_id: str) -> Vehicle:
        """A car the user may act on, as it is now."""
        car = self.vehicles[vehicle_id]
        if car.role == "guest":
            raise Denied(f"you are a guest of {car.name}: you may look at it, not control it")
        return self.live(car)

    def change(self, vehicle_id: str, **fields: object) -> Vehicle:
        """Set some fields of a car and show it as it is now."""
        return self.live(self.vehicles.update(vehicle_id, **fields))

    def charger(self, car: Vehicle) -> Destination:
        """The charger where a car stands."""
        for place in self.destinations:
            if place.name == car.place and place.power_kw:
                return place
        raise Rejected(f"there is no charger at {car.name}'s place ({car.place}); drive to one")

    def live(self, car: Vehicle) -> Vehicle:
        """A car as it is at this moment, on the road or at the charger."""
        if car.charged_at:
            missing = (car.charged_at - self.now) / timedelta(hours=1) * self.charger(car).power_kw
            level = car.charge_limit - 100 * missing / car.battery_kwh
            return replace(car, level_percent=max(car.level_percent, round(level, 1)))
        if car.left_at is None:
            return car
        leg, goal = car.route[0], self.destinations[car.route[0].destination_id]
        done = (self.now - car.left_at) / timedelta(minutes=leg.minutes)
        km, line = round(leg.km * done, 1), zip(car.spot_km, goal.spot_km, strict=True)
        spot = tuple(round(start + (end - start) * done, 1) for start, end in line)
        level = max(0.0, round(car.level_percent - 100 * km / car.full_range_km, 1))
        run = {"odometer_km": round(car.odometer_km + km, 1), "speed_kmh": leg.speed_kmh}
        return replace(car, place="on the road", spot_km=spot, level_percent=level, **run)

    def plan_route(self, car: Vehicle, stops: list[Destination]) -> tuple[Leg, ...]:
        """The legs from where a car is over its stops, if its battery lasts."""
        legs: list[Leg] = []
        left, spot = car.level_percent * car.full_range_km / 100, car.spot_km
        for stop in stops:
            km = max(0.2, round(1.25 * dist(stop.spot_km, spot), 1))
            spot, left = stop.spot_km, left - km
            forbid(left < 0, f"the battery does not last to {stop.name}; pass a charger before")
            speed, pause = 45 if km < 6 else 80 if km < 25 else 115, 0
            if stop.power_kw and stop is not stops[-1]:
                missing = max(0.0, FILLED * car.full_range_km / 100 - left)
                pause = ceil(60 * missing / car.full_range_km * car.battery_kwh / stop.power_kw)
                left += missing
            legs.append(Leg(stop.id, stop.name, km, ceil(60 * km / speed) + pause, speed))
        far = car.valet_mode and sum(leg.km for leg in legs) > VALET_KM
        forbid(far, f"valet mode keeps {car.name} within {VALET_KM} km; turn it off first")
        return tuple(legs)

    def charge(self, car: Vehicle, level: float) -> Vehicle:
        """Fill the battery of a car up to a level and write down what it cost."""
        place, missing = self.charger(car), level - car.level_percent
        kwh = round(car.battery_kwh * missing / 100, 1)
        bought = {"kwh": kwh, "cost": money(Decimal(str(kwh)) * place.price)}
        self.charges.add(vehicle_id=car.id, place_name=place.name, at=self.now, **bought)
        return self.vehicles.put(replace(car, level_percent=level, charged_at=None))

    def arrive(self, car: Vehicle) -> None:
        """End a leg and write it down as a trip; the last leg ends the drive."""
        leg, *rest = car.route
        goal, here = self.destinations[leg.destination_id], self.live(car)
        times = {"vehicle_id": car.id, "started_at": car.left_at, "ended_at": self.now}
        run = {"km": leg.km, "odometer_km": here.odometer_km, "spot_km": goal.spot_km}
        self.trips.add(start_name=car.place, destination_name=leg.name, **times, **run)
        here = replace(here, place=leg.name, route=tuple(rest), left_at=self.now, speed_kmh=0)
        self.vehicles.put(here if rest else replace(here, left_at=None, mode="on", gear="P"))
        if rest and goal.power_kw and here.level_percent < FILLED:
            self.charge(here, FILLED)

    def next_event(self) -> datetime | None:
        """An arrival, a full battery, a departure to warm up for, a visit to the garage."""
        moments = [moment for car in self.vehicles for moment in due(car)]
        visits = [s.visit_at for s in self.services if s.visit_at and s.status == "booked"]
        return min([*moments, *visits], default=None)

    def happen(self) -> None:
        """Let each car move on as is due; then garages work on those that stand switched off."""
        for car in list(self.vehicles):
            if car.left_at and due(car)[0] <= self.now:
                self.arrive(car)
            if car.charged_at and car.charged_at <= self.now:
                self.charge(car, car.charge_limit)
            if car.climate_until and car.climate_until <= self.now:
                self.vehicles.update(car.id, climate_c=None, climate_until=None)
            if car.departs_at and car.departs_at - WARM_UP <= self.now:
                warm = car.mode == "off" and self.live(car).level_percent >= PARKED_LEVEL
                climate = {"climate_c": 21.0, "climate_until": car.departs_at + WARM_UP}
                self.vehicles.update(car.id, departs_at=None, **(climate if warm else {}))
        for service in self.services.where(status="booked"):
            if service.visit_at and service.visit_at <= self.now:
                off = self.vehicles[service.vehicle_id].mode == "off"
                missed = {"status": "open", "visit_at": None, "garage_name": ""}
                self.services.update(service.id, **({"status": "done"} if off else missed))
                if off and service.work == "tyre change":
                    self.vehicles.update(service.vehicle_id, tyres_bar=(2.5, 2.5, 2.5, 2.5))

    def check(self) -> None:
        """Modes, doors, levels, routes, trips and services agree with each other."""
        for car in self.vehicles:
            assert (car.mode == "driving") == (car.gear == "D") == (car.left_at is not None)
            assert not car.left_at or (car.route and car.locked)
            assert not (car.locked and car.open_doors)
            assert car.mode != "off" or (car.gear == "P" and not car.route)
            assert bool(car.climate_until) == bool(car.climate_c and car.mode in PARKED)
            assert not car.charged_at or car.mode == "off"
            assert 0 <= self.live(car).level_percent <= 100
            assert all(moment > self.now for moment in due(car))
            runs = [trip.odometer_km for trip in self.trips.where(vehicle_id=car.id)]
            assert [*runs, car.odometer_km] == sorted([*runs, car.odometer_km])
        assert all((s.status == "open") == (s.visit_at is None) for s in self.services)
        assert len({place.name for place in self.destinations}) == len(self.destinations)


def due(car: Vehicle) -> list[datetime]:
    """When something next happens to a car by itself; an arrival comes first."""
    arrival = car.left_at and car.left_at + timedelta(minutes=car.route[0].minutes)
    warm_up = car.departs_at and car.departs_at - WARM_UP
    return [moment for moment in (arrival, car.charged_at, car.climate_until, warm_up) if moment]


about = "A household's electric cars: controls, driving, charging, trips, services and alerts."
server = Server("vehicle", Cars, category="devices", about=about)
