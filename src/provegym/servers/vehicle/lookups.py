"""What can be looked up about the cars."""

from .state import (
    UNSAFE_BAR,
    CarCharge,
    Cars,
    CarService,
    CarTrip,
    Destination,
    Kind,
    Leg,
    Vehicle,
    server,
)


@server.read
def list_vehicles(cars: Cars, /, name: str = "") -> list[Vehicle]:
    """List the household's cars as they are now: mode, place, battery, doors, climate, route.

    Args:
        name: Only cars whose name contains this.
    """
    found = [car for car in cars.vehicles if name.lower() in car.name.lower()]
    return [cars.live(car) for car in found]


@server.read
def preview_car_route(cars: Cars, /, vehicle_id: str, destination_id: str) -> list[Leg]:
    """Work out how far a drive by car would be and how long, if the battery lasts; nothing is set.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        destination_id: The destination, e.g. "dst_310".
    """
    car = cars.live(cars.vehicles[vehicle_id])
    goal = cars.destinations[destination_id]
    return list(cars.plan_route(car, [goal]))


@server.read
def list_car_destinations(
    cars: Cars, /, name: str = "", kind: Kind | None = None
) -> list[Destination]:
    """List the destinations saved in the cars' navigation, garages and chargers included.

    Args:
        name: Only destinations whose name contains this.
        kind: Only destinations of this kind.
    """
    found = [place for place in cars.destinations if name.lower() in place.name.lower()]
    if kind is not None:
        found = [place for place in found if place.kind == kind]
    return found


@server.read
def list_car_trips(
    cars: Cars, /, vehicle_id: str | None = None, destination_name: str = ""
) -> list[CarTrip]:
    """List the finished trips of a car, or of all of them, newest first.

    Args:
        vehicle_id: Only trips of this car, e.g. "veh_204".
        destination_name: Only trips to places whose name contains this.
    """
    trips = list(cars.trips)
    if vehicle_id:
        trips = cars.trips.where(vehicle_id=cars.vehicles[vehicle_id].id)
    wanted = destination_name.lower()
    found = [trip for trip in trips if wanted in trip.destination_name.lower()]
    return sorted(found, key=lambda trip: trip.ended_at, reverse=True)


@server.read
def list_car_charges(cars: Cars, /, vehicle_id: str, place_name: str = "") -> list[CarCharge]:
    """List when and where a car was charged and at what cost, newest first.

    Args:
        vehicle_id: The car, e.g. "veh_204".
        place_name: Only charges at places whose name contains this.
    """
    car = cars.vehicles[vehicle_id]
    charges = cars.charges.where(vehicle_id=car.id)
    found = [charge for charge in charges if place_name.lower() in charge.place_name.lower()]
    return found[::-1]


@server.read
def list_car_services(
    cars: Cars, /, vehicle_id: str | None = None, work: str = ""
) -> list[CarService]:
    """List garage work on a car, or on all of them, with its state, the soonest due first.

    Args:
        vehicle_id: Only work on this car, e.g. "veh_204".
        work: Only work whose name contains this, e.g. "brake".
    """
    services = list(cars.services)
    if vehicle_id:
        services = cars.services.where(vehicle_id=cars.vehicles[vehicle_id].id)
    found = [service for service in services if work.lower() in service.work]
    return sorted(found, key=lambda service: service.due_on)


@server.read
def list_car_alerts(cars: Cars, /, vehicle_id: str) -> list[CarService]:
    """List the open garage work a car warns of: overdue by day or by km, or for a soft tyre.

    Args:
        vehicle_id: The car, e.g. "veh_204".
    """
    car = cars.live(cars.vehicles[vehicle_id])
    today = cars.now.date()
    needed = cars.services.where(vehicle_id=vehicle_id, status="open")
    alerts = [
        service for service in needed if service.due_on < today or service.due_km <= car.odometer_km
    ]
    if min(car.tyres_bar) < UNSAFE_BAR:
        tyre_changes = [service for service in needed if service.work == "tyre change"]
        alerts += [service for service in tyre_changes if service not in alerts]
    return alerts
