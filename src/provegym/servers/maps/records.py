"""The things the map knows."""

from datetime import datetime
from math import cos, hypot, radians
from typing import Literal

from msgspec import Struct

from provegym.kernel import Record

Category = Literal["bakery", "cafe", "cinema", "hotel", "museum", "park", "pharmacy", "restaurant"]
Mode = Literal["drive", "walk", "cycle", "transit"]
ProblemKind = Literal["closure", "accident", "roadworks", "hazard"]
SLOWED: dict[ProblemKind, float] = {"closure": 0, "accident": 0.4, "roadworks": 0.6, "hazard": 0.8}
WALK, CYCLE, TRAM, RUSH_SHARE, RUSH_HOURS = 5, 15, 14, 0.6, (7, 8, 16, 17)


class Point(Record, frozen=True):
    """Something on the map."""

    id: str
    latitude: float
    longitude: float

    def distance(self, latitude: float, longitude: float) -> float:
        """Metres to a coordinate as the crow flies; the earth is flat enough within a city."""
        east = (longitude - self.longitude) * cos(radians(self.latitude))
        return hypot(latitude - self.latitude, east) * 111_320


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
        if mode in ("walk", "transit"):
            return TRAM if self.tram and mode == "transit" else WALK * (self.kind != "motorway")
        if (self.one_way and not forward) or self.kind == (
            "path" if mode == "drive" else "motorway"
        ):
            return 0
        until, rush = self.problem_until, at.hour in RUSH_HOURS and at.weekday() < 5
        share = SLOWED[self.problem] if self.problem and until and until > at else 1
        return share * (CYCLE if mode == "cycle" else self.speed_kmh * (RUSH_SHARE if rush else 1))


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
