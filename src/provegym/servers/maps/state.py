"""What the map knows about one city and its user, and what is always true of it."""

from datetime import datetime
from heapq import heappop, heappush
from math import ceil

from provegym.kernel import Rejected, Server, State, Table, table

from .records import WALK, Journey, Junction, Mode, Place, RoadSegment, Route, SavedPlace

SINGLE, LIST_CAP = ("home", "work"), 6
Path = tuple[str, ...]


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

    def routes(self, origin: Place, goals: list[Place], mode: Mode, at: datetime) -> list[Route]:
        """The quickest ways (Dijkstra's) from a place to those of the others that it leads to."""
        ends, settled = {goal.junction_id for goal in goals}, dict[str, tuple[float, Path]]()
        queue, found = [(0.0, origin.junction_id, Path())], list[Route]()
        while queue and not ends <= settled.keys():
            minutes, here, path = heappop(queue)
            if here in settled:
                continue
            settled[here] = minutes, path
            for segment_id in self.junctions[here].exits:
                road = self.segments[segment_id]
                forward = road.start_id == here
                there = road.end_id if forward else road.start_id
                if there not in settled and (pace := road.speed(mode, forward, at)):
                    total = minutes + 0.06 * road.meters / pace
                    heappush(queue, (total, there, (*path, segment_id)))
        for goal in goals:
            if goal.id != origin.id and goal.junction_id in settled:
                (minutes, path), doors = settled[goal.junction_id], origin.meters + goal.meters
                roads, minutes = [self.segments[key] for key in path], minutes + 0.06 * doors / WALK
                way = mode, doors + sum(road.meters for road in roads), ceil(minutes)
                streets = tuple(dict.fromkeys(road.street for road in roads))
                found.append(Route(origin.name, goal.name, *way, streets, path))
        if not found:
            raise Rejected(f"{mode} leads nowhere from {origin.name}; try another mode or place")
        return found

    def next_event(self) -> datetime | None:
        """A journey arrives, or a reported problem is over."""
        due = [trip.arrives_at for trip in self.journeys if trip.status == "active"]
        due += [road.problem_until for road in self.segments if road.problem_until]
        return min(due, default=None)

    def happen(self) -> None:
        """End the journeys and problems whose time has come."""
        for trip in self.journeys.where(status="active"):
            if trip.arrives_at <= self.now:
                self.journeys.update(trip.id, status="arrived")
        for road in list(self.segments):
            if road.problem_until and road.problem_until <= self.now:
                self.segments.update(road.id, problem=None, problem_until=None)

    def check(self) -> None:
        """Roads join up, references lead somewhere, lists and journeys keep their limits."""
        for road in self.segments:
            start, end = self.junctions[road.start_id], self.junctions[road.end_id]
            assert road.id in start.exits and road.id in end.exits  # noqa: PT018
            assert road.speed_kmh > 0 < start.distance(end.latitude, end.longitude) <= road.meters
            assert bool(road.problem) == bool(road.problem_until and road.problem_until > self.now)
        assert sum(len(junction.exits) for junction in self.junctions) == 2 * len(self.segments)
        assert all(place.junction_id in self.junctions for place in self.places)
        assert all(bool(p.rating) == bool(p.review_count) >= bool(p.my_stars) for p in self.places)
        for saved in self.saved:
            same_list = self.saved.where(list_name=saved.list_name)
            assert [e.place_id for e in same_list].count(self.places[saved.place_id].id) == 1
            assert len(same_list) <= (1 if saved.list_name.lower() in SINGLE else LIST_CAP)
        assert len(self.journeys.where(status="active")) <= 1
        for trip in self.journeys:
            assert (trip.status == "active") == (self.now < trip.arrives_at)
            assert len(set(trip.contact_names)) == len(trip.contact_names) <= 3


about = "A city map: addresses, places, routes, road problems, saved places and shared journeys."
server = Server("maps", City, category="travel", about=about)
