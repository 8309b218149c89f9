"""What can be done on the map."""

from datetime import timedelta
from typing import Annotated

from msgspec import Meta

from provegym.kernel import Denied, Label, Rejected, Time
from provegym.servers import plain_name

from .records import Category, Journey, Mode, Place, ProblemKind, RoadSegment, Route, SavedPlace
from .state import MAX_FOLLOWERS, City, list_capacity, server

PlaceIds = Annotated[list[str], Meta(min_length=1, max_length=5)]
Degrees = Annotated[float, Meta(ge=-180, le=180)]
Stars = Annotated[int, Meta(ge=1, le=5)]
PROBLEM_HOURS = {"closure": 8, "accident": 2, "roadworks": 48, "hazard": 4}
DELAY = timedelta(minutes=10)
MAP_MARGIN_METERS = 1_500


@server.read
def geocode_address(city: City, /, address: Label) -> list[Place]:
    """Find what is at a street address of the city, with coordinates.

    Args:
        address: House number and street or a part of them, e.g. "12 Linden Street".
    """
    words = address.lower().split()
    found = []
    for place in city.places:
        if all(word in place.address.lower() for word in words):
            found.append(place)
    exact = [place for place in found if place.address.lower() == address.lower()]
    return exact or found


@server.read
def reverse_geocode(city: City, /, latitude: Degrees, longitude: Degrees) -> Place:
    """Find the street address nearest to a coordinate, which must lie in the city.

    Args:
        latitude: Degrees north, e.g. 51.5072.
        longitude: Degrees east, negative in the west, e.g. -0.1276.
    """
    nearest = min(city.places, key=lambda place: place.distance(latitude, longitude))
    if nearest.distance(latitude, longitude) > MAP_MARGIN_METERS:
        raise Rejected("that is outside the city on this map; check latitude and longitude")
    return nearest


@server.read
def search_places(city: City, /, name: str = "", category: Category | None = None) -> list[Place]:
    """Find businesses and sights on the city map, best rated first.

    Args:
        name: Only places whose name contains this.
        category: Only places of this category.
    """
    found = [place for place in city.places if place.category]
    found = [place for place in found if name.lower() in place.name.lower()]
    if category is not None:
        found = [place for place in found if place.category == category]
    return sorted(found, key=lambda place: -(place.rating or 0))


@server.read
def find_nearby_places(city: City, /, place_id: str, category: Category) -> list[Place]:
    """Find businesses or sights of one category around a place on the map, nearest first.

    Args:
        place_id: The place to look around, e.g. "plc_4711".
        category: Only places of this category.
    """
    here = city.places[place_id]
    found = city.places.where(category=category)
    return sorted(found, key=lambda place: place.distance(here.latitude, here.longitude))


@server.read
def get_place_details(city: City, /, place_id: str) -> Place:
    """Show one place on the map: opening hours, day off, rating and the user's own stars.

    Args:
        place_id: The place, e.g. "plc_4711".
    """
    return city.places[place_id]


@server.read
def get_directions(
    city: City, /, origin_id: str, destination_id: str, mode: Mode, depart_at: Time | None = None
) -> Route:
    """Find the quickest way between two places on the map, by the hour's traffic and road problems.

    Args:
        origin_id: The place to start from, e.g. "plc_4711".
        destination_id: The place to get to, e.g. "plc_4712".
        mode: How to travel.
        depart_at: When to leave, e.g. "2026-03-02T08:00:00Z"; now if left out.
    """
    origin = city.places[origin_id]
    destination = city.places[destination_id]
    return city.routes(origin, [destination], mode, depart_at or city.now)[0]


@server.read
def get_distance_matrix(
    city: City, /, origin_ids: PlaceIds, destination_ids: PlaceIds, mode: Mode
) -> list[Route]:
    """Compare travel times now from several places on the map to several others, pair by pair.

    Args:
        origin_ids: The places to start from, e.g. ["plc_4711"].
        destination_ids: The places to get to, e.g. ["plc_4712"].
        mode: How to travel.
    """
    origins = [city.places[place_id] for place_id in origin_ids]
    destinations = [city.places[place_id] for place_id in destination_ids]
    routes = []
    for origin in origins:
        routes += city.routes(origin, destinations, mode, city.now)
    return routes


@server.read
def list_road_segments(city: City, /, street: str = "", blocked: bool = False) -> list[RoadSegment]:
    """List stretches of the city's streets, each with the problem reported on it, if any.

    Args:
        street: Only stretches of streets whose name contains this.
        blocked: Only stretches with a problem at present.
    """
    found = [road for road in city.segments if street.lower() in road.street.lower()]
    if blocked:
        found = [road for road in found if road.problem]
    return found


@server.read
def list_saved_places(city: City, /, list_name: str = "", name: str = "") -> list[SavedPlace]:
    """List the places the user saved on the map, home and work among them.

    Args:
        list_name: Only places on lists whose name contains this, e.g. "Home".
        name: Only places whose name contains this.
    """
    found = [entry for entry in city.saved if list_name.lower() in entry.list_name.lower()]
    return [entry for entry in found if name.lower() in entry.name.lower()]


@server.read
def list_journeys(city: City, /, destination: str = "") -> list[Journey]:
    """List the user's journeys through the city, newest first, with arrival and followers.

    Args:
        destination: Only journeys to places whose name contains this.
    """
    wanted = destination.lower()
    found = [journey for journey in city.journeys if wanted in journey.destination.lower()]
    return sorted(found, key=lambda journey: journey.arrives_at, reverse=True)


@server.write
def save_place(city: City, /, place_id: str, list_name: Label) -> SavedPlace:
    """Put a place on a list of the user's map: one on Home and on Work, up to 6 on any other.

    Args:
        place_id: The place, e.g. "plc_4711"; not one that has closed for good.
        list_name: The list, e.g. "Home"; a new name starts a new list.
    """
    place = city.usable(place_id)
    entries = city.on_list(list_name)
    if any(entry.place_id == place_id for entry in entries):
        raise Rejected(f"{place.name} is already on {list_name}")
    if len(entries) >= list_capacity(list_name):
        raise Rejected(f"{list_name} is full; remove_saved_place makes room")
    title = entries[0].list_name if entries else list_name
    return city.saved.add(list_name=title, place_id=place_id, name=place.name)


@server.write(destructive=True)
def remove_saved_place(city: City, /, saved_place_id: str) -> SavedPlace:
    """Take a place off a list of the user's map; what a friend added only they can remove.

    Args:
        saved_place_id: The saved place, e.g. "sav_310".
    """
    entry = city.saved[saved_place_id]
    if entry.added_by:
        raise Denied(f"{entry.added_by} added {entry.name}; only they can remove it")
    city.saved.remove(saved_place_id)
    return entry


@server.write
def report_road_problem(city: City, /, road_segment_id: str, kind: ProblemKind) -> RoadSegment:
    """Report a problem on a road that has none yet; routes avoid it, a journey over it is late.

    Args:
        road_segment_id: The stretch of road, e.g. "rds_88".
        kind: What is wrong; only the road authority closes motorways.
    """
    road = city.segments[road_segment_id]
    if road.kind == "motorway" and kind == "closure":
        raise Denied(f"only the road authority closes {road.street}; report what happened there")
    if road.problem:
        raise Rejected(f"{road.street} has a known {road.problem} there until {road.problem_until}")
    for journey in city.journeys.where(status="active"):
        on_wheels = journey.route.mode in ("drive", "cycle")
        if on_wheels and road.id in journey.route.road_segment_ids:
            city.journeys.update(journey.id, arrives_at=journey.arrives_at + DELAY)
    until = city.now + timedelta(hours=PROBLEM_HOURS[kind])
    return city.segments.update(road.id, problem=kind, problem_until=until)


@server.write
def review_place(city: City, /, place_id: str, stars: Stars) -> Place:
    """Rate a business or sight on the map, once; not one that has closed for good.

    Args:
        place_id: The place, e.g. "plc_4711".
        stars: From 1, bad, to 5, excellent.
    """
    place = city.usable(place_id)
    if place.my_stars:
        raise Rejected(
            f"{place.name} has {place.my_stars} stars of you already; choose another place"
        )
    if place.category is None:
        raise Rejected(f"{place.name} is no business; choose another place")
    total_stars = (place.rating or 0) * place.review_count + stars
    review_count = place.review_count + 1
    return city.places.update(
        place_id,
        rating=round(total_stars / review_count, 2),
        review_count=review_count,
        my_stars=stars,
    )


@server.write
def start_journey(city: City, /, origin_id: str, destination_id: str, mode: Mode) -> Journey:
    """Set out for a place on the map by the quickest way; only one journey runs at a time.

    Args:
        origin_id: The place to start from, e.g. "plc_4711".
        destination_id: The place to get to, e.g. "plc_4712"; not one that has closed for good.
        mode: How to travel.
    """
    running = city.journeys.where(status="active")
    if running:
        raise Rejected(f"you are still on the way to {running[0].destination}; arrive there first")
    origin = city.places[origin_id]
    destination = city.usable(destination_id)
    route = city.routes(origin, [destination], mode, city.now)[0]
    return city.journeys.add(
        destination=destination.name,
        route=route,
        arrives_at=city.now + timedelta(minutes=route.minutes),
        status="active",
    )


@server.write
def share_arrival(city: City, /, journey_id: str, contact_name: Label) -> Journey:
    """Let somebody follow the user's running journey and its arrival time; at most 3 people do.

    Args:
        journey_id: The journey, e.g. "jny_52".
        contact_name: Who is to follow it, by full name.
    """
    journey = city.journeys[journey_id]
    if journey.status != "active":
        raise Rejected(
            f"the journey to {journey.destination} is over; only a running one is shared"
        )
    followers = [plain_name(name) for name in journey.contact_names]
    if plain_name(contact_name) in followers:
        raise Rejected(f"{contact_name} already follows the journey to {journey.destination}")
    if len(journey.contact_names) >= MAX_FOLLOWERS:
        raise Rejected(f"{', '.join(journey.contact_names)} follow it already; no more can")
    contact_names = (*journey.contact_names, contact_name)
    return city.journeys.update(journey_id, contact_names=contact_names)
