"""What the map knows about one city and its user, and what is always true of it."""

from datetime import datetime
from heapq import heappop, heappush
from math import ceil

from provegym.kernel import Rejected, Server, State, Table, table
from provegym.servers import plain_name

from .records import WALK_KMH, Journey, Junction, Mode, Place, RoadSegment, Route, SavedPlace

MAX_FOLLOWERS = 3

# The ids of the road segments one goes along, one after the other.
Path = tuple[str, ...]


def list_capacity(list_name: str) -> int:
    """How many places a list holds: one on Home and on Work, six on any other."""
    return 1 if plain_name(list_name) in ("home", "work") else 6


def minutes_for(meters: int, speed_kmh: float) -> float:
    """How long a distance takes at a speed."""
    return 0.06 * meters / speed_kmh


class City(State):
    """A city as one user's map shows it."""

    junctions: Table[Junction] = table(Junction, "jnc")
    segments: Table[RoadSegment] = table(RoadSegment, "rds", look_up="list_road_segments")
    places: Table[Place] = table(Place, "plc", look_up="search_places")
    saved: Table[SavedPlace] = table(SavedPlace, "sav", look_up="list_saved_places")
    journeys: Table[Journey] = table(Journey, "jny", look_up="list_journeys")

    def usable(self, place_id: str) -> Place:
        """A place that is not gone for good."""
        place = self.places[place_id]
        if place.closed_for_good:
            raise Rejected(f"{place.name} has closed for good; search_places finds others")
        return place

    def on_list(self, list_name: str) -> list[SavedPlace]:
        """The places on a list of the user's; case and extra blanks in its name do not count."""
        wanted = plain_name(list_name)
        return [entry for entry in self.saved if plain_name(entry.list_name) == wanted]

    def routes(self, origin: Place, goals: list[Place], mode: Mode, at: datetime) -> list[Route]:
        """The quickest routes from a place to the others, without those that it does not reach."""
        junction_ids = {goal.junction_id for goal in goals}
        reached = self._search(origin.junction_id, junction_ids, mode, at)
        found = []
        for goal in goals:
            if goal.id != origin.id and goal.junction_id in reached:
                minutes, path = reached[goal.junction_id]
                found.append(self._route(origin, goal, mode, minutes, path))
        if not found:
            raise Rejected(f"{mode} leads nowhere from {origin.name}; try another mode or place")
        return found

    def _search(
        self, start_id: str, goal_ids: set[str], mode: Mode, at: datetime
    ) -> dict[str, tuple[float, Path]]:
        """Dijkstra's algorithm: minutes and path to junctions, until all the goals are reached."""
        settled: dict[str, tuple[float, Path]] = {}
        queue: list[tuple[float, str, Path]] = [(0.0, start_id, ())]
        while queue and not goal_ids <= settled.keys():
            minutes, here, path = heappop(queue)
            if here in settled:
                continue
            settled[here] = (minutes, path)
            for segment_id in self.junctions[here].exits:
                road = self.segments[segment_id]
                forward = road.start_id == here
                there = road.end_id if forward else road.start_id
                speed = road.speed(mode, forward, at)
                if speed > 0 and there not in settled:
                    total = minutes + minutes_for(road.meters, speed)
                    heappush(queue, (total, there, (*path, segment_id)))
        return settled

    def _route(self, origin: Place, goal: Place, mode: Mode, minutes: float, path: Path) -> Route:
        """The route along a path, with the walk from door to road at both of its ends."""
        roads = [self.segments[segment_id] for segment_id in path]
        walk_meters = origin.meters + goal.meters
        streets = dict.fromkeys(road.street for road in roads)
        return Route(
            origin=origin.name,
            destination=goal.name,
            mode=mode,
            meters=walk_meters + sum(road.meters for road in roads),
            minutes=ceil(minutes + minutes_for(walk_meters, WALK_KMH)),
            streets=tuple(streets),
            road_segment_ids=path,
        )

    def next_event(self) -> datetime | None:
        """A journey arrives, or a reported problem is over."""
        arrivals = [journey.arrives_at for journey in self.journeys.where(status="active")]
        problem_ends = [road.problem_until for road in self.segments if road.problem_until]
        return min(arrivals + problem_ends, default=None)

    def happen(self) -> None:
        """End the journeys and problems whose time has come."""
        for journey in self.journeys.where(status="active"):
            if journey.arrives_at <= self.now:
                self.journeys.update(journey.id, status="arrived")
        for road in list(self.segments):
            if road.problem_until and road.problem_until <= self.now:
                self.segments.update(road.id, problem=None, problem_until=None)

    def check(self) -> None:
        """Roads join up, references lead somewhere, lists and journeys keep their limits."""
        self._check_roads()
        self._check_places()
        self._check_saved_places()
        self._check_journeys()

    def _check_roads(self) -> None:
        for road in self.segments:
            start = self.junctions[road.start_id]
            end = self.junctions[road.end_id]
            distance = start.distance(end.latitude, end.longitude)
            assert road.id in start.exits
            assert road.id in end.exits
            assert road.speed_kmh > 0
            assert 0 < distance <= road.meters
            has_end_ahead = road.problem_until is not None and road.problem_until > self.now
            assert (road.problem is not None) == has_end_ahead
        exits = sum(len(junction.exits) for junction in self.junctions)
        assert exits == 2 * len(self.segments)

    def _check_places(self) -> None:
        for place in self.places:
            assert place.junction_id in self.junctions
            assert bool(place.rating) == bool(place.review_count)
            assert place.review_count or not place.my_stars

    def _check_saved_places(self) -> None:
        for saved in self.saved:
            assert saved.place_id in self.places
            same_list = self.on_list(saved.list_name)
            place_ids = [entry.place_id for entry in same_list]
            assert place_ids.count(saved.place_id) == 1
            assert len(same_list) <= list_capacity(saved.list_name)

    def _check_journeys(self) -> None:
        assert len(self.journeys.where(status="active")) <= 1
        for journey in self.journeys:
            is_under_way = self.now < journey.arrives_at
            assert (journey.status == "active") == is_under_way
            assert len(journey.contact_names) <= MAX_FOLLOWERS
            followers = {plain_name(name) for name in journey.contact_names}
            assert len(followers) == len(journey.contact_names)


about = "A city map: addresses, places, routes, road problems, saved places and shared journeys."
server = Server("maps", City, category="travel", about=about, version=2)
