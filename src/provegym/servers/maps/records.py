"""The things the map knows."""

from datetime import datetime
from math import cos, hypot, radians
from typing import Literal

from msgspec import Struct

from provegym.kernel import Record

Category = Literal["bakery", "cafe", "cinema", "hotel", "museum", "park", "pharmacy", "restaurant"]
Mode = Literal["drive", "walk", "cycle", "transit"]
ProblemKind = Literal["closure", "accident", "roadworks", "hazard"]

WALK_KMH = 5
CYCLE_KMH = 15
TRAM_KMH = 14
METERS_PER_DEGREE = 111_320
RUSH_HOURS = (7, 8, 16, 17)
# The share of its usual speed that traffic keeps in the rush hour, and where there is a problem.
RUSH_SHARE = 0.6
PROBLEM_SHARE: dict[ProblemKind, float] = {
    "closure": 0,
    "accident": 0.4,
    "roadworks": 0.6,
    "hazard": 0.8,
}


class Point(Record, frozen=True):
    """Something on the map."""

    id: str
    latitude: float
    longitude: float

    def distance(self, latitude: float, longitude: float) -> float:
        """Metres to a coordinate in a straight line; within a city the earth counts as flat."""
        north = latitude - self.latitude
        east = (longitude - self.longitude) * cos(radians(self.latitude))
        return hypot(north, east) * METERS_PER_DEGREE


class Junction(Point, frozen=True):
    """Where roads meet; its exits are the segments that touch it."""

    exits: tuple[str, ...] = ()


class RoadSegment(Record, frozen=True):
    """A street between two cross streets; a one-way one leads from its start to its end."""

    id: str
    street: str
    from_street: str
    to_street: str
    kind: Literal["motorway", "main", "residential", "path"]
    meters: int
    speed_kmh: int
    start_id: str
    end_id: str
    one_way: bool = False
    tram: bool = False
    problem: ProblemKind | None = None
    problem_until: datetime | None = None

    def speed(self, mode: Mode, forward: bool, at: datetime) -> float:
        """Kilometres per hour along it, 0 where one cannot go; waiting for trams is included."""
        if mode == "transit" and self.tram:
            return TRAM_KMH
        if mode in ("walk", "transit"):
            return 0 if self.kind == "motorway" else WALK_KMH
        if self.one_way and not forward:
            return 0
        if mode == "cycle" and self.kind == "motorway":
            return 0
        if mode == "drive" and self.kind == "path":
            return 0
        free_speed = CYCLE_KMH if mode == "cycle" else self._driving_speed(at)
        return self._problem_share(at) * free_speed

    def _driving_speed(self, at: datetime) -> float:
        """How fast cars go when there is no problem; the rush hour slows them down."""
        is_rush_hour = at.hour in RUSH_HOURS and at.weekday() < 5
        return self.speed_kmh * RUSH_SHARE if is_rush_hour else self.speed_kmh

    def _problem_share(self, at: datetime) -> float:
        """The share of the usual speed that a reported problem leaves, until it is over."""
        if self.problem is None or self.problem_until is None or self.problem_until <= at:
            return 1
        return PROBLEM_SHARE[self.problem]


class Place(Point, frozen=True):
    """A house near a junction; one with a category is a business, open at full hours (UTC)."""

    name: str
    address: str
    district: str
    junction_id: str
    meters: int
    category: Category | None = None
    opens: int = 0
    closes: int = 24
    day_off: str = ""
    closed_for_good: bool = False
    rating: float | None = None
    review_count: int = 0
    my_stars: int | None = None


class SavedPlace(Record, frozen=True):
    """A place on one of the user's lists, perhaps put there by a friend."""

    id: str
    list_name: str
    place_id: str
    name: str
    added_by: str = ""


class Route(Struct, frozen=True, omit_defaults=True):
    """The quickest way from door to door."""

    origin: str
    destination: str
    mode: Mode
    meters: int
    minutes: int
    streets: tuple[str, ...] = ()
    road_segment_ids: tuple[str, ...] = ()


class Journey(Record, frozen=True):
    """The user on the way to somewhere; it ends by itself on arrival."""

    id: str
    destination: str
    route: Route
    arrives_at: datetime
    status: Literal["active", "arrived"]
    contact_names: tuple[str, ...] = ()
