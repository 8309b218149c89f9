"""What can be done with the cars."""

from datetime import date, datetime, timedelta
from math import ceil, dist
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from provegym.kernel import Label, Rejected, Time
from provegym.servers import plain_name

from .state import (
    BEAMS,
    PARKED,
    PARKED_LEVEL,
    UNSAFE_BAR,
    VISIT,
    WINDOWS,
    Cars,
    CarService,
    Destination,
    Door,
    Gear,
    Kind,
    Lights,
    Vehicle,
    Window,
    server,
)

Windows = Annotated[list[Window], Meta(min_length=1, max_length=4)]
Limit = Annotated[int, Meta(ge=50, le=100)]
Degrees = Annotated[float, Meta(ge=16, le=28)]
Stops = Annotated[list[str], Meta(max_length=3)]
Brake = Literal["pressed", "released"]
Power = Literal["off", "accessory", "on"]
Motion = Literal["open", "close"]
Switch = Literal["start", "stop"]
OnOff = Literal["on", "off"]
Feature = Literal["child_lock", "valet_mode"]
WEEKEND = (5, 6)


@server.write
def set_car_power(cars: Cars, /, vehicle_id: str, mode: Power, brake: Brake) -> Vehicle:
    """Start a car or switch it to accessory or off, in gear P; that ends route and climate.

    Args:
        vehicle_id: The car, e.g. "veh_204"; one that charges stays off.
        mode: What it shall be; off turns the beams off too.
        brake: What the driver does with the brake; starting needs it pressed.
    """
    car = cars.control(vehicle_id)
    if car.gear != "P":
        raise Rejected(f"{car.name} is in gear {car.gear}; it must stand in P")
    if car.mode == mode:
        raise Rejected(f"{car.name} is already {mode}")
    if car.charged_at is not None:
        raise Rejected(f"{car.name} is charging; stop that first")
    if mode == "on" and brake != "pressed":
        raise Rejected(f"press the brake to start {car.name}")
    lights = "off" if mode == "off" and car.lights in BEAMS else car.lights
    return cars.change(
        vehicle_id, mode=mode, climate_c=None, climate_until=None, route=(), lights=lights
    )


@server.write
def shift_car_gear(cars: Cars, /, vehicle_id: str, gear: Gear, brake: Brake) -> Vehicle:
    """Put a car that is on into a gear; D locks it and drives off, lights on, along its route.

    Args:
        vehicle_id: The car, e.g. "veh_204"; to drive, doors must be shut and tyres above 1.8 bar.
        gear: The gear; a drive ends by itself in P.
        brake: What the driver does with the brake; shifting needs it pressed.
    """
    car = cars.control(vehicle_id)
    if car.mode != "on":
        raise Rejected(f"{car.name} is {car.mode}; gears are shifted standing and on")
    if car.gear == gear:
        raise Rejected(f"{car.name} is already in {gear}")
    if brake != "pressed":
        raise Rejected("press the brake to shift gears")
    if gear != "D":
        return cars.change(vehicle_id, gear=gear)
    if car.open_doors:
        raise Rejected(f"{', '.join(car.open_doors)} stands open; close it before driving")
    if min(car.tyres_bar) < UNSAFE_BAR:
        raise Rejected("a tyre is nearly flat; book a tyre change")
    if not car.route:
        raise Rejected("there is no route yet; start_car_navigation sets one")
    lights = car.lights if car.lights in BEAMS else "low_beam"
    return cars.change(
        vehicle_id, gear="D", mode="driving", locked=True, lights=lights, left_at=cars.now
    )


@server.write
def lock_car(cars: Cars, /, vehicle_id: str, action: Literal["lock", "unlock"]) -> Vehicle:
    """Lock or unlock a car; locking needs its doors shut, unlocking needs gear P.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        action: What to do.
    """
    car = cars.control(vehicle_id)
    locked = action == "lock"
    if car.locked == locked:
        raise Rejected(f"{car.name} is already {action}ed")
    if car.open_doors:
        raise Rejected(f"{', '.join(car.open_doors)} stands open; close it first")
    if car.gear != "P":
        raise Rejected(f"{car.name} is in gear {car.gear}; it must stand in P")
    return cars.change(vehicle_id, locked=locked)


@server.write
def move_car_door(cars: Cars, /, vehicle_id: str, door: Door, action: Motion) -> Vehicle:
    """Open or close a door or the trunk of an unlocked car that stands in gear P.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        door: Which door; the child lock holds rear doors, valet mode holds the trunk.
        action: What to do with it.
    """
    car = cars.control(vehicle_id)
    if car.gear != "P":
        raise Rejected(f"{car.name} is in gear {car.gear}; doors move only in P")
    is_open = door in car.open_doors
    if is_open == (action == "open"):
        raise Rejected(f"no need to {action} that door")
    if action == "close":
        others = tuple(other for other in car.open_doors if other != door)
        return cars.change(vehicle_id, open_doors=others)
    if car.locked:
        raise Rejected(f"{car.name} is locked; unlock it first")
    if door == "trunk" and car.valet_mode:
        raise Rejected("valet mode keeps the trunk shut")
    if door in ("rear_left", "rear_right") and car.child_lock:
        raise Rejected("the child lock holds the rear doors")
    return cars.change(vehicle_id, open_doors=(*car.open_doors, door))


@server.write
def move_car_windows(cars: Cars, /, vehicle_id: str, windows: Windows, action: Motion) -> Vehicle:
    """Open or close windows of a car; opening needs power and a speed of at most 100 km/h.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        windows: Which windows; the child lock keeps rear ones from being opened.
        action: What to do with them.
    """
    car = cars.control(vehicle_id)
    opening = action == "open"
    after = {*car.open_windows, *windows} if opening else {*car.open_windows} - {*windows}
    if after == set(car.open_windows):
        raise Rejected(f"no need to {action} these windows")
    if opening:
        _refuse_to_open(car, windows)
    open_windows = tuple(window for window in WINDOWS if window in after)
    return cars.change(vehicle_id, open_windows=open_windows)


def _refuse_to_open(car: Vehicle, windows: list[Window]) -> None:
    """Refuse to open windows without power, against the child lock, or at high speed."""
    if car.mode == "off":
        raise Rejected(f"{car.name} is off; switch it to accessory or on")
    if car.child_lock and ("rear_left" in windows or "rear_right" in windows):
        raise Rejected("the child lock holds rear windows")
    if car.speed_kmh > 100:
        raise Rejected(f"windows stay shut at {car.speed_kmh} km/h")


@server.write
def set_car_climate(
    cars: Cars, /, vehicle_id: str, temperature_c: Degrees | None = None
) -> Vehicle:
    """Heat or cool a car; parked, it needs a level of 20 percent and stops after 30 minutes.

    Args:
        vehicle_id: The car, e.g. "veh_204"; its windows must be shut.
        temperature_c: Cabin temperature; if left out, the climate is switched off.
    """
    car = cars.control(vehicle_id)
    if temperature_c is None:
        if car.climate_c is None:
            raise Rejected(f"the climate of {car.name} is already off")
        return cars.change(vehicle_id, climate_c=None, climate_until=None)
    if car.open_windows:
        raise Rejected(f"windows of {car.name} are open; close them")
    if car.mode not in PARKED:
        return cars.change(vehicle_id, climate_c=temperature_c, climate_until=None)
    if car.level_percent < PARKED_LEVEL:
        raise Rejected(f"{car.name} is too low for that parked")
    until = cars.now + timedelta(minutes=30)
    return cars.change(vehicle_id, climate_c=temperature_c, climate_until=until)


@server.write(idempotent=True)
def set_car_lights(cars: Cars, /, vehicle_id: str, lights: Lights) -> Vehicle:
    """Set the outside lights of a car; while driving it keeps a beam on.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        lights: Which lights; beams need power, the high beam more than 60 km/h.
    """
    car = cars.control(vehicle_id)
    is_beam = lights in BEAMS
    if car.mode == "off" and is_beam:
        raise Rejected(f"{car.name} is off; beams need it on")
    if car.mode == "driving" and not is_beam:
        raise Rejected("a car that drives keeps a beam on")
    if lights == "high_beam" and car.speed_kmh <= 60:
        raise Rejected("no high beam in town or standing")
    return cars.change(vehicle_id, lights=lights)


@server.write
def set_car_safety(cars: Cars, /, vehicle_id: str, feature: Feature, setting: OnOff) -> Vehicle:
    """Turn the child lock of a standing car, or the valet mode of one that is off, on or off.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        feature: Which of the two.
        setting: What it shall be.
    """
    car = cars.control(vehicle_id)
    is_on = car.valet_mode if feature == "valet_mode" else car.child_lock
    wanted = setting == "on"
    if is_on == wanted:
        raise Rejected(f"{feature} is already {setting}")
    if feature == "valet_mode":
        if car.mode != "off":
            raise Rejected(f"switch {car.name} off to change its valet mode")
        return cars.change(vehicle_id, valet_mode=wanted)
    if car.mode == "driving":
        raise Rejected("the child lock stays as it is while driving")
    return cars.change(vehicle_id, child_lock=wanted)


@server.write
def charge_car(cars: Cars, /, vehicle_id: str, action: Switch, limit: Limit = 80) -> Vehicle:
    """Start or stop charging a car that is off at a charger; it stops by itself at the limit.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        action: What to do.
        limit: The level in percent to charge to.
    """
    car = cars.control(vehicle_id)
    # The record keeps the place and the level from which the car began to drive or charge.
    stored = cars.vehicles[vehicle_id]
    charger = cars.charger(stored)
    if action == "stop":
        if car.charged_at is None:
            raise Rejected(f"{car.name} is not charging")
        return cars.charge(stored, car.level_percent)
    if car.charged_at is not None:
        raise Rejected(f"{car.name} is already charging")
    if car.mode != "off":
        raise Rejected(f"{car.name} is {car.mode}; switch it off to charge")
    missing_kwh = car.battery_kwh * (limit - car.level_percent) / 100
    if missing_kwh <= 0:
        raise Rejected(f"{car.name} is at {car.level_percent} percent already")
    minutes = ceil(60 * missing_kwh / charger.power_kw)
    full_at = cars.now + timedelta(minutes=minutes)
    return cars.change(vehicle_id, charge_limit=limit, charged_at=full_at)


@server.write
def schedule_car_departure(cars: Cars, /, vehicle_id: str, departs_at: Time) -> Vehicle:
    """Have a car bring its cabin to 21 degrees for a departure, if it is off and not low then.

    Args:
        vehicle_id: The car, e.g. "veh_204"; not one that is driving.
        departs_at: When, 30 minutes to 7 days from now, e.g. "2026-03-04T07:30:00Z".
    """
    car = cars.control(vehicle_id)
    if not timedelta(minutes=30) <= departs_at - cars.now <= timedelta(days=7):
        raise Rejected(f"choose a time from 30 minutes to 7 days after {cars.now:%Y-%m-%d %H:%M}Z")
    if car.mode == "driving":
        raise Rejected(f"{car.name} is driving; plan its departure once it stands")
    return cars.change(vehicle_id, departs_at=departs_at)


@server.write
def start_car_navigation(
    cars: Cars, /, vehicle_id: str, destination_id: str, waypoint_ids: Stops | None = None
) -> Vehicle:
    """Set the route of a car that has power, or change it under way; its battery must last.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        destination_id: The destination, e.g. "dst_310".
        waypoint_ids: Destinations to pass, e.g. ["dst_322"]; chargers fill it to 80 percent.
    """
    car = cars.control(vehicle_id)
    if car.mode == "off":
        raise Rejected(f"{car.name} is off; switch it on first")
    stop_ids = [*(waypoint_ids or ()), destination_id]
    stops = [cars.destinations[stop_id] for stop_id in stop_ids]
    places = [car.place, *(stop.name for stop in stops)]
    if len(set(places)) < len(places):
        raise Rejected("the route repeats a place")
    route = cars.plan_route(car, stops)
    left_at = cars.now if car.left_at is not None else None
    return cars.vehicles.put(replace(car, route=route, left_at=left_at))


@server.write
def save_car_destination(cars: Cars, /, car_trip_id: str, name: Label, kind: Kind) -> Destination:
    """Save the place where a car trip ended as a destination, unless one is saved there already.

    Args:
        car_trip_id: The trip, e.g. "ctr_5120".
        name: What to call the place; new among the destinations.
        kind: What it is; garages and chargers come from the car maker.
    """
    trip = cars.trips[car_trip_id]
    if kind in ("garage", "charger"):
        raise Rejected(f"places of kind {kind} cannot be added")
    for place in cars.destinations:
        if plain_name(place.name) == plain_name(name):
            raise Rejected(f"{name} is taken; choose another name")
        if dist(place.spot_km, trip.spot_km) < 0.2:
            raise Rejected(f"that is already saved as {place.name}")
    return cars.destinations.add(name=name, kind=kind, spot_km=trip.spot_km)


@server.write
def book_car_service(cars: Cars, /, car_service_id: str, garage_id: str, day: date) -> CarService:
    """Book open work on a car; the garage collects the car at noon if it stands switched off then.

    Args:
        car_service_id: The work, e.g. "svc_77".
        garage_id: The garage, a destination of that kind, e.g. "dst_310".
        day: A weekday from tomorrow to two months ahead, e.g. "2026-03-16"; not one on which the
            car is at another garage.
    """
    service = cars.services[car_service_id]
    garage = cars.destinations[garage_id]
    car = cars.control(service.vehicle_id)
    if service.status != "open":
        raise Rejected(f"the {service.work} of {car.name} is {service.status}")
    if garage.kind != "garage":
        raise Rejected(f"{garage.name} is no garage; choose one")
    days_ahead = (day - cars.now.date()).days
    if not 1 <= days_ahead <= 60 or day.weekday() in WEEKEND:
        raise Rejected("choose a weekday in the next two months")
    booked = cars.services.update(
        car_service_id,
        status="booked",
        garage_name=garage.name,
        visit_at=datetime.combine(day, VISIT),
    )
    other = cars.other_garage(booked)
    if other is not None:
        raise Rejected(f"{car.name} is at {other.garage_name} that day; choose it or another day")
    return booked
