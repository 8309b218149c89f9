"""The electric cars of a household: how they move as time passes, and what is always true."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import ceil, dist
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from provegym.kernel import Denied, Record, Rejected, Server, State, Table, money, table

Window = Literal["front_left", "front_right", "rear_left", "rear_right"]
Door = Literal["front_left", "front_right", "rear_left", "rear_right", "trunk"]
Gear = Literal["P", "R", "N", "D"]
Lights = Literal["off", "parking", "low_beam", "high_beam"]
Kind = Literal["home", "work", "family", "friends", "shop", "leisure", "garage", "charger"]
WINDOWS: tuple[Window, ...] = get_args(Window)
PARKED = ("off", "accessory")
BEAMS = ("low_beam", "high_beam")
# How long before a planned departure a car starts to warm up, and how long after it stops.
WARM_UP = timedelta(minutes=20)
# When garages collect cars.
VISIT = time(12, tzinfo=UTC)
# The level in percent that chargers on a route fill a battery to.
FILLED = 80
# The level in percent that the climate of a parked car needs.
PARKED_LEVEL = 20
# The longest route in valet mode.
VALET_KM = 5
# Nobody drives with a tyre below this pressure.
UNSAFE_BAR = 1.8


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
    gear: Gear
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

    @property
    def arrives_at(self) -> datetime | None:
        """When it ends the leg it is driving."""
        if self.left_at is None:
            return None
        return self.left_at + timedelta(minutes=self.route[0].minutes)

    @property
    def warms_up_at(self) -> datetime | None:
        """When it starts to warm up for a planned departure."""
        if self.departs_at is None:
            return None
        return self.departs_at - WARM_UP

    @property
    def events(self) -> list[datetime]:
        """When something happens to it by itself."""
        moments = (self.arrives_at, self.charged_at, self.climate_until, self.warms_up_at)
        return [moment for moment in moments if moment is not None]


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
        if car.charged_at is not None:
            return self._charging(car, car.charged_at)
        if car.left_at is not None:
            return self._on_the_road(car, car.left_at)
        return car

    def _charging(self, car: Vehicle, full_at: datetime) -> Vehicle:
        """A charging car with the level it has by now."""
        missing_kwh = (full_at - self.now) / timedelta(hours=1) * self.charger(car).power_kw
        level = car.charge_limit - 100 * missing_kwh / car.battery_kwh
        return replace(car, level_percent=max(car.level_percent, round(level, 1)))

    def _on_the_road(self, car: Vehicle, left_at: datetime) -> Vehicle:
        """A driving car with the part of its leg that it has done by now."""
        leg = car.route[0]
        goal = self.destinations[leg.destination_id]
        done = (self.now - left_at) / timedelta(minutes=leg.minutes)
        km = round(leg.km * done, 1)
        level = car.level_percent - 100 * km / car.full_range_km
        line = zip(car.spot_km, goal.spot_km, strict=True)
        return replace(
            car,
            place="on the road",
            spot_km=tuple(round(start + (end - start) * done, 1) for start, end in line),
            level_percent=max(0.0, round(level, 1)),
            odometer_km=round(car.odometer_km + km, 1),
            speed_kmh=leg.speed_kmh,
        )

    def plan_route(self, car: Vehicle, stops: list[Destination]) -> tuple[Leg, ...]:
        """The legs from where a car is over its stops, if its battery lasts."""
        legs: list[Leg] = []
        spot_km = car.spot_km
        range_km = car.level_percent * car.full_range_km / 100
        for stop in stops:
            km = max(0.2, round(1.25 * dist(stop.spot_km, spot_km), 1))
            spot_km = stop.spot_km
            range_km -= km
            if range_km < 0:
                raise Rejected(f"the battery does not last to {stop.name}; pass a charger before")
            speed_kmh = usual_speed(km)
            minutes = ceil(60 * km / speed_kmh)
            # The car is charged on its way, but not at its last stop.
            if stop.power_kw > 0 and stop is not stops[-1]:
                missing_km = max(0.0, FILLED * car.full_range_km / 100 - range_km)
                range_km += missing_km
                minutes += ceil(
                    60 * missing_km / car.full_range_km * car.battery_kwh / stop.power_kw
                )
            legs.append(Leg(stop.id, stop.name, km, minutes, speed_kmh))
        if car.valet_mode and sum(leg.km for leg in legs) > VALET_KM:
            raise Rejected(f"valet mode keeps {car.name} within {VALET_KM} km; turn it off first")
        return tuple(legs)

    def charge(self, car: Vehicle, level: float) -> Vehicle:
        """Fill the battery of a car up to a level and write down what it cost."""
        charger = self.charger(car)
        kwh = round(car.battery_kwh * (level - car.level_percent) / 100, 1)
        self.charges.add(
            vehicle_id=car.id,
            place_name=charger.name,
            at=self.now,
            kwh=kwh,
            cost=money(Decimal(str(kwh)) * charger.price),
        )
        return self.vehicles.put(replace(car, level_percent=level, charged_at=None))

    def arrive(self, car: Vehicle) -> None:
        """End a leg and write it down as a trip; the last leg ends the drive."""
        leg, *rest = car.route
        goal = self.destinations[leg.destination_id]
        here = self.live(car)
        self.trips.add(
            vehicle_id=car.id,
            start_name=car.place,
            destination_name=leg.name,
            started_at=car.left_at,
            ended_at=self.now,
            km=leg.km,
            odometer_km=here.odometer_km,
            spot_km=goal.spot_km,
        )
        lights: Lights = "low_beam" if car.lights == "high_beam" else car.lights
        here = replace(here, place=leg.name, route=tuple(rest), speed_kmh=0, lights=lights)
        if not rest:
            self.vehicles.put(replace(here, left_at=None, mode="on", gear="P"))
            return
        here = self.vehicles.put(replace(here, left_at=self.now))
        if goal.power_kw > 0 and here.level_percent < FILLED:
            self.charge(here, FILLED)

    def other_garage(self, service: CarService) -> CarService | None:
        """Work on the same car that is booked for the same time at another garage, if any."""
        booked = self.services.where(vehicle_id=service.vehicle_id, status="booked")
        for other in booked:
            if other.visit_at == service.visit_at and other.garage_name != service.garage_name:
                return other
        return None

    def next_event(self) -> datetime | None:
        """An arrival, a full battery, a departure to warm up for, a visit to the garage."""
        moments = [moment for car in self.vehicles for moment in car.events]
        for service in self.services.where(status="booked"):
            if service.visit_at is not None:
                moments.append(service.visit_at)
        return min(moments, default=None)

    def happen(self) -> None:
        """Let each car move on as is due; then garages work on those that stand switched off."""
        for car in list(self.vehicles):
            self._move_on(car)
        for service in self.services.where(status="booked"):
            if service.visit_at is not None and service.visit_at <= self.now:
                self._visit_garage(service)

    def _move_on(self, car: Vehicle) -> None:
        """Let happen to one car what is due."""
        if car.arrives_at is not None and car.arrives_at <= self.now:
            self.arrive(car)
        if car.charged_at is not None and car.charged_at <= self.now:
            self.charge(car, car.charge_limit)
        if car.climate_until is not None and car.climate_until <= self.now:
            self.vehicles.update(car.id, climate_c=None, climate_until=None)
        if car.departs_at is not None and car.departs_at - WARM_UP <= self.now:
            self._warm_up(car, car.departs_at)

    def _warm_up(self, car: Vehicle, departs_at: datetime) -> None:
        """Turn the climate on for a departure, if the car is off and its battery is not low."""
        self.vehicles.update(car.id, departs_at=None)
        if car.mode == "off" and self.live(car).level_percent >= PARKED_LEVEL:
            until = departs_at + WARM_UP
            self.vehicles.update(car.id, climate_c=21.0, climate_until=until)

    def _visit_garage(self, service: CarService) -> None:
        """Do the work if the car is switched off; otherwise it has to be booked again."""
        if self.vehicles[service.vehicle_id].mode != "off":
            self.services.update(service.id, status="open", visit_at=None, garage_name="")
            return
        self.services.update(service.id, status="done")
        if service.work == "tyre change":
            self.vehicles.update(service.vehicle_id, tyres_bar=(2.5, 2.5, 2.5, 2.5))

    def check(self) -> None:
        """Modes, doors, levels, routes, trips and services agree with each other."""
        for car in self.vehicles:
            self._check_driving(car)
            self._check_standing(car)
            self._check_odometer(car)
            assert 0 <= self.live(car).level_percent <= 100
            assert all(moment > self.now for moment in car.events)
            self._check_lights(car)
        for service in self.services:
            assert (service.status == "open") == (service.visit_at is None)
            assert self.other_garage(service) is None
        assert len({place.name for place in self.destinations}) == len(self.destinations)

    def _check_driving(self, car: Vehicle) -> None:
        """A car that drives is in D, locked, and has a route; a locked car has its doors shut."""
        driving = car.mode == "driving"
        assert (car.gear == "D") == driving
        assert (car.left_at is not None) == driving
        if driving:
            assert car.route
            assert car.locked
        if car.locked:
            assert not car.open_doors

    def _check_standing(self, car: Vehicle) -> None:
        """Only a car that is off charges, and it is in P; parked, the climate runs for a time."""
        if car.mode == "off":
            assert car.gear == "P"
            assert not car.route
        if car.charged_at is not None:
            assert car.mode == "off"
        climate_while_parked = car.climate_c is not None and car.mode in PARKED
        assert (car.climate_until is not None) == climate_while_parked

    def _check_lights(self, car: Vehicle) -> None:
        """A car that drives has a beam on, one that is off has none; high beams are for driving."""
        if car.mode == "driving":
            assert car.lights in BEAMS
        else:
            assert car.lights != "high_beam"
        if car.mode == "off":
            assert car.lights not in BEAMS

    def _check_odometer(self, car: Vehicle) -> None:
        """The odometer never runs backwards from trip to trip."""
        readings = [trip.odometer_km for trip in self.trips.where(vehicle_id=car.id)]
        readings.append(car.odometer_km)
        assert readings == sorted(readings)


def usual_speed(km: float) -> int:
    """How fast one drives on a leg of so many km: in town, on country roads, on the motorway."""
    if km < 6:
        return 45
    if km < 25:
        return 80
    return 115


about = "A household's electric cars: controls, driving, charging, trips, services and alerts."
server = Server("vehicle", Cars, category="devices", about=about, version=2)
