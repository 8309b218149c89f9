"""The cars' rules, told on two cars and four places made by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from provegym.kernel import Seed, money
from provegym.servers.vehicle.state import Cars, Vehicle, server
from servers.desk import Desk

MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SOUND = (2.5, 2.5, 2.5, 2.5)


class Yard(Desk[Cars]):
    """Five places and two cars, of which the first is meant unless another is given."""

    def __init__(self, **main: Any) -> None:
        super().__init__(server, Cars(Seed(0)))
        self.world.now = MONDAY
        charger = {"power_kw": 50, "price": money("0.50")}
        self.home = self.place("Home", "home", (0.0, 0.0), **charger)
        self.shop = self.place("Market Hall", "shop", (3.2, 0.0))
        self.hub = self.place("Charge Hub", "charger", (16.0, 0.0), **charger)
        self.lake = self.place("Lake Beach", "leisure", (80.0, 0.0))
        self.garage = self.place("Green Spanner", "garage", (0.0, 8.0))
        self.car = self.park("Lumen van", **main)
        self.usual = {"vehicle_id": self.car}
        self.lent = self.park("Ida's Pebble", role="guest")
        self.start()

    def place(self, name: str, kind: str, spot: tuple[float, float], **fields: Any) -> str:
        """A saved destination."""
        return self.world.destinations.add(name=name, kind=kind, spot_km=spot, **fields).id

    def park(self, name: str, **fields: Any) -> str:
        """A car at home, half full, switched on and unlocked."""
        facts = {"role": "owner", "battery_kwh": 50, "full_range_km": 200, "tyres_bar": SOUND}
        facts |= {"odometer_km": 1000.0, "level_percent": 50.0, "gear": "P", "mode": "on"}
        lights = "off" if fields.get("mode") == "off" else "low_beam"
        where = {"place": "Home", "spot_km": (0.0, 0.0), "locked": False, "lights": lights}
        return self.world.vehicles.add(name=name, **(facts | where | fields)).id

    def need(self, work: str, **fields: Any) -> str:
        """Open garage work on the first car."""
        due = {"due_on": (MONDAY + timedelta(days=9)).date(), "due_km": 9_000, "price": money(80)}
        whose = {"vehicle_id": self.car, "vehicle_name": "Lumen van", "work": work}
        service = self.world.services.add(**whose, **(due | fields)).id
        self.start()
        return service

    def drive(self, *stops: str) -> None:
        """Set off over some places."""
        *waypoints, goal = stops
        self.done("start_car_navigation", destination_id=goal, waypoint_ids=waypoints)
        self.done("shift_car_gear", gear="D", brake="pressed")

    @property
    def now(self) -> Vehicle:
        """The first car as it is now."""
        return self.state.live(self.state.vehicles[self.car])


def test_a_guest_may_look_but_not_control() -> None:
    yard = Yard()
    assert yard.done("list_vehicles", name="pebble")["total"] == 1
    for tool, rest in {"lock_car": {"action": "lock"}, "set_car_lights": {"lights": "off"}}.items():
        yard.denied(tool, vehicle_id=yard.lent, **rest)


def test_starting_needs_the_brake() -> None:
    yard = Yard(mode="off")
    yard.rejected("set_car_power", "press the brake", mode="on", brake="released")
    assert yard.done("set_car_power", mode="on", brake="pressed")["mode"] == "on"
    yard.rejected("set_car_power", "already on", mode="on", brake="pressed")


def test_power_changes_in_park_only_and_ends_route_and_climate() -> None:
    yard = Yard(climate_c=22.0)
    yard.done("start_car_navigation", destination_id=yard.shop)
    yard.done("shift_car_gear", gear="N", brake="pressed")
    yard.rejected("set_car_power", "stand in P", mode="off", brake="released")
    yard.done("shift_car_gear", gear="P", brake="pressed")
    yard.done("set_car_power", mode="off", brake="released")
    assert (yard.now.route, yard.now.climate_c) == ((), None)


def test_gears_need_a_car_that_is_on_and_the_brake() -> None:
    Yard(mode="accessory").rejected("shift_car_gear", "is accessory", gear="R", brake="pressed")
    yard = Yard()
    yard.rejected("shift_car_gear", "press the brake", gear="R", brake="released")
    yard.rejected("shift_car_gear", "already in P", gear="P", brake="pressed")


def test_driving_needs_a_route_shut_doors_and_sound_tyres() -> None:
    off = {"gear": "D", "brake": "pressed"}
    Yard().rejected("shift_car_gear", "no route", **off)
    Yard(tyres_bar=(2.5, 1.7, 2.5, 2.5)).rejected("shift_car_gear", "nearly flat", **off)
    ajar = Yard(open_doors=("trunk",))
    ajar.rejected("shift_car_gear", "trunk stands open", **off)


def test_a_drive_locks_the_car_and_ends_as_a_trip() -> None:
    yard = Yard()
    yard.drive(yard.shop)
    assert (yard.now.mode, yard.now.locked, yard.now.speed_kmh) == ("driving", True, 45)
    yard.rejected("shift_car_gear", "is driving", gear="P", brake="pressed")
    yard.wait(3)
    assert (yard.now.place, yard.now.odometer_km) == ("on the road", 1002.0)
    yard.wait(3)
    assert (yard.now.mode, yard.now.gear, yard.now.place) == ("on", "P", "Market Hall")
    assert (yard.now.odometer_km, yard.now.level_percent) == (1004.0, 48.0)
    [trip] = yard.done("list_car_trips", destination_name="market")["items"]
    assert (trip["start_name"], trip["km"]) == ("Home", 4.0)


def test_a_route_can_be_changed_under_way() -> None:
    yard = Yard()
    yard.drive(yard.hub)
    yard.wait(6)
    assert yard.done("start_car_navigation", destination_id=yard.home)["route"][0]["km"] < 20
    yard.wait(30)
    assert yard.now.place == "Home"
    assert yard.now.odometer_km > 1010


def test_the_battery_must_last_and_a_charger_on_the_way_helps() -> None:
    yard = Yard(level_percent=20.0)
    yard.rejected("start_car_navigation", "pass a charger", destination_id=yard.lake)
    yard.rejected("preview_car_route", "pass a charger", destination_id=yard.lake)
    yard.drive(yard.hub, yard.lake)
    yard.wait(60)
    [charge] = yard.done("list_car_charges", place_name="hub")["items"]
    assert (charge["kwh"], charge["cost"]) == (35.0, 17.5)
    yard.wait(60)
    assert (yard.now.place, yard.now.level_percent) == ("Lake Beach", 40.0)


def test_a_route_needs_power_and_goes_somewhere_else() -> None:
    Yard(mode="off").rejected("start_car_navigation", "is off", destination_id="dst_1")
    yard = Yard()
    yard.rejected("start_car_navigation", "repeats", destination_id=yard.home)
    twice = {"destination_id": yard.shop, "waypoint_ids": [yard.shop]}
    yard.rejected("start_car_navigation", "repeats", **twice)


def test_valet_mode_keeps_the_car_near_and_the_trunk_shut() -> None:
    yard = Yard(mode="off")
    yard.done("set_car_safety", feature="valet_mode", setting="on")
    yard.rejected("move_car_door", "trunk", door="trunk", action="open")
    yard.done("set_car_power", mode="on", brake="pressed")
    yard.rejected("start_car_navigation", "within 5 km", destination_id=yard.hub)
    yard.rejected("set_car_safety", "off to change", feature="valet_mode", setting="off")
    yard.done("start_car_navigation", destination_id=yard.shop)


def test_the_child_lock_holds_the_rear_and_stays_while_driving() -> None:
    yard = Yard(child_lock=True)
    yard.rejected("move_car_door", "rear doors", door="rear_left", action="open")
    rear = {"windows": ["front_left", "rear_right"], "action": "open"}
    yard.rejected("move_car_windows", "rear windows", **rear)
    yard.rejected("set_car_safety", "already on", feature="child_lock", setting="on")
    yard.drive(yard.shop)
    yard.rejected("set_car_safety", "driving", feature="child_lock", setting="off")


def test_doors_open_in_an_unlocked_car_in_park() -> None:
    yard = Yard(locked=True)
    yard.rejected("move_car_door", "unlock it first", door="front_left", action="open")
    yard.done("lock_car", action="unlock")
    yard.done("move_car_door", door="front_left", action="open")
    yard.rejected("move_car_door", "no need to open", door="front_left", action="open")
    yard.rejected("lock_car", "close it first", action="lock")
    yard.done("move_car_door", door="front_left", action="close")
    yard.drive(yard.shop)
    yard.rejected("move_car_door", "gear D", door="trunk", action="open")
    yard.rejected("lock_car", "gear D", action="unlock")


def test_windows_need_power_to_open_and_stay_shut_at_speed() -> None:
    front = {"windows": ["front_left", "front_right"]}
    yard = Yard(mode="off", open_windows=("rear_left", "front_left"))
    yard.rejected("move_car_windows", "is off", **front, action="open")
    assert yard.done("move_car_windows", **front, action="close")["open_windows"] == ["rear_left"]
    yard.rejected("move_car_windows", "no need", **front, action="close")
    fast = Yard(level_percent=100.0)
    fast.drive(fast.lake)
    fast.rejected("move_car_windows", "115 km/h", **front, action="open")


def test_parked_climate_needs_charge_and_stops_after_half_an_hour() -> None:
    low = Yard(mode="off", level_percent=19.0)
    low.rejected("set_car_climate", "too low", temperature_c=21)
    yard = Yard(mode="off")
    yard.done("set_car_climate", temperature_c=21.5)
    yard.wait(29)
    assert yard.now.climate_c == 21.5
    yard.wait(1)
    assert yard.now.climate_c is None
    yard.rejected("set_car_climate", "already off")
    Yard(open_windows=("rear_left",)).rejected("set_car_climate", "close them", temperature_c=21)


def test_lights_fit_the_mode() -> None:
    Yard(mode="off").rejected("set_car_lights", "beams need", lights="low_beam")
    yard = Yard()
    yard.rejected("set_car_lights", "no high beam", lights="high_beam")
    yard.drive(yard.hub)
    yard.rejected("set_car_lights", "keeps a beam", lights="parking")
    assert yard.done("set_car_lights", lights="high_beam")["lights"] == "high_beam"


def test_a_car_drives_with_a_beam_on_and_is_off_without_one() -> None:
    yard = Yard(lights="off")
    yard.drive(yard.hub)
    assert yard.now.lights == "low_beam"
    yard.done("set_car_lights", lights="high_beam")
    yard.wait(60)
    assert yard.now.lights == "low_beam"
    yard.done("set_car_power", mode="off", brake="released")
    assert yard.now.lights == "off"


def test_charging_progresses_and_stops_at_its_limit() -> None:
    yard = Yard(mode="off")
    yard.done("charge_car", action="start", limit=90)
    yard.rejected("set_car_power", "stop that first", mode="on", brake="pressed")
    yard.rejected("charge_car", "already charging", action="start")
    yard.wait(12)
    assert yard.now.level_percent == 70.0
    yard.wait(600)
    assert (yard.now.level_percent, yard.now.charged_at) == (90, None)
    [charge] = yard.done("list_car_charges")["items"]
    assert (charge["kwh"], charge["cost"]) == (20.0, 10.0)


def test_charging_can_be_stopped_and_is_paid_so_far() -> None:
    yard = Yard(mode="off")
    yard.rejected("charge_car", "not charging", action="stop")
    yard.done("charge_car", action="start", limit=100)
    yard.wait(6)
    assert yard.done("charge_car", action="stop")["level_percent"] == 60.0
    assert yard.done("list_car_charges")["items"][0]["cost"] == 2.5


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"mode": "on"}, "switch it off"),
        ({"mode": "off", "place": "Market Hall"}, "no charger"),
        ({"mode": "off", "level_percent": 80.0}, "80.0 percent already"),
    ],
)
def test_charging_needs_a_charger_and_a_car_that_is_off(fields: dict[str, Any], why: str) -> None:
    Yard(**fields).rejected("charge_car", why, action="start", limit=80)


def test_a_departure_warms_the_car_shortly_before() -> None:
    yard = Yard(mode="off")
    soon, later = MONDAY + timedelta(minutes=20), MONDAY + timedelta(hours=2)
    yard.rejected("schedule_car_departure", "30 minutes", departs_at=soon.isoformat())
    yard.done("schedule_car_departure", departs_at=later.isoformat())
    yard.wait(100)
    assert (yard.now.climate_c, yard.now.departs_at) == (21.0, None)
    yard.wait(40)
    assert yard.now.climate_c is None


def test_a_car_in_use_is_not_warmed_up() -> None:
    yard = Yard()
    later = (MONDAY + timedelta(hours=2)).isoformat()
    yard.done("schedule_car_departure", departs_at=later)
    yard.wait(110)
    assert (yard.now.climate_c, yard.now.departs_at) == (None, None)
    yard.drive(yard.shop)
    next_day = (MONDAY + timedelta(days=1)).isoformat()
    yard.rejected("schedule_car_departure", "once it stands", departs_at=next_day)


def test_a_garage_works_at_noon_on_a_car_that_is_off() -> None:
    yard = Yard(mode="off", tyres_bar=(2.5, 1.7, 2.5, 2.5))
    tyres = yard.need("tyre change")
    assert [work["id"] for work in yard.done("list_car_alerts")["items"]] == [tyres]
    visit = {"car_service_id": tyres, "garage_id": yard.garage, "day": "2026-03-04"}
    assert yard.done("book_car_service", **visit)["garage_name"] == "Green Spanner"
    yard.rejected("book_car_service", "is booked", **visit)
    yard.wait(days=3)
    assert yard.state.services[tyres].status == "done"
    assert yard.now.tyres_bar == SOUND
    assert yard.done("list_car_alerts")["items"] == []


def test_a_garage_leaves_a_car_in_use_alone() -> None:
    yard = Yard()
    pads = yard.need("brake pads", due_km=900)
    assert yard.done("list_car_alerts")["items"][0]["work"] == "brake pads"
    yard.done("book_car_service", car_service_id=pads, garage_id=yard.garage, day="2026-03-04")
    yard.wait(days=3)
    service = yard.state.services[pads]
    assert (service.status, service.visit_at, service.garage_name) == ("open", None, "")


def test_work_is_booked_at_a_garage_on_a_weekday_ahead() -> None:
    yard = Yard()
    pads = {"car_service_id": yard.need("brake pads")}
    shop = {"garage_id": yard.shop, "day": "2026-03-04"}
    yard.rejected("book_car_service", "no garage", **pads, **shop)
    for day in ("2026-03-02", "2026-03-07", "2026-09-01"):
        late = {"garage_id": yard.garage, "day": day}
        yard.rejected("book_car_service", "weekday", **pads, **late)


def test_a_car_is_at_one_garage_on_a_day() -> None:
    yard = Yard()
    pads = yard.need("brake pads")
    belt = yard.need("seat belt")
    other = yard.place("Blue Wrench", "garage", (0.0, 9.0))
    yard.start()
    when = {"day": "2026-03-04"}
    yard.done("book_car_service", car_service_id=pads, garage_id=yard.garage, **when)
    yard.rejected(
        "book_car_service", "at Green Spanner", car_service_id=belt, garage_id=other, **when
    )
    yard.done("book_car_service", car_service_id=belt, garage_id=yard.garage, **when)


def test_the_end_of_a_trip_can_be_saved_once() -> None:
    yard = Yard()
    ride = {"vehicle_id": yard.car, "start_name": "Home", "started_at": MONDAY, "ended_at": MONDAY}
    ride |= {"destination_name": "4 Elm Rise", "km": 2.0, "odometer_km": 990.0}
    trip = yard.world.trips.add(spot_km=(5.0, 5.0), **ride).id
    back = yard.world.trips.add(spot_km=(0.0, 0.1), **ride).id
    yard.start()
    new = {"name": "Ida's Place", "kind": "friends"}
    known = {"car_trip_id": back, **new}
    yard.rejected("save_car_destination", "saved as Home", **known)
    hub = {"car_trip_id": trip, "name": "Posts", "kind": "charger"}
    yard.rejected("save_car_destination", "cannot be added", **hub)
    taken = {"car_trip_id": trip, "name": " home", "kind": "friends"}
    yard.rejected("save_car_destination", "taken", **taken)
    saved = yard.done("save_car_destination", car_trip_id=trip, **new)["id"]
    yard.drive(saved)
