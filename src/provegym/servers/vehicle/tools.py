"""What can be asked of the cars, and what can be done with them."""

from datetime import date, datetime, timedelta
from math import ceil, dist
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from provegym.kernel import Label, Time, forbid

from . import state
from .state import CarCharge, Cars, CarService, CarTrip, Destination, Kind, Vehicle, server

Windows = Annotated[list[state.Window], Meta(min_length=1, max_length=4)]
Limit = Annotated[int, Meta(ge=50, le=100)]
Degrees = Annotated[float, Meta(ge=16, le=28)] | None
Stops = Annotated[list[str], Meta(max_length=3)]
Brake = Literal["pressed", "released"]
Power = Literal["off", "accessory", "on"]
Motion = Literal["open", "close"]
Switch = Literal["start", "stop"]
OnOff = Literal["on", "off"]
Feature = Literal["child_lock", "valet_mode"]
AnyKind = Kind | None
Gear = Literal["P", "R", "N", "D"]


@server.read
def list_vehicles(cars: Cars, /, name: str = "") -> list[Vehicle]:
    """List the household's cars as they are now: mode, place, battery, doors, climate, route.

    Args:
        name: Only cars whose name contains this.
    """
    return [cars.live(car) for car in cars.vehicles if name.lower() in car.name.lower()]


@server.read
def preview_car_route(cars: Cars, /, vehicle_id: str, destination_id: str) -> list[state.Leg]:
    """Work out how far a drive by car would be and how long, if the battery lasts; nothing is set.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        destination_id: The destination, e.g. "dst_310".
    """
    car, goal = cars.live(cars.vehicles[vehicle_id]), cars.destinations[destination_id]
    return list(cars.plan_route(car, [goal]))


@server.read
def list_car_destinations(cars: Cars, /, name: str = "", kind: AnyKind = None) -> list[Destination]:
    """List the destinations saved in the cars' navigation, garages and chargers included.

    Args:
        name: Only destinations whose name contains this.
        kind: Only destinations of this kind.
    """
    found = [place for place in cars.destinations if name.lower() in place.name.lower()]
    return [place for place in found if kind in (None, place.kind)]


@server.read
def list_car_trips(
    cars: Cars, /, vehicle_id: str | None = None, destination_name: str = ""
) -> list[CarTrip]:
    """List the finished trips of a car, or of all of them, newest first.

    Args:
        vehicle_id: Only trips of this car, e.g. "veh_204".
        destination_name: Only trips to places whose name contains this.
    """
    mine = cars.trips.where(vehicle_id=cars.vehicles[vehicle_id].id) if vehicle_id else cars.trips
    found = [t for t in mine if destination_name.lower() in t.destination_name.lower()]
    return sorted(found, key=lambda trip: trip.ended_at, reverse=True)


@server.read
def list_car_charges(cars: Cars, /, vehicle_id: str, place_name: str = "") -> list[CarCharge]:
    """List when and where a car was charged and at what cost, newest first.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        place_name: Only charges at places whose name contains this.
    """
    charges = cars.charges.where(vehicle_id=cars.vehicles[vehicle_id].id)
    return [c for c in reversed(charges) if place_name.lower() in c.place_name.lower()]


@server.read
def list_car_services(
    cars: Cars, /, vehicle_id: str | None = None, work: str = ""
) -> list[CarService]:
    """List garage work on a car, or on all of them, with its state, the soonest due first.

    Args:
        vehicle_id: Only work on this car, e.g. "veh_204".
        work: Only work whose name contains this, e.g. "brake".
    """
    one = cars.vehicles[vehicle_id] if vehicle_id else None
    services = cars.services.where(vehicle_id=one.id) if one else cars.services
    return sorted([s for s in services if work.lower() in s.work], key=lambda s: s.due_on)


@server.read
def list_car_alerts(cars: Cars, /, vehicle_id: str) -> list[CarService]:
    """List the open garage work a car warns of: overdue by day or by km, or for a soft tyre.

    Args:
        vehicle_id: The car, e.g. "veh_204".
    """
    car, today = cars.live(cars.vehicles[vehicle_id]), cars.now.date()
    flat = "tyre change" if min(car.tyres_bar) < state.UNSAFE_BAR else ""
    needed = cars.services.where(vehicle_id=vehicle_id, status="open")
    late = [s for s in needed if s.due_on < today or s.due_km <= car.odometer_km]
    return late + [s for s in needed if s.work == flat and s not in late]


@server.write
def set_car_power(cars: Cars, /, vehicle_id: str, mode: Power, brake: Brake) -> Vehicle:
    """Start a car or switch it to accessory or off, in gear P; that ends route and climate.

    Args:
        vehicle_id: The car, e.g. "veh_204"; one that charges stays off.
        mode: What it shall be.
        brake: What the driver does with the brake; starting needs it pressed.
    """
    car = cars.control(vehicle_id)
    forbid(car.gear != "P", f"{car.name} is in gear {car.gear}; it must stand in P")
    forbid(car.mode == mode, f"{car.name} is already {mode}")
    forbid(car.charged_at, f"{car.name} is charging; stop that first")
    forbid(mode == "on" and brake != "pressed", f"press the brake to start {car.name}")
    return cars.change(vehicle_id, mode=mode, climate_c=None, climate_until=None, route=())


@server.write
def shift_car_gear(cars: Cars, /, vehicle_id: str, gear: Gear, brake: Brake) -> Vehicle:
    """Put a car that is on into a gear; D locks it and drives off along its route.

    Args:
        vehicle_id: The car, e.g. "veh_204"; to drive, doors must be shut and tyres above 1.8 bar.
        gear: The gear; a drive ends by itself in P.
        brake: What the driver does with the brake; shifting needs it pressed.
    """
    car = cars.control(vehicle_id)
    forbid(car.mode != "on", f"{car.name} is {car.mode}; gears are shifted standing and on")
    forbid(car.gear == gear, f"{car.name} is already in {gear}")
    forbid(brake != "pressed", "press the brake to shift gears")
    if gear != "D":
        return cars.change(vehicle_id, gear=gear)
    forbid(car.open_doors, f"{', '.join(car.open_doors)} stands open; close it before driving")
    forbid(min(car.tyres_bar) < state.UNSAFE_BAR, "a tyre is nearly flat; book a tyre change")
    forbid(not car.route, "there is no route yet; start_car_navigation sets one")
    return cars.change(vehicle_id, gear="D", mode="driving", locked=True, left_at=cars.now)


@server.write
def lock_car(cars: Cars, /, vehicle_id: str, action: Literal["lock", "unlock"]) -> Vehicle:
    """Lock or unlock a car; locking needs its doors shut, unlocking needs gear P.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        action: What to do.
    """
    car = cars.control(vehicle_id)
    forbid(car.locked == (action == "lock"), f"{car.name} is already {action}ed")
    forbid(car.open_doors, f"{', '.join(car.open_doors)} stands open; close it first")
    forbid(car.gear != "P", f"{car.name} is in gear {car.gear}; it must stand in P")
    return cars.change(vehicle_id, locked=action == "lock")


@server.write
def move_car_door(cars: Cars, /, vehicle_id: str, door: state.Door, action: Motion) -> Vehicle:
    """Open or close a door or the trunk of an unlocked car that stands in gear P.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        door: Which door; the child lock holds rear doors, valet mode holds the trunk.
        action: What to do with it.
    """
    car = cars.control(vehicle_id)
    forbid(car.gear != "P", f"{car.name} is in gear {car.gear}; doors move only in P")
    forbid((door in car.open_doors) == (action == "open"), f"no need to {action} that door")
    if action == "close":
        return cars.change(vehicle_id, open_doors=tuple(d for d in car.open_doors if d != door))
    forbid(car.locked, f"{car.name} is locked; unlock it first")
    forbid(door == "trunk" and car.valet_mode, "valet mode keeps the trunk shut")
    forbid(car.child_lock and "rear" in door, "the child lock holds the rear doors")
    return cars.change(vehicle_id, open_doors=(*car.open_doors, door))


@server.write
def move_car_windows(cars: Cars, /, vehicle_id: str, windows: Windows, action: Motion) -> Vehicle:
    """Open or close windows of a car; opening needs power and a speed of at most 100 km/h.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        windows: Which windows; the child lock keeps rear ones from being opened.
        action: What to do with them.
    """
    car, opens = cars.control(vehicle_id), action == "open"
    after = tuple(w for w in state.WINDOWS if (opens if w in windows else w in car.open_windows))
    forbid(after == car.open_windows, f"no need to {action} these windows")
    forbid(opens and car.mode == "off", f"{car.name} is off; switch it to accessory or on")
    forbid(opens and car.child_lock and "rear" in str(windows), "the child lock holds rear windows")
    forbid(opens and car.speed_kmh > 100, f"windows stay shut at {car.speed_kmh} km/h")
    return cars.change(vehicle_id, open_windows=after)


@server.write
def set_car_climate(cars: Cars, /, vehicle_id: str, temperature_c: Degrees = None) -> Vehicle:
    """Heat or cool a car; parked, it needs a level of 20 percent and stops after 30 minutes.

    Args:
        vehicle_id: The car, e.g. "veh_204"; its windows must be shut.
        temperature_c: Cabin temperature; if left out, the climate is switched off.
    """
    car, until = cars.control(vehicle_id), None
    forbid(temperature_c == car.climate_c is None, f"the climate of {car.name} is already off")
    forbid(temperature_c and car.open_windows, f"windows of {car.name} are open; close them")
    if temperature_c and car.mode in state.PARKED:
        forbid(car.level_percent < state.PARKED_LEVEL, f"{car.name} is too low for that parked")
        until = cars.now + timedelta(minutes=30)
    return cars.change(vehicle_id, climate_c=temperature_c, climate_until=until)


@server.write(idempotent=True)
def set_car_lights(cars: Cars, /, vehicle_id: str, lights: state.Lights) -> Vehicle:
    """Set the outside lights of a car; while driving it keeps a beam on.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        lights: Which lights; beams need power, the high beam more than 60 km/h.
    """
    car, beam = cars.control(vehicle_id), lights in ("low_beam", "high_beam")
    forbid(car.mode == "off" and beam, f"{car.name} is off; beams need it on")
    forbid(car.mode == "driving" and not beam, "a car that drives keeps a beam on")
    forbid(lights == "high_beam" and car.speed_kmh <= 60, "no high beam in town or standing")
    return cars.change(vehicle_id, lights=lights)


@server.write
def set_car_safety(cars: Cars, /, vehicle_id: str, feature: Feature, setting: OnOff) -> Vehicle:
    """Turn the child lock of a standing car, or the valet mode of one that is off, on or off.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        feature: Which of the two.
        setting: What it shall be.
    """
    car, valet = cars.control(vehicle_id), feature == "valet_mode"
    forbid(getattr(car, feature) == (setting == "on"), f"{feature} is already {setting}")
    forbid(valet and car.mode != "off", f"switch {car.name} off to change its valet mode")
    forbid(car.mode == "driving", "the child lock stays as it is while driving")
    return cars.change(vehicle_id, **{feature: setting == "on"})


@server.write
def charge_car(cars: Cars, /, vehicle_id: str, action: Switch, limit: Limit = 80) -> Vehicle:
    """Start or stop charging a car that is off at a charger; it stops by itself at the limit.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        action: What to do.
        limit: The level in percent to charge to.
    """
    car, place = cars.control(vehicle_id), cars.charger(cars.vehicles[vehicle_id])
    if action == "stop":
        forbid(not car.charged_at, f"{car.name} is not charging")
        return cars.charge(cars.vehicles[vehicle_id], car.level_percent)
    forbid(car.charged_at, f"{car.name} is already charging")
    forbid(car.mode != "off", f"{car.name} is {car.mode}; switch it off to charge")
    missing = car.battery_kwh * (limit - car.level_percent) / 100
    forbid(missing <= 0, f"{car.name} is at {car.level_percent} percent already")
    full = cars.now + timedelta(minutes=ceil(60 * missing / place.power_kw))
    return cars.change(vehicle_id, charge_limit=limit, charged_at=full)


@server.write
def schedule_car_departure(cars: Cars, /, vehicle_id: str, departs_at: Time) -> Vehicle:
    """Have a car bring its cabin to 21 degrees for a departure, if it is off and not low then.

    Args:
        vehicle_id: The car, e.g. "veh_204"; not one that is driving.
        departs_at: When, 30 minutes to 7 days from now, e.g. "2026-03-04T07:30:00Z".
    """
    car, ahead = cars.control(vehicle_id), departs_at - cars.now
    fits = timedelta(minutes=30) <= ahead <= timedelta(days=7)
    forbid(not fits, f"choose a time from 30 minutes to 7 days after {cars.now:%Y-%m-%d %H:%M}Z")
    forbid(car.mode == "driving", f"{car.name} is driving; plan its departure once it stands")
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
    forbid(car.mode == "off", f"{car.name} is off; switch it on first")
    stops = [cars.destinations[key] for key in [*(waypoint_ids or ()), destination_id]]
    forbid(len({car.place, *(s.name for s in stops)}) <= len(stops), "the route repeats a place")
    left_at = cars.now if car.left_at else None
    return cars.vehicles.put(replace(car, route=cars.plan_route(car, stops), left_at=left_at))


@server.write
def save_car_destination(cars: Cars, /, car_trip_id: str, name: Label, kind: Kind) -> Destination:
    """Save the place where a car trip ended as a destination, unless one is saved there already.

    Args:
        car_trip_id: The trip, e.g. "ctr_5120".
        name: What to call the place; new among the destinations.
        kind: What it is; garages and chargers come from the car maker.
    """
    trip = cars.trips[car_trip_id]
    forbid(kind in ("garage", "charger"), f"places of kind {kind} cannot be added")
    for place in cars.destinations:
        forbid(place.name.lower() == name.lower(), f"{name} is taken; choose another name")
        forbid(dist(place.spot_km, trip.spot_km) < 0.2, f"that is already saved as {place.name}")
    return cars.destinations.add(name=name, kind=kind, spot_km=trip.spot_km)


@server.write
def book_car_service(cars: Cars, /, car_service_id: str, garage_id: str, day: date) -> CarService:
    """Book open work on a car; the garage collects the car at noon if it stands switched off then.

    Args:
        car_service_id: The work, e.g. "svc_77".
        garage_id: The garage, a destination of that kind, e.g. "dst_310".
        day: A weekday from tomorrow to two months ahead, e.g. "2026-03-16".
    """
    service, garage = cars.services[car_service_id], cars.destinations[garage_id]
    car, wait = cars.control(service.vehicle_id), (day - cars.now.date()).days
    forbid(service.status != "open", f"the {service.work} of {car.name} is {service.status}")
    forbid(garage.kind != "garage", f"{garage.name} is no garage; choose one")
    forbid(not 1 <= wait <= 60 or day.weekday() > 4, "choose a weekday in the next two months")
    booked = {"garage_name": garage.name, "visit_at": datetime.combine(day, state.VISIT)}
    return cars.services.update(car_service_id, status="booked", **booked)
