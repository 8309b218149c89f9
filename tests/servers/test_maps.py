"""The map's rules, told on a town of four junctions."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from provegym.kernel import Seed
from provegym.servers.maps import server
from provegym.servers.maps.state import City
from servers.desk import Desk

MONDAY_NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Town(Desk[City]):
    """A ring of four streets, and places at three of its corners.

    West to east one takes the slow Mill Lane, or drives round by the motorway.
    """

    def __init__(self) -> None:
        super().__init__(server, City(Seed(0)))
        city = self.world
        city.now = MONDAY_NOON
        spots = {"sw": (50.0, 8.0), "se": (50.0, 8.02), "nw": (50.01, 8.0), "ne": (50.01, 8.02)}
        self.corner = {
            name: city.junctions.add(latitude=north, longitude=east).id
            for name, (north, east) in spots.items()
        }
        self.lane = self.road("Mill Lane", "residential", "sw", "se", 1_500, 30)
        self.bypass = self.road("Linden Bypass", "motorway", "nw", "ne", 1_500, 90)
        self.west = self.road("West Road", "main", "sw", "nw", 1_200, 50)
        self.east = self.road("East Road", "main", "se", "ne", 1_200, 50, one_way=True)
        self.home = self.place("3 Mill Lane", "sw")
        self.cafe = self.place("Copper Cafe", "se", category="cafe", opens=8, closes=18)
        self.museum = self.place("Old Museum", "ne", category="museum", closed_for_good=True)
        self.park = self.place("Oak Park", "ne", category="park", rating=4.0, review_count=3)
        for junction in list(city.junctions):
            touching = [r.id for r in city.segments if junction.id in (r.start_id, r.end_id)]
            city.junctions.update(junction.id, exits=tuple(touching))
        self.start()

    def road(
        self, street: str, kind: str, start: str, end: str, meters: int, speed: int, **more: Any
    ) -> str:
        """Add a road between two corners."""
        ends = {"start_id": self.corner[start], "end_id": self.corner[end], "speed_kmh": speed}
        names = {"street": street, "from_street": start, "to_street": end, "kind": kind}
        return self.world.segments.add(meters=meters, **ends, **names, **more).id

    def place(self, name: str, corner: str, **more: Any) -> str:
        """Add a place at a corner."""
        junction = self.world.junctions[self.corner[corner]]
        spot = {"latitude": junction.latitude, "longitude": junction.longitude, "meters": 10}
        where = {"address": f"1 {corner} {name}", "district": "Centre", "junction_id": junction.id}
        return self.world.places.add(name=name, **spot, **where, **more).id

    def go(self, mode: str, start: str, end: str, **more: Any) -> Any:
        """The route between two places."""
        ends = {"origin_id": start, "destination_id": end}
        return self.done("get_directions", **ends, mode=mode, **more)

    def set_out(self, mode: str = "drive") -> Any:
        """Start the journey from home to the cafe."""
        ends = {"origin_id": self.home, "destination_id": self.cafe}
        return self.done("start_journey", **ends, mode=mode)


@pytest.fixture
def town() -> Town:
    return Town()


def test_an_exact_address_wins_over_parts_of_it(town: Town) -> None:
    assert town.done("geocode_address", address="1 sw 3 mill lane")["total"] == 1
    assert town.done("geocode_address", address="museum ne")["items"][0]["id"] == town.museum
    assert town.done("geocode_address", address="1")["total"] == 4


def test_a_coordinate_leads_to_the_nearest_place_in_town(town: Town) -> None:
    found = town.done("reverse_geocode", latitude=50.001, longitude=8.001)
    assert found["id"] == town.home
    town.rejected("reverse_geocode", "outside the city", latitude=51, longitude=8)


def test_search_leaves_plain_addresses_out_and_ranks_by_rating(town: Town) -> None:
    names = [place["name"] for place in town.done("search_places")["items"]]
    assert names[0] == "Oak Park"
    assert "3 Mill Lane" not in names
    nearby = town.done("find_nearby_places", place_id=town.home, category="cafe")
    assert nearby["items"][0]["id"] == town.cafe


def test_cars_and_walkers_take_different_ways(town: Town) -> None:
    assert town.go("walk", town.home, town.park)["streets"] == ["Mill Lane", "East Road"]
    assert town.go("drive", town.home, town.park)["streets"] == ["West Road", "Linden Bypass"]


def test_one_way_streets_bind_wheels_but_not_feet(town: Town) -> None:
    assert town.go("walk", town.park, town.cafe)["streets"] == ["East Road"]
    assert town.go("drive", town.park, town.cafe)["streets"][0] == "Linden Bypass"
    town.rejected(
        "get_directions",
        "try another mode",
        origin_id=town.park,
        destination_id=town.cafe,
        mode="cycle",
    )


def test_rush_hour_is_slow_on_weekdays(town: Town) -> None:
    noon = town.go("drive", town.home, town.cafe)["minutes"]
    rush = town.go("drive", town.home, town.cafe, depart_at="2026-03-02T17:10:00Z")["minutes"]
    sunday = town.go("drive", town.home, town.cafe, depart_at="2026-03-08T17:10:00Z")["minutes"]
    assert noon == sunday < rush


def test_a_closure_sends_traffic_round_until_it_is_over(town: Town) -> None:
    assert town.go("drive", town.home, town.cafe)["streets"] == ["Mill Lane"]
    town.done("report_road_problem", road_segment_id=town.east, kind="accident")
    town.done("report_road_problem", road_segment_id=town.lane, kind="closure")
    walk = town.go("walk", town.home, town.cafe)
    assert walk["streets"] == ["Mill Lane"]
    drive = {"origin_id": town.home, "destination_id": town.cafe, "mode": "drive"}
    town.rejected("get_directions", **drive)
    later = town.go("drive", town.home, town.cafe, depart_at="2026-03-02T21:00:00Z")
    assert later["streets"] == ["Mill Lane"]
    town.wait(hours=8)
    assert town.go("drive", town.home, town.cafe)["streets"] == ["Mill Lane"]
    assert town.done("list_road_segments", blocked=True)["total"] == 0


def test_a_known_problem_is_not_reported_twice(town: Town) -> None:
    town.done("report_road_problem", road_segment_id=town.lane, kind="hazard")
    town.rejected("report_road_problem", "known hazard", road_segment_id=town.lane, kind="hazard")


def test_only_the_authority_closes_motorways(town: Town) -> None:
    town.denied(
        "report_road_problem", "road authority", road_segment_id=town.bypass, kind="closure"
    )
    town.done("report_road_problem", road_segment_id=town.bypass, kind="accident")


def test_a_problem_on_the_way_delays_the_journey_and_closes_nothing_for_walkers(town: Town) -> None:
    before = town.set_out()["arrives_at"]
    town.done("report_road_problem", road_segment_id=town.lane, kind="accident")
    after = town.done("list_journeys")["items"][0]["arrives_at"]
    late = datetime.fromisoformat(after) - datetime.fromisoformat(before)
    assert late == timedelta(minutes=10)
    tables = {change.table for change in town.session.diff()}
    assert tables == {"segments", "journeys"}


def test_walkers_are_not_delayed(town: Town) -> None:
    before = town.set_out("walk")["arrives_at"]
    town.done("report_road_problem", road_segment_id=town.lane, kind="closure")
    assert town.done("list_journeys")["items"][0]["arrives_at"] == before


def test_one_journey_at_a_time_and_it_ends_on_arrival(town: Town) -> None:
    minutes = town.set_out()["route"]["minutes"]
    ends = {"origin_id": town.home, "destination_id": town.park, "mode": "walk"}
    town.rejected("start_journey", "still on the way to Copper Cafe", **ends)
    town.wait(minutes)
    assert town.done("list_journeys")["items"][0]["status"] == "arrived"
    town.done("start_journey", **ends)


def test_nobody_sets_out_for_where_they_are_or_for_what_is_gone(town: Town) -> None:
    same = {"origin_id": town.home, "destination_id": town.home, "mode": "walk"}
    town.rejected("start_journey", "leads nowhere", **same)
    gone = {"origin_id": town.home, "destination_id": town.museum, "mode": "walk"}
    town.rejected("start_journey", "closed for good", **gone)


def test_three_people_follow_a_running_journey(town: Town) -> None:
    trip = town.set_out("walk")["id"]
    for name in ("Ada Berg", "Ivo Falk", "Uma Holm"):
        town.done("share_arrival", journey_id=trip, contact_name=name)
    town.rejected("share_arrival", "already follows", journey_id=trip, contact_name="Ada Berg")
    town.rejected("share_arrival", "no more can", journey_id=trip, contact_name="Nils Klein")
    town.wait(60)
    town.rejected("share_arrival", "is over", journey_id=trip, contact_name="Nils Klein")


def test_there_is_one_home(town: Town) -> None:
    town.done("save_place", place_id=town.home, list_name="Home")
    town.rejected("save_place", "is full", place_id=town.cafe, list_name="home")


def test_blanks_make_no_second_home_and_no_second_follower(town: Town) -> None:
    town.done("save_place", place_id=town.home, list_name="Home ")
    town.rejected("save_place", "is full", place_id=town.cafe, list_name=" home")
    trip = town.set_out("walk")["id"]
    town.done("share_arrival", journey_id=trip, contact_name="Ada Berg")
    town.rejected("share_arrival", "already follows", journey_id=trip, contact_name="ada  berg ")


def test_a_list_holds_a_place_once_and_nothing_that_is_gone(town: Town) -> None:
    saved = town.done("save_place", place_id=town.cafe, list_name="Treats")
    assert town.done("save_place", place_id=town.park, list_name="treats")["list_name"] == (
        "Treats"
    )
    town.rejected("save_place", "already on", place_id=town.cafe, list_name="TREATS")
    town.rejected("save_place", "for good", place_id=town.museum, list_name="Treats")
    town.done("remove_saved_place", saved_place_id=saved["id"])
    assert town.done("list_saved_places", list_name="treat")["total"] == 1


def test_lists_are_full_at_six(town: Town) -> None:
    for number in range(6):
        place = town.state.places.add(
            name=f"House {number}",
            address=f"{number} Hill",
            district="Hill",
            latitude=50.0,
            longitude=8.0,
            junction_id=town.corner["sw"],
            meters=5,
        )
        town.done("save_place", place_id=place.id, list_name="Houses")
    town.rejected("save_place", "is full", place_id=town.cafe, list_name="Houses")


def test_what_a_friend_added_stays() -> None:
    town = Town()
    entry = town.state.saved.add(
        list_name="Treats", place_id=town.cafe, name="Copper Cafe", added_by="Ada Berg"
    )
    town.denied("remove_saved_place", "Ada Berg added", saved_place_id=entry.id)


def test_a_place_is_rated_once(town: Town) -> None:
    rated = town.done("review_place", place_id=town.park, stars=2)
    assert (rated["rating"], rated["review_count"]) == (3.5, 4)
    town.rejected("review_place", "2 stars of you", place_id=town.park, stars=5)
    assert town.done("review_place", place_id=town.cafe, stars=5)["rating"] == 5
    town.rejected("review_place", "no business", place_id=town.home, stars=5)
    town.rejected("review_place", "for good", place_id=town.museum, stars=5)


def test_a_matrix_holds_every_pair(town: Town) -> None:
    ends = {"origin_ids": [town.home, town.cafe], "destination_ids": [town.park, town.cafe]}
    routes = town.done("get_distance_matrix", **ends, mode="walk")["items"]
    pairs = [(route["origin"], route["destination"]) for route in routes]
    home = [("3 Mill Lane", "Oak Park"), ("3 Mill Lane", "Copper Cafe")]
    assert pairs == [*home, ("Copper Cafe", "Oak Park")]
